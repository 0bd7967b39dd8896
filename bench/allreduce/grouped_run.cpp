// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/grouped_run.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "bench/cli/quantity.hpp"
#include "bench/program/own_turn.hpp"
#include "bench/record/columns.hpp"
#include "collectives/control.hpp"
#include "collectives/transport/nccl.hpp"
#include "collectives/transport/transports.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// The same refusal on all ranks.
std::vector<Grouping> formed(const GroupOptions& options, const Topology& topology) {
  try {
    return groupings_of(options, topology);
  } catch (const UsageError& error) {
    throw JointRefusal(error.what());
  }
}

/// Of a case, unless the options say it: rounds come one after the other.
double most_seconds(const AllreduceOptions& options, std::size_t rounds) {
  if (options.max_seconds) return *options.max_seconds;
  constexpr double kAllSeconds = 60, kLeast = 0.2, kMost = 5;
  const auto cases = static_cast<double>(sizes_of(options).size() * options.algorithms.size());
  return std::clamp(kAllSeconds / (cases * static_cast<double>(rounds)), kLeast, kMost);
}

/// `groupings`, if the fault that was asked for comes in one of their cases.
std::vector<Grouping> in_reach(std::vector<Grouping> groupings, const AllreduceOptions& options,
                               const TransportPlan& wanted) {
  options.fault.require_reached(plan_of(options, wanted.names.size()).size() * groupings.size());
  return groupings;
}

}  // namespace

GroupedRun::GroupedRun(const Ranks& ranks, const AllreduceOptions& options,
                       const TransportPlan& wanted, const RankDevices& devices, Console& console)
    : ranks_(ranks),
      options_(options),
      wanted_(wanted),
      devices_(devices),
      console_(console),
      topology_(ranks.host.topology()),
      groupings_(in_reach(formed(options.groups, topology_), options, wanted)),
      recorder_(ranks, options.record, allreduce_groups_schema(), options.command,
                {.mpi = MpiSession::library_version(), .torch = "", .nccl = nccl_version()}),
      method_(method_of(options, recorder_)),
      timer_(ranks.host),
      hosts_(all_gather(ranks.host, ranks.session.host())),
      report_({.console = console,
               .format = options.format,
               .pairs = options.groups.pairs,
               .topology = topology_,
               .hosts = hosts_}) {
  method_.stop_seconds = most_seconds(options, groupings_.size());
}

ExitCode GroupedRun::measure() {
  host_report_ = look_at_hosts(ranks_, {.options = options_.hosts,
                                        .record = options_.record,
                                        .recorder = recorder_,
                                        .console = console_});
  report_.head(recorder_.origin(), host_table(host_report_));
  for (std::size_t round = 0; round < groupings_.size(); ++round) measure_round(round);
  console_.clear_progress();
  const bool slow = report_.foot();
  recorder_.finish();
  const ExitCode code =
      conclude(host_report_, options_.hosts, options_.format, console_, outcome_.exit_code());
  return slow && options_.hosts.fail_on_suspect && code == ExitCode::ok ? ExitCode::regression
                                                                        : code;
}

void GroupedRun::form_groups(const Grouping& grouping) {
  // Those of the round before, whose end is collective too.
  verifier_.reset();
  transports_.clear();
  control_.reset();
  const int mine = grouping.group_of_rank[static_cast<std::size_t>(ranks_.session.rank())];
  ranks_.watchdog.span("forming groups");
  ranks_.watchdog.enter();
  control_ = make_mpi_communicator(Memory::host, mine);
  control_->set_marks(ranks_.host.marks());
  ranks_.watchdog.leave();
  transports_ = open_transports(ranks_, wanted_, options_, devices_, {mine, control_.get()});
  ranks_.watchdog.work("making buffers");
  allocate(transports_, footprint_of(options_), ranks_.host);
  ranks_.watchdog.end_cell();
  cards_ = devices_of(ranks_, transports_, devices_);
  verifier_ = std::make_unique<AllreduceVerifier>(ranks_.host, options_.max_bytes);
}

