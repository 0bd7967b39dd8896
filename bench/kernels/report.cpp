// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/report.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "bench/cli/quantity.hpp"
#include "bench/cli/stderr.hpp"
#include "bench/machine/environment.hpp"
#include "bench/measure/repetition.hpp"
#include "bench/record/columns.hpp"
#include "bench/record/csv.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/results_folder.hpp"

namespace scalebench {
namespace {

const char* memory_name(const KernelCase& one) {
  return one.memory == Memory::host ? "host" : "device";
}

std::string canonical(const KernelCase& one, std::string_view device) {
  return fmt::format("bench=kernels kernel={} memory={} device={} dtype={} count={}", one.kernel,
                     memory_name(one), device, name_of(one.dtype), one.count);
}

/// The right half of a table's line, or why there is none. "-" is unknown.
std::string measured_columns(const ResultRow& row) {
  if (row.get("status") != "ok") return fmt::format(" {}: {}", row.get("status"), row.get("note"));
  const double median = number_in(row, "seconds_median");
  const double half_width =
      (number_in(row, "seconds_ci_high") - number_in(row, "seconds_ci_low")) / 2;
  const std::string spread =
      std::isnan(half_width) ? "-" : fmt::format("{:.1f}%", 100 * half_width / median);
  return fmt::format("{:>13} {:>7} {:>9} {:>9} {:>5}", scaled(row.get("seconds_median"), 1e6, 3),
                     spread, scaled(row.get("gb_per_s"), 1, 2),
                     scaled(row.get("gflop_per_s"), 1, 2), row.get("repetitions"));
}

class KernelReporter final : public benchmark::BenchmarkReporter {
 public:
  KernelReporter(KernelReportOptions options, const KernelEntries& entries)
      : options_(std::move(options)), entries_(entries), watch_(options_.device_uuid) {
    RecordOptions& record = options_.record;
    if (record.out.empty()) return;
    constexpr std::uintmax_t kBytesNeeded = 2'000'000;
    const std::filesystem::path folder = own_folder(record.out, kBytesNeeded);
    if (record.run_id.empty()) record.run_id = folder.filename().string();
    cases_.emplace(folder / kernels_schema().file, kernels_schema().columns);
    samples_.emplace(folder / samples_schema().file, samples_schema().columns);
  }

  bool ReportContext(const Context& /*context*/) override {
    begun_ = true;
    if (options_.format == "csv") {
      fmt::print("{}", csv_line(kernels_schema().columns));
    } else {
      fmt::print("# time: median of the repetitions; +-: half of its 95 % interval; one thread\n");
      if (!options_.device.empty()) fmt::print("# device: {}\n", options_.device);
      fmt::print("{}", emulation_line());
      fmt::print("#{:<15} {:>9} {:>11} {:>6} {:>13} {:>7} {:>9} {:>9} {:>5}\n", "kernel", "dtype",
                 "size", "memory", "time (us)", "+-", "GB/s", "GFLOP/s", "reps");
    }
    return true;
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    if (runs.empty() || runs.front().run_type != Run::RT_Iteration) return;  // Google's statistics
    const KernelEntry& entry = entries_.at(runs.front().run_name.function_name);
    const Measured measured = this->measured(entry, runs);
    outcome_.count(entry.status.status);
    const ResultRow row = row_of(entry, measured);
    print(entry, row);
    if (cases_) {
      write_samples(entry, measured);
      cases_->append(row.cells());
    }
  }

  /// After the last case: of what has been reported.
  ExitCode exit_code() const {
    if (!begun_) return ExitCode::ok;  // Google only listed the cases.
    if (outcome_.cases() == 0) {
      print_line("bench_kernels: Google Benchmark reported no repetition");
    }
    return outcome_.exit_code();
  }

