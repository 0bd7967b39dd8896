// SPDX-License-Identifier: Apache-2.0
#include "bench/study/comparison/decision.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "bench/cli/quantity.hpp"
#include "bench/study/analysis/pairs.hpp"
#include "bench/study/comparison/cost.hpp"
#include "bench/study/comparison/ratio.hpp"

namespace scalebench {
namespace {

/// The members of an answer, in their order.
const Schema& answer() {
  static const Schema schema{
      "compare.json",
      ColumnNames("run_id$ case_id$ origin$ status$ note$ baseline_run$ instance_a$ instance_b$ "
                  "model$ dataset$ scaling$ samples gradient_sync_a$ gradient_sync_b$ ranks_a "
                  "ranks_b nodes_a nodes_b seconds_a seconds_b time_ratio time_ratio_low "
                  "time_ratio_high faster$ usd_a usd_b usd_ratio usd_ratio_low usd_ratio_high "
                  "cheaper$ equal_usd_per_hour break_even_epochs sentence$ unknown$")};
  return schema;
}

// Epochs whose images differ by more are other work.
constexpr double kSameWork = 0.01;

/// From so many launches a side on an interval of a ratio holds it in 95 % and more (simulated: 97;
/// 90 and 67 of three and two).
constexpr double kLaunchesThatTell = 4;

using Rows = std::vector<const ResultRow*>;

double seconds_of(const ResultRow& cost) { return number_in(cost, "seconds_median"); }
double usd_of(const ResultRow& cost) { return number_in(cost, "usd_per_epoch"); }
/// Of one type the cost goes with it, whatever an hour costs.
double instance_seconds(const ResultRow& cost) {
  return number_in(cost, "nodes") * seconds_of(cost);
}

bool is_whole(const ResultRow& row) { return row.get("whole") == "1"; }
bool is_timed(const ResultRow& row) { return row.get("status") == "ok" && seconds_of(row) > 0; }

/// One of the types that are compared.
struct InstanceType {
  std::string name;  // with its run, where another one is of that type
  Rows epochs{};
  const ResultRow* first = nullptr;  // of any row
};

/// What was trained, and how that is known: rows of one such thing may meet.
std::string work_of(const ResultRow& row) {
  const std::string& samples = row.get("samples");
  return fmt::format("{}, {} images, {}", workload_of(row), samples.empty() ? "unknown" : samples,
                     row.get("origin"));
}

bool may_meet(const ResultRow& a, const ResultRow& b) {
  const std::string &of_a = a.get("origin"), &of_b = b.get("origin");
  const bool origins = of_a == of_b || of_a == "predicted" || of_b == "predicted";
  const double images = number_in(a, "samples") / number_in(b, "samples");
  return origins && workload_of(a) == workload_of(b) && std::abs(images - 1) <= kSameWork;
}

/// The cheapest; of those within the floor of it the fastest.
const ResultRow& best_of(const Rows& rows) {
  double least = std::numeric_limits<double>::infinity();
  for (const ResultRow* const row : rows) least = std::min(least, instance_seconds(*row));
  const ResultRow* best = nullptr;
  for (const ResultRow* const row : rows) {
    if (instance_seconds(*row) > least * (1 + kFloor)) continue;
    if (best == nullptr || seconds_of(*row) < seconds_of(*best)) best = row;
  }
  return *best;
}

// How far apart two are.

/// Measured in a single launch, which says nothing of another.
bool is_once(const ResultRow& row) {
  return row.get("origin") == "measured" && !(number_in(row, "launches") > 1);
}

Ratio ratio_of(const ResultRow& a, const ResultRow& b, std::string_view column,
               const std::string& stem) {
  const auto end = [&](const ResultRow& row, const char* which) {
    const double at = number_in(row, fmt::format("{}_ci_{}", stem, which));
    return std::isnan(at) ? number_in(row, column) : at;
  };
  Ratio ratio{number_in(b, column) / number_in(a, column)};
  ratio.once = is_once(a) || is_once(b);
  if (a.get(stem + "_ci_low").empty() && b.get(stem + "_ci_low").empty()) return ratio;
  ratio.low = end(b, "low") / end(a, "high");
  ratio.high = end(b, "high") / end(a, "low");
  return ratio;
}

/// The best of both types on one workload.
struct Pair {
  const InstanceType &type_a, &type_b;
  const ResultRow &a, &b;
  Ratio time = ratio_of(a, b, "seconds_median", "seconds");
  Ratio usd = ratio_of(a, b, "usd_per_epoch", "usd_per_epoch");

