// SPDX-License-Identifier: Apache-2.0
// What an epoch costs on an instance type, and from which N on another type is cheaper or faster:
// rows of cost.csv and break_even.csv from rows of epoch.csv. And the catalog of types: what one
// costs an hour, by which source and date, and what is in it (configs/instances.csv, or a file of
// the user's with the same columns).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

/// The source of a price that is no catalog's.
inline constexpr const char* kUsersPrice = "given by the user";

struct Instance {
  std::string name;
  std::string gpu_model;  // empty without GPUs
  int gpus = 0;
  int vcpus = 1;
  double network_gbps = 0;         // of one instance, to others; NaN where unknown
  std::string interconnect;        // between its GPUs, in the catalog's words
  double fp32_tflops_per_gpu = 0;  // NaN where unknown
  double usd_per_hour = 0;
  std::string price_date;  // "2026-07-20", or "undated ..." as its source has none
  std::string price_source;
};

/// Throws UsageError `file:line:column: what; what is valid` for a catalog that cannot be used.
std::vector<Instance> read_instances(const std::filesystem::path& path);

/// Throws UsageError with the nearest name.
const Instance& instance_named(const std::vector<Instance>& instances, std::string_view name);

/// A run whose ranks are taken to have been on instances of this type.
struct PricedRun {
  std::string run_id;
  Instance instance;
  std::vector<ResultRow> epochs;  // of epoch.csv
};

/// usd = price * nodes * seconds / 3600, for each strategy and N. nodes = N over the GPUs of an
/// instance, rounded up; ranks on a CPU count as `threads` vCPUs each. A run that was really spread
/// over more nodes is charged for those. Throws UsageError when the instance has no room for a
/// rank.
std::vector<ResultRow> cost_rows(const PricedRun& run);

/// The rows that `to` would give if time went with the fp32 TFLOPS of one GPU and with nothing
/// else: origin `predicted`. Throws UsageError where that says nothing: CPU ranks, unknown TFLOPS.
PricedRun predicted(const PricedRun& from, const Instance& to);

/// Sets `efficient` within each model, data set, scaling and origin: 1 when no other row gives both
/// as many images a second and as many a dollar.
void mark_efficient(std::vector<ResultRow>& costs);

/// For each strategy that both have, the smallest N at which B is cheaper, and at which it is
/// faster, among the N that both have. With a prediction on one side the row is predicted.
std::vector<ResultRow> break_even_rows(const std::vector<ResultRow>& a,
                                       const std::vector<ResultRow>& b);

}  // namespace scalebench
