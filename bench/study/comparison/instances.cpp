// SPDX-License-Identifier: Apache-2.0
#include "bench/study/comparison/instances.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bench/record/csv.hpp"
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

}  // namespace scalebench