  // A side is "a" or "b".
  const InstanceType& type(std::string_view side) const { return side == "a" ? type_a : type_b; }
  const ResultRow& row(std::string_view side) const { return side == "a" ? a : b; }
  /// "2 x p3.8xlarge"
  std::string name(std::string_view side) const {
    const std::string& nodes = row(side).get("nodes");
    return nodes == "1" ? type(side).name : fmt::format("{} x {}", nodes, type(side).name);
  }
  /// What an hour of this side would have to cost for its epoch to cost as much as the other's.
  double equal_price(std::string_view side) const {
    return usd_of(row(side == "a" ? "b" : "a")) / instance_seconds(row(side)) * kSecondsAnHour;
  }
  const std::string& currency() const { return a.get("currency"); }
};

std::string_view other_side(std::string_view side) { return side == "a" ? "b" : "a"; }

/// From so many epochs on the cheaper one is cheaper with its start-up as well.
double break_even_epochs(const Pair& pair, double startup_seconds) {
  const ResultRow& cheap = pair.row(pair.usd.verdict());
  const ResultRow& dear = pair.row(other_side(pair.usd.verdict()));
  const auto startup = [&](const ResultRow& row) {
    return usd_of(row) / seconds_of(row) * startup_seconds;
  };
  return std::max(
      1.0, std::ceil((startup(cheap) - startup(dear)) / (usd_of(dear) - usd_of(cheap)) - 1e-9));
}

// Where the numbers are from.

/// ", 4 launches": how many each side was started for; a prediction was started for none.
std::string launch_words(const Pair& pair) {
  std::vector<std::string> counts;
  bool bare = false;
  for (const ResultRow* const row : {&pair.a, &pair.b}) {
    if (row->get("origin") == "predicted") continue;
    counts.push_back(row->get("launches").empty() ? "?" : row->get("launches"));
    bare |= row->get("seconds_ci_low").empty();
  }
  if (counts.empty()) return "";
  if (counts.size() == 2 && counts[0] == counts[1]) counts.pop_back();
  const std::string text =
      fmt::format(", {} launch{}", fmt::join(counts, " and "), counts.back() == "1" ? "" : "es");
  return text + (bare ? " without an interval" : "");
}

std::string price_words(const ResultRow& row) {
  if (row.get("usd_per_hour").empty()) return "unknown";
  if (row.get("price_source") == kUsersPrice) return kUsersPrice;
  const std::string& date = row.get("price_date");
  return date.starts_with("undated") ? date : "of " + date;
}

/// "(measured, 4 launches, prices of 2026-07-20)"
std::string basis_of(const Pair& pair) {
  const std::string &of_a = pair.a.get("origin"), &of_b = pair.b.get("origin");
  const std::string price_a = price_words(pair.a), price_b = price_words(pair.b);
  return fmt::format(
      "({}{}, {})",
      of_a == of_b ? of_a
                   : fmt::format("{} {}, {} {}", pair.type_a.name, of_a, pair.type_b.name, of_b),
      launch_words(pair),
      price_a == price_b ? "prices " + price_a
                         : fmt::format("price: {}'s {}, {}'s {}", pair.type_a.name, price_a,
                                       pair.type_b.name, price_b));
}

// What came out.

std::string outcome_of(const Pair& pair) {
  const std::string_view time = pair.time.verdict(), usd = pair.usd.verdict();
  if (pair.time.told() && pair.usd.told()) {
    const std::string faster = faster_by(pair.time), cheaper = cheaper_by(pair.usd);
    return time == usd ? fmt::format("{}: {} and {} an epoch", pair.name(time), faster, cheaper)
                       : fmt::format("{}: {} an epoch, but {} is {}", pair.name(time), faster,
                                     pair.name(usd), cheaper);
  }
  const std::string speed =
      time == "equal" ? "an epoch takes the same time" : "no difference in time can be told";
  const std::string cost = usd.empty()      ? "which one is cheaper is not known"
                           : usd == "equal" ? "it costs the same"
                                            : "no difference in cost can be told";
  if (pair.time.told()) {
    return fmt::format("{}: {} an epoch; {}", pair.name(time), faster_by(pair.time), cost);
  }
  if (pair.usd.told()) {
    return fmt::format("{}: {} an epoch; {}", pair.name(usd), cheaper_by(pair.usd), speed);
  }
  return fmt::format("{} and {}: {}; {}", pair.name("a"), pair.name("b"), speed, cost);
}

// What stays open.

/// What is missing about the row of one side.
void add_missing(std::vector<std::string>& parts, const Pair& pair, const char* side) {
  const ResultRow& row = pair.row(side);
  const std::string& name = pair.type(side).name;
  if (row.get("usd_per_hour").empty()) {
    const double equal = pair.equal_price(side);
    const std::string below =
        std::isnan(equal) ? "" : fmt::format("; below {} it is the cheaper one", show_usd(equal));
    parts.push_back(fmt::format("what an hour of {} costs (--price {}=PRICE{})", name,
                                row.get("instance"), below));
  }
  if (row.get("origin") == "predicted") {
    parts.push_back(
        fmt::format("how long {} really takes, which TFLOPS alone foretell, and whether its memory "
                    "holds the training (measure it on N = {})",
                    name, row.get("ranks")));
  } else if (row.get("seconds_ci_low").empty() || number_in(row, "launches") < kLaunchesThatTell) {
    parts.push_back(fmt::format("how much the times of {} vary (start it {} times or more)", name,
                                kLaunchesThatTell));
  }
}

std::string unknown_after(const Pair& best) {
  std::vector<std::string> parts;
  const bool time = best.time.verdict() == "open", usd = best.usd.verdict() == "open";
  if ((time || usd) && !best.time.once) {
    parts.push_back(
        fmt::format("which one is {}: their intervals meet, or lie within {:.0f} % (more launches "
                    "of both)",
                    time && usd ? "better"
                    : time      ? "faster"
                                : "cheaper",
                    100 * kFloor));
  }
  add_missing(parts, best, "a");
  add_missing(parts, best, "b");
  // The same images may still be trained on in another way.
  for (const char* const column : {"dtype", "global_batch"}) {
    const std::string &of_a = best.a.get(column), &of_b = best.b.get(column);
    if (of_a == of_b) continue;
    parts.push_back(fmt::format("what the same {} would take ({} against {})", column,
                                of_a.empty() ? "unknown" : of_a, of_b.empty() ? "unknown" : of_b));
  }
  const bool reached =
      !best.a.get("seconds_to_target").empty() && !best.b.get("seconds_to_target").empty();
  if (!reached || best.a.get("target_accuracy") != best.b.get("target_accuracy")) {
    parts.emplace_back("what an accuracy costs (train both to one target_accuracy)");
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

// Rows.

ResultRow described(const InstanceType& type_a, const InstanceType& type_b, const ResultRow& a,
                    const ResultRow& b) {
  ResultRow row(answer());
  row.set("run_id", b.get("run_id")).set("case_id", b.get("case_id")).set("status", "ok");
  row.set("origin", (a.get("origin") == "predicted" ? a : b).get("origin"));
  row.set("baseline_run", a.get("run_id"));
  row.set("instance_a", type_a.name).set("instance_b", type_b.name);
  for (const char* const column : {"model", "dataset", "scaling"}) row.set(column, a.get(column));
  return row;
}

ResultRow decided(const Pair& pair, double startup_seconds) {
  ResultRow row = described(pair.type_a, pair.type_b, pair.a, pair.b);
  row.set("samples", pair.a.get("samples"));
  for (const std::string side : {"a", "b"}) {
    const ResultRow& cost = pair.row(side);
    for (const std::string column : {"gradient_sync", "ranks", "nodes"}) {
      row.set(column + "_" + side, cost.get(column));
    }
    row.set("seconds_" + side, cost.get("seconds_median"));
    row.set("usd_" + side, cost.get("usd_per_epoch"));
  }
  row.set("time_ratio", pair.time.value).set("time_ratio_low", pair.time.low);
  row.set("time_ratio_high", pair.time.high).set("faster", pair.time.verdict());
  row.set("usd_ratio", pair.usd.value).set("usd_ratio_low", pair.usd.low);
  row.set("usd_ratio_high", pair.usd.high).set("cheaper", pair.usd.verdict());
  std::string sentence = fmt::format("{} {}", outcome_of(pair), basis_of(pair));
  if (pair.usd.told()) {
    const std::string_view dear = other_side(pair.usd.verdict());
    row.set("equal_usd_per_hour", pair.equal_price(dear));
    sentence +=
        fmt::format("; {} would have to cost {} {} an hour to be equal in cost",
                    pair.type(dear).name, show_usd(pair.equal_price(dear)), pair.currency());
    if (startup_seconds > 0) {
      const double epochs = break_even_epochs(pair, startup_seconds);
      row.set("break_even_epochs", epochs);
      sentence +=
          fmt::format("; with {} of start-up {} is the cheaper one from epoch {} on",
                      show_time(startup_seconds), pair.type(pair.usd.verdict()).name, epochs);
    }
  }
  return row.set("sentence", sentence).set("unknown", unknown_after(pair));
}

/// Why nothing can be decided, and what to do about it.
struct Reason {
  std::string why, remedy;
};

/// Why the type has no whole instance that was timed; nothing when it has one.
Reason why_none(const InstanceType& type) {
  if (type.epochs.empty()) {
    return {fmt::format("no epoch of {} was timed, only training steps alone", type.name),
            fmt::format("measure epochs of {} ([[epoch]])", type.name)};
  }
  std::set<int> parts;
  for (const ResultRow* const row : type.epochs) {
    if (is_timed(*row) && is_whole(*row)) return {};
    if (is_timed(*row)) parts.insert(static_cast<int>(number_in(*row, "ranks")));
  }
  const ResultRow& first = *type.epochs.front();
  const double each = number_in(first, "ranks_per_node");
  const std::string measure =
      fmt::format("measure {} on N = {}, a whole instance", type.name, each);
  for (const ResultRow* const row : type.epochs) {
    if (is_timed(*row) || (!is_whole(*row) && !parts.empty())) continue;
    if (row->get("origin") == "predicted") {
      return {row->get("note"), "a prediction for a type with more memory"};
    }
    return {fmt::format("{} on N = {} is {}: {}", type.name, row->get("ranks"), row->get("status"),
                        row->get("note")),
            measure};
  }
  return {
      fmt::format("of {} only N = {} was timed, no whole instance of {} {}", type.name,
                  fmt::join(parts, ", "), each, first.get("device") == "cpu" ? "ranks" : "GPUs"),
      measure};
}

/// What the type's whole instances trained.
std::string work_words(const InstanceType& type) {
  std::set<std::string> works;
  for (const ResultRow* const row : type.epochs) {
    if (is_timed(*row) && is_whole(*row)) works.insert(work_of(*row));
  }
  return fmt::format("{} trained {}", type.name, fmt::join(works, " and "));
}

std::vector<ResultRow> decide(const InstanceType& a, const InstanceType& b,
                              double startup_seconds) {
  Reason reason{fmt::format("{}; {}", work_words(a), work_words(b)),
                "time both on one model, data set, scaling and number of images (of an import: "
                "--set samples=IMAGES)"};
  for (const InstanceType* const type : {&b, &a}) {
    if (Reason none = why_none(*type); !none.why.empty()) reason = std::move(none);
  }
  std::vector<ResultRow> rows;
  std::set<const ResultRow*> done;
  for (const ResultRow* const first : a.epochs) {
    const auto is_like = [&](const ResultRow* row) {
      return is_timed(*row) && is_whole(*row) && may_meet(*first, *row);
    };
    Rows of_a, of_b;
    std::ranges::copy_if(a.epochs, std::back_inserter(of_a), is_like);
    std::ranges::copy_if(b.epochs, std::back_inserter(of_b), is_like);
    if (!is_like(first) || done.contains(first) || of_b.empty()) continue;
    done.insert(of_a.begin(), of_a.end());
    rows.push_back(decided({a, b, best_of(of_a), best_of(of_b)}, startup_seconds));
  }
  if (!rows.empty()) return rows;
  ResultRow row = described(a, b, *a.first, *b.first);
  row.set("status", "skipped").set("note", reason.why).set("unknown", reason.remedy);
  return {row.set("sentence",
                  fmt::format("{} or {} cannot be decided: {}", a.name, b.name, reason.why))};
}

}  // namespace

std::string workload_of(const ResultRow& row) {
  std::string text = row.get("model");
  for (const char* const column : {"dataset", "scaling"}) {
    if (!row.get(column).empty()) text += " " + row.get(column);
  }
  return text;
}

std::vector<ResultRow> decision_rows(const std::vector<std::vector<ResultRow>>& types,
                                     double startup_seconds) {
  std::vector<InstanceType> all;
  for (const std::vector<ResultRow>& costs : types) {
    if (costs.empty()) continue;
    InstanceType& type = all.emplace_back(costs.front().get("instance"));
    type.first = &costs.front();
    for (const ResultRow& row : costs) {
      if (!is_throughput(row)) type.epochs.push_back(&row);
    }
  }
  for (InstanceType& type : all) {
    const std::string& own = type.first->get("instance");
    const auto is_own = [&](const InstanceType& other) {
      return other.first->get("instance") == own;
    };
    if (std::ranges::count_if(all, is_own) < 2) continue;
    type.name = fmt::format("{} ({})", own, type.first->get("run_id"));
  }
  std::vector<ResultRow> rows;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = i + 1; k < all.size(); ++k) {
      std::ranges::move(decide(all[i], all[k], startup_seconds), std::back_inserter(rows));
    }
  }
  return rows;
}

bool all_decided(const std::vector<ResultRow>& decisions) {
  return !decisions.empty() && std::ranges::all_of(decisions, [](const ResultRow& row) {
    const std::string &faster = row.get("faster"), &cheaper = row.get("cheaper");
    if (row.get("status") != "ok" || cheaper.empty()) return false;
    const auto is_better = [](const std::string& side) { return side == "a" || side == "b"; };
    return (faster == "equal" && cheaper == "equal") || is_better(faster) || is_better(cheaper);
  });
}

}  // namespace scalebench
