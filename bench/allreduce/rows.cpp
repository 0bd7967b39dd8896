// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/machine/environment.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/program/card_watch.hpp"
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

/// Elements that the busiest rank sends, as the algorithm's line says; kNotOurs where the line is
/// of nodes of equal size and these are not.
double sent_elements(const AllreduceCase& one, const Topology& topology) {
  std::map<int, int> ranks;
  for (const int node : topology.node_of_rank) ++ranks[node];
  const int of_a_node = ranks.begin()->second;
  const bool are_equal =
      std::ranges::all_of(ranks, [&](const auto& node) { return node.second == of_a_node; });
  if (!are_equal && one.algorithm->depends_on_nodes()) return kNotOurs;
  return one.algorithm
      ->cost(static_cast<double>(topology.node_of_rank.size()), static_cast<double>(one.count),
             of_a_node, Reach::messages)
      .sent;
}

void set_measurement(ResultRow& row, const AllreduceCase& one, const Timing& timing,
                     const Topology& topology) {
  std::vector<double> seconds, skews;
  for (const Repetition& repetition : timing.repetitions) {
    seconds.push_back(repetition.seconds);
    skews.push_back(repetition.skew_seconds);
  }
  const int ranks = static_cast<int>(topology.node_of_rank.size());
  const Summary summary = summarise(seconds);
  const auto bytes = static_cast<double>(one.bytes());
  const double sent = sent_elements(one, topology);
  set_statistics(row, summary, timing.converged);
  row.set("sync", name_of(timing.start)).set("operations", timing.operations);
  row.set("clock_residual_seconds", timing.residual_seconds).set("warm", timing.warm ? 1 : 0);
  row.set("first_call_seconds", timing.first_call_seconds).set("redone", timing.redone);
  row.set("algbw_gb_per_s", algbw_gb_per_s(bytes, summary.median));
  row.set("busbw_gb_per_s", busbw_gb_per_s(bytes, summary.median, ranks));
  row.set("busbw_ci_low_gb_per_s", busbw_gb_per_s(bytes, summary.ci_high, ranks));
  row.set("busbw_ci_high_gb_per_s", busbw_gb_per_s(bytes, summary.ci_low, ranks));
  const auto element = static_cast<double>(size_of(one.dtype));
  row.set("wire_bw_gb_per_s", algbw_gb_per_s(sent * element, summary.median));
  row.set("skew_seconds", median_of(skews));
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
  return fmt::format("{}", fmt::join(notes, "; "));
}

ResultRow row_of(const AllreduceRowContext& context, const AllreduceCase& one,
                 const LaunchTransport& transport, const AllreduceResult& result) {
  ResultRow row = context.recorder.case_row(canonical(one, transport.place, context.method));
  if (transport.shares_devices) row.set("origin", kEmulated);
  row.set("status", result.status).set("note", note_of(one, transport, result, context));
  row.set("algorithm", one.algorithm->name).set("transport", transport.place.transport);
  row.set("memory", name_of(transport.place.memory)).set("dtype", name_of(one.dtype));
  row.set("pages", transport.place.pages_text());
  if (transport.huge_share) row.set("huge_share", *transport.huge_share);
  const std::optional<Registration> asked = transport.place.registration;
  row.set("register", asked ? name_of(*asked) : transport.registered);
  row.set("op", name_of(one.op)).set("placement", one.placement()).set("mode", one.mode());
  row.set("cache", name_of(context.method.cache));
  row.set("graph", context.method.graph ? 1 : 0);
  row.set("size_bytes", one.bytes()).set("count", one.count);
  row.set("nodes", context.topology.nodes());
  if (result.status == "ok") set_measurement(row, one, result.timing, context.topology);
  if (context.method.checks > 0 && result.status != "skipped") row.set("wrong", result.all_wrong());
  set_spells(row, result.spells);
  return row;
}

ResultRow sample_head(const AllreduceRowContext& context, const AllreduceCase& one,
                      const LaunchTransport& transport) {
  ResultRow row = context.recorder.sample_row(
      canonical(one, transport.place, context.method) + context.part, "allreduce");
  if (transport.shares_devices) row.set("origin", kEmulated);
  return row.set("bytes", one.bytes());
}

ResultRow sample_of(ResultRow head, const AllreduceResult& result, std::size_t index) {
  const Repetition& repetition = result.timing.repetitions[index];
  head.set("repetition", index).set("seconds", repetition.seconds);
  head.set("skew_seconds", repetition.skew_seconds).set("slowest_rank", repetition.slowest_rank);
  if (!result.spells.empty()) set_spell(head, result.spells[index]);
  return head;
}

ResultRow bound_row_of(const AllreduceRowContext& context, const LaunchTransport& transport,
                       std::size_t bytes, const BoundPoint& point) {
  const std::string_view memory = name_of(transport.place.memory);
  const auto size = static_cast<double>(bytes);
  const double seconds = 2 * size * context.ranks() / point.best_bytes_per_second;
  ResultRow row = context.recorder.side_row(
      bound_schema(),
      fmt::format("bound transport={} memory={} pages={} size={}", transport.place.transport,
                  memory, transport.place.pages_text(), bytes));
  row.set("status", "ok").set("transport", transport.place.transport).set("memory", memory);
  row.set("pages", transport.place.pages_text());
  row.set("size_bytes", bytes);
  row.set("stream_gb_per_s", point.best_bytes_per_second / 1e9).set("seconds", seconds);
  row.set("busbw_gb_per_s", busbw_gb_per_s(size, seconds, context.ranks()));
  return row.set("nodes", context.topology.nodes());
}

}  // namespace scalebench
