// SPDX-License-Identifier: Apache-2.0
// Results of nccl-tests (all_reduce_perf, versions 2.0 to 2.19; RCCL's and others' that print the
// same), as text or as the JSON of -J. A time is the mean of the operations of one loop, over ranks
// too unless -a says otherwise, so a row is one repetition in pipelined mode.
// Sources: NVIDIA/nccl-tests src/util.cu, src/common.cu, doc/PERFORMANCE.md.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bench/study/import/foreign_text.hpp"
#include "bench/study/import/settings.hpp"

namespace scalebench {

/// Reads what `text` holds, several runs one after the other included; each is a launch. `file` is
/// its name in messages. Cases are rows of allreduce.csv; what is none of all_reduce_perf's results
/// becomes a finding. A printed busbw that does not follow from time, size and ranks is one too.
/// Throws UsageError when the number of ranks is neither in the file nor among `settings`.
ImportedFile read_nccl_tests(std::string_view text, const std::string& file,
                             const Settings& settings);

// The JSON that nccl-tests writes with -J (versions 1 to 3 of its format). Its `env`, a dump of the
// whole environment, is never kept: it holds secrets.

/// As read_nccl_tests. Throws UsageError `file:line:column: what` for text that is no JSON, and for
/// a later version of the format.
ImportedFile read_nccl_tests_json(std::string_view text, const std::string& file,
                                  const Settings& settings);

// One start of all_reduce_perf, whether its text or its JSON is read: who took part, how it
// measured, and what becomes of one printed result.

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
           std::vector<Remark>& findings);

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
