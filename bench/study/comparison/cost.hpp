// SPDX-License-Identifier: Apache-2.0
// What an epoch, or a million images of training steps alone, costs on an instance type: rows of
// cost.csv from rows of epoch.csv and throughput.csv. And the catalog of types: what one costs an
// hour, by which source and date, and what is in it (configs/instances.csv, or a file of the user's
// with the same columns).
#pragma once

#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

/// The source of a price that is no catalog's.
inline constexpr const char* kUsersPrice = "given by the user";
inline constexpr double kSecondsAnHour = 3600;

struct Instance {
  std::string name;
  std::string gpu_model;  // empty without GPUs
  int gpus = 0;
  int vcpus = 1;
  double network_gbps = 0;         // of one instance, to others; NaN where unknown
  double fp32_tflops_per_gpu = 0;  // NaN where unknown
  double usd_per_hour = 0;         // NaN where the catalog has none
  std::string price_date;          // "2026-07-20", or "undated ..." as its source has none
  std::string price_source;
  double gpu_memory_gib = std::nan("");  // of one GPU; NaN where unknown
  std::string currency = "usd";          // of the price: a word that stands beside it
};

/// Throws UsageError `file:line:column: what; what is valid` for a catalog that cannot be used.
std::vector<Instance> read_instances(const std::filesystem::path& path);

/// Throws UsageError with the nearest name.
const Instance& instance_named(const std::vector<Instance>& instances, std::string_view name);

/// The user's own price of an hour, as of `today`. Throws UsageError.
void set_price(std::vector<Instance>& catalog, const std::string& type, const std::string& text,
               const std::string& today);

/// A run whose ranks are taken to have been on instances of this type.
struct PricedRun {
  std::string run_id;
  Instance instance;
  std::vector<ResultRow> epochs;        // of epoch.csv
  std::vector<ResultRow> throughput{};  // of throughput.csv
};

/// cost = price * nodes * seconds / 3600, for each strategy and N, in the catalog's currency. nodes
/// = N over the GPUs of an instance, rounded up; ranks on a CPU count as `threads` vCPUs each. A
/// run that was really spread over more nodes is charged for those. Ranks that do not fill their
/// instances are a part of one (`whole` = 0). Throughput, the rows of all ranks together, has
/// images a second and what they cost; it is no epoch, and has no time and no cost of one. Emulated
/// rows have no cost. Throws UsageError where a row cannot be of such instances: another GPU, or
/// more ranks on a node than one holds.
std::vector<ResultRow> cost_rows(const PricedRun& run);

/// Whether the row is of training steps alone: without synchronisation, input and evaluation.
inline bool is_throughput(const ResultRow& cost) { return cost.get("bench") == "throughput"; }

/// The rows that `to` would give if time went with the fp32 TFLOPS of one GPU and with nothing
/// else: origin `predicted`. Where a GPU of `to` is known not to hold what was trained, the row is
/// `skipped` and its note says why. Throws UsageError where TFLOPS say nothing: CPU ranks, unknown
/// TFLOPS.
PricedRun predicted(const PricedRun& from, const Instance& to);

/// Sets `efficient` of whole instances within each benchmark, model, data set and scaling: 1 when
/// no other row of the same origin gives both as many images a second and as many a dollar. A
/// prediction is also beaten by what is none, and beats nothing but predictions.
void mark_efficient(std::vector<ResultRow>& costs);

}  // namespace scalebench
