// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/grouped_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/cli/quantity.hpp"
#include "bench/program/recorder.hpp"
#include "bench/record/columns.hpp"

namespace scalebench {
namespace {

constexpr int kWidest = 16;                             // members of a table that is drawn whole
constexpr std::size_t kSlowest = 10;                    // pairs that are listed where it is not
constexpr std::size_t kRated = std::size_t{64} << 10U;  // bytes, from which on a rate says more
constexpr const char* kLine =
    "{:>11} {:>20} {:>14} {:>9} {:>10} {:>10} {:>10} {:>8} {:>8} {:>7}  {}\n";

bool is_table(std::string_view format) { return format == "table"; }

}  // namespace

int GroupedReport::members() const {
  return context_.pairs == PairsOf::hosts ? context_.topology.nodes()
                                          : static_cast<int>(context_.hosts.size());
}

std::string GroupedReport::name_of_member(int member) const {
  if (context_.pairs == PairsOf::ranks) return fmt::format("{}", member);
  const auto& nodes = context_.topology.node_of_rank;
  const auto rank = std::ranges::find(nodes, member) - nodes.begin();
  return context_.hosts[static_cast<std::size_t>(rank)];
}

void GroupedReport::head(std::string_view origin, std::string_view hosts) const {
  if (context_.format == "csv") {
    context_.console.result(csv_line(allreduce_groups_schema().columns));
  }
  if (!is_table(context_.format)) return;
  std::string text = "# scalebench allreduce of ";
  text += context_.pairs == PairsOf::nothing
              ? "groups, all at the same time\n"
              : "pairs, those at the same time that have none in common\n";
  for (std::size_t rank = 0; rank < context_.hosts.size(); ++rank) {
    text += fmt::format("#  rank {:3} on {}\n", rank, context_.hosts[rank]);
  }
  if (origin == "emulated") text += "# EMULATED: good for correctness, not for speed\n";
  text += hosts;
  text +=
      "# time: from the common start to the last end in the group; median, and its 95 % interval\n";
  if (context_.pairs == PairsOf::nothing) {
    text += "#" + fmt::format(fmt::runtime(kLine), "size (B)", "algorithm", "transport", "ranks",
                              "time (us)", "low", "high", "algbw", "busbw", "#wrong", "hosts");
  }
  context_.console.result(text);
}

void GroupedReport::line(const std::string& title, const AllreduceCase& one,
                         std::span<const int> members, const ResultRow& row) {
  if (context_.format == "csv") return context_.console.result(csv_line(row.cells()));
  if (context_.format == "json") context_.console.result(json_line(row));
  if (row.get("status") != "ok" && is_table(context_.format)) {
    context_.console.result(fmt::format("# {}: {}, ranks {}: {}\n", row.get("status"), title,
                                        show_ranks(members), row.get("note")));
  }
  if (row.get("status") != "ok") return;
  if (context_.pairs == PairsOf::nothing) {
    if (!is_table(context_.format)) return;
    const auto us = [&](std::string_view column) { return scaled(row.get(column), 1e6, 2); };
    return context_.console.result(
        " " + fmt::format(fmt::runtime(kLine), one.bytes(), one.algorithm->name,
                          row.get("transport"), show_ranks(members), us("seconds_median"),
                          us("seconds_ci_low"), us("seconds_ci_high"),
                          scaled(row.get("algbw_gb_per_s"), 1, 3),
                          scaled(row.get("busbw_gb_per_s"), 1, 3),
                          row.get("wrong").empty() ? "N/A" : row.get("wrong"), row.get("hosts")));
  }
  const auto& nodes = context_.topology.node_of_rank;
  const int first_node = nodes[static_cast<std::size_t>(members.front())];
  const int last_node = nodes[static_cast<std::size_t>(members.back())];
  PairTime pair{.a = members.front(),
                .b = members.back(),
                .kind = first_node == last_node ? 0 : 1,
                .seconds = number_in(row, "seconds_median")};
  if (context_.pairs == PairsOf::hosts) {
    std::vector<int> both;
    for (const int rank : members) both.push_back(nodes[static_cast<std::size_t>(rank)]);
    pair.a = std::ranges::min(both);
    pair.b = std::ranges::max(both);
  }
  if (pair.a == pair.b) return;  // a host that sits out measures itself
  if (std::ranges::find(pairs_, title, &Pairs::title) == pairs_.end()) {
    pairs_.push_back({title, one.bytes(), {}, {}});
  }
  Pairs& pairs = *std::ranges::find(pairs_, title, &Pairs::title);
  pairs.times.push_back(pair);
  pairs.shown[{pair.a, pair.b}] =
      one.bytes() < kRated ? pair.seconds * 1e6 : number_in(row, "busbw_gb_per_s");
}

std::string GroupedReport::table_of(const Pairs& pairs) const {
  const bool rated = pairs.bytes >= kRated;
  const std::string_view what = rated ? "busbw (GB/s)" : "time (us)";
  if (members() > kWidest) {
    std::vector<PairTime> slowest = pairs.times;
    std::ranges::sort(slowest, std::greater(), &PairTime::seconds);
    slowest.resize(std::min(slowest.size(), kSlowest));
    std::string text = fmt::format("# {}: {} of the {} slowest of {} pairs\n", pairs.title, what,
                                   slowest.size(), pairs.times.size());
    for (const PairTime& pair : slowest) {
      text += fmt::format("{:>12} {:>12} {:>10.3f}\n", name_of_member(pair.a),
                          name_of_member(pair.b), pairs.shown.at({pair.a, pair.b}));
    }
    return text;
  }
  std::size_t width = 8;
  for (int member = 0; member < members(); ++member) {
    width = std::max(width, name_of_member(member).size());
  }
  std::string text = fmt::format("# {}: {} of each pair\n{:>{}}", pairs.title, what, "", width);
  for (int b = 0; b < members(); ++b) text += fmt::format(" {:>{}}", name_of_member(b), width);
  text += "\n";
  for (int a = 0; a < members(); ++a) {
    text += fmt::format("{:>{}}", name_of_member(a), width);
    for (int b = 0; b < members(); ++b) {
      const auto pair = pairs.shown.find(std::minmax({a, b}));
      text += pair == pairs.shown.end() ? fmt::format(" {:>{}}", "-", width)
                                        : fmt::format(" {:>{}.3f}", pair->second, width);
    }
    text += "\n";
  }
  return text;
}

std::string GroupedReport::sentence_of(const PairOutlier& outlier) const {
  const auto named = [&](int member) {
    std::string name = name_of_member(member);
    if (context_.pairs == PairsOf::hosts) return name;
    return fmt::format("rank {} on {}", name, context_.hosts[static_cast<std::size_t>(member)]);
  };
  if (outlier.b < 0) {
    return fmt::format("slow: {}, its pairs take {:.2f} times as long as others (p = {:.1g})",
                       named(outlier.a), outlier.slower, outlier.p_value);
  }
  return fmt::format(
      "slow: between {} and {}, this pair takes {:.2f} times as long as others (p = {:.1g})",
      named(outlier.a), named(outlier.b), outlier.slower, outlier.p_value);
}

std::string GroupedReport::json_of(const Pairs& pairs,
                                   const std::vector<PairOutlier>& found) const {
  nlohmann::ordered_json slow = nlohmann::ordered_json::array();
  for (const PairOutlier& one : found) {
    nlohmann::ordered_json names{name_of_member(one.a)};
    if (one.b >= 0) names.push_back(name_of_member(one.b));
    slow.push_back({{context_.pairs == PairsOf::hosts ? "hosts" : "ranks", names},
                    {"times_as_long", one.slower},
                    {"p_value", one.p_value}});
  }
  const nlohmann::ordered_json line{{"case", pairs.title},
                                    {"pairs", pairs.times.size()},
                                    {"judged", pairs.times.size() >= kFewestPairs},
                                    {"slow", slow}};
  return line.dump() + "\n";
}

bool GroupedReport::foot() const {
  bool slow = false;
  for (const Pairs& pairs : pairs_) {
    const std::vector<PairOutlier> found =
        pair_outliers(pairs.times, members(), static_cast<int>(pairs_.size()));
    slow = slow || !found.empty();
    if (context_.format == "json") context_.console.result(json_of(pairs, found));
    if (!is_table(context_.format)) continue;
    std::string text = table_of(pairs);
    for (const PairOutlier& one : found) text += sentence_of(one) + "\n";
    if (pairs.times.size() < kFewestPairs) {
      text += fmt::format("{} pair(s): too few to tell which is slower; it takes {}\n",
                          pairs.times.size(), kFewestPairs);
    } else if (found.empty()) {
      text += "no pair stands out\n";
    }
    context_.console.result(text);
  }
  return slow;
}

}  // namespace scalebench
