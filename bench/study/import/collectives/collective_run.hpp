// SPDX-License-Identifier: Apache-2.0
// One start of all_reduce_perf or one of its kin, whether its text or its JSON is read: who took
// part, what it printed, and the launch that this becomes.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/study/import/collectives/printed_table.hpp"
#include "bench/study/import/imported_case.hpp"

namespace scalebench {

struct CollectiveRun {
  std::string program = {};       // empty: not said
  std::int64_t of_a_process = 1;  // ranks, as the method says
  bool graph = false;
  std::set<std::pair<int, int>> devices = {};  // that are listed: group, rank
  std::set<std::string> hosts = {};            // of the first group
  std::map<std::string, std::map<std::string, std::vector<int>>> cards =
      {};  // host, address: ranks
  int first_group = 0;
  bool is_never_cut = false;  // the list of devices: nobody posts a part of it
  bool are_several = false;   // runs of one rank each, side by side
  bool has_head = false;      // of a table: what follows should be its rows
  TableHints hints = {};
  std::vector<PrintedRow> rows = {};
  bool ended = false;        // by the lines that stand below a whole table
  std::size_t fails_at = 0;  // line that says "FAILED"
  std::vector<std::string> command = {};
  /// Single times in seconds, by the row's line and placement.
  std::map<std::pair<std::size_t, std::string_view>, std::vector<double>> single = {};

  /// One of the list; `address`: of its card on the host. False: this rank of its group was there
  /// already.
  bool add_device(int rank, int group, std::string_view host, std::string_view address);
  /// Of which two ranks are on one; empty: none are.
  std::string shared_card() const;
  /// Adds the launch, and what speaks against parts of it.
  void end(const std::string& file, const Settings& settings, ImportedFile& result) const;
};

/// As read_collectives, of nccl-tests' JSON.
ImportedFile read_nccl_json(std::string_view text, const std::string& file,
                            const Settings& settings);

}  // namespace scalebench
