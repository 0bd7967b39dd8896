// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/google_benchmark.hpp"

#include <fmt/format.h>

#include <cmath>

#include "bench/study/import/foreign_text.hpp"
#include "bench/study/import/settings.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

using nlohmann::json;

ImportedCase case_of(const json& entry, const std::string& file, const Settings& settings) {
  ImportedCase one{ResultRow(kernels_schema()), {}, {}};
  ResultRow& row = one.row;
  const std::string name = member_text(entry, "run_name");
  row.set("kernel", name.empty() ? member_text(entry, "name") : name);
  const json& time = member(entry, "real_time");
  const double seconds =
      time.is_number()
          ? time.get<double>() * unit_factor(file, "seconds", member_text(entry, "time_unit"))
          : std::nan("");
  if (member_text(entry, "error_occurred") == "true") {
    row.set("status", "failed").set("note", member_text(entry, "error_message"));
  } else if (!(seconds > 0)) {
    row.set("status", "failed")
        .set("note", no_number("real_time", member_text(entry, "real_time")));
  } else {
    one.seconds = {seconds};
    const json& rate = member(entry, "bytes_per_second");
    if (rate.is_number()) row.set("bytes", std::llround(rate.get<double>() * seconds));
  }
  apply(settings, row, file);
  set_where_empty(row, "memory", "host");
  set_where_empty(row, "device", "cpu");
  return one;
}

}  // namespace

ImportedFile read_google_benchmark(std::string_view text, const std::string& file,
                                   const Settings& settings) {
  const json document = parse_foreign_json(text, file);
  ImportedFile result;
  const json& entries = member(document, "benchmarks");
  ImportedLaunch launch;
  for (std::size_t i = 0; entries.is_array() && i < entries.size(); ++i) {
    if (member_text(entries[i], "run_type") == "aggregate") continue;
    const ImportedCase one = case_of(entries[i], file, settings);
    launch.cases.push_back(one);
    const ResultRow& row = one.row;
    if (row.get("status").empty()) continue;
    result.findings.push_back(
        {0, fmt::format("benchmarks[{}] {}: {}", i, row.get("kernel"), row.get("note"))});
  }
  if (!launch.cases.empty()) result.launches.push_back(std::move(launch));
  return result;
}

}  // namespace scalebench
