// SPDX-License-Identifier: Apache-2.0
#include "bench/study/comparison/cost.hpp"

#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "bench/record/csv.hpp"
#include "bench/study/analysis/rows.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr double kMostGpus = 1e4, kMostCores = 1e5, kMostUsd = 1e6, kMostGbps = 1e6;

/// One row of the catalog, with the place for what is wrong in it.
class CatalogRow {
 public:
  CatalogRow(const CsvTable& table, std::size_t row) : table_(table), row_(row) {}

  const std::string& text(std::string_view column) const { return table_.text(row_, column); }
  double number(std::string_view column) const { return table_.number(row_, column); }
  /// Of a column that a catalog need not have.
  std::string optional(std::string_view column) const {
    return table_.has(column) ? text(column) : std::string();
  }

  [[noreturn]] void refuse(std::string_view column, std::string_view valid) const {
    fail<UsageError>("{}: {}: '{}'; valid: {}", table_.place(row_, column), column, text(column),
                     valid);
  }
  std::string required(std::string_view column, std::string_view valid) const {
    if (text(column).empty()) refuse(column, valid);
    return text(column);
  }
  int whole(std::string_view column, double least, double most) const {
    const double value = number(column);
    if (!(value >= least && value <= most) || value != std::floor(value)) {
      refuse(column, fmt::format("a whole number from {} to {}", least, most));
    }
    return static_cast<int>(value);
  }
  double positive(std::string_view column, double most) const {
    const double value = number(column);
    if (!(value > 0 && value <= most)) {
      refuse(column, fmt::format("a number above 0 and up to {}", most));
    }
    return value;
  }

 private:
  const CsvTable& table_;
  std::size_t row_;
};

std::string date_in(const CatalogRow& row) {
  static const re2::RE2 kDate(R"(\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])|undated .+)");
  if (!re2::RE2::FullMatch(row.text("price_date"), kDate)) {
    row.refuse("price_date", "a date as 2026-07-20, or 'undated' and what is known");
  }
  return row.text("price_date");
}

Instance instance_in(const CatalogRow& row) {
  Instance instance;
  instance.name = row.required("name", "the type's name, as p3.8xlarge");
  instance.gpu_model = row.text("gpu_model");
  instance.gpus = row.whole("gpus", 0, kMostGpus);
  instance.vcpus = row.whole("vcpus", 1, kMostCores);
  instance.network_gbps =
      row.optional("network_gbps").empty() ? std::nan("") : row.positive("network_gbps", kMostGbps);
  instance.interconnect = row.optional("interconnect");
  instance.fp32_tflops_per_gpu = row.text("fp32_tflops_per_gpu").empty()
                                     ? std::nan("")
                                     : row.positive("fp32_tflops_per_gpu", kMostUsd);
  instance.usd_per_hour = row.positive("usd_per_hour_on_demand", kMostUsd);
  instance.price_date = date_in(row);
  instance.price_source = row.required("price_source", "where the price was read");
  return instance;
}

}  // namespace

std::vector<Instance> read_instances(const std::filesystem::path& path) {
  const CsvTable table = CsvTable::read(path);
  if (table.torn()) {
    fail<UsageError>("{}: the last line does not end: cut short? Valid: a newline after each row",
                     path.string());
  }
  std::vector<Instance> instances;
  std::set<std::string> names;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const CatalogRow row(table, i);
    instances.push_back(instance_in(row));
    if (!names.insert(instances.back().name).second) {
      row.refuse("name", "each instance type once");
    }
  }
  if (instances.empty()) fail<UsageError>("{}:2:1: no instance type", path.string());
  return instances;
}

const Instance& instance_named(const std::vector<Instance>& instances, std::string_view name) {
  const auto found = std::ranges::find(instances, name, &Instance::name);
  if (found != instances.end()) return *found;
  std::vector<std::string_view> names;
  for (const Instance& instance : instances) names.push_back(instance.name);
  fail<UsageError>("{}", unknown_name("instance", name, names));
}

