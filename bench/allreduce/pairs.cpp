// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/pairs.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>

#include "bench/allreduce/measure.hpp"
#include "bench/allreduce/rows.hpp"
#include "bench/hosts/hosts.hpp"
#include "bench/hosts/links.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/program/own_turn.hpp"
#include "bench/program/recorder.hpp"
#include "bench/record/columns.hpp"
#include "collectives/control.hpp"
#include "collectives/transport/nccl.hpp"
#include "collectives/transport/transports.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr int kWidest = 16;                             // members of a table that is drawn whole
constexpr std::size_t kSlowest = 10;                    // pairs that are listed where it is not
constexpr std::size_t kRated = std::size_t{64} << 10U;  // bytes, from which on a rate says more

/// From each rank's group, some numbers of which may be missing.
PairRound round_of(const std::vector<int>& numbers) {
  PairRound round;
  std::vector<int> known;
  for (int rank = 0; const int number : numbers) {
    const auto found = std::ranges::find(known, number);
    const auto group = static_cast<std::size_t>(found - known.begin());
    if (found == known.end()) {
      known.push_back(number);
      round.members.emplace_back();
    }
    round.group_of_rank.push_back(static_cast<int>(group));
    round.members[group].push_back(rank++);
  }
  return round;
}

}  // namespace

std::vector<PairRound> pair_rounds(PairsOf pairs, const Topology& topology) {
  const bool of_hosts = pairs == PairsOf::hosts;
  std::vector<int> member_of_rank = topology.node_of_rank;
  if (!of_hosts) std::iota(member_of_rank.begin(), member_of_rank.end(), 0);
  const int members = of_hosts ? topology.nodes() : static_cast<int>(member_of_rank.size());
  if (members < 2) {
    fail<UsageError>("--pairs {}: there is one, and a pair is two", of_hosts ? "hosts" : "ranks");
  }
  std::vector<PairRound> rounds;
  for (const Round& round : tournament(members)) {
    // By its lower member; who sits out stays by itself.
    std::vector<int> pair_of_member(static_cast<std::size_t>(members));
    std::iota(pair_of_member.begin(), pair_of_member.end(), 0);
    for (const auto& [low, high] : round) pair_of_member[static_cast<std::size_t>(high)] = low;
    std::vector<int> numbers;
    for (const int member : member_of_rank) {
      numbers.push_back(pair_of_member[static_cast<std::size_t>(member)]);
    }
    rounds.push_back(round_of(numbers));
  }
  return rounds;
}

Timing timing_of(const Timing& all, std::span<const int> members) {
  Timing timing = all;
  for (Repetition& repetition : timing.repetitions) {
    std::vector<float> own;
    for (const int rank : members) {
      own.push_back(repetition.rank_seconds[static_cast<std::size_t>(rank)]);
    }
    const auto [first, last] = std::ranges::minmax_element(own);
    repetition.seconds = static_cast<double>(*last);
    repetition.skew_seconds = static_cast<double>(*last) - static_cast<double>(*first);
    repetition.slowest_rank = members[static_cast<std::size_t>(last - own.begin())];
    repetition.rank_seconds = std::move(own);
  }
  return timing;
}

void PairTable::add(std::span<const int> members, double seconds, double busbw_gb_per_s) {
  const auto node_of = [&](int rank) {
    return topology_.node_of_rank[static_cast<std::size_t>(rank)];
  };
  PairTime pair{.a = members.front(), .b = members.back(), .seconds = seconds};
  pair.kind = node_of(pair.a) == node_of(pair.b) ? 0 : 1;
  if (pairs_ == PairsOf::hosts) {
    pair.a = pair.b = node_of(members.front());
    for (const int rank : members) {
      pair.a = std::min(pair.a, node_of(rank));
      pair.b = std::max(pair.b, node_of(rank));
    }
  }
  if (pair.a == pair.b) return;
  times_.push_back(pair);
  shown_[{pair.a, pair.b}] = bytes_ < kRated ? seconds * 1e6 : busbw_gb_per_s;
}

std::vector<PairOutlier> PairTable::outliers(std::size_t tests) const {
  return pair_outliers(times_, members(), static_cast<int>(tests));
}

std::string PairTable::text(const std::vector<PairOutlier>& outliers) const {
  std::string text = square();
  for (const PairOutlier& one : outliers) text += sentence_of(one) + "\n";
  if (times_.size() < kFewestPairs) {
    text += fmt::format("{} pair(s): too few to tell which is slower; it takes {}\n", times_.size(),
                        kFewestPairs);
  } else if (outliers.empty()) {
    text += "no pair stands out\n";
  }
  return text;
}

