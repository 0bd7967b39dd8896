// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/losses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>

#include "bench/record/columns.hpp"
#include "bench/study/analysis/legs.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double total(const StateSeconds& states) {
  return std::accumulate(states.begin(), states.end(), 0.0);
}

}  // namespace

Losses losses_of(const Epoch& one, const Epoch& n, double rho, int devices, double compute_of_share,
                 Work work) {
  Losses losses;
  const double equal_part = rho * one.seconds / devices;
  const double ideal = work == Work::weak ? equal_part : one.seconds / devices;
  losses.work = equal_part - ideal;
  for (std::size_t i = 0; i < one.states.size(); ++i) {
    losses.by_state[i] = n.states[i] - rho * one.states[i] / devices;
  }
  losses.batch = compute_of_share - rho * one.states[0] / devices;
  losses.contention = n.states[0] - compute_of_share;
  losses.joined = one.joined || n.joined;
  losses.unattributed = n.seconds - ideal - losses.work - total(losses.by_state);
  return losses;
}

namespace {

/// Where transfer and waiting stand among the states.
constexpr std::size_t kFirstJoined = 1, kLastJoined = 3;
constexpr std::string_view kJoinedName = "transfer_and_wait";

std::optional<Epoch> epoch_in(const ResultRow& row) {
  Epoch epoch{number_in(row, "seconds_median"), {}};
  const double together = number_in(row, "transfer_and_wait_seconds");
  epoch.joined = row.get("transfer_seconds").empty() && !std::isnan(together);
  for (std::size_t i = 0; i < epoch.states.size(); ++i) {
    if (epoch.joined && i >= kFirstJoined && i <= kLastJoined) {
      epoch.states[i] = i == kFirstJoined ? together : 0;
      continue;
    }
    epoch.states[i] = number_in(row, fmt::format("{}_seconds", kLossNames[i]));
    if (std::isnan(epoch.states[i])) return std::nullopt;
  }
  return epoch;
}

/// The losses of a leg in each round that has its base, and its share where that was measured at
/// all. Rows without states have none.
std::map<int, Losses> losses_by_round(const ResultRow& leg, const Bases& bases,
                                      const Rounds& rounds) {
  std::map<int, Losses> losses;
  if (bases.one == nullptr) return losses;
  const RowsByRound& ones = rounds.of(*bases.one);
  const ByRound shares = bases.share == nullptr || ranks_of(leg) == 1
                             ? ByRound()
                             : column_of(rounds.of(*bases.share), "compute_seconds");
  for (const auto& [round, row] : rounds.of(leg)) {
    const auto one = ones.find(round);
    const auto share = shares.find(round);
    if (one == ones.end() || (!shares.empty() && share == shares.end())) continue;
    const auto at_one = epoch_in(*one->second), at_n = epoch_in(*row);
    if (!at_one || !at_n) continue;
    losses.emplace(round, losses_of(*at_one, *at_n, rho_of(leg, *bases.one), ranks_of(leg),
                                    shares.empty() ? kUnknown : share->second, work_of(leg)));
  }
  return losses;
}

/// Of the medians, where there are no launches to pair: as of one round.
std::map<int, Losses> losses_of_medians(const ResultRow& leg, const Bases& bases) {
  if (bases.one == nullptr) return {};
  const auto at_one = epoch_in(*bases.one), at_n = epoch_in(leg);
  if (!at_one || !at_n) return {};
  const double rho = rho_of(leg, *bases.one);
  return {{0, losses_of(*at_one, *at_n, rho, ranks_of(leg), kUnknown, work_of(leg))}};
}

/// A loss of a leg in each of its rounds.
struct Loss {
  std::string_view name;
  ByRound seconds;
};

bool any_joined(const std::map<int, Losses>& by_round) {
  return std::ranges::any_of(by_round, [](const auto& round) { return round.second.joined; });
}

/// In the order of the account; but for `unattributed`.
std::vector<Loss> named(const std::map<int, Losses>& by_round) {
  std::vector<Loss> losses{{"work", {}}, {"compute", {}}, {"batch", {}}, {"contention", {}}};
  for (std::size_t i = 1; i < kLossNames.size(); ++i) losses.push_back({kLossNames[i], {}});
  // One round of which only the sum is known is enough: a loss is the median of all rounds.
  const bool joined = any_joined(by_round);
  if (joined) losses[kFirstJoined + 3].name = kJoinedName;
  for (const auto& [round, one] : by_round) {
    const bool split = !std::isnan(one.batch);
    losses[0].seconds[round] = one.work;
    // The two parts instead of their sum: whoever adds up the rows counts nothing twice.
    if (split) {
      losses[2].seconds[round] = one.batch;
      losses[3].seconds[round] = one.contention;
    } else {
      losses[1].seconds[round] = one.by_state[0];
    }
    for (std::size_t i = 1; i < one.by_state.size(); ++i) {
      const bool of_both = joined && i >= kFirstJoined && i <= kLastJoined;
      losses[(of_both ? kFirstJoined : i) + 3].seconds[round] += one.by_state[i];
    }
  }
  std::erase_if(losses, [](const Loss& loss) { return loss.seconds.empty(); });
  return losses;
}

/// A row of losses.csv about a leg.
ResultRow about(const ResultRow& leg) {
  ResultRow row(losses_schema());
  for (const std::string_view column : {"run_id", "case_id", "origin", "status", "model",
                                        "gradient_sync", "scaling", "ranks", "nodes"}) {
    row.set(column, leg.get(column));
  }
  return row;
}

bool is_of(const ResultRow& row, const ResultRow& leg) {
  return row.get("case_id") == leg.get("case_id") && row.get("ranks") == leg.get("ranks") &&
         row.get("nodes") == leg.get("nodes") && row.get("origin") == leg.get("origin") &&
         row.get("status") == "ok";
}

}  // namespace

