// SPDX-License-Identifier: Apache-2.0
// The protocol over real sockets of this host: everybody in a thread of its own.
#include "bench/program/join/meeting.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

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

  std::unique_ptr<Meeting> meeting(const JoinPlan& plan, const std::string& key = kKey,
                                   const Meeting::Door& door = {}) {
    const auto say = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      said_ += line + "\n";
    };
    return std::make_unique<Meeting>(plan, key, say, door);
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
  EXPECT_THAT(
      attending(plan(1), job_key("other", ""), 10s).get(),
      HasSubstr("another job's first process answers there, or one that has not its secret"));
  wait_until([&] { return said().find("127.0.0.1 wanted to join at") != std::string::npos; });
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

// Who does not belong here ------------------------------------------------------------------------

/// Whether the other end has ended the connection.
bool is_cut(const MessageStream& stream) {
  std::array<char, 512> bytes{};
  while (true) {
    const ssize_t count = recv(stream.descriptor(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count <= 0) return count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  }
}

TEST_F(MeetingTest, StrangersWhoSayNothingMakeRoomForOthers) {
  const auto first = meeting(plan(0), kKey, {.strangers = 4, .to_introduce = 24h});
  std::vector<MessageStream> strangers;
  const auto left = [&] { return std::ranges::count_if(strangers, is_cut); };
  std::string why;
  for (int one = 0; one < 10; ++one) strangers.emplace_back(connect_to(first->at(), 60s, why));
  wait_until([&] { return left() == 4; });  // 6 may stay: as many as the start has processes, and 4
  auto other = attending(plan(1));
  first->gather(60s, never_);
  EXPECT_GE(left(), 4);
  EXPECT_LT(left(), 10);
  first->goodbye(0);
  EXPECT_EQ(other.get(), "0");
}

TEST_F(MeetingTest, StrangersWhoSayNothingAreSentAway) {
  const auto first = meeting(plan(0), kKey, {.strangers = 4, .to_introduce = 50ms});
  std::string why;
  const MessageStream stranger(connect_to(first->at(), 60s, why));
  wait_until([&] { return is_cut(stranger); });
  EXPECT_EQ(said(), "");
}

/// A child that does this and stays, if it comes to its end, until it is told to go.
class Child {
 public:
  explicit Child(const std::function<void()>& work) : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      work();
    } catch (...) {
    }
    while (true) pause();
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  pid_t pid_;
};

/// For its life this process can open only `more` files.
class FewFiles {
 public:
  explicit FewFiles(rlim_t more) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(next);
    const rlimit few{static_cast<rlim_t>(next) + more, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewFiles() { setrlimit(RLIMIT_NOFILE, &before_); }
  FewFiles(const FewFiles&) = delete;
  FewFiles& operator=(const FewFiles&) = delete;

 private:
  rlimit before_{};
};

TEST_F(MeetingTest, WithoutADescriptorLeftOnesOwnStillComeIn) {
  const JoinPlan one = plan(0), two = plan(1);
  const Child strangers([&] {
    std::vector<Descriptor> all;
    std::string why;
    while (all.size() < 100) {
      Descriptor next = connect_to(one.meeting, 1s, why);
      if (next.is_open()) all.push_back(std::move(next));
    }
    while (true) pause();
  });
  std::array<int, 2> go{};
  ASSERT_EQ(pipe2(go.data(), O_CLOEXEC), 0);
  const Child other([&] {
    char byte = 0;
    if (read(go[0], &byte, 1) == 1) attend(two, kKey, 600s, never_);
  });
  const FewFiles few(20);
  const auto first = meeting(one, kKey, {.strangers = 1000, .to_introduce = 24h});
  wait_until([&] { return said().find("no file descriptor is left") != std::string::npos; });
  ASSERT_EQ(write(go[1], "1", 1), 1);
  first->gather(120s, never_);
  EXPECT_EQ(first->here(), 2);
  for (const int end : go) close(end);
}

TEST_F(MeetingTest, StrangersAreNotNamedWithoutEnd) {
  const auto first = meeting(plan(0));
  const std::string key = job_key("other", "");
  for (int one = 0; one < 20; ++one) {
    std::string why;
    MessageStream stranger(connect_to(first->at(), 60s, why));
    const auto hello = stranger.receive_within(60s);
    ASSERT_TRUE(hello);
    stranger.send(introduced({{"process", 1}}, key, *greeted(*hello)));
    wait_until([&] { return is_cut(stranger); });
  }
  const std::string lines = said();
  EXPECT_EQ(std::ranges::count(lines, '\n'), 9);
  EXPECT_THAT(lines, HasSubstr("more of these"));
}

TEST_F(MeetingTest, AnotherUserOfTheHostCannotJoin) {
  const TemporaryFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0777));
  // All that a user could guess is known to both: the plan, and where the secret is.
  const auto key_of_user = [&](JoinPlan plan) {
    const std::string secret =
        join_secret(plan, "", folder / fmt::format("scalebench-{}", geteuid()));
    return job_key("test", secret);
  };
  const std::string key = key_of_user(plan(0));
  const auto first = meeting(plan(0), key);
  const auto refused = as_another_user([&] {
    const auto is_refused = [&](const std::string& guess) {
      return message_of<NotTogether>([&] {
               attend(plan(1), guess, 500ms, never_);
             }).find("another job's first process") != std::string::npos;
    };
    return is_refused(job_key("test", "")) && is_refused(key_of_user(plan(1))) ? 0 : 1;
  });
  if (!refused) GTEST_SKIP() << kNoOtherUser;
  EXPECT_EQ(*refused, 0);
  EXPECT_EQ(first->here(), 1);
  EXPECT_EQ(key_of_user(plan(1)), key) << "a process of the same user has it";
}