int PairTable::members() const {
  return pairs_ == PairsOf::hosts ? topology_.nodes() : static_cast<int>(hosts_.size());
}

std::string PairTable::name_of_member(int member) const {
  if (pairs_ == PairsOf::ranks) return fmt::format("{}", member);
  const auto& nodes = topology_.node_of_rank;
  const auto rank = std::ranges::find(nodes, member) - nodes.begin();
  return hosts_[static_cast<std::size_t>(rank)];
}

std::string PairTable::square() const {
  const std::string_view what = bytes_ >= kRated ? "busbw (GB/s)" : "time (us)";
  if (members() > kWidest) {
    std::vector<PairTime> slowest = times_;
    std::ranges::sort(slowest, std::greater(), &PairTime::seconds);
    slowest.resize(std::min(slowest.size(), kSlowest));
    std::string text = fmt::format("# {}: {} of the {} slowest of {} pairs\n", title_, what,
                                   slowest.size(), times_.size());
    for (const PairTime& pair : slowest) {
      text += fmt::format("{:>12} {:>12} {:>10.3f}\n", name_of_member(pair.a),
                          name_of_member(pair.b), shown_.at({pair.a, pair.b}));
    }
    return text;
  }
  std::size_t width = 8;
  for (int member = 0; member < members(); ++member) {
    width = std::max(width, name_of_member(member).size());
  }
  std::string text = fmt::format("# {}: {} of each pair\n{:>{}}", title_, what, "", width);
  for (int b = 0; b < members(); ++b) text += fmt::format(" {:>{}}", name_of_member(b), width);
  text += "\n";
  for (int a = 0; a < members(); ++a) {
    text += fmt::format("{:>{}}", name_of_member(a), width);
    for (int b = 0; b < members(); ++b) {
      const auto pair = shown_.find(std::minmax({a, b}));
      text += pair == shown_.end() ? fmt::format(" {:>{}}", "-", width)
                                   : fmt::format(" {:>{}.3f}", pair->second, width);
    }
    text += "\n";
  }
  return text;
}

std::string PairTable::sentence_of(const PairOutlier& outlier) const {
  const auto named = [&](int member) {
    std::string name = name_of_member(member);
    if (pairs_ == PairsOf::hosts) return name;
    return fmt::format("rank {} on {}", name, hosts_[static_cast<std::size_t>(member)]);
  };
  if (outlier.b < 0) {
    return fmt::format("slow: {}, its pairs take {:.2f} times as long as others (p = {:.1g})",
                       named(outlier.a), outlier.slower, outlier.p_value);
  }
  return fmt::format(
      "slow: between {} and {}, this pair takes {:.2f} times as long as others (p = {:.1g})",
      named(outlier.a), named(outlier.b), outlier.slower, outlier.p_value);
}

