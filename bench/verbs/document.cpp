// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/document.hpp"

#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

namespace scalebench {
namespace {

using nlohmann::json;

/// Names and texts, which stay texts where they look like numbers; the rest are numbers or null.
bool is_text(std::string_view column) {
  static const std::set<std::string_view> texts{
      "run_id",       "case_id",          "origin",         "status",     "note",
      "baseline_run", "letter",           "bench",          "family",     "label",
      "differs",      "verdict",          "instance",       "price_date", "price_source",
      "model",        "allreduce",        "transport",      "device",     "dtype",
      "dataset",      "gradient_sync",    "scaling",        "interval",   "criterion",
      "instance_a",   "instance_b",       "ranks_compared", "kind",       "link",
      "what_if",      "calibrated_ranks", "curve"};
  return texts.contains(column);
}

}  // namespace

json json_of(const ResultRow& row) {
  json object = json::object();
  const auto& columns = row.schema().columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& cell = row.cells()[i];
    if (is_text(columns[i])) {
      object[columns[i]] = cell;
      continue;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    const bool number = error == std::errc() && end == cell.data() + cell.size();
    const bool whole = number && value == std::floor(value) && std::abs(value) < 1e15;
    object[columns[i]] = !number ? json() : whole ? json(std::llround(value)) : json(value);
  }
  return object;
}

void add_json_option(CLI::App& verb, bool& as_json) {
  verb.add_flag("--json", as_json, "one JSON document on stdout instead of text");
}

std::string document(nlohmann::json body) {
  body["schema_version"] = kSchemaVersion;
  return body.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace scalebench