namespace {

// Epochs whose images differ by more are other work.
constexpr double kSameWork = 0.01;

/// What of a strategy is compared; N = 1 of every strategy is one_device's.
struct Strategy {
  std::string model, gradient_sync, dataset, scaling;
  auto operator<=>(const Strategy&) const = default;
};

Strategy strategy_of(const ResultRow& row) {
  return {row.get("model"), row.get("gradient_sync"), row.get("dataset"), row.get("scaling")};
}

/// The best row of each N by one column.
using Curve = std::map<int, const ResultRow*>;

std::set<Strategy> strategies_of(const std::vector<ResultRow>& costs) {
  std::set<Strategy> several, one_device;
  for (const ResultRow& row : costs) {
    const std::string& sync = row.get("gradient_sync");
    if (row.get("status") != "ok" || sync == "none") continue;
    (sync == "one_device" ? one_device : several).insert(strategy_of(row));
  }
  return several.empty() ? one_device : several;
}

Curve curve_of(const std::vector<ResultRow>& costs, const Strategy& strategy,
               std::string_view column) {
  Curve curve;
  for (const ResultRow& row : costs) {
    const int ranks = static_cast<int>(number_in(row, "ranks"));
    Strategy its = strategy_of(row);
    const bool base = its.gradient_sync == "one_device" && ranks == 1;
    if (base) its.gradient_sync = strategy.gradient_sync;
    if (row.get("status") != "ok" || its != strategy) continue;
    const ResultRow*& best = curve[ranks];
    if (best == nullptr || number_in(row, column) < number_in(*best, column)) best = &row;
  }
  return curve;
}

bool same_work(const ResultRow& a, const ResultRow& b) {
  return std::abs(number_in(a, "samples") / number_in(b, "samples") - 1) <= kSameWork;
}

/// Whether the intervals of that column meet; unknown ones do not.
bool overlap(const ResultRow& a, const ResultRow& b, const std::string& column) {
  const std::string stem = column == "seconds_median" ? "seconds" : column;
  return number_in(b, stem + "_ci_high") >= number_in(a, stem + "_ci_low");
}

std::string origin_of(const ResultRow& a, const ResultRow& b) {
  const std::string &of_a = a.get("origin"), &of_b = b.get("origin");
  if (of_a == of_b) return of_a;
  return of_a == "predicted" || of_b == "predicted" ? "predicted" : "";
}

ResultRow break_even(const Strategy& strategy, const Curve& a, const Curve& b,
                     const std::string& column) {
  ResultRow row(break_even_schema());
  const ResultRow &any_a = *a.begin()->second, &any_b = *b.begin()->second;
  row.set("schema_version", kSchemaVersion).set("run_id", any_b.get("run_id"));
  row.set("case_id", any_b.get("case_id")).set("origin", any_b.get("origin")).set("status", "ok");
  row.set("baseline_run", any_a.get("run_id")).set("instance_a", any_a.get("instance"));
  row.set("instance_b", any_b.get("instance")).set("model", strategy.model);
  row.set("gradient_sync", strategy.gradient_sync).set("dataset", strategy.dataset);
  row.set("scaling", strategy.scaling);
  row.set("criterion", column == "seconds_median" ? "seconds" : column);
  std::vector<int> compared;
  for (const auto& [ranks, of_a] : a) {
    const auto found = b.find(ranks);
    if (found == b.end() || !same_work(*of_a, *found->second)) continue;
    const ResultRow& of_b = *found->second;
    if (origin_of(*of_a, of_b).empty()) continue;
    row.set("origin", origin_of(*of_a, of_b));
    compared.push_back(ranks);
    const bool found_before = !row.get("ranks").empty();
    if (found_before) continue;
    row.set("value_a", number_in(*of_a, column)).set("value_b", number_in(of_b, column));
    if (!(number_in(of_b, column) < number_in(*of_a, column))) continue;
    row.set("ranks", ranks);
    if (overlap(*of_a, of_b, column)) row.set("note", "their intervals overlap there");
  }
  row.set("ranks_compared", fmt::format("{}", fmt::join(compared, ";")));
  if (compared.empty())
    return row.set("status", "skipped").set("note", "no N with the same work and origin in common");
  if (row.get("ranks").empty()) row.set("note", "never within the measured N");
  return row;
}

}  // namespace