void GroupedRun::measure_round(std::size_t round) {
  form_groups(groupings_[round]);
  const std::vector<AllreduceCase> plan = plan_of(options_, transports_.size());
  const std::size_t all = plan.size() * groupings_.size();
  for (std::size_t at = 0; at < plan.size(); ++at) {
    const std::size_t done = round * plan.size() + at;
    const std::string name =
        groupings_.size() == 1
            ? title(plan[at])
            : fmt::format("round {} of {}: {}", round + 1, groupings_.size(), title(plan[at]));
    console_.progress(done + 1, all, name, outcome_.seconds_left(all - done));
    const auto begin_part = [&, cell = fmt::format("[{}/{}] {}", done + 1, all, name)] {
      return begin_in_turn(ranks_, cell,
                           slow_seconds(plan[at].bytes(), ranks_.session.size()) *
                               static_cast<double>(plan[at].pipelined ? method_.pipeline : 1));
    };
    begin_part();
    measure_case(plan[at], round, done + 1, begin_part);
    ranks_.watchdog.end_cell();
  }
}

std::string GroupedRun::why_not(const AllreduceCase& one) {
  const LaunchTransport& transport = transports_[one.transport];
  if (!transport.communicator) return transport.why_not;
  const AllreduceBench bench{*transport.communicator, *transport.buffers, timer_, *verifier_,
                             &ranks_.watchdog};
  std::string problem;
  try {
    bench.run(one, transport.buffers->slot(one, 0));
    bench.wait();
  } catch (const Unavailable& reason) {
    problem = reason.what();
  }
  return common_problem(ranks_.host, problem);
}

void GroupedRun::measure_case(const AllreduceCase& one, std::size_t round, std::size_t number,
                              const std::function<double()>& begin_part) {
  if (const std::string reason = why_not(one); !reason.empty()) {
    return write(one, round, {.status = "skipped", .note = reason});
  }
  const LaunchTransport& transport = transports_[one.transport];
  AllreduceBench bench{
      *transport.communicator, *transport.buffers, timer_, *verifier_, &ranks_.watchdog, nullptr,
      method_.slower};
  if (options_.fault.strikes(number, ranks_.session.rank())) bench.fault = &options_.fault;
  if (takes_turns()) bench.next_part = begin_part;
  write(one, round, measure_allreduce(bench, one, method_));
}

AllreduceRowContext GroupedRun::context_of(std::size_t round, std::size_t group) const {
  const std::vector<int>& members = groupings_[round].members[group];
  AllreduceRowContext context{recorder_, method_};
  for (const int rank : members) {
    const auto at = static_cast<std::size_t>(rank);
    context.hosts.push_back(hosts_[at]);
    context.devices.push_back(cards_[at]);
  }
  // Numbered anew: some of the launch's nodes may have no rank in the group.
  std::vector<std::string> nodes;
  for (const int rank : members) {
    nodes.push_back(std::to_string(topology_.node_of_rank[static_cast<std::size_t>(rank)]));
  }
  context.topology = topology_of_hosts(nodes);
  context.part =
      fmt::format(" among={} of={}", show_ranks(members), groupings_[round].members.size());
  return context;
}

void GroupedRun::write(const AllreduceCase& one, std::size_t round, const AllreduceResult& result) {
  const LaunchTransport& transport = transports_[one.transport];
  const std::vector<std::vector<int>>& groups = groupings_[round].members;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const std::vector<int>& members = groups[group];
    if (members.size() < 2) continue;
    AllreduceResult own = result;
    own.timing = timing_of(result.timing, members, StopRule::for_bytes(one.bytes()).target);
    own.wrong.clear();
    for (const int rank : members) {
      if (!result.wrong.empty()) own.wrong.push_back(result.wrong[static_cast<std::size_t>(rank)]);
    }
    if (result.status == "wrong" && own.all_wrong() == 0) {
      own.status = "skipped";
      own.note = "not timed: another group's result is wrong";
    }
    const AllreduceRowContext context = context_of(round, group);
    const ResultRow head = sample_head(context, one, transport);
    for (std::size_t i = 0; i < own.timing.repetitions.size(); ++i) {
      recorder_.write(sample_of(head, own, i).set("ranks", context.ranks()));
    }
    ResultRow row = row_of(context, one, transport, own);
    row.set("ranks", context.ranks()).set("groups", groups.size());
    if (options_.groups.pairs != PairsOf::nothing) row.set("round", round);
    row.set("members", show_ranks(members));
    row.set("hosts", fmt::format("{}", fmt::join(context.hosts, " ")));
    recorder_.write(row);
    console_.clear_progress();
    report_.line(title(one), one, members, row);
  }
  outcome_.count(result.status);
}

std::string GroupedRun::title(const AllreduceCase& one) const {
  return fmt::format("{} on {} {} {} {}", one.algorithm->name,
                     transports_[one.transport].place.described(), name_of(one.dtype),
                     name_of(one.op), show_size(one.bytes()));
}

}  // namespace scalebench
