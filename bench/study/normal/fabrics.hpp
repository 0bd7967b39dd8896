// SPDX-License-Identifier: Apache-2.0
// What joins the GPUs of a host, by their names: configs/fabrics.csv. The rate of a link is the one
// that NCCL's own model of the hardware has, which is what its rings reach.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

namespace scalebench {

struct Fabric {
  std::string name;          // "nvlink4-h100"
  std::string matches;       // RE2, anywhere in a GPU's name
  std::string link;          // "NVLink 4"
  double links = 0;          // of a GPU
  bool mesh = false;         // each link goes to another GPU: a ring uses those to its own GPUs
  double gb_per_s = 0;       // of a link, in one direction
  double nvls_gb_per_s = 0;  // busbw with NVLink SHARP on 8 GPUs; NaN: has none, or nobody told
  double pcie_gb_per_s = 0;  // of a GPU, to other hosts
  double domain = 1;  // GPUs that its links join, also over several hosts; 1: those of a host
  std::string source;

  /// Links that so many ranks of a host use.
  double used(int ranks) const { return mesh ? std::min(links, ranks - 1.0) : links; }
  /// GB/s of busbw that their rings reach.
  double ring(int ranks) const { return used(ranks) * gb_per_s; }
  /// That the best of NCCL's algorithms reaches.
  double best(int ranks) const {
    return std::isnan(nvls_gb_per_s) ? ring(ranks) : std::max(ring(ranks), nvls_gb_per_s);
  }
};

/// Throws UsageError `file:line:column: what; what is valid`.
std::vector<Fabric> read_fabrics(const std::filesystem::path& path);

/// Null: none of them, or GPUs that belong to several.
const Fabric* fabric_of(const std::vector<Fabric>& fabrics, const std::vector<std::string>& gpus);

}  // namespace scalebench
