// SPDX-License-Identifier: Apache-2.0
// Whether an allreduce reached what such hardware gives: what is expected follows from links, rates
// and the number of hosts, with its factors written out; what nobody knows is UNKNOWN. The links
// are told by the GPUs' names, the likely causes by the log.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bench/study/comparison/instances.hpp"

namespace scalebench {

/// What joins the GPUs of a host: a row of configs/fabrics.csv. The rate of a link is the one that
/// NCCL's own model of the hardware has, which is what its rings reach.
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

/// Throws UsageError `file:line:column: what` for what is no number.
std::vector<Fabric> read_fabrics(const std::filesystem::path& path);

/// Null: none of them, or GPUs that belong to several.
const Fabric* fabric_of(const std::vector<Fabric>& fabrics, const std::vector<std::string>& gpus);

/// A line of a log that says why an allreduce was slow.
struct Sign {
  std::size_t line = 0;  // from 1
  std::string seen;      // the words of the log
  std::string cause;     // "NCCL_P2P_DISABLE was set"
};

struct Evidence {
  std::vector<Sign> signs;  // each cause once, in the order of the log
  std::set<int> rails;      // numbers of the network devices that channels went over; empty: unsaid
};

/// What the lines that NCCL writes with NCCL_DEBUG=INFO say of it.
Evidence evidence_in(std::string_view log);

enum class Normality { normal, slow, fast, unknown };
/// "NORMAL", ...
std::string_view name_of(Normality normality);

/// One allreduce of a run or of a log.
struct MeasuredLine {
  std::string algorithm, transport;
  std::int64_t bytes = 0;  // of a rank's buffer
  int ranks = 0;
  int nodes = 1;  // 0: not known
  double seconds = 0;
  bool in_host_memory = false;

  /// GB/s; NaN for one rank or no time.
  double busbw() const;
};

/// What is known of the place.
struct Place {
  const Fabric* fabric = nullptr;  // of its GPUs; null: unknown, or no GPU was used
  bool fabric_is_said = false;     // by a person, not by the GPUs' names
  std::string why_no_fabric;       // where it is null and GPUs were there
  double rail_gb_per_s = 0;        // line rate of one network device of a host; 0: unknown
  int rails = 1;                   // of a host
  int gpus_of_host = 0;            // of the instance type that `check` is of
  AllreduceCheck check;
};

struct Expectation {
  double busbw = 0;        // GB/s; 0: nobody knows
  double most = 0;         // what another algorithm may show on the same hardware
  double low_share = 0.8;  // below: SLOW
  std::string factors;     // "18 links x 20.6 GB/s of NVLink 4"
  std::string source;
  std::string why_unknown;
  bool checked = false;  // the provider's own check is of such a line, and says what is SLOW
};

Expectation expected(const MeasuredLine& line, const Place& place);

struct JudgedLine {
  MeasuredLine line;
  Expectation expectation;
  Normality verdict = Normality::unknown;
  std::string why;  // where it is unknown

  /// Of what is expected; NaN: unknown.
  double share() const;
};

struct Judgement {
  std::vector<JudgedLine> lines;  // as given
  Normality verdict = Normality::unknown;
  std::string sentence;             // the verdict with its line and factors
  std::string source;               // of what is expected there
  std::vector<std::string> causes;  // likely ones, the evidence with each
};

/// The verdict is that of the line that came nearest to what is expected, among those that the
/// provider's check is of where there are some; one that exceeds it by more than any algorithm
/// could makes it FAST.
Judgement judge(const std::vector<MeasuredLine>& lines, const Place& place,
                const Evidence& evidence);

}  // namespace scalebench
