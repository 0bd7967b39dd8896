// SPDX-License-Identifier: Apache-2.0
#include "bench/program/join/sockets.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

using namespace std::chrono_literals;

TEST(Endpoint, IsAHostAndAPort) {
  EXPECT_EQ(parse_endpoint("h.example:2222", "x"), (Endpoint{"h.example", 2222}));
  EXPECT_EQ(parse_endpoint("[fd00::2]:1", "x"), (Endpoint{"fd00::2", 1}));
  EXPECT_EQ(describe(parse_endpoint("[fd00::2]:1", "x")), "[fd00::2]:1");
  for (const char* const bad : {"h", "h:", "h:0", "h:65536", ":1", "a,b:1", "a:1:2", "fd00::2:1",
                                "h:1 ", "$(h):1", "-h:1", ""}) {
    EXPECT_THROW(parse_endpoint(bad, "x"), UsageError) << bad;
  }
}

TEST(Endpoint, PortsToMeetAtEndWithTheLast) {
  EXPECT_THAT(meeting_ports({"h", 65534}), testing::ElementsAre(65534, 65535));
  EXPECT_EQ(meeting_ports({"h", 2222}).size(), 8U);
}

TEST(Loopback, IsKnownByItsAddressAlone) {
  EXPECT_EQ(loopback_address("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(loopback_address("127.9.8.7"), "127.9.8.7");
  for (const char* const other : {"192.0.2.1", "0.0.0.0", "::", "128.0.0.1"}) {
    EXPECT_FALSE(loopback_address(other)) << other;
  }
}

TEST(Listener, IsNeverOnAllAddresses) {
  // A name that the network translates, as a service's of Kubernetes: here an address of nobody.
  try {
    const Listener listener = listen_at("192.0.2.1", meeting_ports({"192.0.2.1", 23500}));
    sockaddr_storage at{};
    socklen_t length = sizeof at;
    ASSERT_EQ(getsockname(listener.socket.number(), reinterpret_cast<sockaddr*>(&at), &length), 0);
    ASSERT_EQ(at.ss_family, AF_INET);
    EXPECT_NE(reinterpret_cast<const sockaddr_in&>(at).sin_addr.s_addr, INADDR_ANY);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("192.0.2.1")) << "no way leads there from here";
  }
}

TEST(ConnectTo, WaitsItsTimeWhateverSignalsCome) {
  // Nobody is let in, and whoever comes when the queue is full gets no answer.
  const Descriptor door(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  auto* const generic = reinterpret_cast<sockaddr*>(&at);
  ASSERT_EQ(bind(door.number(), generic, length), 0);
  ASSERT_EQ(listen(door.number(), 0), 0);
  ASSERT_EQ(getsockname(door.number(), generic, &length), 0);
  std::array<Descriptor, 4> queue;
  for (Descriptor& one : queue) {
    one = Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    static_cast<void>(connect(one.number(), generic, length));
  }
  const auto before = std::signal(SIGALRM, [](int) {});
  const itimerval often{{0, 5000}, {0, 5000}}, never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  std::string why;
  const Descriptor made = connect_to({"127.0.0.1", ntohs(at.sin_port)}, 200ms, why);
  setitimer(ITIMER_REAL, &never, nullptr);
  std::signal(SIGALRM, before);
  EXPECT_FALSE(made.is_open());
  EXPECT_EQ(why, std::strerror(ETIMEDOUT));
}

// Signed messages ---------------------------------------------------------------------------------

struct Pair {
  Pair() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) != 0) fail("socketpair");
    first = Descriptor(ends[0]);
    other = Descriptor(ends[1]);
  }
  Descriptor first, other;
};

/// What `from` has written.
std::string bytes_of(const Descriptor& from) {
  std::array<char, 4096> bytes{};
  const ssize_t count = recv(from.number(), bytes.data(), bytes.size(), 0);
  return {bytes.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
}

void write_to(const Descriptor& to, const std::string& text) {
  ASSERT_EQ(send(to.number(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
}

/// The next message; "none" where there is none.
std::string next_of(MessageStream& stream) {
  const auto message = stream.receive_within(60s);
  return message ? line_of(*message) : "none";
}

TEST(SignedMessages, ArriveInOrderAndBothWays) {
  Pair pair;
  MessageStream first(std::move(pair.first)), other(std::move(pair.other));
  first.sign("key", true);
  other.sign("key", false);
  for (int number = 0; number < 3; ++number) first.send({{"number", number}});
  for (int number = 0; number < 3; ++number) {
    EXPECT_EQ(next_of(other), fmt::format("{{\"number\":{}}}", number));
  }
  other.send({{"text", "with a blank"}});
  EXPECT_EQ(next_of(first), R"({"text":"with a blank"})");
}

TEST(SignedMessages, OfSomebodyInBetweenAreNone) {
  Pair written, read;
  MessageStream first(std::move(written.first));
  first.sign("key", true);
  first.send({{"stop", 1}});
  const std::string line = bytes_of(written.other);
  first.send({{"stop", 2}});
  const std::string later = bytes_of(written.other);
  std::string changed = line;
  changed[changed.find('1')] = '3';
  for (const std::string& text :
       {changed, later, std::string("{\"start\":1}\n"), std::string("{\"start\":1} \n"),
        std::string("{\"start\":1} 0\n"), std::string("\n")}) {
    Pair between;
    MessageStream other(std::move(between.other));
    other.sign("key", false);
    write_to(between.first, text);
    EXPECT_EQ(next_of(other), "none") << text;
    EXPECT_FALSE(other.is_open()) << text;
  }
  MessageStream other(std::move(read.other));
  other.sign("key", false);
  write_to(read.first, line + line);
  EXPECT_EQ(next_of(other), R"({"stop":1})");
  EXPECT_EQ(next_of(other), "none") << "the same again";
  // Nor is it taken for what the first one has been told.
  Pair mirror;
  MessageStream itself(std::move(mirror.first));
  itself.sign("key", true);
  write_to(mirror.other, line);
  EXPECT_EQ(next_of(itself), "none");
}

TEST(MessageStream, EndsAtWhatIsNestedDeeperThanAMessageIs) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
  MessageStream stream{Descriptor(ends[0])};
  const Descriptor other(ends[1]);
  constexpr std::size_t kDeep = 20'000;
  const std::string line = "{\"argv\":" + std::string(kDeep, '[') + std::string(kDeep, ']') + "}\n";
  const std::string sent = "{\"start\":4294967296}\n" + line;
  ASSERT_EQ(send(ends[1], sent.data(), sent.size(), MSG_NOSIGNAL), std::ssize(sent));
  const auto first = stream.receive();
  ASSERT_TRUE(first);
  EXPECT_EQ(number_in(*first, "start", -1), -1) << "what an int cannot hold is no number";
  EXPECT_FALSE(stream.receive());
  EXPECT_FALSE(stream.is_open());
}

}  // namespace
}  // namespace scalebench
