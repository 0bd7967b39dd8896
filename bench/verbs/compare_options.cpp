// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/compare_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "bench/cli/command_line.hpp"
#include "bench/verbs/study_setup.hpp"
#include "kernels/error.hpp"
#include "kernels/unknown_name.hpp"

namespace scalebench {
namespace {

constexpr double kMostUsdAnHour = 1e6;

std::string name_of(const std::filesystem::path& run) {
  std::error_code ignored;
  return std::filesystem::weakly_canonical(run, ignored).filename().string();
}

double price_of(const Assignment& given) {
  double price = 0;
  const char* const end = given.value.data() + given.value.size();
  const auto [stop, error] = std::from_chars(given.value.data(), end, price);
  if (error == std::errc() && stop == end && price > 0 && price <= kMostUsdAnHour) return price;
  fail<UsageError>(
      "--price {}: '{}' is not a price; valid: US dollars an hour with a decimal point, as 12.24, "
      "above 0 and up to {}",
      given.name, given.value, kMostUsdAnHour);
}

}  // namespace

Assignment split_assignment(std::string_view option, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    fail<UsageError>("{} '{}': valid: NAME=VALUE", option, text);
  }
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

std::size_t run_named(std::string_view option, std::string_view name,
                      const std::vector<std::filesystem::path>& runs) {
  if (name.size() == 1 && name[0] >= 'A' && static_cast<std::size_t>(name[0] - 'A') < runs.size()) {
    return static_cast<std::size_t>(name[0] - 'A');
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < runs.size(); ++i) names.emplace_back(1, static_cast<char>('A' + i));
  for (const auto& run : runs) names.push_back(name_of(run));
  const auto first = std::ranges::find(names, name);
  if (first != names.end() && std::count(first, names.end(), name) == 1) {
    return static_cast<std::size_t>(first - names.begin()) % runs.size();
  }
  if (first != names.end())
    fail<UsageError>("{}: two runs are called '{}'; use A, B", option, name);
  const std::vector<std::string_view> valid(names.begin(), names.end());
  fail<UsageError>("{}: {}", option, unknown_name("run", name, valid));
}

WhereClause where_of(std::string_view text, const std::vector<std::filesystem::path>& runs) {
  const Assignment given = split_assignment("--where", text);
  WhereClause where;
  where.values = split_list("--where", given.value);
  const std::size_t colon = given.name.find(':');
  if (colon != std::string::npos) {
    where.run = run_named("--where", given.name.substr(0, colon), runs);
  }
  where.column = colon == std::string::npos ? given.name : given.name.substr(colon + 1);
  return where;
}

std::vector<Instance> catalog_of(const CompareOptions& options, const std::string& today) {
  const std::filesystem::path own = scripts_folder().parent_path() / "configs" / "instances.csv";
  std::vector<Instance> catalog = read_instances(options.catalog.empty() ? own : options.catalog);
  for (const std::string& text : options.prices) {
    const Assignment given = split_assignment("--price", text);
    const double price = price_of(given);
    instance_named(catalog, given.name);
    Instance& instance = *std::ranges::find(catalog, given.name, &Instance::name);
    instance.usd_per_hour = price;
    instance.price_date = today;
    instance.price_source = kUsersPrice;
  }
  return catalog;
}

}  // namespace scalebench