std::vector<ResultRow> loss_rows(const std::vector<ResultRow>& epoch_rows,
                                 const std::vector<LaunchRows>& launches,
                                 const std::vector<ResultRow>& scaling_rows) {
  const std::vector<const ResultRow*> legs = legs_of(epoch_rows);
  const Rounds rounds(launches);
  std::vector<ResultRow> rows;
  for (const ResultRow* leg : legs) {
    const auto scaling =
        std::ranges::find_if(scaling_rows, [&](const ResultRow& row) { return is_of(row, *leg); });
    if (scaling == scaling_rows.end() || leg->get("ranks") == "1") continue;
    const Bases bases = bases_of(*leg, legs);
    const bool paired = !launches.empty();
    const std::vector<Loss> losses =
        named(paired ? losses_by_round(*leg, bases, rounds) : losses_of_medians(*leg, bases));
    double rest = number_in(*scaling, "seconds_median") - number_in(*scaling, "ideal_seconds");
    for (const Loss& loss : losses) {
      const LaunchInterval seconds = across_rounds(loss.seconds);
      ResultRow& row = rows.emplace_back(about(*leg));
      row.set("loss", loss.name).set("rounds", paired ? loss.seconds.size() : 0);
      if (loss.name == kJoinedName) {
        row.set("note",
                fmt::format("the {} cannot tell them apart", paired ? "hosts' clocks" : "log"));
      }
      set_interval(row.set("interval", interval_label(seconds.kind, "rounds")), "seconds", seconds);
      rest -= seconds.median;
    }
    if (losses.empty()) continue;
    ResultRow& row = rows.emplace_back(about(*leg));
    row.set("loss", "unattributed")
        .set("seconds", rest)
        .set("rounds", paired ? losses.front().seconds.size() : 0);
  }
  return rows;
}