// The relay --------------------------------------------------------------------------------------

class RelayTest : public MeetingTest {
 protected:
  RelayTest() {
    program("bin/mpirun", "exit 1");
    daemon("exit 1");
    setenv(kMpirunVariable, (folder_ / "bin/mpirun").c_str(), 1);
  }
  ~RelayTest() override { unsetenv(kMpirunVariable); }

  std::string program(const std::string& name, const std::string& command) {
    const auto file = folder_.write(name, "#!/bin/sh\n" + command + "\n");
    std::filesystem::permissions(file, std::filesystem::perms(0755));
    return file.string();
  }
  /// The daemon of this host's MPI.
  std::string daemon(const std::string& command) { return program("bin/orted", command); }

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
  const std::string orted = daemon("exit 1"), name = relay_name(*first);
  EXPECT_EQ(relay({name, "other", orted}), 1);
  EXPECT_EQ(relay({name, "other", orted}), 1);
  EXPECT_EQ(relay({name, first->hosts().front().name, orted}), 1) << "the first one's own host";
  daemon("exit 0");
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
  const std::string orted = daemon("exec sleep 1000");
  auto ended = std::async(std::launch::async, [&] {
    return relay({relay_name(*first), "other", orted});
  });
  std::this_thread::sleep_for(300ms);
  stop_ = true;
  other.get();  // returns once what it started has ended
  EXPECT_EQ(ended.get(), 1);
}

TEST_F(RelayTest, OnlyTheOwnDaemonIsStartedAndOnlyWithKnownArguments) {
  JoinPlan agent = plan(1);
  agent.host = "other";
  auto other = attending(agent);
  const auto first = meeting(plan(0));
  first->gather(60s, never_);
  daemon("exit 7");
  const std::string theirs = program("elsewhere/orted", "exit 0"), name = relay_name(*first);
  EXPECT_EQ(relay({name, "other", theirs}), 7);
  EXPECT_EQ(relay({name, first->hosts().front().name, theirs}), 7);
  testing::internal::CaptureStderr();
  EXPECT_EQ(relay({name, "other", theirs, "-mca", "mca_base_component_path", folder_.path()}), 127);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("rank 1 on "), HasSubstr("mca_base_component_path '" +
                                                       folder_.path().string() + "' is none of")));
  EXPECT_EQ(relay({name, first->hosts().front().name, theirs, "--spin"}), 1);
  first->goodbye(0);
}

TEST_F(RelayTest, AFindingOfRanksIsToldFromAFailureThatEndsWithOne) {
  const RankProgram ranks{{"/bin/true"}, 1, false};
  const auto code = [&](const std::string& mpirun) {
    program("bin/mpirun", mpirun);
    return run_ranks(ranks, *meeting(plan(0)), never_);
  };
  EXPECT_EQ(code("exit 1"), 3) << "there are no slots, say";
  EXPECT_EQ(code("exit 2"), 2);
  EXPECT_EQ(code("exit 137"), 3);
  const int finding = rank_code(1);  // as of a rank that run_ranks has started, of here on
  EXPECT_EQ(code(fmt::format("exit {}", finding)), 1);
  EXPECT_EQ(rank_code(3), 3);
}

/// Sits at the port first and passes on what both say, until both trust each other.
void stand_between(const Listener& port, const Endpoint& first, const Message& order) {
  std::string peer, why;
  Descriptor met;
  while (!met.is_open()) met = accept_from(port.socket, peer);
  MessageStream member(std::move(met)), behind(connect_to(first, 60s, why));
  const auto pass = [](MessageStream& from, MessageStream& to) {
    if (const auto message = from.receive_within(60s)) to.send(*message);
  };
  pass(behind, member);
  pass(member, behind);
  pass(behind, member);
  member.send(order);
  while (member.is_open()) member.receive_within(100ms);
}

TEST_F(RelayTest, WhoTakesThePortFirstCannotGiveOrders) {
  const Listener port = listen_at(kLoopback, {port_});
  const auto first = meeting(plan(0));  // at the next one
  daemon("touch " + (folder_ / "started").string());
  const Message order{{"start", 0}, {"daemon", "orted"}, {"arguments", Message::array()}};
  std::thread thief([&] { stand_between(port, first->at(), order); });
  auto other = attending(plan(1));
  EXPECT_THAT(other.get(), HasSubstr("has left without saying how the ranks ended"));
  thief.join();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "started"));
}

}  // namespace
}  // namespace scalebench