 private:
  /// What is known of one case when its repetitions are over.
  struct Measured {
    std::vector<double> seconds;  // by repetition
    std::vector<double> enqueue_seconds;
    CardSummary card;
  };
  Measured measured(const KernelEntry& entry, const std::vector<Run>& runs) {
    Measured measured;
    if (entry.status.status != "ok") return measured;
    for (const Run& run : runs) {
      const double calls =
          static_cast<double>(run.iterations) * static_cast<double>(entry.one.calls());
      measured.seconds.push_back(run.real_accumulated_time / calls);
    }
    // Before the repetitions Google Benchmark tries how many iterations they need.
    const std::vector<KernelLook>& looks = entry.status.looks;
    if (looks.size() < runs.size()) return measured;
    std::vector<TimeSpan> spans;
    for (auto look = looks.end() - static_cast<std::ptrdiff_t>(runs.size()); look != looks.end();
         ++look) {
      spans.push_back(look->span);
      measured.enqueue_seconds.push_back(look->enqueue_seconds);
    }
    measured.card = watch_.during(spans);
    return measured;
  }

  std::string device_of(const KernelCase& one) const {
    return one.memory == Memory::host ? "cpu" : options_.device;
  }

  ResultRow head_of(const Schema& schema, const KernelCase& one) const {
    ResultRow row(schema);
    row.set("run_id", options_.record.run_id);
    row.set("case_id", case_id(canonical(one, device_of(one))));
    return row.set("origin", timed_origin(/*crowded=*/false));
  }

  ResultRow row_of(const KernelEntry& entry, const Measured& measured) const {
    const KernelCase& one = entry.one;
    ResultRow row = head_of(kernels_schema(), one);
    row.set("status", entry.status.status).set("note", entry.status.note);
    row.set("kernel", one.kernel).set("device", device_of(one));
    row.set("dtype", name_of(one.dtype)).set("bytes", one.bytes);
    if (one.flops > 0) row.set("flops", one.flops);
    if (measured.seconds.empty()) return row;
    const Summary summary = summarise(measured.seconds);
    set_statistics(row, summary, is_narrow(summary, StopRule::for_bytes(one.bytes).target));
    // Counted beforehand, and not enough to tell.
    if (static_cast<double>(measured.seconds.size()) < kFewestToConverge) row.set("converged", "");
    set_kernel_rates(row, summary.median);
    if (!measured.enqueue_seconds.empty()) {
      row.set("enqueue_seconds", median_of(measured.enqueue_seconds));
    }
    set_card(row, measured.card);
    return row;
  }

  void write_samples(const KernelEntry& entry, const Measured& measured) {
    ResultRow row = head_of(samples_schema(), entry.one);
    row.set("bench", "kernels")
        .set("launch", options_.record.launch)
        .set("round", options_.record.round)
        .set("ranks", 1)
        .set("bytes", entry.one.bytes);
    for (std::size_t i = 0; i < measured.seconds.size(); ++i) {
      row.set("repetition", i).set("seconds", measured.seconds[i]);
      samples_->append(row.cells());
    }
  }

  void print(const KernelEntry& entry, const ResultRow& row) const {
    if (options_.format == "csv") {
      fmt::print("{}", csv_line(row.cells()));
    } else {
      fmt::print("{:<16} {:>9} {:>11} {:>6} {}\n", entry.one.kernel, row.get("dtype"),
                 entry.one.size(), memory_name(entry.one), measured_columns(row));
    }
    std::fflush(stdout);
  }

  KernelReportOptions options_;
  const KernelEntries& entries_;
  DeviceWatch watch_;
  std::optional<CsvWriter> cases_;
  std::optional<CsvWriter> samples_;
  bool begun_ = false;
  Outcome outcome_;
};

}  // namespace

ExitCode run_kernels(KernelReportOptions options, const KernelEntries& entries) {
  KernelReporter reporter(std::move(options), entries);
  if (benchmark::RunSpecifiedBenchmarks(&reporter) == 0) return ExitCode::nothing_measured;
  return reporter.exit_code();
}

}  // namespace scalebench
