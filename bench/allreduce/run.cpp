// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/run.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "bench/allreduce/bound.hpp"
#include "bench/allreduce/report.hpp"
#include "bench/allreduce/tuning.hpp"
#include "bench/cli/quantity.hpp"
#include "bench/hosts/hosts.hpp"
#include "bench/program/own_turn.hpp"
#include "bench/record/columns.hpp"
#include "collectives/control.hpp"
#include "collectives/transport/nccl.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr double kBoundSeconds = 2.5;  // of a launch, for all transports

std::vector<std::string> names_of(const std::vector<LaunchTransport>& transports) {
  std::vector<std::string> names;
  for (const LaunchTransport& transport : transports) {
    names.push_back(transport.place.described());
  }
  return names;
}

/// The measuring half: hosts, bound, trial of the algorithms for `auto`, then each case, whose rows
/// are written as it ends.
class AllreduceRun {
 public:
  /// Collective. The transports must be open and outlive the run.
  AllreduceRun(const Ranks& ranks, const AllreduceOptions& options,
               std::vector<LaunchTransport>& transports, const RankDevices& devices,
               Console& console)
      : ranks_(ranks),
        options_(options),
        transports_(transports),
        console_(console),
        recorder_(ranks, options.record, allreduce_schema(), options.command,
                  {.mpi = MpiSession::library_version(), .torch = "", .nccl = nccl_version()}),
        method_(method_of(options, recorder_)),
        context_{recorder_, method_, ranks.host.topology(),
                 all_gather(ranks.host, ranks.session.host()),
                 devices_of(ranks, transports, devices)},
        timer_(ranks.host),
        verifier_(ranks.host, options.max_bytes) {}

  /// Collective. Measures the plan and returns the program's exit code.
  ExitCode measure(const std::vector<AllreduceCase>& plan) {
    method_.stop_seconds = stop_seconds_of(options_, plan);
    hosts_ = look_at_hosts(ranks_, options_.hosts, recorder_, console_);
    prepare_bounds();
    measure_choices(plan);
    report_.emplace(
        AllreduceReportContext{
            .console = console_, .rows = context_, .transports = names_of(transports_)},
        options_.format);
    report_->head();
    for (std::size_t done = 0; done < plan.size(); ++done) {
      const AllreduceCase& one = plan[done];
      console_.progress(done + 1, plan.size(), title(one),
                        outcome_.seconds_left(plan.size() - done));
      const auto begin_part =
          [this, &one, cell = fmt::format("[{}/{}] {}", done + 1, plan.size(), title(one))] {
            return begin_in_turn(ranks_, cell,
                                 slow_seconds(one.bytes(), context_.ranks()) *
                                     static_cast<double>(one.pipelined ? method_.pipeline : 1));
          };
      begin_part();
      measure_case(one, done + 1, begin_part);
      ranks_.progress.end_cell();
    }
    console_.clear_progress();
    recorder_.finish();
    return conclude(hosts_, options_.hosts, options_.format, console_, outcome_.exit_code());
  }

 private:
  void prepare_bounds() {
    for (const LaunchTransport& transport : transports_) {
      auto& bound = bounds_.emplace_back();
      if (!options_.bound || !transport.buffers || transport.place.memory != Memory::host) continue;
      bound.emplace(ranks_.host, *transport.buffers,
                    kBoundSeconds / static_cast<double>(transports_.size()));
    }
  }

  void measure_choices(const std::vector<AllreduceCase>& plan) {
    for (const AllreduceCase& one : plan) {
      const bool chooses = one.algorithm->chooses();
      if (chooses && transports_[one.transport].communicator && learned(one) == nullptr) learn(one);
    }
  }

  void learn(const AllreduceCase& one) {
    const LaunchTransport& transport = transports_[one.transport];
    Learned& known = learned_.emplace_back();
    known.setting = {transport.place, one.dtype, one.op};
    const std::string place = fmt::format("auto on {} ({} {})", transport.place.described(),
                                          name_of(one.dtype), name_of(one.op));
    try {
      console_.note(place + ": trying the algorithms ...");
      ranks_.progress.cell(place);
      ranks_.progress.expect(slow_seconds(options_.max_bytes, context_.ranks()));
      known.choices = tune(bench(transport), ranks_.host, known.setting, method_,
                           options_.min_bytes, options_.max_bytes);
      console_.note(fmt::format("{}: {}", place, fmt::join(known.choices->describe(), ", ")));
    } catch (const Unavailable& reason) {
      known.why_not = reason.what();
    }
    ranks_.progress.end_cell();
  }

