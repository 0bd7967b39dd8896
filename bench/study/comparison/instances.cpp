// SPDX-License-Identifier: Apache-2.0
#include "bench/study/comparison/instances.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bench/record/csv.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

/// One row of a catalog that people write, each cell as what it has to be, or a UsageError with its
/// place and what is valid.
class CatalogRow {
 public:
  CatalogRow(const CsvTable& table, std::size_t row) : table_(table), row_(row) {}

  const std::string& text(std::string_view column) const { return table_.text(row_, column); }
  /// Of a column that a catalog need not have.
  std::string optional(std::string_view column) const {
    return table_.has(column) ? text(column) : std::string();
  }
  std::string required(std::string_view column, std::string_view valid) const {
    if (text(column).empty()) refuse(column, valid);
    return text(column);
  }
  int whole(std::string_view column, double least, double most) const {
    const double value = table_.number(row_, column);
    if (value >= least && value <= most && value == std::floor(value)) {
      return static_cast<int>(value);
    }
    refuse(column, fmt::format("a whole number from {} to {}", least, most));
  }
  double positive(std::string_view column, double most) const {
    const double value = table_.number(row_, column);
    if (value > 0 && value <= most) return value;
    refuse(column, fmt::format("a number above 0 and up to {}", most));
  }
  /// `otherwise` where the cell is empty or the column is not there.
  double positive_or(double otherwise, std::string_view column, double most) const {
    return optional(column).empty() ? otherwise : positive(column, most);
  }
  [[noreturn]] void refuse(std::string_view column, std::string_view valid) const {
    fail<UsageError>("{}: {}: '{}'; valid: {}", table_.place(row_, column), column, text(column),
                     valid);
  }

 private:
  const CsvTable& table_;
  std::size_t row_;
};

constexpr double kMostGpus = 1e4, kMostCores = 1e5, kMostUsd = 1e6, kMostGbps = 1e6;

Instance instance_in(const CatalogRow& row) {
  Instance instance;
  instance.name = row.required("name", "the type's name, as p3.8xlarge");
  instance.gpu_model = row.text("gpu_model");
  instance.gpus = row.whole("gpus", 0, kMostGpus);
  instance.vcpus = row.whole("vcpus", 1, kMostCores);
  if (!row.optional("currency").empty()) instance.currency = row.text("currency");
  instance.network_gbps = row.positive_or(std::nan(""), "network_gbps", kMostGbps);
  if (!row.optional("check_nodes").empty()) {
    instance.check = {row.whole("check_nodes", 1, kMostGpus), row.positive("check_bytes", 1e15),
                      row.positive("check_busbw_gb_per_s", 1e6),
                      row.required("check_source", "where the provider asks for that")};
  }
  instance.usd_per_hour = std::nan("");
  // A type without a price still says what is in it.
  if (row.text("usd_per_hour_on_demand").empty()) return instance;
  instance.usd_per_hour = row.positive("usd_per_hour_on_demand", kMostUsd);
  instance.price_date = row.required("price_date", "a date as 2026-07-20, or what is known");
  instance.price_source = row.required("price_source", "where the price was read");
  return instance;
}

}  // namespace

std::vector<Instance> read_instances(const std::filesystem::path& path) {
  const CsvTable table = CsvTable::read(path, LastLine::may_lack_its_end);
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

bool has_gpu(const Instance& instance, const std::string& gpu) {
  std::string code;  // "V100" of "NVIDIA V100 SXM2": the first word with a digit
  re2::RE2::PartialMatch(instance.gpu_model, R"(([^ ]*[0-9][^ ]*))", &code);
  return re2::RE2::PartialMatch(gpu, R"(\b)" + re2::RE2::QuoteMeta(code) + R"(\b)");
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
  row_named(catalog, &Instance::name, "instance", type);
  Instance& instance = *std::ranges::find(catalog, type, &Instance::name);
  instance.usd_per_hour = price;
  instance.price_date = today;
  instance.price_source = kUsersPrice;
}

}  // namespace scalebench