namespace {

/// The same refusal on all ranks.
std::vector<PairRound> formed(PairsOf pairs, const Topology& topology) {
  try {
    return pair_rounds(pairs, topology);
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

class PairRun {
 public:
  PairRun(const Ranks& ranks, const AllreduceOptions& options, const TransportPlan& wanted,
          const RankDevices& devices, Console& console)
      : ranks_(ranks),
        options_(options),
        wanted_(wanted),
        devices_(devices),
        console_(console),
        topology_(ranks.host.topology()),
        rounds_(formed(options.pairs, topology_)),
        recorder_(ranks, options.record, pairs_schema(), options.command,
                  {.mpi = MpiSession::library_version(), .torch = "", .nccl = nccl_version()}),
        method_(method_of(options, recorder_)),
        timer_(ranks.host),
        hosts_(all_gather(ranks.host, ranks.session.host())) {
    method_.stop_seconds = most_seconds(options, rounds_.size());
    options.fault.require_reached(plan_of(options, wanted.names.size()).size() * rounds_.size());
  }

  ExitCode measure() {
    const HostReport hosts = look_at_hosts(ranks_, {.options = options_.hosts,
                                                    .record = options_.record,
                                                    .recorder = recorder_,
                                                    .console = console_});
    console_.result(is_csv() ? csv_line(pairs_schema().columns) : head(host_table(hosts)));
    for (std::size_t round = 0; round < rounds_.size(); ++round) measure_round(round);
    console_.clear_progress();
    bool slow = false;
    for (const PairTable& table : tables_) {
      const std::vector<PairOutlier> found = table.outliers(tables_.size());
      slow = slow || !found.empty();
      if (!is_csv()) console_.result(table.text(found));
    }
    recorder_.finish();
    const ExitCode code =
        conclude(hosts, options_.hosts, options_.format, console_, outcome_.exit_code());
    const bool counts = slow && options_.hosts.fail_on_host && code == ExitCode::ok;
    return counts ? ExitCode::regression : code;
  }

 private:
  bool is_csv() const { return options_.format == "csv"; }

  std::string head(const std::string& hosts) const {
    std::string text =
        "# scalebench allreduce of pairs, those at the same time that have none in common\n";
    for (std::size_t rank = 0; rank < hosts_.size(); ++rank) {
      text += fmt::format("#  rank {:3} on {}\n", rank, hosts_[rank]);
    }
    if (recorder_.origin() == "emulated") {
      text += "# EMULATED: good for correctness, not for speed\n";
    }
    return text + hosts + "# time: from the common start to the last end in the pair; median\n";
  }

  /// Opens the transports of a round.
  void form_pairs(const PairRound& round) {
    // Those of the round before, whose end is collective too.
    verifier_.reset();
    transports_.clear();
    control_.reset();
    const int mine = round.group_of_rank[static_cast<std::size_t>(ranks_.session.rank())];
    ranks_.watchdog.span("forming pairs");
    ranks_.watchdog.enter();
    control_ = make_mpi_communicator(Memory::host, mine);
    control_->set_marks(ranks_.host.marks());
    ranks_.watchdog.leave();
    transports_ = open_transports(ranks_, wanted_, options_, devices_, {mine, control_.get()});
    ranks_.watchdog.work("making buffers");
    allocate(transports_, footprint_of(options_), ranks_.host);
    ranks_.watchdog.end_cell();
    verifier_ = std::make_unique<AllreduceVerifier>(ranks_.host, options_.max_bytes);
  }

  void measure_round(std::size_t round) {
    form_pairs(rounds_[round]);
    const std::vector<AllreduceCase> plan = plan_of(options_, transports_.size());
    const std::size_t all = plan.size() * rounds_.size();
    for (std::size_t at = 0; at < plan.size(); ++at) {
      const std::size_t done = round * plan.size() + at;
      const std::string name =
          fmt::format("round {} of {}: {}", round + 1, rounds_.size(), title(plan[at]));
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

  /// Empty, or why this case cannot run in some pair: the others would wait for that one.
  std::string why_not(const AllreduceCase& one) {
    const LaunchTransport& transport = transports_[one.transport];
    if (!transport.communicator) return transport.why_not;
    std::string problem;
    try {
      const AllreduceBench trial = bench(transport);
      trial.run(one, transport.buffers->slot(one, 0));
      trial.wait();
    } catch (const Unavailable& reason) {
      problem = reason.what();
    }
    return common_problem(ranks_.host, problem);
  }

  /// `number`: of the case among those of all rounds, from 1.
  void measure_case(const AllreduceCase& one, std::size_t round, std::size_t number,
                    const std::function<double()>& begin_part) {
    if (const std::string reason = why_not(one); !reason.empty()) {
      return write(one, round, {.status = "skipped", .note = reason});
    }
    AllreduceBench here = bench(transports_[one.transport]);
    if (options_.fault.strikes(number, ranks_.session.rank())) here.fault = &options_.fault;
    if (takes_turns()) here.next_part = begin_part;
    write(one, round, measure_allreduce(here, one, method_));
  }

  AllreduceBench bench(const LaunchTransport& transport) {
    return {
        *transport.communicator, *transport.buffers, timer_, *verifier_, &ranks_.watchdog, nullptr,
        method_.slower};
  }

  void write(const AllreduceCase& one, std::size_t round, const AllreduceResult& result) {
    for (const std::vector<int>& members : rounds_[round].members) {
      if (members.size() < 2) continue;
      AllreduceResult own = result;
      own.timing = timing_of(result.timing, members);
      own.wrong.clear();
      for (const int rank : members) {
        if (!result.wrong.empty())
          own.wrong.push_back(result.wrong[static_cast<std::size_t>(rank)]);
      }
      if (result.status == "wrong" && own.all_wrong() == 0) {
        own.status = "skipped";
        own.note = "not timed: another pair's result is wrong";
      }
      const ResultRow row = pair_row(one, members, round, own);
      recorder_.write(row);
      console_.clear_progress();
      show(one, members, row);
    }
    outcome_.count(result.status);
  }

  /// The pair's row of pairs.csv; its samples are written.
  ResultRow pair_row(const AllreduceCase& one, const std::vector<int>& members, std::size_t round,
                     const AllreduceResult& result) {
    const LaunchTransport& transport = transports_[one.transport];
    AllreduceRowContext context{recorder_, method_};
    // Numbered anew: some of the launch's nodes may have no rank in the pair.
    std::vector<std::string> nodes;
    for (const int rank : members) {
      const auto at = static_cast<std::size_t>(rank);
      context.hosts.push_back(hosts_[at]);
      nodes.push_back(std::to_string(topology_.node_of_rank[at]));
    }
    context.topology = topology_of_hosts(nodes);
    const std::string names = fmt::format("{}", fmt::join(members, " "));
    context.part = fmt::format(" among={}", names);
    const ResultRow head = sample_head(context, one, transport);
    std::vector<double> seconds;
    for (std::size_t i = 0; i < result.timing.repetitions.size(); ++i) {
      seconds.push_back(result.timing.repetitions[i].seconds);
      recorder_.write(sample_of(head, result, i).set("ranks", context.ranks()));
    }
    ResultRow row = recorder_.case_row(canonical(one, transport.place, method_) + context.part);
    row.set("origin", head.get("origin")).set("status", result.status);
    row.set("note", note_of(one, transport, result, context));
    row.set("algorithm", one.algorithm->name).set("transport", transport.place.transport);
    row.set("memory", name_of(transport.place.memory)).set("dtype", name_of(one.dtype));
    row.set("op", name_of(one.op)).set("size_bytes", one.bytes()).set("round", round);
    row.set("ranks", context.ranks()).set("nodes", context.topology.nodes());
    row.set("members", names).set("hosts", fmt::format("{}", fmt::join(context.hosts, " ")));
    if (result.status != "skipped") row.set("wrong", result.all_wrong());
    if (result.status != "ok") return row;
    const Summary summary = summarise(seconds);
    row.set("repetitions", summary.n).set("seconds_median", summary.median);
    row.set("seconds_ci_low", summary.ci_low).set("seconds_ci_high", summary.ci_high);
    const auto bytes = static_cast<double>(one.bytes());
    return row.set("busbw_gb_per_s", busbw_gb_per_s(bytes, summary.median, context.ranks()));
  }

  void show(const AllreduceCase& one, const std::vector<int>& members, const ResultRow& row) {
    if (is_csv()) return console_.result(csv_line(row.cells()));
    const std::string name = title(one);
    if (row.get("status") != "ok") {
      return console_.result(fmt::format("# {}: {}, ranks {}: {}\n", row.get("status"), name,
                                         row.get("members"), row.get("note")));
    }
    auto table = std::ranges::find(tables_, name, &PairTable::title);
    if (table == tables_.end()) {
      tables_.emplace_back(name, one.bytes(), options_.pairs, topology_, hosts_);
      table = tables_.end() - 1;
    }
    table->add(members, number_in(row, "seconds_median"), number_in(row, "busbw_gb_per_s"));
  }

  std::string title(const AllreduceCase& one) const {
    return title_of(one, transports_[one.transport].place);
  }

  const Ranks& ranks_;
  const AllreduceOptions& options_;
  const TransportPlan& wanted_;
  const RankDevices& devices_;
  Console& console_;
  const Topology topology_;
  const std::vector<PairRound> rounds_;
  Recorder recorder_;
  AllreduceMethod method_;
  CollectiveTimer timer_;
  const std::vector<std::string> hosts_;  // by rank
  std::vector<PairTable> tables_;         // by case, as it came
  Outcome outcome_;

  // Of the round. The transports go before the communicator that controls them.
  std::unique_ptr<Communicator> control_;
  std::vector<LaunchTransport> transports_;
  std::unique_ptr<AllreduceVerifier> verifier_;
};

}  // namespace

std::function<ExitCode()> pair_run(const Ranks& ranks, const AllreduceOptions& options,
                                   const TransportPlan& wanted, const RankDevices& devices,
                                   Console& console) {
  const auto run = std::make_shared<PairRun>(ranks, options, wanted, devices, console);
  return [run] { return run->measure(); };
}

}  // namespace scalebench
