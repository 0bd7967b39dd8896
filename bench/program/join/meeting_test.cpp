// SPDX-License-Identifier: Apache-2.0
// The protocol over real sockets of this host: everybody in a thread of its own.
#include "bench/program/join/meeting.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <mutex>

#include "bench/program/join/handshake.hpp"
#include "bench/program/join/sockets.hpp"
#include "bench/program/join/start.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

/// This process's own address of the loopback network: tests that run at the same time meet apart,
/// although a meeting also tries the ports after its own.
std::string own_loopback() {
  const int pid = getpid();  // below 2^22 on Linux
  return fmt::format("127.{}.{}.{}", 1 + (pid >> 16), (pid >> 8) % 256, pid % 256);
}

const std::string kLoopback = own_loopback();
const std::string kKey = job_key("test", "");

/// A port that was free a moment ago.
int free_port() { return listen_at(kLoopback, meeting_ports({kLoopback, 23000})).at.port; }

class MeetingTest : public testing::Test {
 protected:
  /// Of `ranks` processes, each with a host for itself.
  JoinPlan plan(int process, int ranks = 2) const {
    JoinPlan plan;
    plan.source = "test";
    for (int rank = 0; rank < ranks; ++rank) plan.processes.push_back(fmt::format("rank {}", rank));
    plan.process = process;
    plan.meeting = {kLoopback, port_};
    return plan;
  }

  std::unique_ptr<Meeting> meeting(const JoinPlan& plan) {
    return std::make_unique<Meeting>(plan, kKey, [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      said_ += line + "\n";
    });
  }

  /// Its exit code, or what it complained about.
  std::future<std::string> attending(const JoinPlan& plan, const std::string& key = kKey,
                                     std::chrono::milliseconds patience = 60s) {
    return std::async(std::launch::async, [this, plan, key, patience]() -> std::string {
      try {
        return std::to_string(attend(plan, key, patience, stop_));
      } catch (const NotTogether& error) {
        return error.what();
      }
    });
  }

  std::string said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }

  template <class Condition>
  void wait_until(const Condition& condition) {
    while (!condition()) std::this_thread::sleep_for(5ms);
  }

  const int port_ = free_port();
  std::atomic<bool> stop_ = false;
  const std::atomic<bool> never_ = false;
  std::mutex mutex_;
  std::string said_;
};

TEST_F(MeetingTest, EverybodyLeavesWithTheFirstOnesExitCode) {
  auto one = attending(plan(1, 3)), two = attending(plan(2, 3));
  const auto first = meeting(plan(0, 3));
  first->gather(60s, never_);
  EXPECT_EQ(first->hosts().size(), 3U);
  EXPECT_EQ(first->lost(), "");
  first->goodbye(3);
  EXPECT_EQ(one.get(), "3");
  EXPECT_EQ(two.get(), "3");
}

TEST_F(MeetingTest, AMeetingThatEndsWithoutAGoodbyeIsInternal) {
  auto other = attending(plan(1));
  meeting(plan(0))->gather(60s, never_);
  EXPECT_EQ(other.get(), "5");
}

TEST_F(MeetingTest, HostsOfOneNameAreToldApart) {
  JoinPlan other = plan(1, 4), third = plan(2, 4), first_plan = plan(0, 4);
  first_plan.host = "node.example";
  other.host = "node";
  other.slots = 2;
  third.host = "node";
  third.is_agent = false;
  third.slots = 2;
  JoinPlan last = plan(3, 4);
  last.host = "10.0.0.7";
  auto one = attending(other), two = attending(third), three = attending(last);
  const auto first = meeting(first_plan);
  first->gather(60s, never_);
  EXPECT_THAT(first->hosts(), ElementsAre(Host{"node", 1}, Host{"node-2", 2}, Host{"10.0.0.7", 1}));
  EXPECT_THAT(first->on_one_machine(), HasSubstr("node and node-2 are one machine"));
  EXPECT_EQ(first->of_one_name(), "node and node-2 have one host name");
  first->goodbye(0);
}

TEST_F(MeetingTest, WhoDoesNotComeIsNamedAndTheOthersLeave) {
  auto other = attending(plan(1, 3));
  const auto first = meeting(plan(0, 3));
  try {
    first->gather(1s, never_);
    FAIL() << "two of three are not all";
  } catch (const NotTogether& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("of 3 processes (test) have not come"),
                      HasSubstr(fmt::format("{}:{}", kLoopback, port_)), HasSubstr("rank 2")));
  }
  wait_until([&] { return first->here() == 2; });
  first->goodbye(3);
  EXPECT_EQ(other.get(), "3");
}

TEST_F(MeetingTest, AFirstOneThatNeverAnswersIsNamedWithItsAddress) {
  EXPECT_THAT(attending(plan(1), kKey, 300ms).get(),
              AllOf(HasSubstr("rank 1 on "), HasSubstr("rank 0 has not answered at " + kLoopback),
                    HasSubstr("refused")));
}

