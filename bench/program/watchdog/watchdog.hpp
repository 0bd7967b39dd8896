// SPDX-License-Identifier: Apache-2.0
// Notices a rank that dies or hangs, names it, and ends all ranks. Each rank marks its progress in
// memory that it shares with a child of its process. The children tell rank 0's child of it twice a
// second, by datagrams, because MPI may be where a rank hangs; and that one judges.
#pragma once

#include <sys/types.h>

#include "bench/machine/descriptor.hpp"
#include "bench/program/watchdog/guard.hpp"
#include "collectives/communicator.hpp"

namespace scalebench {

/// One per rank, for the length of a program:
///
///   Watchdog watchdog(argc, argv);
///   MpiSession session(argc, argv);
///   watchdog.watch(host, {});
///   ProgressMarks& progress = watchdog.progress();
///   for each cell:
///     progress.cell("allreduce ring float 1 MiB");
///     progress.expect(predicted_seconds_of_one_operation);  // the same on all ranks
///     for each operation: progress.enter(); ...; progress.leave();
///     progress.end_cell();  // write and flush the row before the next cell: ending loses what is
///                           // not flushed
///   watchdog.part();
///
/// Ranks that work through the same cells and operations in the same order are compared by how far
/// they came: behind is who the others wait for. A rank that dies, or whose process is stopped, is
/// named wherever it is; one that lives and does not come on, after the limit in a cell or span.
/// Where a rank works on its own, and between cells, it comes on as long as it uses its processor
/// or files: one that does not ends all after ten times the limit; and one that does, after 144
/// times as long, which is an hour. While it waits for others there, in a call that is marked, it
/// has the limit of a span.
///
/// Before watch() and after part(), as in MPI_Init and MPI_Finalize, a process that is stopped for
/// 24 s is named and killed; else only the launcher's limit helps there.
class Watchdog {
 public:
  /// Of a rank a child, which has neither this process's environment nor its command line, so that
  /// nobody takes it for a rank. Where no process can be had, nobody watches.
  Watchdog(int argc, char** argv, bool is_rank = true, double stopped_seconds = 24);
  /// The child ends.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Collective, at most twelve seconds: from now on the ranks watch each other; with one rank
  /// nobody does. Where some rank's watchdog cannot reach that of rank 0, rank 0 warns and all go
  /// on unwatched.
  void watch(Communicator& host, Patience patience);
  /// Says goodbye, so that the end of this rank is no death.
  void part();
  /// This rank has failed and will end all ranks itself. When MPI failed here because another rank
  /// has died, that one is named first: returns within a second, and is watched no more.
  void give_up();

  /// False: one rank, or no way between the watchdogs.
  bool watching() const { return page_->life == WatchdogPage::Life::watched; }
  /// Of this rank.
  ProgressMarks& progress() { return page_->marks; }

 private:
  void set_life(WatchdogPage::Life life);

  WatchdogPage* const page_;  // in memory that is the child's, too
  Pipe news_;                 // a byte for each change of life, for the child
  pid_t child_ = -1;          // -1: none
};

}  // namespace scalebench