std::vector<ResultRow> break_even_rows(const std::vector<ResultRow>& a,
                                       const std::vector<ResultRow>& b) {
  std::vector<ResultRow> rows;
  for (const Strategy& strategy : strategies_of(a)) {
    for (const char* const column : {"usd_per_epoch", "seconds_median"}) {
      const Curve of_a = curve_of(a, strategy, column), of_b = curve_of(b, strategy, column);
      if (!of_a.empty() && !of_b.empty()) rows.push_back(break_even(strategy, of_a, of_b, column));
    }
  }
  return rows;
}

namespace {

constexpr double kSecondsAnHour = 3600;

/// Whether the row is a training of all ranks together: what one would pay for.
bool is_training(const ResultRow& row) {
  const std::string share = row.get("share_of"), sync = row.get("gradient_sync");
  const bool alone = row.get("ranks") == "1";
  return row.get("rank") == "all" && (share.empty() || share == "1") && sync != "barrier_only" &&
         (sync != "none" || alone);
}

void add_note(ResultRow& row, std::string_view text) {
  const std::string& note = row.get("note");
  row.set("note", note.empty() ? std::string(text) : fmt::format("{}; {}", note, text));
}

/// "V100" of "NVIDIA V100 SXM2": the first word with a digit.
std::string model_code(const std::string& gpu_model) {
  std::string word;
  for (const char c : gpu_model + " ") {
    if (c != ' ') {
      word += c;
    } else if (word.find_first_of("0123456789") != std::string::npos) {
      return word;
    } else {
      word.clear();
    }
  }
  return "";
}

int ranks_per_node(const Instance& instance, const ResultRow& row) {
  if (row.get("device") != "cpu") {
    if (instance.gpus > 0) return instance.gpus;
    fail<UsageError>("--instance {}: it has no GPU, and {} was measured on '{}'", instance.name,
                     row.get("run_id"), row.get("device"));
  }
  const double threads = std::max(1.0, number_in(row, "threads"));
  const int ranks = static_cast<int>(instance.vcpus / threads);
  if (ranks > 0) return ranks;
  fail<UsageError>("--instance {}: its {} vCPUs do not hold one rank of {} threads", instance.name,
                   instance.vcpus, threads);
}

void note_device(ResultRow& cost, const ResultRow& epoch, const Instance& instance) {
  const std::string& device = epoch.get("device");
  if (device == "cpu") {
    add_note(cost, fmt::format("CPU ranks: {} vCPU each", epoch.get("threads")));
    if (instance.gpus > 0) add_note(cost, "the instance's GPUs were not used");
    return;
  }
  const std::string code = model_code(instance.gpu_model);
  if (!code.empty() && device.find(code) == std::string::npos) {
    add_note(cost,
             fmt::format("measured on '{}', not on the instance's {}", device, instance.gpu_model));
  }
}

ResultRow cost_row(const PricedRun& run, const ResultRow& epoch) {
  const Instance& instance = run.instance;
  ResultRow row(cost_schema());
  for (const std::string& column : row.schema().columns) {
    const bool follows = column == "nodes" || column == "images_per_s";
    if (!follows && epoch.schema().has(column)) row.set(column, epoch.get(column));
  }
  const int each = ranks_per_node(instance, epoch);
  row.set("instance", instance.name).set("usd_per_hour", instance.usd_per_hour);
  row.set("price_date", instance.price_date).set("price_source", instance.price_source);
  row.set("ranks_per_node", each);
  double nodes = std::ceil(number_in(epoch, "ranks") / each);
  const bool predicted = epoch.get("origin") == "predicted";
  if (!predicted) note_device(row, epoch, instance);
  if (const double real = number_in(epoch, "nodes"); !predicted && real > nodes) {
    add_note(row, fmt::format("{} nodes would do, {} were used and are charged", nodes, real));
    nodes = real;
  }
  row.set("nodes", nodes);
  if (epoch.get("status") != "ok") return row;
  const double usd_per_second = instance.usd_per_hour * nodes / kSecondsAnHour;
  const double seconds = number_in(epoch, "seconds_median");
  const double samples = number_in(epoch, "samples");
  row.set("images_per_s", samples / seconds);
  row.set("usd_per_epoch", usd_per_second * seconds);
  row.set("usd_per_epoch_ci_low", usd_per_second * number_in(epoch, "seconds_ci_low"));
  row.set("usd_per_epoch_ci_high", usd_per_second * number_in(epoch, "seconds_ci_high"));
  row.set("images_per_usd", samples / (usd_per_second * seconds));
  return row.set("usd_to_target", usd_per_second * number_in(epoch, "seconds_to_target"));
}

}  // namespace

