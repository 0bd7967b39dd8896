// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/machine/environment.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/record/columns.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kEmulated = "emulated";

int most_often_slowest(const std::vector<Repetition>& repetitions) {
  std::map<int, int> times;
  for (const Repetition& repetition : repetitions) ++times[repetition.slowest_rank];
  return std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; })->first;
}

void set_measurement(ResultRow& row, const Timing& timing) {
  std::vector<double> seconds, skews;
  for (const Repetition& repetition : timing.repetitions) {
    seconds.push_back(repetition.seconds);
    skews.push_back(repetition.skew_seconds);
  }
  const Summary summary = summarise(seconds);
  set_statistics(row, summary, timing.converged && timing.warm);
  set_bandwidth(row, summary.median);
  row.set("first_call_seconds", timing.first_call_seconds).set("skew_seconds", median_of(skews));
  row.set("slowest_rank", most_often_slowest(timing.repetitions));
}

/// Whether so much of what a rank sends passes an emulated link at once that the rate is not the
/// link's; empty: it does not.
std::string burst_note(const AllreduceCase& one, int nodes) {
  constexpr double kMuch = 0.1;
  const double burst = emulated_burst_bytes();
  if (nodes < 2 || burst < kMuch * static_cast<double>(one.bytes())) return "";
  return fmt::format("{}: the emulated one lets {:.0f} bytes pass at once", kBurstNote, burst);
}

/// What the result says of itself, what was put into it on purpose, whether its pages are not all
/// that was asked for, and whether a link that is emulated was the limit.
std::string note_of(const AllreduceCase& one, const LaunchTransport& transport,
                    const AllreduceResult& result, const AllreduceRowContext& context) {
  constexpr double kNearlyAll = 0.999;
  std::vector<std::string> notes;
  if (!result.note.empty()) notes.push_back(result.note);
  if (context.method.slower > 0) {
    notes.push_back(fmt::format("{}slower={}", kInjectedNote, context.method.slower));
  }
  if (result.status == "ok" && transport.place.pages == Pages::huge &&
      transport.huge_share.value_or(0) < kNearlyAll) {
    notes.push_back(
        transport.huge_share
            ? fmt::format("{:.1f} % of the buffers are in huge pages", 100 * *transport.huge_share)
            : "the system does not say whether the huge pages were given");
  }
  const std::string burst = burst_note(one, context.topology.nodes());
  if (result.status == "ok" && !burst.empty()) notes.push_back(burst);
  if (result.status == "ok" && result.timing.start != context.method.start) {
    const double residual = result.timing.residual_seconds;
    notes.push_back(residual > 0
                        ? fmt::format("sync=barrier: the clocks differ by up to {:.2g} s", residual)
                        : "sync=barrier: ranks started late");
  }
  if (result.status == "ok" && context.method.checks == 0) notes.emplace_back("not checked");
  return fmt::format("{}", fmt::join(notes, "; "));
}

}  // namespace

AllreduceMethod method_of(const AllreduceOptions& options, const Recorder& recorder) {
  AllreduceMethod method = options.method;
  // Ranks that share a core cannot spin until a common instant.
  if (recorder.origin() == "emulated") method.start = StartMode::barrier;
  return method;
}

bool uses_devices(const std::vector<LaunchTransport>& transports) {
  return std::ranges::any_of(transports, [](const LaunchTransport& transport) {
    return transport.communicator && transport.place.memory == Memory::device;
  });
}

std::vector<std::string> devices_of(const Ranks& ranks,
                                    const std::vector<LaunchTransport>& transports,
                                    const RankDevices& devices) {
  const bool used = uses_devices(transports);
  return all_gather(ranks.host, used ? device_name(devices.mine) : std::string());
}

ResultRow row_of(const AllreduceRowContext& context, const AllreduceCase& one,
                 const LaunchTransport& transport, const AllreduceResult& result) {
  ResultRow row = context.recorder.case_row(canonical(one, transport.place, context.method));
  if (transport.shares_devices) row.set("origin", kEmulated);
  row.set("status", result.status).set("note", note_of(one, transport, result, context));
  row.set("algorithm", one.algorithm->name).set("transport", transport.place.transport);
  row.set("memory", name_of(transport.place.memory)).set("dtype", name_of(one.dtype));
  row.set("pages", transport.place.pages_text());
  const std::optional<Registration> asked = transport.place.registration;
  row.set("register", asked ? name_of(*asked) : transport.registered);
  row.set("op", name_of(one.op)).set("placement", one.placement());
  row.set("mode", fmt::format("{}{}", one.mode(), context.method.graph ? "_graph" : ""));
  row.set("cache", name_of(context.method.cache));
  row.set("size_bytes", one.bytes()).set("nodes", context.topology.nodes());
  if (result.status == "ok") set_measurement(row, result.timing);
  return row;
}

ResultRow sample_head(const AllreduceRowContext& context, const AllreduceCase& one,
                      const LaunchTransport& transport) {
  ResultRow row =
      context.recorder.sample_row(canonical(one, transport.place, context.method), "allreduce");
  if (transport.shares_devices) row.set("origin", kEmulated);
  return row.set("bytes", one.bytes());
}

ResultRow sample_of(ResultRow head, const AllreduceResult& result, std::size_t index) {
  const Repetition& repetition = result.timing.repetitions[index];
  head.set("repetition", index).set("seconds", repetition.seconds);
  head.set("skew_seconds", repetition.skew_seconds).set("slowest_rank", repetition.slowest_rank);
  return head;
}

}  // namespace scalebench
