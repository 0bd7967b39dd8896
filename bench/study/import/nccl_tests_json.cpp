// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/nccl_tests_json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/study/import/json_text.hpp"
#include "bench/study/import/nccl_tests_run.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

using nlohmann::json;

constexpr int kLatestVersion = 3;

int whole(const json& object, const char* name, int otherwise) {
  const json& value = member(object, name);
  return value.is_number_integer() ? value.get<int>() : otherwise;
}

/// Versions differ in whether each rank of a process is listed or only its first.
int ranks_of(const json& config, const std::vector<int>& listed) {
  const int of_a_process =
      std::max(1, whole(config, "nthreads", 1)) * std::max(1, whole(config, "ngpus", 1));
  const int last = std::ranges::max(listed);
  return last % of_a_process == 0 ? last + of_a_process : last + 1;
}

void read_config(const json& config, NcclTestsRun& run) {
  run.set_method(member_text(config, "iterations"), member_text(config, "aggregated_iterations"),
                 member_text(config, "graph"));
  std::vector<int> listed;
  for (const json& device : member(config, "devices")) {
    listed.push_back(whole(device, "rank", 0));
    run.add_rank(listed.back(), whole(device, "group", 0), member_text(device, "hostname"),
                 member_text(device, "device_info"));
  }
  if (!listed.empty()) run.set_ranks(ranks_of(config, listed));
}

NcclTestsRun::Measured measured_of(const json& result, const char* placement) {
  const json& body = member(result, placement);
  NcclTestsRun::Measured measured;
  measured.time = member_text(body, "time") + member_text(body, "cpu_time");
  measured.busbw = member_text(body, "bus_bw");
  measured.wrong = member(body, "nwrong").is_null() ? "N/A" : member_text(body, "nwrong");
  const std::string single = fmt::format("{}_per_iter", placement);
  for (const json& time : member(member(result, single.c_str()), "times_us")) {
    if (time.is_number() && time.get<double>() > 0) measured.times_us.push_back(time.get<double>());
  }
  return measured;
}

/// The number of the result stands for its line: the file is one line as nccl-tests writes it.
void read_result(const json& result, std::size_t number, NcclTestsRun& run,
                 std::vector<Finding>& findings) {
  const NcclTestsRun::Size size{member_text(result, "size"), member_text(result, "count"),
                                member_text(result, "type"), member_text(result, "redop")};
  if (!is_count(size.bytes) || size.redop == "none" || size.redop.empty()) {
    findings.push_back({0, fmt::format("results[{}]: size '{}', redop '{}': no allreduce", number,
                                       size.bytes, size.redop)});
    return;
  }
  for (const char* placement : {"out_of_place", "in_place"}) {
    if (member(result, placement).is_null()) continue;  // of a replayed trace
    const std::size_t before = findings.size();
    run.add(size, measured_of(result, placement), placement, 0, findings);
    for (std::size_t i = before; i < findings.size(); ++i) {
      findings[i].what.insert(0, fmt::format("results[{}]: ", number));
    }
  }
}

}  // namespace

ImportedFile read_nccl_tests_json(std::string_view text, const std::string& file,
                                  const Settings& settings) {
  const json document = parse_foreign_json(text, file);
  const int version = whole(document, "version", 0);
  if (version > kLatestVersion) {
    fail<UsageError>("{}: version {} of the JSON of nccl-tests; this program knows 1 to {}", file,
                     version, kLatestVersion);
  }
  ImportedFile result;
  NcclTestsRun run(settings, file);
  std::vector<std::string> command;
  for (const json& word : member(document, "args")) {
    if (word.is_string()) command.push_back(word.get<std::string>());
  }
  if (!command.empty()) run.set_program(command.front());
  run.set_command(std::move(command));
  read_config(member(document, "config"), run);
  const json& results = member(document, "results");
  if (const std::string why = run.unusable(); !why.empty()) {
    result.findings.push_back({0, why});
  } else if (results.is_array()) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      read_result(results[i], i, run, result.findings);
    }
  }
  const std::set<std::string> gpus(run.devices().begin(), run.devices().end());
  if (!gpus.empty()) result.key["gpus"] = Fact::of(gpus);
  if (const int nccl = whole(document, "nccl_version", 0); nccl > 0) {
    result.treatment["nccl"] =
        Fact::of(fmt::format("{}.{}.{}", nccl / 10000, nccl / 100 % 100, nccl % 100));
  }
  if (!run.empty()) result.launches.push_back(run.take());
  return result;
}

}  // namespace scalebench
