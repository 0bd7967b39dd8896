// SPDX-License-Identifier: Apache-2.0
// The JSON of nccl-tests' -J. Its `env`, a dump of the whole environment, is never kept: it holds
// secrets.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "bench/study/import/collectives/collective_run.hpp"
#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

using nlohmann::json;

/// The member, or null (a JSON null) when it is absent.
const json& member(const json& object, const char* name) {
  static const json kNull;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() ? kNull : *found;
}

/// The member as text, numbers as they are written; empty when it is absent, null or a structure.
std::string member_text(const json& object, const char* name) {
  const json& value = member(object, name);
  if (value.is_string()) return value.get<std::string>();
  return value.is_primitive() && !value.is_null() ? value.dump() : "";
}

int whole(const json& object, const char* name, int otherwise) {
  const json& value = member(object, name);
  return whole_number<int>(value).value_or(otherwise);
}

/// Versions differ in whether each rank of a process is listed or only its first.
void read_config(const json& config, CollectiveRun& run, std::set<std::string>& gpus) {
  constexpr std::int64_t kMost = 1 << 24;  // more than anybody has
  run.graph = decimal_of(member_text(config, "graph")).value_or(0) > 0;
  run.of_a_process = std::clamp<std::int64_t>(whole(config, "nthreads", 1), 1, kMost) *
                     std::clamp<std::int64_t>(whole(config, "ngpus", 1), 1, kMost);
  for (const json& device : member(config, "devices")) {
    run.add_device(whole(device, "rank", 0), whole(device, "group", 0),
                   member_text(device, "hostname"), member_text(device, "device_hex"));
    gpus.insert(member_text(device, "device_info"));
  }
}

/// In seconds, without those that -K leaves out.
std::vector<double> single_times(const json& per_iter) {
  std::vector<double> seconds;
  const json& all = member(per_iter, "times_us");
  const auto skipped =
      static_cast<std::size_t>(std::max(0, whole(per_iter, "skipped_iterations", 0)));
  for (std::size_t i = skipped; all.is_array() && i < all.size(); ++i) {
    if (all[i].is_number() && all[i].get<double>() > 0)
      seconds.push_back(all[i].get<double>() / 1e6);
  }
  return seconds;
}

/// The number of the result, from 1, stands for its line: the file is one line as nccl-tests writes
/// it.
void read_result(const json& result, std::size_t number, CollectiveRun& run) {
  PrintedRow row{number,
                 member_text(result, "size"),
                 member_text(result, "count"),
                 member_text(result, "type"),
                 member_text(result, "redop"),
                 {}};
  for (const std::string_view root : words_of(member_text(result, "root"))) {
    row.cells.emplace_back(root);
  }
  for (const std::string placement : {"out_of_place", "in_place"}) {
    const json& body = member(result, placement.c_str());
    if (body.is_null()) continue;  // of a replayed trace
    const std::string wrong = member_text(body, "nwrong");
    for (const std::string& cell :
         {member_text(body, "time") + member_text(body, "cpu_time"), member_text(body, "alg_bw"),
          member_text(body, "bus_bw"), wrong.substr(0, wrong.find('.'))}) {
      row.cells.push_back(cell.empty() ? "N/A" : cell);
    }
    std::vector<double> single = single_times(member(result, (placement + "_per_iter").c_str()));
    const std::string_view name = placement == "in_place" ? "in_place" : "out_of_place";
    if (!single.empty()) run.single[{number, name}] = std::move(single);
  }
  run.hints.in_place_first = member(result, "out_of_place").is_null();
  run.rows.push_back(std::move(row));
}

}  // namespace

ImportedFile read_nccl_json(std::string_view text, const std::string& file,
                            const Settings& settings) {
  const json document = parse_json(text, file);
  const json& results = member(document, "results");
  if (!results.is_array()) {
    fail<UsageError>("{}: JSON, and not of nccl-tests -J: it has no list of results", file);
  }
  ImportedFile result;
  CollectiveRun run;
  std::set<std::string> gpus;
  for (const json& word : member(document, "args")) {
    if (word.is_string()) run.command.push_back(word.get<std::string>());
  }
  if (!run.command.empty()) run.program = run.command.front();
  read_config(member(document, "config"), run, gpus);
  run.ended = run.is_never_cut = true;
  for (std::size_t i = 0; i < results.size(); ++i) {
    read_result(results[i], i + 1, run);
  }
  run.end(file, settings, result);
  for (Remark& finding : result.findings) {
    if (finding.line == 0) continue;
    finding.what = fmt::format("results[{}]: {}", finding.line - 1, finding.what);
    finding.line = 0;
  }
  if (!gpus.empty()) result.key["gpus"] = Fact::of(gpus);
  if (const int nccl = whole(document, "nccl_version", 0); nccl > 0) {
    result.treatment["nccl"] =
        Fact::of(fmt::format("{}.{}.{}", nccl / 10000, nccl / 100 % 100, nccl % 100));
  }
  return result;
}

}  // namespace scalebench
