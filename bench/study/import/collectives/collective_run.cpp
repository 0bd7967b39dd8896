// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/collectives/collective_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kProgram = "all_reduce_perf";

std::size_t whole(const std::string& text) { return read_number<std::size_t>(text).value_or(0); }

/// The type that has so many bytes, where none is printed.
std::string type_of(const PrintedRow& row) {
  if (!row.type.empty()) return row.type;
  constexpr std::array<std::string_view, 9> kTypes{"", "int8", "half", "",      "float",
                                                   "", "",     "",     "double"};
  return std::string(kTypes.at(whole(row.bytes) / whole(row.count)));
}

ResultRow described(const PrintedResult& one, int ranks) {
  ResultRow row(allreduce_schema());
  row.set("dtype", type_of(*one.row)).set("op", one.row->redop.empty() ? "sum" : one.row->redop);
  row.set("placement", one.placement).set("size_bytes", one.row->bytes).set("ranks", ranks);
  return row;
}

/// Why a time counts for nothing; empty where it counts.
std::string why_wrong(const PrintedResult& one, bool says_no_place) {
  if (says_no_place) {
    return "nccl-tests found values out of bounds, and does not say at which of the sizes";
  }
  const bool is_wrong = one.counts_wrong && decimal_of(one.wrong).value_or(0) > 0;
  return is_wrong ? fmt::format("{} wrong elements", one.wrong) : "";
}

}  // namespace

bool CollectiveRun::add_device(int rank, int group, std::string_view host,
                               std::string_view address) {
  if (devices.empty()) first_group = group;
  if (!devices.emplace(group, rank).second) return false;
  // Older ones print the bus alone, which is that of several cards where these are in domains.
  const bool is_whole = address.find(':') != std::string_view::npos;
  if (is_whole && group == first_group) {
    cards[std::string(host)][std::string(address)].push_back(rank);
  }
  if (!host.empty() && group == first_group) hosts.emplace(host);
  return true;
}

std::string CollectiveRun::shared_card() const {
  for (const auto& [host, ranks_on] : cards) {
    const std::size_t each = ranks_on.begin()->second.size();
    // Several hosts to which somebody has given one name, each with all its cards.
    const bool repeats = ranks_on.size() > 1 && std::ranges::all_of(ranks_on, [&](const auto& one) {
                           return one.second.size() == each;
                         });
    for (const auto& [address, ranks] : ranks_on) {
      if (repeats || ranks.size() < 2) continue;
      return fmt::format("ranks {} and {} are on one card, {} of {}", ranks[0], ranks[1], address,
                         host);
    }
  }
  return "";
}

void CollectiveRun::end(const std::string& file, const Settings& settings,
                        ImportedFile& result) const {
  const auto find = [&](std::size_t line, std::string what) {
    result.findings.push_back({line, std::move(what)});
  };
  if (rows.empty() || are_several) return;
  if (!program.empty() && program.find(kProgram) == std::string::npos) {
    return find(rows.front().line,
                fmt::format("results of {} are left out: allreduce.csv holds those of {}", program,
                            kProgram));
  }
  int highest = -1;
  for (const auto& [group, rank] : devices) highest = std::max(highest, rank);
  const auto listed =
      static_cast<int>(std::ranges::count(devices, first_group, &std::pair<int, int>::first));
  const auto listed_in_all = static_cast<std::int64_t>(devices.size());
  const bool is_whole = listed > 0 && highest < static_cast<int>(devices.size()) &&
                        listed_in_all % std::max(std::int64_t{1}, of_a_process) == 0;
  const std::optional<int> known = is_whole ? std::optional(listed) : std::nullopt;
  TableHints of_table = hints;
  of_table.is_allreduce = !program.empty() || !setting(settings, "ranks").empty();
  of_table.ranks = known ? known : read_number<int>(setting(settings, "ranks"));
  const ReadTable table = read_table(rows, of_table);
  std::ranges::copy(table.findings, std::back_inserter(result.findings));
  std::ranges::copy(table.questions, std::back_inserter(result.questions));
  if (table.results.empty()) return;
  const bool says_no_place = fails_at > 0 && !table.results.front().counts_wrong;
  ImportedLaunch launch{{}, command};
  for (const PrintedResult& one : table.results) {
    ImportedCase& made =
        launch.cases.emplace_back(ImportedCase{described(one, table.ranks), {one.seconds}, {}});
    ResultRow& row = made.row;
    // Of a list that was cut nobody knows how many hosts it had.
    const bool has_hosts = !hosts.empty() && (is_never_cut || known == table.ranks);
    if (has_hosts) row.set("nodes", hosts.size());
    apply(settings, row, file);
    set_where_empty(row, "algorithm", "native");
    set_where_empty(row, "transport", "nccl");
    set_where_empty(row, "memory", "device");
    set_where_empty(row, "mode", graph ? "pipelined_graph" : "pipelined");
    row.set("note", "mean of its operations, as nccl-tests prints it");
    if (const auto its = single.find({one.row->line, one.placement}); its != single.end()) {
      made.seconds = its->second;
      row.set("note", "single operations, as nccl-tests -I writes them");
    }
    if (table.ranks == 1) row.add_note("one rank moves nothing over any link");
    const std::string wrong = why_wrong(one, says_no_place);
    if (wrong.empty()) continue;
    made.seconds.clear();
    row.set("status", "wrong").set("note", wrong);
    if (says_no_place) continue;
    find(one.row->line, fmt::format("{}: {}: the time counts for nothing", one.placement, wrong));
  }
  if (says_no_place) find(fails_at, launch.cases.front().row.get("note"));
  if (const std::string shared = shared_card(); !shared.empty()) find(0, shared);
  if (!ended) {
    find(rows.back().line,
         "the output ends here, without 'Out of bounds values' and 'Avg bus bandwidth': it is cut, "
         "and more sizes may have followed");
  }
  result.launches.push_back(std::move(launch));
}

}  // namespace scalebench
