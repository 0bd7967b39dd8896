// SPDX-License-Identifier: Apache-2.0
#include "bench/study/comparison/cost.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "bench/cli/quantity.hpp"
#include "bench/record/csv.hpp"
#include "bench/study/analysis/rows.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr double kMostGpus = 1e4, kMostCores = 1e5, kMostUsd = 1e6, kMostGbps = 1e6, kMostGib = 1e5;

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
  instance.fp32_tflops_per_gpu = row.text("fp32_tflops_per_gpu").empty()
                                     ? std::nan("")
                                     : row.positive("fp32_tflops_per_gpu", kMostUsd);
  if (!row.optional("currency").empty()) instance.currency = row.text("currency");
  if (!row.optional("gpu_mem_gib").empty()) {
    instance.gpu_memory_gib = row.positive("gpu_mem_gib", kMostGib);
  }
  instance.usd_per_hour = std::nan("");
  // A type without a price still says what is in it.
  if (row.text("usd_per_hour_on_demand").empty()) return instance;
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
    if (instances.back().currency != instances.front().currency) {
      row.refuse("currency", fmt::format("one in all rows, as {}", instances.front().currency));
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

void set_price(std::vector<Instance>& catalog, const std::string& type, const std::string& text,
               const std::string& today) {
  const double price = read_number<double>(text).value_or(0);
  if (!(price > 0 && price <= kMostUsd)) {
    fail<UsageError>(
        "--price {}: '{}' is not a price; valid: what an hour costs with a decimal point, as "
        "12.24, above 0 and up to {}",
        type, text, kMostUsd);
  }
  instance_named(catalog, type);
  Instance& instance = *std::ranges::find(catalog, type, &Instance::name);
  if (instance.price_source == kUsersPrice) {
    fail<UsageError>("--price {}={}: it has a price already, {}", type, text,
                     instance.usd_per_hour);
  }
  instance.usd_per_hour = price;
  instance.price_date = today;
  instance.price_source = kUsersPrice;
}

namespace {

/// Whether the row is a training of all ranks together: what one would pay for.
bool is_training(const ResultRow& row) {
  const std::string& share = row.get("share_of");
  const std::string& sync = row.get("gradient_sync");
  const bool alone = row.get("ranks") == "1";
  return row.get("rank") == "all" && (share.empty() || share == "1") && sync != "barrier_only" &&
         (sync != "none" || alone);
}

/// Ranks that share a core or a device are on no instance that one could rent.
bool is_shared(const ResultRow& row) { return row.get("origin") == "emulated"; }

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

/// Whether the device's name has the code as a word: an L40S is no L4.
bool is_of_model(std::string_view device, std::string_view code) {
  const auto in_word = [&](std::size_t place) {
    return place < device.size() && std::isalnum(static_cast<unsigned char>(device[place])) != 0;
  };
  for (std::size_t at = device.find(code); at != device.npos; at = device.find(code, at + 1)) {
    if (!in_word(at - 1) && !in_word(at + code.size())) return true;
  }
  return false;
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

/// Throws where the row cannot be of such instances: another GPU, or more ranks on a node than one
/// holds. Names of devices are all that is known of them, and imports need not have any.
void require_possible(const ResultRow& row, const Instance& instance, int each) {
  const std::string code = model_code(instance.gpu_model);
  const std::string& device = row.get("device");
  if (device != "cpu" && !device.empty() && !code.empty() && !is_of_model(device, code)) {
    fail<UsageError>("--instance {}: {} was measured on '{}', and the type has {}", instance.name,
                     row.get("run_id"), device, instance.gpu_model);
  }
  const double nodes = number_in(row, "nodes");
  if (number_in(row, "ranks") > nodes * each) {
    fail<UsageError>("--instance {}: {} has N = {} on {} node{}, and one has room for {}",
                     instance.name, row.get("run_id"), row.get("ranks"), nodes,
                     nodes == 1 ? "" : "s", each);
  }
}

void say_device(ResultRow& cost, const ResultRow& row, const Instance& instance) {
  if (row.get("device") == "cpu") {
    const std::string& threads = row.get("threads");
    cost.add_note(fmt::format("CPU ranks: {} vCPU each", threads.empty() ? "1" : threads));
    if (instance.gpus > 0) cost.add_note("the instance's GPUs were not used");
  } else if (row.get("device").empty()) {
    cost.add_note(fmt::format("taken to be on the instance's {}: the rows name no device",
                              instance.gpu_model));
  }
}

/// A row with what both say, and the instances that are paid.
ResultRow priced_row(const PricedRun& run, const ResultRow& epoch) {
  const Instance& instance = run.instance;
  ResultRow row(cost_schema());
  for (const std::string& column : row.schema().columns) {
    if (column != "nodes" && epoch.schema().has(column)) row.set(column, epoch.get(column));
  }
  row.set("bench", epoch.schema().file.substr(0, epoch.schema().file.find('.')));
  const int each = ranks_per_node(instance, epoch);
  row.set("instance", instance.name).set("usd_per_hour", instance.usd_per_hour);
  row.set("price_date", instance.price_date).set("price_source", instance.price_source);
  row.set("currency", instance.currency);
  row.set("ranks_per_node", each);
  double nodes = std::ceil(number_in(epoch, "ranks") / each);
  const bool predicted = epoch.get("origin") == "predicted";
  if (!predicted) require_possible(epoch, instance, each);
  if (!predicted && epoch.get("status") == "ok") say_device(row, epoch, instance);
  if (const double real = number_in(epoch, "nodes"); !predicted && real > nodes) {
    row.add_note(fmt::format("{} nodes would do, {} were used and are charged", nodes, real));
    nodes = real;
  }
  return row.set("nodes", nodes).set("whole", number_in(epoch, "ranks") == nodes * each ? 1 : 0);
}

double usd_per_second(const ResultRow& cost) {
  return number_in(cost, "usd_per_hour") * number_in(cost, "nodes") / kSecondsAnHour;
}

void set_images(ResultRow& cost, double images_per_s) {
  constexpr double kMillion = 1e6;
  cost.set("images_per_s", images_per_s);
  cost.set("images_per_usd", images_per_s / usd_per_second(cost));
  cost.set("usd_per_million_images", kMillion * usd_per_second(cost) / images_per_s);
}

ResultRow cost_of_epoch(const PricedRun& run, const ResultRow& epoch) {
  ResultRow row = priced_row(run, epoch);
  row.set("images_per_s", "");
  if (epoch.get("status") != "ok") return row;
  const double each = usd_per_second(row), seconds = number_in(epoch, "seconds_median");
  set_images(row, number_in(epoch, "samples") / seconds);
  row.set("usd_per_epoch", each * seconds);
  row.set("usd_per_epoch_ci_low", each * number_in(epoch, "seconds_ci_low"));
  row.set("usd_per_epoch_ci_high", each * number_in(epoch, "seconds_ci_high"));
  return row.set("usd_to_target", each * number_in(epoch, "seconds_to_target"));
}

/// A step's seconds stay out: where others have those of an epoch they would be taken for one.
ResultRow cost_of_throughput(const PricedRun& run, const ResultRow& throughput) {
  ResultRow row = priced_row(run, throughput);
  for (const char* const column : {"seconds_median", "seconds_ci_low", "seconds_ci_high"}) {
    row.set(column, "");
  }
  const bool ok = throughput.get("status") == "ok";
  set_images(row, ok ? number_in(throughput, "images_per_s") : std::nan(""));
  return row;
}

}  // namespace

std::vector<ResultRow> cost_rows(const PricedRun& run) {
  std::vector<ResultRow> rows;
  for (const ResultRow& epoch : run.epochs) {
    if (is_training(epoch) && !is_shared(epoch)) rows.push_back(cost_of_epoch(run, epoch));
  }
  for (const ResultRow& row : run.throughput) {
    if (row.get("rank") == "all" && !is_shared(row)) rows.push_back(cost_of_throughput(run, row));
  }
  std::ranges::stable_sort(rows, {}, order_of);
  return rows;
}

namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

/// Weights, gradients and what the optimizer keeps beside each weight: the least that a rank holds.
double least_memory(const ResultRow& epoch) {
  constexpr std::array<std::string_view, 7> kWholeOptimizer{
      "none", "one_device", "mirrored", "multi_worker", "naive", "bucketed_overlap", "horovod"};
  const std::string &sync = epoch.get("gradient_sync"), &dtype = epoch.get("dtype");
  if (sync == "model_split") return std::nan("");  // a rank holds some of the layers
  const bool whole = std::ranges::find(kWholeOptimizer, sync) != kWholeOptimizer.end();
  const int kept = epoch.get("optimizer") == "adam" ? 2 : epoch.get("optimizer") == "sgd" ? 1 : 0;
  const double each = dtype == "double" ? 8 : dtype.empty() || dtype == "float" ? 4 : 2;
  return number_in(epoch, "parameters") * each * (2 + (whole ? kept : 0));
}

/// A predicted row that says what is known of memory; skipped where the model does not fit.
void say_memory(ResultRow& row, double bytes, const Instance& to) {
  if (std::isnan(bytes) || std::isnan(to.gpu_memory_gib)) {
    row.add_note("whether a GPU's memory holds it is not known");
  } else if (bytes > to.gpu_memory_gib * kGib) {
    row.set("status", "skipped").set("seconds_median", "").set("seconds_to_target", "");
    row.set("note", fmt::format("{} needs {:.3g} GiB or more of a GPU for weights, gradients and "
                                "optimizer, and one of {} has {:g} GiB",
                                row.get("model"), bytes / kGib, to.name, to.gpu_memory_gib));
  }
}

ResultRow predicted_row(const PricedRun& from, const ResultRow& measured, const Instance& to) {
  const double base = from.instance.fp32_tflops_per_gpu, other = to.fp32_tflops_per_gpu;
  ResultRow row = measured;
  row.set("origin", "predicted").set("device", to.gpu_model).set("nodes", "");
  for (const char* const column : {"seconds_median", "seconds_to_target"}) {
    row.set(column, number_in(measured, column) * base / other);
  }
  for (const char* const column : {"seconds_ci_low", "seconds_ci_high", "interval", "launches"}) {
    row.set(column, "");
  }
  row.set("note", fmt::format("{} of {} x {}/{} fp32 TFLOPS a GPU; links and network are not "
                              "looked at",
                              show_time(number_in(measured, "seconds_median")), from.instance.name,
                              base, other));
  say_memory(row, least_memory(measured), to);
  return row;
}

}  // namespace

PricedRun predicted(const PricedRun& from, const Instance& to) {
  for (const Instance* const instance : {&from.instance, &to}) {
    if (instance->gpus == 0 || std::isnan(instance->fp32_tflops_per_gpu)) {
      fail<UsageError>("--predict {}: the catalog has no fp32 TFLOPS of {}", to.name,
                       instance->name);
    }
  }
  PricedRun run{from.run_id, to, {}};
  for (const ResultRow& measured : from.epochs) {
    if (!is_training(measured) || is_shared(measured) || measured.get("status") != "ok") continue;
    if (measured.get("device") == "cpu") {
      fail<UsageError>("--predict {}: {} was measured on CPUs, of which TFLOPS of GPUs say nothing",
                       to.name, from.run_id);
    }
    run.epochs.push_back(predicted_row(from, measured, to));
  }
  return run;
}

void mark_efficient(std::vector<ResultRow>& costs) {
  const auto group = [](const ResultRow& row) {
    return std::array{row.get("bench"), row.get("model"), row.get("dataset"), row.get("scaling")};
  };
  const auto counts = [](const ResultRow& row) {
    return row.get("whole") == "1" && !row.get("images_per_usd").empty();
  };
  for (ResultRow& row : costs) {
    if (!counts(row)) continue;
    const double speed = number_in(row, "images_per_s"), value = number_in(row, "images_per_usd");
    const bool beaten = std::ranges::any_of(costs, [&](const ResultRow& other) {
      if (!counts(other) || group(other) != group(row)) return false;
      if (other.get("origin") != row.get("origin") && row.get("origin") != "predicted") {
        return false;
      }
      const double s = number_in(other, "images_per_s"), v = number_in(other, "images_per_usd");
      return s >= speed && v >= value && (s > speed || v > value);
    });
    row.set("efficient", beaten ? 0 : 1);
  }
}

}  // namespace scalebench
