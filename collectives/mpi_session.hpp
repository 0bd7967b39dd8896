// SPDX-License-Identifier: Apache-2.0
// The life of MPI in a process, from MPI_Init_thread to MPI_Finalize, and what a launcher promised.
// A program run without mpirun is a session of one rank.
#pragma once

#include <optional>
#include <string>

namespace scalebench {

class MpiSession {
 public:
  MpiSession(int& argc, char**& argv);
  /// Finalises; after abort-worthy failures call abort() instead.
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

}  // namespace scalebench
