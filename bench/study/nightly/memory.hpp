// SPDX-License-Identifier: Apache-2.0
// Night after night, oldest first: each is tested against those before it, and what is found stays
// found. A regression is open from its first night on: its nights are no baseline, so that it
// cannot become one by lasting, until the change is accepted or it is measured away. The same holds
// for a shift that all cells share. Nothing is stored: every night is judged again from the runs.
#pragma once

#include <set>

#include "bench/study/nightly/detection.hpp"

namespace scalebench {

struct OpenAlarm {
  std::size_t since = 0;  // its first night
  std::size_t found = 0;  // the night that confirmed it
  /// The last measured night that surely is before it; none: not known.
  std::optional<std::size_t> last_good;
  double change = 0;  // logarithm, as found; negative: slower
};

/// What is said of a cell in one night beyond its test.
enum class Discovery {
  none,
  regressed,  // worse, and again in the rerun
  confirmed,  // worse in 2 of 3 nights
  drift,
  open  // found in an earlier night, and neither accepted nor measured away
};

struct JudgedNight {
  NightBaseline baseline;
  NightTest test;
  bool controlled = false;  // the shift is that of the accepted build's cells: the host's alone
  bool host_alarm = false;
  std::optional<OpenAlarm> host;  // of the shift that all share
  Drift host_drift;               // of all cells together
  std::vector<Drift> drifts;      // of each cell
  std::vector<Discovery> outcomes;
  std::vector<std::size_t> worse_nights;       // of the last three, this one included
  std::vector<std::optional<OpenAlarm>> open;  // after this night
  std::set<std::size_t> worse;                 // cells, but those whose rerun disagrees
};

inline constexpr std::size_t kAllCells = std::numeric_limits<std::size_t>::max();

/// What an earlier night's record says is open; `since` is its first night, or the first night of
/// all when that is no longer there.
struct Remembered {
  std::size_t cell = 0;  // or kAllCells
  std::size_t since = 0;
  double change = 0;  // logarithm
};

class NightMemory {
 public:
  /// `controls`: the cells of the accepted build that ran beside the last night, in the nights in
  /// which that very build ran; no cells: none did. Both sets have the same nights.
  NightMemory(GateSeriesSet set, GateSeriesSet controls, std::vector<Remembered> remembered = {});

  /// The next night, from the first on. The answer is that of the last call.
  const JudgedNight& next();
  /// All that are left; requires one.
  const JudgedNight& last();

  const GateSeriesSet& set() const { return set_; }

 private:
  void carry_over();
  Shift host_shift();
  void judge_host();
  void judge_cell(std::size_t c);
  bool is_over(std::size_t c) const;
  std::optional<std::size_t> good_before(std::size_t c, std::size_t since, double change) const;
  void open(std::size_t c, std::size_t since, double change, Discovery outcome);
  void keep_out(std::size_t since);

  GateSeriesSet set_, controls_;
  std::vector<Remembered> remembered_;
  std::vector<std::size_t> forced_;  // cells that a record opened tonight
  std::size_t night_ = 0;
  std::vector<double> shifts_;  // that was taken out of each night
  std::vector<double> series_;  // what all cells did in each of the last nights, as of tonight
  std::vector<bool> shifted_;   // nights whose cells were not judged
  std::vector<std::set<std::size_t>> worse_;
  JudgedNight judged_;
};

}  // namespace scalebench
