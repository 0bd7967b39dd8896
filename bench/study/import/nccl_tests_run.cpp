// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/nccl_tests_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/study/bandwidth.hpp"
#include "bench/study/collect.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kProgram = "all_reduce_perf";

/// A busbw to two or three digits, from a time to four: how far apart both may be.
bool agrees(const PrintedNumber& printed, double follows, const PrintedNumber& time_us) {
  const double of_time = follows * time_us.half_unit / time_us.value;
  return std::abs(printed.value - follows) <= 1.01 * (printed.half_unit + of_time) + 1e-9;
}

}  // namespace

void NcclTestsRun::set_method(std::string_view iterations, std::string_view aggregated,
                              std::string_view graph) {
  const double count = decimal_of(iterations).value_or(0) * decimal_of(aggregated).value_or(1);
  if (count >= 1) operations_ = fmt::format("{}", count);
  graph_ = fmt::format("{}", decimal_of(graph).value_or(0) > 0 ? 1 : 0);
}

bool NcclTestsRun::add_rank(int rank, int group, std::string_view host, std::string_view device) {
  if (seen_.empty()) first_group_ = group;
  if (!seen_.emplace(group, rank).second) return false;
  if (!host.empty()) hosts_.emplace(host);
  devices_.emplace_back(device);
  return true;
}

std::string NcclTestsRun::unusable() const {
  if (program_.empty() || program_.find(kProgram) != std::string::npos) return "";
  return fmt::format("results of {} are left out: allreduce.csv holds those of {}", program_,
                     kProgram);
}

std::string NcclTestsRun::ranks() const {
  if (ranks_) return std::to_string(*ranks_);
  const auto listed = std::ranges::count(seen_, first_group_, &std::pair<int, int>::first);
  if (listed > 0) return std::to_string(listed);
  const std::string given = setting(*settings_, "ranks");
  if (given.empty()) {
    fail<UsageError>("{}: no list of devices, so the number of ranks is unknown; add --set ranks=N",
                     file_);
  }
  return given;
}

ResultRow NcclTestsRun::described(const Size& size, std::string_view placement) const {
  ResultRow row(allreduce_schema());
  row.set("dtype", size.type).set("op", size.redop).set("placement", placement);
  row.set("graph", graph_).set("operations", operations_);
  row.set("size_bytes", size.bytes).set("count", size.count).set("ranks", ranks());
  if (!hosts_.empty()) row.set("nodes", hosts_.size());
  apply(*settings_, row, file_);
  set_where_empty(row, "algorithm", "native");
  set_where_empty(row, "transport", "nccl");
  set_where_empty(row, "memory", "device");
  set_where_empty(row, "mode", "pipelined");
  return row;
}

void NcclTestsRun::add(const Size& size, const Measured& measured, std::string_view placement,
                       std::size_t line, std::vector<Finding>& findings) {
  ImportedCase one{described(size, placement), {}, {}};
  ResultRow& row = one.row;
  const auto find = [&](const std::string& what) {
    findings.push_back({line, fmt::format("{}: {}", placement, what)});
  };
  const std::optional<double> wrong = decimal_of(measured.wrong);
  const std::optional<PrintedNumber> time = printed_number(measured.time);
  if (wrong) row.set("wrong", *wrong);
  if (!time || time->value <= 0) {
    row.set("status", "failed").set("note", no_number("time", measured.time));
    find(row.get("note"));
  } else if (wrong && *wrong > 0) {
    row.set("status", "wrong").set("note", fmt::format("{} wrong elements", measured.wrong));
    find(fmt::format("{}: the time counts for nothing", row.get("note")));
  } else if (!wrong && measured.wrong != "N/A" && !measured.wrong.empty()) {
    row.set("status", "failed").set("note", no_number("#wrong", measured.wrong));
    find(row.get("note"));
  } else {
    row.set("note", "mean of its operations, as nccl-tests prints it");
    one.seconds = {time->value / 1e6};
    if (!measured.times_us.empty()) {
      one.seconds.clear();
      for (const double us : measured.times_us) one.seconds.push_back(us / 1e6);
      row.set("operations", 1).set("note", "single operations, as nccl-tests -I writes them");
    }
    const double follows = busbw_gb_per_s(number_in(row, "size_bytes"), time->value / 1e6,
                                          static_cast<int>(number_in(row, "ranks")));
    const std::optional<PrintedNumber> busbw = printed_number(measured.busbw);
    if (!busbw) {
      find(no_number("busbw", measured.busbw));
    } else if (!agrees(*busbw, follows, *time)) {
      const std::string what =
          fmt::format("busbw {} is printed, but {:.2f} GB/s follow from {} us, {} B and {} ranks",
                      measured.busbw, follows, measured.time, size.bytes, row.get("ranks"));
      row.set("note", what);
      find(what);
    }
  }
  launch_.cases.push_back(std::move(one));
}

}  // namespace scalebench
