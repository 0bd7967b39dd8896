// SPDX-License-Identifier: Apache-2.0
// The measuring half of bench_allreduce: bound, trial of the algorithms for `auto`, then each case,
// whose rows are written as it ends.
#pragma once

#include <vector>

#include "bench/allreduce/bound.hpp"
#include "bench/allreduce/links.hpp"
#include "bench/allreduce/plan.hpp"
#include "bench/allreduce/report.hpp"
#include "bench/allreduce/tuning.hpp"
#include "bench/program/card_watch.hpp"
#include "bench/program/program.hpp"
#include "bench/program/recorder.hpp"
#include "bench/program/watchdog/watchdog.hpp"

namespace scalebench {

class AllreduceRun {
 public:
  /// Collective. The transports must be open and outlive the run.
  AllreduceRun(const Ranks& ranks, const AllreduceOptions& options,
               std::vector<LaunchTransport>& transports, const RankDevices& devices,
               Console& console);

  /// Collective. Measures the plan and returns the program's exit code.
  ExitCode measure(const std::vector<AllreduceCase>& plan);
  /// This rank will end all: as Watchdog::give_up().
  void give_up() { watchdog_.give_up(); }

 private:
  void measure_links();
  void prepare_bounds();
  void write_bounds();
  void measure_choices(const std::vector<AllreduceCase>& plan);
  void learn(const AllreduceCase& one);
  void join_device(const LaunchTransport& transport, AllreduceResult& result);
  void measure_case(const AllreduceCase& one, std::size_t number);
  std::string title(const AllreduceCase& one) const;
  void write(const AllreduceCase& one, const AllreduceResult& result);
  AllreduceBench bench(const LaunchTransport& transport);

  /// What `auto` goes by in one setting, or why it cannot.
  struct Learned {
    AllreduceSetting setting;
    SharedChoices choices;
    std::string why_not;
  };
  const Learned* learned(const AllreduceCase& one) const;

  const Ranks& ranks_;
  const AllreduceOptions& options_;
  std::vector<LaunchTransport>& transports_;
  Console& console_;
  Recorder recorder_;
  SideFile rank_file_;
  AllreduceMethod method_;
  AllreduceRowContext context_;
  CollectiveTimer timer_;
  AllreduceVerifier verifier_;
  Watchdog watchdog_;
  DeviceWatch device_watch_;  // this rank's card, where a transport uses it
  std::unique_ptr<AllreduceReport> report_;
  std::optional<EarlierRows> earlier_;
  std::vector<Learned> learned_;
  std::vector<std::optional<AllreduceBound>> bounds_;  // by transport; host memory only
  std::vector<ResultRow> rank_rows_;                   // kept for --per-rank
  LinkReport links_;
  Outcome outcome_;
};

}  // namespace scalebench
