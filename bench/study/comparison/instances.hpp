// SPDX-License-Identifier: Apache-2.0
// The catalog of instance types: what one costs an hour, by which source and date, and what is in
// it (configs/instances.csv, or a file of the user's with the same columns).
#pragma once

#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace scalebench {

/// The source of a price that is no catalog's.
inline constexpr const char* kUsersPrice = "given by the user";

/// What a provider's own health check asks of an allreduce over all GPUs of its hosts.
struct AllreduceCheck {
  int nodes = 0;  // 0: none is known
  double bytes = 0;
  double busbw = 0;  // GB/s, at least
  std::string source;
};

struct Instance {
  std::string name;
  std::string gpu_model;  // empty without GPUs
  int gpus = 0;
  int vcpus = 1;
  double usd_per_hour = 0;  // NaN where the catalog has none
  std::string price_date;   // "2026-07-20", or "undated ..." as its source has none
  std::string price_source;
  std::string currency = "usd";  // of the price: a word that stands beside it
  double network_gbps = 0;       // of a host, for its GPUs where they have their own; NaN: unknown
  AllreduceCheck check{};
};

/// Throws UsageError `file:line:column: what; what is valid` for a catalog that cannot be used.
std::vector<Instance> read_instances(const std::filesystem::path& path);

/// Whether a GPU of this name is of the type's model: an L40S is no L4.
bool has_gpu(const Instance& instance, const std::string& gpu);

/// The user's own price of an hour, as of `today`. Throws UsageError.
void set_price(std::vector<Instance>& catalog, const std::string& type, const std::string& text,
               const std::string& today);

}  // namespace scalebench
