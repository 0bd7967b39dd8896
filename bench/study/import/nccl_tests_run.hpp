// SPDX-License-Identifier: Apache-2.0
// One start of all_reduce_perf, whether its text or its JSON is read: who took part, how it
// measured, and what becomes of one printed result.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bench/study/import/imported.hpp"
#include "bench/study/import/settings.hpp"

namespace scalebench {

class NcclTestsRun {
 public:
  NcclTestsRun(const Settings& settings, std::string file)
      : settings_(&settings), file_(std::move(file)) {}

  /// Iterations times aggregated operations of a timed loop; graph launches, 0 without a graph.
  void set_method(std::string_view iterations, std::string_view aggregated, std::string_view graph);
  /// One device of the list. False: this rank of its group was there already.
  bool add_rank(int rank, int group, std::string_view host, std::string_view device);
  /// Instead of counting the listed ones.
  void set_ranks(int ranks) { ranks_ = ranks; }
  void set_program(std::string_view program) { program_ = program; }

  /// Why its results cannot be used; empty when they can.
  std::string unusable() const;

  /// What the line of a table says before its times.
  struct Size {
    std::string bytes, count, type, redop;
  };
  /// Time in us, bus bandwidth, wrong elements as printed ("N/A": not checked), single times in us.
  struct Measured {
    std::string time, busbw, wrong;
    std::vector<double> times_us;
  };
  /// Adds the case to the launch; what speaks against it goes to `findings`.
  void add(const Size& size, const Measured& measured, std::string_view placement, std::size_t line,
           std::vector<Finding>& findings);

  /// The launch, and what is known of its environment.
  ImportedLaunch take() { return std::move(launch_); }
  bool empty() const { return launch_.cases.empty(); }
  const std::vector<std::string>& devices() const { return devices_; }
  void set_command(std::vector<std::string> command) { launch_.command = std::move(command); }

 private:
  ResultRow described(const Size& size, std::string_view placement) const;
  std::string ranks() const;

  const Settings* settings_;
  std::string file_;
  std::string program_;  // empty: not said, as before 2.17
  std::string operations_, graph_ = "0";
  std::optional<int> ranks_;
  std::set<std::pair<int, int>> seen_;  // group, rank
  int first_group_ = 0;
  std::set<std::string> hosts_;
  std::vector<std::string> devices_;
  ImportedLaunch launch_;
};

}  // namespace scalebench
