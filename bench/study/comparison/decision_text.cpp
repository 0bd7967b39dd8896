// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bench/cli/console.hpp"
#include "bench/cli/quantity.hpp"
#include "bench/study/comparison/decision.hpp"
#include "bench/study/comparison/ratio.hpp"

namespace scalebench {

std::string faster_by(const Ratio& time) {
  const Ratio ratio = time.of_better();
  const int digits = ratio.value >= 9.95 ? 0 : ratio.value >= 2 ? 1 : 2;
  std::string text = fmt::format("{:.{}f}x", ratio.value, digits);
  if (!std::isnan(ratio.low)) {
    text += fmt::format(" [{:.{}f}, {:.{}f}]", ratio.low, digits, ratio.high, digits);
  }
  return text + " faster";
}

std::string cheaper_by(const Ratio& usd) {
  const Ratio ratio = usd.of_better();
  const auto share = [](double factor) { return 100 * (1 - 1 / factor); };
  const int digits = share(ratio.value) >= 99 ? 2 : 0;
  std::string text = fmt::format("{:.{}f} %", share(ratio.value), digits);
  if (!std::isnan(ratio.low)) {
    text += fmt::format(" [{:.{}f}, {:.{}f}]", share(ratio.low), digits, share(ratio.high), digits);
  }
  return text + " cheaper";
}

namespace {

using Rows = std::vector<const ResultRow*>;

std::set<std::string> types_of(const Rows& rows) {
  std::set<std::string> types;
  for (const ResultRow* const row : rows) {
    types.insert({row->get("instance_a"), row->get("instance_b")});
  }
  return types;
}

/// "1.25 [1.2, 1.3] a": which one is better, as in compare.json.
std::string ratio_text(const ResultRow& row, const std::string& stem, const char* verdict) {
  if (row.get(stem).empty()) return "-";
  return fmt::format(
      "{} {}", with_interval(row.get(stem), row.get(stem + "_low"), row.get(stem + "_high"), 1, 2),
      row.get(verdict));
}

/// Of rows of one workload, the type that is better in this in each of its pairs, and by how much
/// than the next; nobody where no type is.
struct Winner {
  std::string name, next;
  Ratio ratio;
};
Winner winner_of(const Rows& rows, const std::set<std::string>& types, const std::string& what,
                 const std::string& stem) {
  for (const std::string& type : types) {
    Winner winner{type, "", {}};
    std::size_t won = 0;
    for (const ResultRow* const row : rows) {
      const bool is_a = row->get("instance_a") == type;
      if (row->get(what) != (is_a ? "a" : "b") || (!is_a && row->get("instance_b") != type)) {
        continue;
      }
      ++won;
      const Ratio ratio = Ratio{number_in(*row, stem), number_in(*row, stem + "_low"),
                                number_in(*row, stem + "_high")}
                              .of_better();
      if (!winner.next.empty() && !(ratio.value < winner.ratio.value)) continue;
      winner.next = row->get(is_a ? "instance_b" : "instance_a");
      winner.ratio = ratio;
    }
    if (won + 1 == types.size()) return winner;
  }
  return {};
}

/// "g2 is the cheapest of 3 types, 39 % [37, 41] cheaper an epoch than p3; p3 is the fastest ..."
std::string winner_sentence(const Rows& rows, const std::set<std::string>& types) {
  const Winner cheap = winner_of(rows, types, "cheaper", "usd_ratio");
  const Winner fast = winner_of(rows, types, "faster", "time_ratio");
  const std::string cheaper =
      cheap.name.empty()
          ? fmt::format("no type is told to be the cheapest of {}", types.size())
          : fmt::format("{} is the cheapest of {} types, {} an epoch than {}", cheap.name,
                        types.size(), cheaper_by(cheap.ratio), cheap.next);
  if (fast.name.empty()) return cheaper + "; none is told to be the fastest";
  const std::string faster =
      fmt::format("the fastest, {} than {}", faster_by(fast.ratio), fast.next);
  return fast.name == cheap.name ? fmt::format("{}, and {}", cheaper, faster)
                                 : fmt::format("{}; {} is {}", cheaper, fast.name, faster);
}

}  // namespace

std::vector<std::string> sentences_of(const std::vector<ResultRow>& decisions) {
  std::vector<std::string> workloads, sentences, answers;
  for (const ResultRow& row : decisions) {
    const std::string workload = workload_of(row);
    if (std::ranges::find(workloads, workload) == workloads.end()) workloads.push_back(workload);
  }
  for (const std::string& workload : workloads) {
    const std::string before = workloads.size() > 1 ? workload + ": " : "";
    Rows rows;
    for (const ResultRow& row : decisions) {
      if (workload_of(row) == workload) rows.push_back(&row);
    }
    if (const auto types = types_of(rows); types.size() > 2) {
      answers.push_back(before + winner_sentence(rows, types) + ".");
      continue;
    }
    for (const ResultRow* const row : rows) {
      answers.push_back(fmt::format("{}{}.", before, row->get("sentence")));
      if (row->get("unknown").empty()) continue;
      const char* const lead = row->get("status") == "ok" ? "Not known" : "What would help";
      sentences.push_back(fmt::format("{}{}: {}.", before, lead, row->get("unknown")));
    }
  }
  sentences.insert(sentences.end(), answers.begin(), answers.end());
  return sentences;
}

std::string table_of_pairs(const std::vector<ResultRow>& decisions) {
  Rows rows;
  for (const ResultRow& row : decisions) rows.push_back(&row);
  if (types_of(rows).size() < 3) return "";
  std::string table = fmt::format("{:<24} {:<24} {:<24} {:<26} {:<26}\n", "A", "B", "workload",
                                  "an epoch, B over A", "its cost, B over A");
  for (const ResultRow& row : decisions) {
    const std::string start =
        fmt::format("{:<24} {:<24} {:<24} ", printable(row.get("instance_a")),
                    printable(row.get("instance_b")), printable(workload_of(row)));
    table += row.get("status") == "ok"
                 ? fmt::format("{}{:<26} {:<26}\n", start, ratio_text(row, "time_ratio", "faster"),
                               ratio_text(row, "usd_ratio", "cheaper"))
                 : fmt::format("{}{}\n", start, printable(row.get("note")));
  }
  return table;
}

}  // namespace scalebench
