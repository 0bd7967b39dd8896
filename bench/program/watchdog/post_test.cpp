// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/post.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <span>

namespace scalebench {
namespace {

Letter letter_of(std::uint64_t token, int rank) {
  Letter letter;
  letter.token = token;
  letter.told.rank = rank;
  return letter;
}

void await(const Post& post) {
  pollfd one{post.fd(), POLLIN, 0};
  ASSERT_EQ(poll(&one, 1, 60'000), 1);
}

TEST(Post, ALetterGoesToOneOfTheAddressesAndItsAnswerBack) {
  const Post first, other;
  const Invitation to = first.invitation();
  ASSERT_GT(to.count, 0U);
  for (std::size_t i = 0; i < to.count; ++i) other.send(letter_of(to.token, 7), to.addresses[i]);
  await(first);
  const auto received = first.receive(to.token);
  ASSERT_TRUE(received);
  EXPECT_EQ(received->letter.told.rank, 7);
  first.send(letter_of(to.token, 0), received->from);
  await(other);
  EXPECT_TRUE(other.receive(to.token));
}

TEST(Post, WhoSaysSomethingElseIsNotHeard) {
  const Post first, stranger;
  const Invitation to = first.invitation();
  const auto addresses = std::span(to.addresses).first(to.count);
  const auto loopback = std::ranges::find(addresses, htonl(INADDR_LOOPBACK),
                                          [](const sockaddr_in& at) { return at.sin_addr.s_addr; });
  ASSERT_NE(loopback, addresses.end());
  stranger.send(letter_of(to.token + 1, 1), *loopback);
  const Letter short_one = letter_of(to.token, 2);
  const auto* const at = reinterpret_cast<const sockaddr*>(&*loopback);
  sendto(stranger.fd(), &short_one, sizeof(short_one) - 1, 0, at, sizeof(*loopback));
  stranger.send(letter_of(to.token, 3), *loopback);
  await(first);
  const auto received = first.receive(to.token);
  ASSERT_TRUE(received);
  EXPECT_EQ(received->letter.told.rank, 3);
  EXPECT_FALSE(first.receive(to.token));
}

TEST(Post, NobodyIsHeardBeforeThereIsAToken) {
  const Post first, other;
  const Invitation to = first.invitation();
  other.send(letter_of(0, 1), to.addresses[0]);
  await(first);
  EXPECT_FALSE(first.receive(0));
}

}  // namespace
}  // namespace scalebench
