// SPDX-License-Identifier: Apache-2.0
#include "collectives/mpi_session.hpp"

#include <dlfcn.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

/// Open MPI 5 ends a rank as soon as the connection to another one closes, and asks no error
/// handler: ranks whose neighbour has died would end before anybody has named it. For how many
/// seconds it waits before it ends a rank (its parameter opal_abort_delay); null: it cannot.
int* seconds_before_end() {
  if (!MpiSession::library_version().starts_with("Open MPI v5")) return nullptr;
  return static_cast<int*>(dlsym(RTLD_DEFAULT, "opal_abort_delay"));
}

constexpr int kSecondsToNameTheDead = 2;

}  // namespace

void throw_mpi_error(int code, const char* expression, const char* file, int line) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  fail("{}:{}: {}: {}", file, line, expression,
       std::string_view(text.data(), static_cast<std::size_t>(length)));
}

MpiSession::MpiSession(int& argc, char**& argv) {
  int provided = 0;
  MPI_CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided));
  MPI_CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  // Open MPI writes to a peer that has died as to any other. The signal for that would end this
  // rank too, silently and before anybody knows who died first. With one rank, stdout may be a
  // pipe of the user's.
  if (size() > 1) std::signal(SIGPIPE, SIG_IGN);
  int* const seconds = seconds_before_end();
  if (seconds != nullptr && *seconds == 0 && size() > 1) *seconds = kSecondsToNameTheDead;
  MPI_Comm node = MPI_COMM_NULL;
  MPI_CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  MPI_CHECK(MPI_Comm_rank(node, &local_rank_));
  MPI_CHECK(MPI_Comm_size(node, &local_size_));
  MPI_CHECK(MPI_Comm_free(&node));
}

MpiSession::~MpiSession() {
  // Where a rank ends all while another is in MPI_Finalize, the mpirun of Open MPI 5.0.7 crashes,
  // or stands still for ever: nobody goes there before all can.
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}

int MpiSession::rank() const {
  int rank = 0;
  MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  return rank;
}

int MpiSession::size() const {
  int size = 0;
  MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  return size;
}

std::string MpiSession::host() const {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_CHECK(MPI_Get_processor_name(name.data(), &length));
  return {name.data(), static_cast<std::size_t>(length)};
}

void MpiSession::abort(int exit_code) const {
  int* const seconds = seconds_before_end();
  if (seconds != nullptr && *seconds == kSecondsToNameTheDead) *seconds = 0;
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

std::string MpiSession::library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string_view all(text.data(), static_cast<std::size_t>(length));
  return std::string(all.substr(0, all.find_first_of(",\n")));
}

std::optional<int> ranks_promised_by_launcher() {
  // Of Slurm the step's tasks alone: a batch script, too, has SLURM_NTASKS and SLURM_PROCID, and is
  // none of them.
  constexpr const char* kStepTasks = "SLURM_STEP_NUM_TASKS";
  constexpr std::array kVariables{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", kStepTasks,
                                  "WORLD_SIZE"};
  const bool in_step =
      std::getenv("SLURM_PROCID") != nullptr &&
      (std::getenv("SLURM_STEP_NODELIST") != nullptr || std::getenv("SLURM_STEP_ID") != nullptr);
  for (const char* variable : kVariables) {
    if (variable == kStepTasks && !in_step) continue;
    const char* value = std::getenv(variable);
    if (value == nullptr) continue;
    if (const auto ranks = read_number<int>(value); ranks && *ranks > 0) return ranks;
  }
  return std::nullopt;
}

void require_promised_ranks(const MpiSession& session) {
  const std::optional<int> promised = ranks_promised_by_launcher();
  if (!promised || *promised == session.size()) return;
  fail<UsageError>(
      "the launcher started {} ranks but MPI ({}) sees {}: mpirun or srun belongs to another MPI "
      "than "
      "this program; use the launcher of that MPI (srun: --mpi=pmix)",
      *promised, MpiSession::library_version(), session.size());
}

void require_calls_from_any_thread() {
  int level = MPI_THREAD_SINGLE;
  MPI_CHECK(MPI_Query_thread(&level));
  if (level >= MPI_THREAD_SERIALIZED) return;
  fail<UsageError>("this MPI ({}) takes calls from one thread only; build it with thread support",
                   MpiSession::library_version());
}

}  // namespace scalebench
