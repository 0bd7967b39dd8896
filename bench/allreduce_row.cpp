// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce_row.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/measure/statistics.hpp"
#include "bench/statistics_columns.hpp"
#include "bench/study/bandwidth.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

std::string_view name_of(Memory memory) { return memory == Memory::host ? "host" : "device"; }

int most_often_slowest(const std::vector<Repetition>& repetitions) {
  std::map<int, int> times;
  for (const Repetition& repetition : repetitions) ++times[repetition.slowest_rank];
  return std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; })->first;
}

void set_measurement(ResultRow& row, const AllreduceCase& one, const Timing& timing, int ranks) {
  std::vector<double> seconds, skews;
  for (const Repetition& repetition : timing.repetitions) {
    seconds.push_back(repetition.seconds);
    skews.push_back(repetition.skew_seconds);
  }
  const Summary summary = summarise(seconds);
  const auto bytes = static_cast<double>(one.bytes());
  const double sent = one.algorithm->cost(ranks, static_cast<double>(one.count), ranks).sent;
  set_statistics(row, summary, timing.converged);
  row.set("sync", name_of(timing.start)).set("warm", timing.warm ? 1 : 0);
  row.set("first_call_seconds", timing.first_call_seconds).set("redone", timing.redone);
  row.set("algbw_gb_per_s", algbw_gb_per_s(bytes, summary.median));
  row.set("busbw_gb_per_s", busbw_gb_per_s(bytes, summary.median, ranks));
  row.set("busbw_ci_low_gb_per_s", busbw_gb_per_s(bytes, summary.ci_high, ranks));
  row.set("busbw_ci_high_gb_per_s", busbw_gb_per_s(bytes, summary.ci_low, ranks));
  const auto element = static_cast<double>(size_of(one.dtype));
  row.set("wire_bw_gb_per_s", wire_bw_gb_per_s(sent, element, summary.median));
  row.set("skew_seconds", median_of(skews));
  row.set("slowest_rank", most_often_slowest(timing.repetitions));
}

}  // namespace

std::string canonical(const AllreduceCase& one, const Communicator& data,
                      const AllreduceMethod& method) {
  return fmt::format(
      "allreduce algorithm={} transport={} memory={} dtype={} op=sum mode=isolated "
      "cache={} count={}",
      one.algorithm->name, data.transport(), name_of(data.memory()), scalebench::name_of(one.dtype),
      method.cold ? "cold" : "warm", one.count);
}

ResultRow row_of(const AllreduceCase& one, const AllreduceResult& result, const Communicator& data,
                 const AllreduceMethod& method, const Recorder& recorder) {
  ResultRow row = recorder.case_row(canonical(one, data, method));
  row.set("status", result.status).set("note", result.note);
  row.set("algorithm", one.algorithm->name).set("transport", data.transport());
  row.set("memory", name_of(data.memory())).set("dtype", scalebench::name_of(one.dtype));
  row.set("op", "sum").set("mode", "isolated").set("cache", method.cold ? "cold" : "warm");
  row.set("size_bytes", one.bytes()).set("count", one.count).set("nodes", data.topology().nodes());
  if (result.status == "ok") set_measurement(row, one, result.timing, data.size());
  if (method.check && result.status != "skipped") row.set("wrong", result.wrong);
  return row;
}

ResultRow sample_of(const AllreduceCase& one, const Timing& timing, std::size_t index,
                    const Communicator& data, const AllreduceMethod& method,
                    const Recorder& recorder) {
  const Repetition& repetition = timing.repetitions[index];
  ResultRow row = recorder.sample_row(canonical(one, data, method), "allreduce");
  row.set("repetition", index).set("seconds", repetition.seconds).set("bytes", one.bytes());
  row.set("skew_seconds", repetition.skew_seconds).set("slowest_rank", repetition.slowest_rank);
  return row;
}

}  // namespace scalebench
