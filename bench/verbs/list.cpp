// SPDX-License-Identifier: Apache-2.0
// scalebench list [KIND]: what there is to choose from, and the runs that were made.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <memory>

#include "bench/cli/choices.hpp"
#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/verbs/document.hpp"
#include "bench/verbs/listing.hpp"
#include "bench/verbs/study_setup.hpp"
#include "bench/verbs/verb.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct ListOptions {
  std::string kind;  // empty: all that this build knows by itself
  fs::path results = "results";
  bool as_json = false;
};

constexpr std::array<std::string_view, 8> kKinds{
    "models", "gradient-syncs", "algorithms", "transports",
    "dtypes", "instances",      "published",  "runs"};

Listing listing_of(std::string_view kind, const ListOptions& options) {
  if (kind == "models") return list_models();
  if (kind == "gradient-syncs") return list_gradient_syncs();
  if (kind == "algorithms") return list_algorithms();
  if (kind == "transports") return list_transports();
  if (kind == "dtypes") return list_dtypes();
  if (kind == "runs") return list_runs(options.results);
  return list_catalog(configs_folder() / fmt::format("{}.csv", kind));
}

/// Numbers as numbers, nothing as null.
json json_of(const std::string& cell) {
  if (cell.empty()) return nullptr;
  if (cell == "true" || cell == "false") return cell == "true";
  double number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  const bool whole = cell.find_first_not_of("0123456789") == std::string::npos;
  if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(number))
    return cell;
  return whole && cell.size() < 16 ? json(std::stoll(cell)) : json(number);
}

json json_of(const Listing& listing) {
  json things = json::array();
  for (const auto& row : listing.rows) {
    json& thing = things.emplace_back(json::object());
    for (std::size_t i = 0; i < row.size(); ++i) thing[listing.columns[i]] = json_of(row[i]);
  }
  return things;
}

ExitCode list_things(const ListOptions& options) {
  Console console(/*speaks=*/true, /*quiet=*/false);
  std::vector<std::string_view> kinds{kKinds.begin(), kKinds.begin() + 5};
  if (!options.kind.empty()) {
    require_known("kind", options.kind, kKinds);
    kinds = {options.kind};
  }
  json body = json::object();
  std::string text;
  for (const std::string_view kind : kinds) {
    const Listing listing = listing_of(kind, options);
    for (const std::string& remark : listing.remarks) console.warn(remark);
    body[std::string(kind)] = json_of(listing);
    if (kinds.size() > 1) text += fmt::format("{}# {}\n", text.empty() ? "" : "\n", kind);
    text += table_of(listing);
  }
  console.result(options.as_json ? document(std::move(body)) : text);
  return ExitCode::ok;
}

}  // namespace

void add_list(CLI::App& verb, Invocation& invocation) {
  const auto options = std::make_shared<ListOptions>();
  offer(verb.add_option("kind", options->kind,
                        "models, gradient-syncs, algorithms, transports, dtypes, instances, "
                        "published or runs; without it, the first five"),
        kKinds);
  verb.add_option("--results", options->results, "folder of the runs")
      ->capture_default_str()
      ->type_name("DIR");
  add_json_option(verb, options->as_json);
  verb.callback(
      [options, &invocation] { invocation.chosen = [options] { return list_things(*options); }; });
}

}  // namespace scalebench
