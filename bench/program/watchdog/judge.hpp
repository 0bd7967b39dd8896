// SPDX-License-Identifier: Apache-2.0
// Who is to blame when nothing moves, from what each rank's watchdog last told of it; and how that
// is said.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/program/watchdog/progress.hpp"

namespace scalebench {

/// What a watchdog tells of its rank.
struct Told {
  std::int32_t rank = 0;
  std::array<char, 68> host = {};  // where the rank is
  std::uint64_t beat = 0;          // looks that have found it running: neither stopped nor gone
  RankProgress progress;
};

struct WatchedRank {
  int rank = 0;
  std::string host;
  bool silent = false;       // its watchdog sends nothing, or has found it stopped
  double still_seconds = 0;  // without progress
  double dead_seconds = 0;   // and without a sign of life
  RankProgress progress;
  double there_seconds = 0;  // at the same place

  /// It was without a sign of life for too long, where that is how its progress is seen.
  bool idle() const { return progress.shows_life() && still_seconds > progress.limit_seconds; }
};

/// One line, without a newline.
std::string describe_death(const Told& dead);

/// One line: which of `ranks`, of which some are silent, tell nothing any more. Where these are all
/// the ranks of some hosts, it says what that looks like.
std::string describe_silence(std::span<const WatchedRank> ranks, double seconds);

/// One line: a rank is at work or between cells, and uses neither processor nor files.
std::string describe_idleness(const WatchedRank& idle);

/// `ranks`: all that still take part, at least one. To blame are those that are silent; else those
/// furthest behind, for whom the others wait; else, where a library spins while it waits, those
/// that do nothing; else nobody in particular.
std::string describe_hang(std::span<const WatchedRank> ranks, double seconds);

/// Rank 0's watchdog: hears of all ranks, its own too. Times are seconds of a clock that only goes
/// forward.
class Judge {
 public:
  Judge(int ranks, double limit_seconds);

  void hear(const Told& told, double now);
  /// It has ended, or is about to and says why itself.
  void dismiss(int rank, bool failing, double now);
  /// Whether a rank that has died is to be named: it is the first, and died by itself, not by the
  /// launcher after a rank had failed.
  bool may_name_death(int rank, double now);

  struct Finding {
    std::string note;     // ranks have fallen silent, which ends nothing yet
    std::string verdict;  // for which all are to end; empty: all is well
  };
  /// To be called twice a second.
  Finding look(double now);

 private:
  struct Rank {
    Told told;
    double heard = 0;  // when its beat was last another one
    double moved = 0;  // to make progress, which a sign of life is where those count
    double begun = 0;  // at another place
    double alive = 0;  // to do something
    bool gone = false;
    bool hushed = false;  // it was said that nothing comes

    void hear_all_at(double now) { heard = moved = begun = alive = now; }
  };

  std::string note_of_silence(double now);
  std::vector<WatchedRank> watched(double now, double silent_seconds) const;
  void begin_anew(double now);

  const double limit_seconds_;
  std::vector<Rank> ranks_;
  double last_look_ = 0;
  bool all_stopped_ = false;  // at the last look
  double moved_ = 0;          // when any rank was last seen to make progress
  double failing_since_ = 0;  // 0: nobody does
  int named_ = -1;            // the rank whose death was named
};

}  // namespace scalebench
