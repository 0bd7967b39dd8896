// SPDX-License-Identifier: Apache-2.0
#include "bench/program/join/handshake.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <future>
#include <set>
#include <vector>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Secret : public testing::Test {
 protected:
  Secret() { fs::permissions(folder_.path(), fs::perms(0755)); }  // others may come this far

  fs::path place() const { return folder_ / "scalebench-own"; }
  std::string refusal() const {
    return message_of<UsageError>([&] { private_secret(place()); });
  }
  static unsigned mode(const fs::path& path) {
    return static_cast<unsigned>(fs::status(path).permissions());
  }

  const TemporaryFolder folder_;
};

TEST_F(Secret, IsMadeOnceAndForThisUserOnly) {
  const std::string secret = private_secret(place());
  EXPECT_EQ(secret.size(), 64U);
  EXPECT_EQ(private_secret(place()), secret);
  EXPECT_EQ(mode(place()), 0700U);
  EXPECT_EQ(mode(place() / "join.key"), 0600U);
  EXPECT_EQ(std::distance(fs::directory_iterator(place()), fs::directory_iterator()), 1);
  fs::remove_all(place());
  EXPECT_NE(private_secret(place()), secret);
}

TEST_F(Secret, IsOneForAllWhoComeAtOnce) {
  std::vector<std::future<std::string>> all;
  for (int one = 0; one < 16; ++one) {
    all.push_back(std::async(std::launch::async, [&] { return private_secret(place()); }));
  }
  std::set<std::string> secrets;
  for (auto& one : all) secrets.insert(one.get());
  EXPECT_EQ(secrets.size(), 1U);
}

TEST_F(Secret, IsNotReadThroughALink) {
  const TemporaryFolder elsewhere;
  fs::permissions(elsewhere.path(), fs::perms(0700));
  fs::create_directory_symlink(elsewhere.path(), place());
  EXPECT_THAT(refusal(), AllOf(HasSubstr(place().string()), HasSubstr("is no folder"),
                               HasSubstr("SCALEBENCH_JOIN_SECRET"), Not(HasSubstr("\n"))));
  EXPECT_TRUE(fs::is_empty(elsewhere.path()));
  fs::remove(place());
  private_secret(place());
  fs::rename(place() / "join.key", folder_ / "join.key");
  fs::create_symlink(folder_ / "join.key", place() / "join.key");
  EXPECT_THAT(refusal(), HasSubstr("is a link"));
}

TEST_F(Secret, IsNotTakenFromWhatOthersCanRead) {
  private_secret(place());
  fs::permissions(place() / "join.key", fs::perms(0644));
  EXPECT_THAT(refusal(), HasSubstr("is open to others (mode 644)"));
  fs::permissions(place() / "join.key", fs::perms(0600));
  fs::permissions(place(), fs::perms(0711));
  EXPECT_THAT(refusal(), HasSubstr("is open to others (mode 711)"));
  fs::permissions(place(), fs::perms(0700));
  EXPECT_EQ(refusal(), "");
}

TEST_F(Secret, OfWrongLengthIsNone) {
  private_secret(place());
  folder_.write("scalebench-own/join.key", "short");
  EXPECT_THAT(refusal(), HasSubstr("has not the length of a secret"));
}

TEST_F(Secret, IsNotReadByAnotherUserWhoseFolderIsNotTaken) {
  private_secret(place());
  fs::permissions(folder_.path(), fs::perms(0777));
  const fs::path planted = folder_ / "planted";
  const auto stolen = as_another_user([&] {
    const bool reads = open((place() / "join.key").c_str(), O_RDONLY) >= 0;
    const bool asks = message_of<UsageError>([&] { private_secret(place()); }).empty();
    return reads || asks || mkdir(planted.c_str(), 0700) != 0 ? 1 : 0;
  });
  if (!stolen) GTEST_SKIP() << kNoOtherUser;
  EXPECT_EQ(*stolen, 0);
  EXPECT_THAT(message_of<UsageError>([&] { private_secret(planted); }),
              HasSubstr("belongs to user 65534"));
}

// Who needs one -----------------------------------------------------------------------------------

JoinPlan plan_at(const std::string& address, bool is_on_one_host = false) {
  JoinPlan plan;
  plan.source = "RANK, WORLD_SIZE";
  plan.processes = {"rank 0", "rank 1"};
  plan.is_on_one_host = is_on_one_host;
  plan.meeting = {address, 29500};
  return plan;
}

TEST_F(Secret, IsAskedForOnANetwork) {
  for (const char* const address : {"192.0.2.1", "2001:db8::1", "0.0.0.0"}) {
    JoinPlan plan = plan_at(address);
    EXPECT_THAT(message_of<UsageError>([&] { join_secret(plan, "", place()); }),
                AllOf(HasSubstr("RANK, WORLD_SIZE: meeting at "), HasSubstr(address),
                      HasSubstr("set SCALEBENCH_JOIN_SECRET to"), HasSubstr("openssl rand -hex 16"),
                      Not(HasSubstr("\n"))));
    EXPECT_FALSE(fs::exists(place()));
    EXPECT_EQ(join_secret(plan, "0123456789abcdef", place()), "0123456789abcdef");
    EXPECT_EQ(plan.meeting.address, address);
  }
}

TEST_F(Secret, IsMadeOnTheLoopback) {
  JoinPlan plan = plan_at("localhost");
  EXPECT_EQ(join_secret(plan, "", place()), private_secret(place()));
  EXPECT_THAT(plan.meeting.address, testing::AnyOf("127.0.0.1", "::1"));
  plan = plan_at("127.1.2.3");
  join_secret(plan, "", place());
  EXPECT_EQ(plan.meeting.address, "127.1.2.3");
}

TEST_F(Secret, IsMadeWhereAllAreOnOneHostWhichThenMeetOnTheLoopback) {
  JoinPlan plan = plan_at("192.0.2.1", /*is_on_one_host=*/true);
  EXPECT_EQ(join_secret(plan, "", place()), private_secret(place()));
  EXPECT_EQ(plan.meeting, (Endpoint{"127.0.0.1", 29500}));
}

TEST_F(Secret, ThatCanBeGuessedIsRefused) {
  JoinPlan plan = plan_at("127.0.0.1");
  EXPECT_THAT(message_of<UsageError>([&] { join_secret(plan, "secret", place()); }),
              HasSubstr("SCALEBENCH_JOIN_SECRET: 6 characters can be guessed; valid: at least 16"));
}

// What is signed ----------------------------------------------------------------------------------

TEST(Handshake, SignsAllThatIsSaid) {
  const std::string key = job_key("job", "secret");
  const Message introduction = introduced({{"process", 1}, {"host", "h2"}}, key, "n");
  EXPECT_TRUE(knows_key(introduction, key, "n"));
  EXPECT_FALSE(knows_key(introduction, key, "m"));
  EXPECT_FALSE(knows_key(introduction, job_key("job", ""), "n"));
  Message other = introduction;
  other["host"] = "h3";
  EXPECT_FALSE(knows_key(other, key, "n"));
  Message answer = welcome(introduction, key, "n", "");
  EXPECT_TRUE(is_welcome(answer, introduction, key, "n"));
  answer["refused"] = "go away";
  EXPECT_FALSE(is_welcome(answer, introduction, key, "n"));
  EXPECT_TRUE(is_welcome(welcome(introduction, key, "n", "full"), introduction, key, "n"));
  EXPECT_NE(conversation_key(introduction, key, "n"), conversation_key(other, key, "m"));
}

}  // namespace
}  // namespace scalebench