namespace {

std::string six_digits(const std::string& cell) {
  const auto value = read_number<double>(cell);
  return value ? fmt::format("{:.6g}", *value) : cell;
}

bool holds(const ResultRow& row, std::string_view name, double value) {
  const std::string column(name);
  return number_in(row, column + "_ci_low") <= value &&
         value <= number_in(row, column + "_ci_high");
}

/// The largest of those that can be told from nothing, which none can be without an interval.
std::string largest_loss(const ResultRow& scaling, const std::vector<ResultRow>& losses) {
  const ResultRow* largest = nullptr;
  for (const ResultRow& row : losses) {
    const bool told = row.get("loss") != "unattributed" && number_in(row, "seconds") > 0 &&
                      number_in(row, "seconds_ci_low") > 0;
    if (!told || !is_of(row, scaling)) continue;
    if (largest == nullptr || number_in(row, "seconds") > number_in(*largest, "seconds")) {
      largest = &row;
    }
  }
  return largest == nullptr ? "" : largest->get("loss");
}

std::string trust_of(const ResultRow& row) {
  if (row.get("status") != "ok") return row.get("status") + ": " + row.get("note");
  const std::string& rounds = row.get("rounds");
  const std::string& interval = row.get("speedup_interval");
  std::string words = row.get("origin");
  if (row.get("efficiency").empty()) return words + ": no base to compare with";
  words += rounds == "0" ? ": ratio of medians" : fmt::format(", {} round(s)", rounds);
  words += interval.empty() ? ", no interval" : ", " + interval;
  const bool may_be_ideal = row.get("ranks") != "1" && holds(row, "efficiency", 1);
  return words + (may_be_ideal ? "; cannot be told from ideal" : "");
}

}  // namespace

void add_answers(std::vector<ResultRow>& scaling_rows, const std::vector<ResultRow>& loss_rows) {
  for (ResultRow& row : scaling_rows) {
    row.set("largest_loss", largest_loss(row, loss_rows)).set("trust", trust_of(row));
  }
}

namespace {

/// The strategies of rows that have model, gradient sync, scaling and N in common: what they differ
/// in becomes part of the name.
std::vector<std::string> strategies_of(const std::vector<const ResultRow*>& alike) {
  const bool weak = alike.front()->get("scaling") == "weak";
  const std::array<std::pair<std::string_view, std::string_view>, 6> telling{
      {{"nodes", "{} node(s)"},
       {"dataset", "{}"},
       {"allreduce", "{}"},
       {"transport", "{}"},
       {weak ? "batch" : "global_batch", "batch {}"},
       {"origin", "{}"}}};
  std::vector<std::string> names;
  for (const ResultRow* row : alike) {
    std::string& name = names.emplace_back(row->get("gradient_sync") + (weak ? ", weak" : ""));
    for (const auto& [column, words] : telling) {
      const auto is_other = [&, name = column](const ResultRow* other) {
        return other->get(name) != row->get(name);
      };
      if (std::ranges::none_of(alike, is_other) || row->get(column).empty()) continue;
      name += ", " + fmt::format(fmt::runtime(words), row->get(column));
    }
  }
  const std::vector<std::string> told = names;
  for (std::size_t i = 0; i < alike.size(); ++i) {
    const bool is_alone = std::ranges::count(told, told[i]) == 1;
    if (!is_alone) names[i] += ", case " + alike[i]->get("case_id");
  }
  return names;
}

}  // namespace

std::vector<ResultRow> summary_rows(const std::vector<ResultRow>& scaling_rows) {
  std::map<std::string, std::vector<const ResultRow*>> alike;
  for (const ResultRow& row : scaling_rows) {
    alike[fmt::format("{}/{}/{}/{}", row.get("model"), row.get("gradient_sync"), row.get("scaling"),
                      row.get("ranks"))]
        .push_back(&row);
  }
  std::map<const ResultRow*, std::string> strategies;
  for (const auto& [key, group] : alike) {
    const std::vector<std::string> names = strategies_of(group);
    for (std::size_t i = 0; i < group.size(); ++i) strategies[group[i]] = names[i];
  }
  std::vector<ResultRow> rows;
  for (const ResultRow& scaling : scaling_rows) {
    const std::string& strategy = strategies[&scaling];
    ResultRow& row = rows.emplace_back(summary_schema());
    row.set("model", scaling.get("model")).set("strategy", strategy);
    row.set("ranks", scaling.get("ranks"));
    constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kCells{
        {{"h_seconds", "h_seconds"},
         {"ideal_seconds", "ideal_seconds"},
         {"measured_seconds", "seconds_median"},
         {"low", "seconds_ci_low"},
         {"high", "seconds_ci_high"},
         {"speedup", "speedup"},
         {"efficiency", "efficiency"}}};
    for (const auto& [to, from] : kCells) row.set(to, six_digits(scaling.get(from)));
    row.set("largest_loss", scaling.get("largest_loss")).set("trust", scaling.get("trust"));
  }
  return rows;
}

}  // namespace scalebench