TEST_F(MeetingTest, SomebodyOfAnotherJobIsRefusedAndDoesNotTrustThisOne) {
  const auto first = meeting(plan(0));
  EXPECT_THAT(attending(plan(1), job_key("other", ""), 1s).get(),
              HasSubstr("another job's first process answers there"));
  EXPECT_THAT(said(), HasSubstr("127.0.0.1 wanted to join at"));
  auto other = attending(plan(1));
  first->gather(60s, never_);
  first->goodbye(0);
  EXPECT_EQ(other.get(), "0");
}

TEST_F(MeetingTest, NobodyComesTwice) {
  const auto first = meeting(plan(0, 3));
  auto one = attending(plan(1, 3));
  wait_until([&] { return first->here() == 2; });
  EXPECT_THAT(attending(plan(1, 3)).get(),
              AllOf(HasSubstr("refuses: rank 1"), HasSubstr("is here already")));
  EXPECT_THAT(attending(plan(4, 5)).get(), HasSubstr("does not fit"));
  first->goodbye(0);
}

TEST_F(MeetingTest, HostsThatCountRanksDifferentlyDoNotFit) {
  JoinPlan two = plan(1);
  two.slots = 2;
  auto other = attending(two);
  const auto first = meeting(plan(0));
  EXPECT_THROW(first->gather(60s, never_), NotTogether);
  first->goodbye(3);
}

TEST_F(MeetingTest, APortThatIsTakenIsNoHindrance) {
  const Listener taken = listen_at(kLoopback, {port_});
  const auto first = meeting(plan(0));
  EXPECT_EQ(first->at().port, port_ + 1);
  auto other = attending(plan(1));
  first->gather(60s, never_);
  first->goodbye(0);
  EXPECT_EQ(other.get(), "0");
}

TEST_F(MeetingTest, RubbishDisturbsNobody) {
  const auto first = meeting(plan(0));
  std::string why;
  for (const std::string text : {"GET / HTTP/1.0\r\n\r\n", "[]\n", "{}\n", "\0\1\2"}) {
    const Descriptor stranger = connect_to(first->at(), 1s, why);
    ASSERT_EQ(write(stranger.number(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  MessageStream long_one(connect_to(first->at(), 1s, why));
  long_one.send({{"proof", std::string(100'000, 'x')}});
  auto other = attending(plan(1));
  first->gather(60s, never_);
  first->goodbye(0);
  EXPECT_EQ(other.get(), "0");
}

TEST_F(MeetingTest, OneThatLeavesInTheMiddleIsNamed) {
  auto other = attending(plan(1));
  const auto first = meeting(plan(0));
  first->gather(60s, never_);
  stop_ = true;
  EXPECT_THAT(other.get(), HasSubstr("interrupted"));
  wait_until([&] { return !first->lost().empty(); });
  EXPECT_THAT(first->lost(), AllOf(HasSubstr("rank 1 ("), HasSubstr("has left in the middle")));
}

// The relay --------------------------------------------------------------------------------------

class RelayTest : public MeetingTest {
 protected:
  /// A program that is taken for mpirun's daemon.
  std::string daemon(const std::string& program) {
    std::filesystem::copy_file(program, folder_ / "orted");
    return (folder_ / "orted").string();
  }

  static std::string relay_name(const Meeting& meeting) {
    const std::string command = meeting.relay_command();
    return command.substr(command.rfind(' ') + 1);
  }

  const TemporaryFolder folder_;
};

TEST_F(RelayTest, ADaemonsEndIsTheRelaysEndForOneLaunchAfterTheOther) {
  JoinPlan agent = plan(1);
  agent.host = "other";
  auto other = attending(agent);
  const auto first = meeting(plan(0));
  first->gather(60s, never_);
  const std::string orted = daemon("/bin/false"), name = relay_name(*first);
  EXPECT_EQ(relay({name, "other", orted}), 1);
  EXPECT_EQ(relay({name, "other", orted}), 1);
  EXPECT_EQ(relay({name, first->hosts().front().name, orted}), 1) << "the first one's own host";
  std::filesystem::remove(orted);
  daemon("/bin/true");
  EXPECT_EQ(relay({name, "other", orted}), 0);
  EXPECT_EQ(relay({name, "other", "/bin/true"}), 3) << "no daemon";
  EXPECT_EQ(relay({name, "elsewhere", orted}), 1) << "no such host";
  EXPECT_EQ(relay({"scalebench-join-none", "other", orted}), 3) << "no such meeting";
  first->goodbye(0);
}

TEST_F(RelayTest, ADaemonDoesNotOutliveItsAgent) {
  JoinPlan agent = plan(1);
  agent.host = "other";
  auto other = attending(agent);
  const auto first = meeting(plan(0));
  first->gather(60s, never_);
  const std::string orted = daemon("/bin/sleep");
  auto ended = std::async(std::launch::async, [&] {
    return relay({relay_name(*first), "other", orted, "1000"});
  });
  std::this_thread::sleep_for(300ms);
  stop_ = true;
  other.get();  // returns once what it started has ended
  EXPECT_EQ(ended.get(), 1);
}

}  // namespace
}  // namespace scalebench
