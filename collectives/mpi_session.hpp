// SPDX-License-Identifier: Apache-2.0
// The life of MPI in a process, from MPI_Init_thread to MPI_Finalize, and what a launcher promised.
// A program run without mpirun is a session of one rank.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>

// MPI_CHECK(call): throws Error with the expression, its place and MPI's own text unless it
// returned MPI_SUCCESS. MpiSession sets MPI_ERRORS_RETURN, so that errors get here.

namespace scalebench {

[[noreturn]] void throw_mpi_error(int code, const char* expression, const char* file, int line);

}  // namespace scalebench

#define MPI_CHECK(call)                                                   \
  do {                                                                    \
    if (const int mpi_code = (call); mpi_code != MPI_SUCCESS) {           \
      ::scalebench::throw_mpi_error(mpi_code, #call, __FILE__, __LINE__); \
    }                                                                     \
  } while (false)

namespace scalebench {

class MpiSession {
 public:
  MpiSession(int& argc, char**& argv);
  /// Finalises, together with all ranks; after abort-worthy failures call abort() instead.
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  int rank() const;
  int size() const;
  /// Rank among those on this host, and how many they are.
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }
  std::string host() const;

  /// Ends all ranks with this exit code. Does not return.
  [[noreturn]] void abort(int exit_code) const;

  /// "Open MPI v4.1.4": the library that is linked.
  static std::string library_version();

 private:
  int local_rank_ = 0;
  int local_size_ = 1;
};

/// How many ranks the launcher's environment (Open MPI, PMI, Slurm, torchrun-like) says this job
/// has; empty when no launcher left a trace.
std::optional<int> ranks_promised_by_launcher();

/// Throws UsageError when the launcher promised another number of ranks than MPI reports: a program
/// started by the wrong MPI's launcher runs as N jobs of one rank, and would shine.
void require_promised_ranks(const MpiSession& session);

/// Throws UsageError where MPI does not let every thread make calls, one at a time.
void require_calls_from_any_thread();

}  // namespace scalebench
