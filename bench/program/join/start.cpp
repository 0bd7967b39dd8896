// SPDX-License-Identifier: Apache-2.0
#include "bench/program/join/start.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "bench/launch/launcher.hpp"
#include "bench/machine/environment.hpp"
#include "bench/machine/identity.hpp"
#include "bench/program/join/daemons.hpp"
#include "bench/program/join/handshake.hpp"
#include "bench/program/join/sockets.hpp"
#include "kernels/json/parse_json.hpp"

namespace scalebench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
constexpr milliseconds kAnswer{2000};  // to connect, and until a first one greets
constexpr milliseconds kBetweenMeetings{250};
constexpr int kCannotStart = 127;

std::string here(const JoinPlan& plan) {
  return fmt::format("{} on {}", plan.name(), own_host_name());
}

/// One try at one port. `why`: what was in the way. Throws NotTogether when the first one refuses.
std::optional<MessageStream> met_at(const Endpoint& at, const JoinPlan& plan,
                                    const std::string& key, std::string& why) {
  Descriptor socket = connect_to(at, kAnswer, why);
  if (!socket.is_open()) return std::nullopt;
  MessageStream stream(std::move(socket));
  why = "something else listens there";
  const auto greeting = stream.receive_within(kAnswer);
  const auto nonce = greeting ? greeted(*greeting) : std::nullopt;
  if (!nonce) return std::nullopt;
  const Message introduction = introduced(introduction_of(plan), key, *nonce);
  stream.send(introduction);
  why = "another job's first process answers there, or one that has not its secret";
  const auto answer = stream.receive_within(kAnswer);
  if (!answer || !is_welcome(*answer, introduction, key, *nonce)) return std::nullopt;
  if (const std::string refusal = text_in(*answer, "refused"); !refusal.empty()) {
    throw NotTogether(fmt::format("{}: {} refuses: {}", here(plan), describe(at), refusal));
  }
  stream.sign(conversation_key(introduction, key, *nonce), /*is_first=*/false);
  return stream;
}

MessageStream meet(const JoinPlan& plan, const std::string& key, milliseconds patience,
                   const std::atomic<bool>& stop) {
  const Clock::time_point deadline = Clock::now() + patience;
  std::string why;
  do {
    for (const int port : meeting_ports(plan.meeting)) {
      std::string hindrance;
      auto stream = met_at({plan.meeting.address, port}, plan, key, hindrance);
      if (stream) return std::move(*stream);
      if (port == plan.meeting.port) why = hindrance;
    }
    std::this_thread::sleep_for(kBetweenMeetings);
  } while (Clock::now() < deadline && !stop);
  throw NotTogether(fmt::format("{}: {} has not answered at {} within {:.0f} s: {}", here(plan),
                                plan.processes.front(), describe(plan.meeting),
                                std::chrono::duration<double>(patience).count(), why));
}

class Agent {
 public:
  Agent(const JoinPlan& plan, MessageStream stream)
      : plan_(plan), stream_(std::move(stream)), daemon_(own_daemon()), daemons_(/*adopts=*/true) {}

  int stay(const std::atomic<bool>& stop) {
    while (!stop) {
      report_ended();
      while (const auto message = stream_.receive()) {
        const int code = number_in(*message, "goodbye", -1);
        if (code >= 0) {
          daemons_.end_all(kGrace);
          return code;
        }
        obey(*message);
      }
      if (!stream_.is_open()) break;
      pollfd waiting{stream_.descriptor(), POLLIN, 0};
      poll(&waiting, 1, static_cast<int>(kTurn.count()));
    }
    daemons_.end_all(kGrace);
    throw NotTogether(
        fmt::format("{}: {}", here(plan_),
                    stop ? "interrupted"
                         : fmt::format("{} ({}) has left without saying how the ranks ended",
                                       plan_.processes.front(), describe(plan_.meeting))));
  }

 private:
  void obey(const Message& message) {
    if (const int job = number_in(message, "stop", -1); job >= 0) {
      if (const auto found = pids_.find(job); found != pids_.end()) daemons_.stop(found->second);
      return;
    }
    const int job = number_in(message, "start", -1);
    if (job < 0) return;
    try {
      if (!plan_.is_agent) fail("is not its host's agent");
      pids_[job] = daemons_.start(own_daemon_command(daemon_, daemon_request_in(message)),
                                  text_in(message, "name"));
    } catch (const std::exception& error) {
      stream_.send({{"ended", job},
                    {"status", kCannotStart},
                    {"said", fmt::format("{}: {}", here(plan_), error.what())}});
    }
  }

  void report_ended() {
    for (const Daemons::Ended& one : daemons_.ended()) {
      for (auto job = pids_.begin(); job != pids_.end(); ++job) {
        if (job->second != one.daemon) continue;
        stream_.send({{"ended", job->first}, {"status", one.status}});
        pids_.erase(job);
        break;
      }
    }
  }

  const JoinPlan& plan_;
  MessageStream stream_;
  const std::filesystem::path daemon_;  // of this host's MPI
  Daemons daemons_;
  std::map<int, pid_t> pids_;  // by the first one's number
};

constexpr const char* kPatienceVariable = "SCALEBENCH_JOIN_TIMEOUT";
constexpr int kDefaultPatience = 600;
constexpr std::chrono::seconds kStudyGrace{10};

/// Present where run_ranks has started a rank.
constexpr const char* kFindingVariable = "SCALEBENCH_FINDING";
constexpr int kFinding = 1, kFindingOfRanks = 101;