std::vector<ResultRow> cost_rows(const PricedRun& run) {
  std::vector<ResultRow> rows;
  for (const ResultRow& epoch : run.epochs) {
    if (is_training(epoch)) rows.push_back(cost_row(run, epoch));
  }
  std::ranges::stable_sort(rows, {}, order_of);
  return rows;
}

PricedRun predicted(const PricedRun& from, const Instance& to) {
  const double base = from.instance.fp32_tflops_per_gpu, other = to.fp32_tflops_per_gpu;
  for (const Instance* const instance : {&from.instance, &to}) {
    if (instance->gpus == 0 || std::isnan(instance->fp32_tflops_per_gpu)) {
      fail<UsageError>("--predict {}: the catalog has no fp32 TFLOPS of {}", to.name,
                       instance->name);
    }
  }
  PricedRun run{from.run_id, to, {}};
  for (const ResultRow& measured : from.epochs) {
    if (!is_training(measured) || measured.get("status") != "ok") continue;
    if (measured.get("device") == "cpu") {
      fail<UsageError>("--predict {}: {} was measured on CPUs, of which TFLOPS of GPUs say nothing",
                       to.name, from.run_id);
    }
    ResultRow row = measured;
    row.set("origin", "predicted").set("device", to.gpu_model).set("nodes", "");
    for (const char* const column : {"seconds_median", "seconds_to_target"}) {
      row.set(column, number_in(measured, column) * base / other);
    }
    for (const char* const column : {"seconds_ci_low", "seconds_ci_high", "interval", "launches"}) {
      row.set(column, "");
    }
    row.set("note",
            fmt::format("{:.4g} s of {} x {}/{} fp32 TFLOPS a GPU; memory, links and network "
                        "are not looked at",
                        number_in(measured, "seconds_median"), from.instance.name, base, other));
    run.epochs.push_back(std::move(row));
  }
  return run;
}

void mark_efficient(std::vector<ResultRow>& costs) {
  const auto group = [](const ResultRow& row) {
    return std::array{row.get("model"), row.get("dataset"), row.get("scaling"), row.get("origin")};
  };
  for (ResultRow& row : costs) {
    if (row.get("images_per_usd").empty()) continue;
    const double speed = number_in(row, "images_per_s"), value = number_in(row, "images_per_usd");
    const bool beaten = std::ranges::any_of(costs, [&](const ResultRow& other) {
      const double s = number_in(other, "images_per_s"), v = number_in(other, "images_per_usd");
      return group(other) == group(row) && s >= speed && v >= value && (s > speed || v > value);
    });
    row.set("efficient", beaten ? 0 : 1);
  }
}

}  // namespace scalebench
