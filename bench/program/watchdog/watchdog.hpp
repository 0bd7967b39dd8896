// SPDX-License-Identifier: Apache-2.0
// Notices a rank that dies or hangs, names it, and ends all ranks. Each rank marks its progress; a
// thread per rank tells rank 0 twice a second over TCP, because MPI may be where a rank hangs.
// Rank 0 judges; when rank 0 itself is gone, the others do. Cost: two stores an operation.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "bench/program/watchdog/verdict.hpp"
#include "collectives/communicator.hpp"

namespace scalebench {

class WatchdogGuard;

struct WatchdogOptions {
  double limit_seconds = 25;  // without any rank's progress
  bool stretches = true;      // the limit, for what is expected to take long
  double patience = 10;       // times the limit, without a sign of life where those count
  double ceiling = 144;  // times the limit there, whatever a rank does: an hour; stretches, too
  /// Of the communicator by which the program coordinates itself; they outlive the watchdog.
  const CallMarks* calls = nullptr;
  /// Whether this process has done something since the last call; default: LifeSigns.
  std::function<bool()> lives = {};
  /// Ends all ranks; called at most once on every rank, on the watchdog's own thread, which may be
  /// while the main thread is inside MPI. It need not return.
  std::function<void()> end;
  /// Says what happened, on one rank; default: a line on stderr.
  std::function<void(const std::string&)> say = {};
  /// Says, on rank 0, that ranks have fallen silent or are back, long before that ends anything;
  /// default: a line on stderr.
  std::function<void(const std::string&)> note = {};
  /// Whether a SIGTERM waits, for less than a second, until a rank that has died is named; of one
  /// watchdog in a process.
  bool heeds_termination = false;
  /// How long a failure waits for the news of a death that may be behind it: longer than TCP takes
  /// to send once more what a full queue dropped, shorter than the second that launchers wait
  /// between SIGTERM and SIGKILL.
  double culprit_seconds = 0.7;
};

/// One per rank, for the length of a program:
///
///   Watchdog watchdog(host, {.limit_seconds = options.timeout,
///                            .end = [&] { session.abort(static_cast<int>(ExitCode::incomplete));
///                            }});
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
/// has the limit of a span. With one rank the watchdog does nothing.
///
/// It watches from its construction to its end. MPI_Init, the answer to --places, its own linking
/// up (which has a time limit) and MPI_Finalize are outside: there only the launcher's limit helps.
class Watchdog {
 public:
  /// Collective, at most eight seconds. Where some rank cannot reach rank 0 over TCP, rank 0 warns
  /// and all go on unwatched.
  Watchdog(Communicator& host, WatchdogOptions options);
  /// Says goodbye, so that the end of this rank is no death. While an exception is on its way: as
  /// give_up().
  ~Watchdog();
  /// This rank has failed and will end all ranks itself. When MPI failed here because another rank
  /// has died, that one is named first; returns within two seconds, and watches no more.
  void give_up();

  // Each lasts until the next one, or end_cell().

  void cell(std::string_view name) { begin(name, Stage::cell); }
  /// What ranks do together beside cells, as "opening transport nccl".
  void span(std::string_view name) { begin(name, Stage::span); }
  /// What this rank does on its own and may take minutes, as "building the model".
  void work(std::string_view name) { begin(name, Stage::work); }
  void end_cell() { marks_.end_cell(); }
  /// An operation of this cell, or what lies between two, may take that long: waits at least a
  /// hundred times as long for it, where the limit stretches. Until the next cell, span or work.
  void expect(double operation_seconds) { marks_.expect(operation_seconds); }
  /// What has begun may take that long as a whole, where the limit stretches.
  void allow(double seconds) { marks_.expect(seconds / ProgressMarks::kLimitOverExpected); }
  void enter() { marks_.enter(); }
  void leave() { marks_.leave(); }

  /// False: one rank, or no connection.
  bool watching() const { return guard_ != nullptr; }

  enum class Fault {
    die,        // the connection closes without a goodbye, as when the process is killed
    freeze,     // the connection stays, and nothing comes, as when the process is stopped
    terminate,  // the launcher ends this process by SIGTERM
  };
  /// What this rank's watchdog would look like to others; for tests.
  void simulate(Fault fault);

 private:
  void begin(std::string_view name, Stage stage);

  ProgressMarks marks_;
  const int exceptions_;  // on their way when this was made: more of them at its end are a failure
  std::unique_ptr<WatchdogGuard> guard_;
};

}  // namespace scalebench