/// Those of this process that change results and belong to no single host.
std::vector<std::string> variables_for_ranks() {
  std::vector<std::string> names;
  for (const auto& [name, value] : recorded_variables(::environ)) {
    const bool own = name.find("_MCA_") != std::string::npos || name == "CUDA_VISIBLE_DEVICES";
    if (!own) names.push_back(name);
  }
  for (const char* const name : {kEmulatedVariable, kFindingVariable}) {
    if (std::getenv(name) != nullptr) names.emplace_back(name);
  }
  return names;
}

/// The exit codes of the suite pass; another one is mpirun's own, or of a rank that was killed.
int suite_code(int status) {
  constexpr int kUsage = 2, kInternal = 5, kInterrupted = 130, kTerminated = 143;
  if (status == kFindingOfRanks) return kFinding;
  const bool known = status == 0 || (status >= kUsage && status <= kInternal) ||
                     status == kInterrupted || status == kTerminated;
  return known ? status : kIncomplete;
}

}  // namespace

int attend(const JoinPlan& plan, const std::string& key, milliseconds patience,
           const std::atomic<bool>& stop) {
  return Agent(plan, meet(plan, key, patience, stop)).stay(stop);
}

std::optional<JointStart> enter_joint_start() {
  const EnvironmentVariables variables = environment_variables(::environ);
  std::optional<JoinPlan> plan = join_plan(variables);
  if (!plan) return std::nullopt;
  const bool is_set = !variable(variables, kPatienceVariable).empty();
  const int seconds =
      is_set ? number_in(variables, kPatienceVariable, 1, 1'000'000) : kDefaultPatience;
  JointStart start{std::move(*plan), "", std::chrono::seconds(seconds)};
  const std::string secret =
      join_secret(start.plan, variable(variables, kSecretVariable), private_folder());
  start.key = job_key(start.plan.source + start.plan.job, secret);
  for (const std::string& name : misleading_variables(variables)) unsetenv(name.c_str());
  unsetenv(kSecretVariable);
  setenv(kJoinedVariable, start.plan.source.c_str(), 1);
  if (start.plan.is_confined) use_all_cores();
  return start;
}

void lead_mpirun_to(const Meeting& meeting) {
  const std::string relay = meeting.relay_command();
  // The second name of each is that of Open MPI 5.
  const std::array<std::pair<const char*, const char*>, 6> settings{{
      {"OMPI_MCA_plm", "rsh"},
      {"OMPI_MCA_plm_rsh_agent", relay.c_str()},
      {"PRTE_MCA_plm_ssh_agent", relay.c_str()},
      // Only the first process can pass commands on.
      {"OMPI_MCA_plm_rsh_no_tree_spawn", "1"},
      {"PRTE_MCA_plm_ssh_no_tree_spawn", "1"},
      // A daemon that cuts itself off could not be watched.
      {"OMPI_MCA_orte_leave_session_attached", "1"},
  }};
  for (const auto& [name, value] : settings) setenv(name, value, 1);
  const std::string one_machine = meeting.on_one_machine();
  if (!one_machine.empty()) setenv(kEmulatedVariable, one_machine.c_str(), /*overwrite=*/0);
  if (geteuid() != 0) return;
  // Containers run as root, where Open MPI wants to be told twice.
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
}

std::vector<std::string> mpirun_command(const RankProgram& program, const RankPlaces& places,
                                        const std::vector<std::string>& variables) {
  const char* const mpirun = std::getenv(kMpirunVariable);
  int ranks = 0;
  for (const Host& host : places.hosts) ranks += host.slots;
  std::vector<std::string> command{mpirun == nullptr ? "mpirun" : mpirun, "-np",
                                   std::to_string(ranks), "--host", host_words(places.hosts)};
  const auto add = [&](const auto& words) {
    command.insert(command.end(), words.begin(), words.end());
  };
  using Words = std::vector<std::string>;
  // Hosts that are one machine would all begin with its first core.
  const bool binds = !places.is_crowded && !places.on_one_machine && program.threads == 1 &&
                     !program.drives_devices;
  add(Words{"--bind-to", binds ? "core" : "none"});
  if (places.is_crowded) add(kYieldWords);
  if (places.hosts.size() > 1) {
    add(kKeepaliveWords);
    for (const std::string& name : variables) add(Words{"-x", name});
  }
  command.insert(command.end(), program.command.begin(), program.command.end());
  return command;
}

int rank_code(int code) {
  return code == kFinding && std::getenv(kFindingVariable) != nullptr ? kFindingOfRanks : code;
}

int run_ranks(const RankProgram& program, Meeting& meeting, const std::atomic<bool>& stop) {
  setenv(kFindingVariable, "1", 1);
  const std::vector<std::string> command = mpirun_command(
      program, {meeting.hosts(), meeting.is_crowded(), !meeting.on_one_machine().empty()},
      variables_for_ranks());
  const pid_t child = start_process(command, /*stdout_to_stderr=*/false);
  setpgid(child, child);
  int status = 0;
  std::string why;
  Clock::time_point asked;
  for (pid_t ended = 0; (ended = waitpid(child, &status, WNOHANG)) != child;) {
    if (ended < 0 && errno != EINTR) {
      why = "the exit status of mpirun is lost";
      break;
    }
    if (why.empty()) {
      why = stop ? "interrupted" : meeting.lost();
      if (!why.empty()) {
        asked = Clock::now();
        kill(-child, SIGTERM);
      }
    } else if (Clock::now() > asked + kStudyGrace) {
      kill(-child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  kill(-child, SIGKILL);  // what mpirun may have left in its group
  // mpirun may have noticed the same loss, and sooner.
  if (why.empty()) why = meeting.lost();
  if (!why.empty()) throw NotTogether(fmt::format("the ranks were ended: {}", why));
  return suite_code(exit_status(status));
}

}  // namespace scalebench
