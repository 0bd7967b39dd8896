// SPDX-License-Identifier: Apache-2.0
// Notices a rank that dies or hangs, names it, and ends all ranks. Each rank marks its progress in
// memory that it shares with a child of its process. The children tell rank 0's child of it twice a
// second, by datagrams, because MPI may be where a rank hangs; and that one judges.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "bench/machine/descriptor.hpp"
#include "bench/program/watchdog/guard.hpp"
#include "collectives/communicator.hpp"

namespace scalebench {

/// One per rank, for the length of a program:
///
///   Watchdog watchdog(argc, argv);
///   MpiSession session(argc, argv);
///   const Watchdog::Watch watch(watchdog, host, {});
///   for each cell:
///     watchdog.cell("allreduce ring float 1 MiB");
///     watchdog.expect(predicted_seconds_of_one_operation);  // the same on all ranks
///     for each operation: watchdog.enter(); ...; watchdog.leave();
///     watchdog.end_cell();  // write and flush the row before the next cell: ending loses what is
///                           // not flushed
///
/// Ranks that work through the same cells and operations in the same order are compared by how far
/// they came: behind is who the others wait for. A rank that dies, or whose process is stopped, is
/// named wherever it is; one that lives and does not come on, after the limit in a cell or span.
/// Where a rank works on its own, and between cells, it comes on as long as it uses its processor
/// or files: one that does not ends all after ten times the limit; and one that does, after 144
/// times as long, which is an hour. While it waits for others there, in a call that is marked, it
/// has the limit of a span.
///
/// Before a Watch and after it, as in MPI_Init and MPI_Finalize, a process that is stopped for 24 s
/// is named and killed; else only the launcher's limit helps there.
class Watchdog {
 public:
  /// Watches nothing: a program without a launcher.
  Watchdog();
  /// A child, which has neither this process's environment nor its command line, so that nobody
  /// takes it for a rank. Where no process can be had, nobody watches.
  Watchdog(int argc, char** argv, double stopped_seconds = 24);
  /// The child ends.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// The ranks watch each other for as long as it lives; with one rank nobody does.
  class Watch {
   public:
    /// Collective, at most twelve seconds. Where some rank's watchdog cannot reach that of rank 0,
    /// rank 0 warns and all go on unwatched.
    Watch(Watchdog& watchdog, Communicator& host, Patience patience);
    /// Says goodbye, so that the end of this rank is no death. While an exception is on its way: as
    /// give_up().
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    Watchdog& watchdog_;
    const int exceptions_;  // on their way when this was made: more at its end are a failure
  };

  /// This rank has failed and will end all ranks itself. When MPI failed here because another rank
  /// has died, that one is named first: returns within a second, and is watched no more.
  void give_up();

  // Each lasts until the next one, or end_cell().

  void cell(std::string_view name) { marks().begin(name, Stage::cell); }
  /// What ranks do together beside cells, as "opening transport nccl".
  void span(std::string_view name) { marks().begin(name, Stage::span); }
  /// What this rank does on its own and may take minutes, as "building the model".
  void work(std::string_view name) { marks().begin(name, Stage::work); }
  void end_cell() { marks().end_cell(); }
  /// An operation of this cell, or what lies between two, may take that long: waits at least a
  /// hundred times as long for it, where the limit stretches. Until the next cell, span or work.
  void expect(double operation_seconds) { marks().expect(operation_seconds); }
  /// What has begun may take that long as a whole, where the limit stretches.
  void allow(double seconds) { marks().expect(seconds / ProgressMarks::kLimitOverExpected); }
  void enter() { marks().enter(); }
  void leave() { marks().leave(); }

  /// False: one rank, or no way between the watchdogs.
  bool watching() const { return page_->life == WatchdogPage::Life::watched; }
  ProgressMarks& marks() { return page_->marks; }

 private:
  void set_life(WatchdogPage::Life life);
  void link(Communicator& host, Patience patience);

  WatchdogPage* const page_;  // in memory that is the child's, too
  Pipe news_;                 // a byte for each change of life, for the child
  pid_t child_ = -1;          // -1: none
};

}  // namespace scalebench