  void measure_case(const AllreduceCase& one, std::size_t number,
                    const std::function<double()>& begin_part) {
    const ProfilerRange range(title(one).c_str());
    const LaunchTransport& transport = transports_[one.transport];
    if (!transport.communicator)
      return write(one, {.status = "skipped", .note = transport.why_not});
    std::string note;
    if (one.algorithm->chooses()) {
      const Learned& known = *learned(one);
      if (!known.choices) return write(one, {.status = "skipped", .note = known.why_not});
      transport.communicator->set_choices(known.choices);
      note = fmt::format("chose {}", known.choices->pick(one.bytes()).name);
    }
    auto& bound = bounds_[one.transport];
    if (bound) bound->measure(one.bytes());
    AllreduceBench here = bench(transport);
    if (options_.fault.strikes(number, ranks_.session.rank())) here.fault = &options_.fault;
    if (takes_turns()) here.next_part = begin_part;
    AllreduceResult result = measure_allreduce(here, one, method_);
    result.note += (result.note.empty() || note.empty() ? "" : "; ") + note;
    write(one, result);
  }

  std::string title(const AllreduceCase& one) const {
    return title_of(one, transports_[one.transport].place);
  }

  void write(const AllreduceCase& one, const AllreduceResult& result) {
    const LaunchTransport& transport = transports_[one.transport];
    const ResultRow head = sample_head(context_, one, transport);
    for (std::size_t i = 0; i < result.timing.repetitions.size(); ++i) {
      recorder_.write(sample_of(head, result, i));
    }
    ResultRow row = row_of(context_, one, transport, result);
    if (const auto& bound = bounds_[one.transport]; bound && result.status == "ok") {
      row.set("bound_busbw_gb_per_s",
              busbw_gb_per_s(static_cast<double>(one.bytes()), bound->seconds(one.bytes()),
                             context_.ranks()));
    }
    recorder_.write(row);
    console_.clear_progress();
    report_->line(row, result.all_wrong());
    outcome_.count(result.status);
  }

  AllreduceBench bench(const LaunchTransport& transport) {
    return {
        *transport.communicator, *transport.buffers, timer_, verifier_, &ranks_.progress, nullptr,
        method_.slower};
  }

  /// What `auto` goes by in one setting, or why it cannot.
  struct Learned {
    AllreduceSetting setting;
    SharedChoices choices;
    std::string why_not;
  };
  const Learned* learned(const AllreduceCase& one) const {
    const LaunchTransport& transport = transports_[one.transport];
    const AllreduceSetting setting{transport.place, one.dtype, one.op};
    const auto found = std::ranges::find(learned_, setting, &Learned::setting);
    return found == learned_.end() ? nullptr : &*found;
  }

  const Ranks& ranks_;
  const AllreduceOptions& options_;
  std::vector<LaunchTransport>& transports_;
  Console& console_;
  Recorder recorder_;
  AllreduceMethod method_;
  AllreduceRowContext context_;
  CollectiveTimer timer_;
  AllreduceVerifier verifier_;
  std::optional<AllreduceReport> report_;
  std::vector<Learned> learned_;
  std::vector<std::optional<AllreduceBound>> bounds_;  // by transport; host memory only
  std::vector<ResultRow> hosts_;                       // of hosts.csv
  Outcome outcome_;
};

ExitCode list(const std::vector<AllreduceCase>& plan,
              const std::vector<LaunchTransport>& transports, const AllreduceOptions& options,
              const Console& console) {
  for (const AllreduceCase& one : plan) {
    const LaunchTransport& transport = transports[one.transport];
    console.result(canonical(one, transport.place, options.method) + "\n");
  }
  return ExitCode::ok;
}

}  // namespace

ExitCode run_allreduce(const Ranks& ranks, const AllreduceOptions& options) {
  Console console(ranks.first(), options.quiet);
  const RankDevices devices = place_on_devices(ranks, options.devices);
  const TransportPlan wanted = transport_plan(ranks, options, devices);
  const std::vector<AllreducePlace> places = places_of(wanted, options);
  const auto on_host = std::ranges::count(places, Memory::host, &AllreducePlace::memory);
  const auto shared = std::ranges::count(places, "shared_memory", &AllreducePlace::transport);
  require_memory(footprint_of(options), static_cast<std::size_t>(on_host),
                 static_cast<std::size_t>(shared), ranks.session.local_size());
  if (options.fault.strikes(0, ranks.session.rank())) {
    ranks.progress.span("opening transport " + wanted.names.front());
    options.fault.strike({});
  }
  std::vector<LaunchTransport> transports = open_transports(ranks, wanted, options, devices);
  const std::vector<AllreduceCase> plan = plan_of(options, transports.size());
  options.fault.require_reached(plan.size());
  if (options.dry_run) return list(plan, transports, options, console);
  AllreduceRun run(ranks, options, transports, devices, console);
  // Letting go of windows is collective, and where one rank fails the others are elsewhere: nothing
  // may unwind.
  try {
    ranks.progress.work("making buffers");
    allocate(transports, footprint_of(options), ranks.host);
    ranks.progress.end_cell();
    return run.measure(plan);
  } catch (const std::exception& error) {
    end_all(ranks.session, ranks.watchdog, error);
  }
}

}  // namespace scalebench
