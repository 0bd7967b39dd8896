// SPDX-License-Identifier: Apache-2.0
#include "bench/study/comparison/decision.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "bench/study/analysis/pairs.hpp"
#include "bench/study/comparison/cost.hpp"
#include "bench/study/comparison/instance_pair.hpp"

namespace scalebench {
namespace {

/// The members of an answer, in their order.
const Schema& answer() {
  static const Schema schema{
      "compare.json",
      ColumnNames("run_id$ case_id$ origin$ status$ note$ baseline_run$ question$ instance_a$ "
                  "instance_b$ model$ dataset$ scaling$ samples limit_usd limit_seconds "
                  "gradient_sync_a$ gradient_sync_b$ ranks_a ranks_b nodes_a nodes_b seconds_a "
                  "seconds_b time_ratio time_ratio_low time_ratio_high faster$ usd_a usd_b "
                  "usd_ratio usd_ratio_low usd_ratio_high cheaper$ equal_usd_per_hour sentence$ "
                  "unknown$")};
  return schema;
}

// Epochs whose images differ by more are other work.
constexpr double kSameWork = 0.01;

using Workload = std::tuple<std::string, std::string, std::string>;

Workload workload_of(const ResultRow& row) {
  return {row.get("model"), row.get("dataset"), row.get("scaling")};
}

std::string words_of(const Workload& workload) {
  const auto& [model, dataset, scaling] = workload;
  std::string text = model;
  for (const std::string& word : {dataset, scaling}) {
    if (!word.empty()) text += " " + word;
  }
  return text;
}

std::vector<Workload> workloads_of(const std::vector<ResultRow>& costs) {
  std::vector<Workload> found;
  for (const ResultRow& row : costs) {
    if (std::ranges::find(found, workload_of(row)) == found.end())
      found.push_back(workload_of(row));
  }
  return found;
}

std::string words_of(const std::vector<Workload>& workloads) {
  std::vector<std::string> words;
  for (const Workload& workload : workloads) words.push_back(words_of(workload));
  return fmt::format("{}", fmt::join(words, ", "));
}

using Rows = std::vector<const ResultRow*>;

bool is_whole(const ResultRow& row) { return row.get("whole") == "1"; }
bool is_timed(const ResultRow& row) { return row.get("status") == "ok" && seconds_of(row) > 0; }

/// The cheapest; of those within the floor of it the fastest.
const ResultRow* best_of(const Rows& rows) {
  double least = std::numeric_limits<double>::infinity();
  for (const ResultRow* const row : rows) least = std::min(least, instance_seconds(*row));
  const ResultRow* best = nullptr;
  for (const ResultRow* const row : rows) {
    if (instance_seconds(*row) > least * (1 + kFloor)) continue;
    if (best == nullptr || seconds_of(*row) < seconds_of(*best)) best = row;
  }
  return best;
}

/// The one with the least `value` among those with `limited` up to `limit`; null when there is
/// none.
const ResultRow* least_within(const Rows& rows, double (*value)(const ResultRow&),
                              double (*limited)(const ResultRow&), double limit) {
  const ResultRow* found = nullptr;
  for (const ResultRow* const row : rows) {
    if (!(limited(*row) <= limit)) continue;
    if (found == nullptr || value(*row) < value(*found)) found = row;
  }
  return found;
}

ResultRow described(std::string_view question, const ResultRow& a, const ResultRow& b) {
  ResultRow row(answer());
  row.set("run_id", b.get("run_id"));
  row.set("case_id", b.get("case_id")).set("origin", b.get("origin")).set("status", "ok");
  if (a.get("origin") == "predicted") row.set("origin", "predicted");
  row.set("baseline_run", a.get("run_id")).set("question", question);
  row.set("instance_a", a.get("instance")).set("instance_b", b.get("instance"));
  for (const char* const column : {"model", "dataset", "scaling"}) row.set(column, a.get(column));
  return row;
}

ResultRow answered(std::string_view question, const InstancePair& pair) {
  ResultRow row = described(question, pair.a, pair.b);
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
  // The same images may still be trained on in another way.
  std::vector<std::string> differences;
  for (const char* const column : {"dtype", "global_batch"}) {
    const std::string &of_a = pair.a.get(column), &of_b = pair.b.get(column);
    if (of_a == of_b) continue;
    differences.push_back(fmt::format("{} {} against {}", column, of_a.empty() ? "unknown" : of_a,
                                      of_b.empty() ? "unknown" : of_b));
  }
  row.set("note", fmt::format("{}", fmt::join(differences, ", ")));
  return row;
}

ResultRow best_row(const InstancePair& pair) {
  ResultRow row = answered("best", pair);
  if (pair.usd.told()) {
    row.set("equal_usd_per_hour", pair.equal_price(other_side(pair.usd.verdict())));
  }
  return row.set("sentence", best_sentence(pair)).set("unknown", unknown_after(pair));
}

/// The answers at an equal budget and at an equal deadline, where they are not those of the best.
void add_limited(std::vector<ResultRow>& rows, const InstancePair& best) {
  for (const bool is_budget : {true, false}) {
    if (!(is_budget ? best.usd : best.time).told() || best.usd.verdict().empty()) continue;
    const auto limited = is_budget ? usd_of : seconds_of;
    const auto value = is_budget ? seconds_of : usd_of;
    const double of_a = limited(best.a), of_b = limited(best.b);
    const double limit = is_budget ? std::max(of_a, of_b) : std::min(of_a, of_b);
    const ResultRow* const a = least_within(best.type_a.rows, value, limited, limit);
    const ResultRow* const b = least_within(best.type_b.rows, value, limited, limit);
    if (a == nullptr || b == nullptr || (a == &best.a && b == &best.b)) continue;
    const InstancePair pair{best.type_a, best.type_b, *a, *b};
    ResultRow row = answered(is_budget ? "budget" : "deadline", pair);
    row.set(is_budget ? "limit_usd" : "limit_seconds", limit);
    row.set("sentence", is_budget ? budget_sentence(pair, limit) : deadline_sentence(pair, limit));
    rows.push_back(std::move(row));
  }
}

/// Why nothing can be decided, and what to do about it.
struct Reason {
  std::string why, remedy;
  std::string unfit{};  // the type that cannot be chosen for that reason
};

ResultRow undecided(const InstanceType& a, const InstanceType& b, const Reason& reason) {
  ResultRow row = described("best", *a.rows.front(), *b.rows.front());
  row.set("status", "skipped").set("note", reason.why).set("unknown", reason.remedy);
  return row.set("sentence",
                 reason.unfit.empty()
                     ? fmt::format("{} or {} cannot be decided: {}", a.name, b.name, reason.why)
                     : fmt::format("{} is no choice: {}", reason.unfit, reason.why));
}

std::string list_of_n(const Rows& rows) {
  std::set<int> ranks;
  for (const ResultRow* const row : rows) {
    ranks.insert(static_cast<int>(number_in(*row, "ranks")));
  }
  return fmt::format("N = {}", fmt::join(ranks, ", "));
}

/// Why the type has no whole instance that was timed; nothing when it has one.
std::optional<Reason> why_none(const InstanceType& type) {
  Rows parts, failed;
  for (const ResultRow* const row : type.rows) {
    if (is_timed(*row) && is_whole(*row)) return std::nullopt;
    (is_timed(*row) ? parts : failed).push_back(row);
  }
  const ResultRow& first = *type.rows.front();
  const double each = number_in(first, "ranks_per_node");
  const std::string measure =
      fmt::format("measure {} on N = {}, a whole instance", type.name, each);
  for (const ResultRow* const row : failed) {
    if (!is_whole(*row) && !parts.empty()) continue;
    if (row->get("origin") == "predicted") {
      return Reason{row->get("note"), "a prediction for a type with more memory", type.name};
    }
    return Reason{fmt::format("{} on N = {} is {}: {}", type.name, row->get("ranks"),
                              row->get("status"), row->get("note")),
                  measure};
  }
  return Reason{
      fmt::format("of {} only {} was timed, no whole instance of {} {}", type.name,
                  list_of_n(parts), each, first.get("device") == "cpu" ? "ranks" : "GPUs"),
      measure};
}

/// The whole instances that were timed, of one origin.
InstanceType whole_of(const InstanceType& type, const std::string& origin) {
  InstanceType whole{type.name};
  for (const ResultRow* const row : type.rows) {
    if (is_whole(*row) && is_timed(*row) && row->get("origin") == origin) whole.rows.push_back(row);
  }
  return whole;
}

std::set<std::string> origins_of(const InstanceType& type) {
  std::set<std::string> origins;
  for (const ResultRow* const row : type.rows) {
    if (is_whole(*row) && is_timed(*row)) origins.insert(row->get("origin"));
  }
  return origins;
}

bool may_meet(const std::string& a, const std::string& b) {
  return a != "emulated" && b != "emulated" && (a == b || a == "predicted" || b == "predicted");
}

bool same_work(double a, double b) { return std::abs(a / b - 1) <= kSameWork; }

InstanceType of_work(const InstanceType& type, double samples) {
  InstanceType same{type.name};
  for (const ResultRow* const row : type.rows) {
    if (same_work(number_in(*row, "samples"), samples)) same.rows.push_back(row);
  }
  return same;
}

Reason why_other_work(const InstanceType& a, const InstanceType& b) {
  for (const InstanceType* const type : {&a, &b}) {
    if (!type->rows.front()->get("samples").empty()) continue;
    return {fmt::format("how many images an epoch of {} has is not known", type->name),
            "import it with --set samples=IMAGES"};
  }
  return {fmt::format("an epoch of {} has {} images, of {} {}", a.name,
                      a.rows.front()->get("samples"), b.name, b.rows.front()->get("samples")),
          "time both on the same images"};
}

/// Both types on one workload.
std::vector<ResultRow> decide(const InstanceType& a, const InstanceType& b) {
  for (const InstanceType* const type : {&a, &b}) {
    if (const auto reason = why_none(*type)) return {undecided(a, b, *reason)};
  }
  std::vector<ResultRow> rows;
  bool met = false;
  std::optional<Reason> other_work;
  for (const std::string& origin_a : origins_of(a)) {
    for (const std::string& origin_b : origins_of(b)) {
      if (!may_meet(origin_a, origin_b)) continue;
      met = true;
      const InstanceType of_a = whole_of(a, origin_a), of_b = whole_of(b, origin_b);
      std::vector<double> done;
      for (const ResultRow* const row : of_a.rows) {
        const double samples = number_in(*row, "samples");
        const auto is_it = [&](double before) { return same_work(before, samples); };
        if (std::ranges::any_of(done, is_it)) continue;
        const InstanceType same_a = of_work(of_a, samples), same_b = of_work(of_b, samples);
        if (same_a.rows.empty() || same_b.rows.empty()) continue;
        done.push_back(samples);
        const InstancePair best{same_a, same_b, *best_of(same_a.rows), *best_of(same_b.rows)};
        rows.push_back(best_row(best));
        add_limited(rows, best);
      }
      if (done.empty()) other_work = why_other_work(of_a, of_b);
    }
  }
  if (!rows.empty()) return rows;
  if (met) return {undecided(a, b, *other_work)};
  return {undecided(a, b,
                    {fmt::format("{} is {}, {} is {}", a.name, fmt::join(origins_of(a), " and "),
                                 b.name, fmt::join(origins_of(b), " and ")),
                     "times of one origin of both, and none of ranks that share a device"})};
}

InstanceType type_of(const std::vector<ResultRow>& costs, const std::vector<ResultRow>& others) {
  const ResultRow& first = costs.front();
  const bool same = first.get("instance") == others.front().get("instance");
  return {same ? fmt::format("{} ({})", first.get("instance"), first.get("run_id"))
               : first.get("instance")};
}

/// Where one side has training steps alone: that these say nothing of an epoch.
std::vector<ResultRow> without_epochs(const std::vector<ResultRow>& a,
                                      const std::vector<ResultRow>& b) {
  std::vector<std::string> names;
  if (std::ranges::all_of(a, is_throughput)) names.push_back(type_of(a, b).name);
  if (std::ranges::all_of(b, is_throughput)) names.push_back(type_of(b, a).name);
  if (names.empty()) return {};
  InstanceType type_a = type_of(a, b), type_b = type_of(b, a);
  type_a.rows = {&a.front()};
  type_b.rows = {&b.front()};
  const std::string of = fmt::format("{}", fmt::join(names, " and "));
  return {undecided(type_a, type_b,
                    {fmt::format("no epoch of {} was timed, only training steps alone", of),
                     fmt::format("measure epochs of {} ([[epoch]])", of)})};
}

}  // namespace

std::vector<ResultRow> decision_rows(std::vector<ResultRow> a, std::vector<ResultRow> b) {
  if (a.empty() || b.empty()) return {};
  if (auto rows = without_epochs(a, b); !rows.empty()) return rows;
  for (std::vector<ResultRow>* const costs : {&a, &b}) std::erase_if(*costs, is_throughput);
  std::vector<ResultRow> rows;
  const std::vector<Workload> of_b = workloads_of(b);
  for (const Workload& workload : workloads_of(a)) {
    if (std::ranges::find(of_b, workload) == of_b.end()) continue;
    InstanceType type_a = type_of(a, b), type_b = type_of(b, a);
    for (const auto& [costs, type] : {std::pair(&a, &type_a), {&b, &type_b}}) {
      for (const ResultRow& row : *costs) {
        if (workload_of(row) == workload) type->rows.push_back(&row);
      }
    }
    std::ranges::move(decide(type_a, type_b), std::back_inserter(rows));
  }
  if (!rows.empty()) return rows;
  InstanceType type_a = type_of(a, b), type_b = type_of(b, a);
  type_a.rows = {&a.front()};
  type_b.rows = {&b.front()};
  return {undecided(type_a, type_b,
                    {fmt::format("{} trained {}, {} {}", type_a.name, words_of(workloads_of(a)),
                                 type_b.name, words_of(of_b)),
                     "time both on one model, data set and scaling"})};
}

bool all_decided(const std::vector<ResultRow>& decisions) {
  return !decisions.empty() && std::ranges::all_of(decisions, [](const ResultRow& row) {
    if (row.get("question") != "best") return true;
    const std::string &faster = row.get("faster"), &cheaper = row.get("cheaper");
    if (row.get("status") != "ok" || cheaper.empty()) return false;
    const auto is_better = [](const std::string& side) { return side == "a" || side == "b"; };
    return (faster == "equal" && cheaper == "equal") || is_better(faster) || is_better(cheaper);
  });
}

std::vector<std::string> sentences_of(const std::vector<ResultRow>& decisions) {
  std::set<Workload> workloads;
  for (const ResultRow& row : decisions) workloads.insert(workload_of(row));
  std::vector<std::string> sentences;
  for (const ResultRow& row : decisions) {
    const std::string before =
        workloads.size() > 1 ? words_of(workload_of(row)) + ": " : std::string();
    std::string note = row.get("status") == "ok" ? row.get("note") : "";
    if (!note.empty()) note = fmt::format(" ({})", note);
    sentences.push_back(fmt::format("{}{}{}.", before, row.get("sentence"), note));
    if (row.get("unknown").empty()) continue;
    const char* const lead = row.get("status") == "ok" ? "Not known" : "What would help";
    sentences.push_back(fmt::format("{}{}: {}.", before, lead, row.get("unknown")));
  }
  return sentences;
}

}  // namespace scalebench
