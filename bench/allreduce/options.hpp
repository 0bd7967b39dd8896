// SPDX-License-Identifier: Apache-2.0
// What a command line of bench_allreduce asks for: the cases, in their order, and how each is
// measured. As typed: nccl-tests' letters where they exist, long names elsewhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/hosts/hosts.hpp"
#include "bench/measure/repetition.hpp"
#include "bench/program/devices.hpp"
#include "bench/program/fault.hpp"
#include "bench/program/recorder.hpp"
#include "collectives/allreduce.hpp"

namespace scalebench {

/// The transports, and what each needs.
struct TransportNeed {
  std::string_view name, needs;
};
inline constexpr std::array<TransportNeed, 4> kTransports{
    {{"mpi", "any ranks; host memory, or device memory with --memory device and a CUDA-aware MPI"},
     {"shared_memory",
      "ranks that share a host, which it connects through windows; MPI between hosts"},
     {"nccl", "a device for every rank, and a build with NCCL"},
     {"cuda_ipc",
      "devices on one host, in reach of each other; ranks that share one are emulated"}}};

/// Where buffers lie by choice; automatic: on devices where every rank has one.
enum class MemoryChoice { automatic, host, device };

struct AllreduceCase {
  const AllreduceAlgorithm* algorithm = nullptr;
  std::size_t transport = 0;  // position among the transports of the launch
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;
  bool in_place = true;
  bool pipelined = false;
  std::size_t count = 0;  // elements of one rank's buffer

  std::size_t bytes() const { return count * size_of(dtype); }
  std::string_view placement() const { return in_place ? "in_place" : "out_of_place"; }
  std::string_view mode() const { return pipelined ? "pipelined" : "isolated"; }
};

/// In what a launch moves its buffers: several of one transport differ in the rest.
struct AllreducePlace {
  std::string transport;
  Memory memory = Memory::host;
  std::optional<Registration> registration = {};  // with NCCL, as asked for

  /// Who does not choose gets the local one.
  bool registered_as_ever() const {
    return registration.value_or(Registration::local) == Registration::local;
  }
  /// "mpi" or "nccl --register 2": what goes without saying is not mentioned.
  std::string described() const;
  bool operator==(const AllreducePlace&) const = default;
};

/// What the caches hold of the buffers when an operation begins.
enum class Cache : std::uint8_t {
  warm,     // what the operation before left there: one buffer is used again and again
  cold,     // nothing: buffers are walked through that are larger than the last cache
  written,  // what each rank has just written: all of its own input, as after a backward pass
};
inline constexpr std::array<std::string_view, 3> kCaches{"warm", "cold", "written"};
inline std::string_view name_of(Cache cache) { return kCaches[static_cast<std::size_t>(cache)]; }

/// How every case is measured.
struct AllreduceMethod {
  std::size_t repetitions = 0;  // 0: interval-driven
  std::size_t pipeline = 20;    // operations of one repetition of a pipelined case,
  std::size_t batches = 0;      // and its repetitions; 0: interval-driven
  WarmUpRule warm_up;
  double stop_seconds = 5;
  bool capped = false;     // by stop_seconds, also where the number of repetitions is given
  std::size_t checks = 1;  // with inputs of their own, before timing; 0: none, and none after it
  Cache cache = Cache::warm;
  bool graph = false;  // replay a CUDA graph of the operation
  StartMode start = StartMode::clock;
  double slower = 0;  // on purpose, every operation takes so many times its own time longer
};

/// Parameters that name the case, without the number of ranks.
std::string canonical(const AllreduceCase& one, const AllreducePlace& place,
                      const AllreduceMethod& method);

/// "ring on mpi float sum 64 KiB".
std::string title_of(const AllreduceCase& one, const AllreducePlace& place);

/// `host` or `device`.
std::string_view name_of(Memory memory);

/// Values that have no default here have it in describe(), where --help shows it.
struct AllreduceOptions {
  std::size_t min_bytes = 0;
  std::size_t max_bytes = 0;
  std::size_t step_factor = 0;
  std::vector<const AllreduceAlgorithm*> algorithms;
  std::vector<std::string> transports;  // names, or `auto` or `all` alone
  MemoryChoice memory = MemoryChoice::automatic;
  std::vector<Registration> registrations;  // with NCCL; empty: as it can
  DeviceOptions devices;
  std::vector<DType> dtypes;
  std::vector<ReduceOp> ops;
  std::vector<bool> in_place;   // placements; out of place first, as in nccl-tests
  std::vector<bool> pipelined;  // modes
  AllreduceMethod method;
  std::optional<double> max_seconds;  // of a case's repetitions; empty: from the plan
  bool shuffle = false;
  std::uint64_t seed = 1;

  bool bound = true;  // measure what memory alone would allow
  HostOptions hosts;
  Injections injections;
  MomentFault fault;           // the one of them that comes in a case
  double timeout_seconds = 0;  // of the watchdog; 0: its own, more for large buffers

  std::string format = "table";
  bool quiet = false;
  bool dry_run = false;
  RecordOptions record;
  std::vector<std::string> command;  // argv as typed

  std::string text;  // help or a list was asked for: print this and stop
};

/// Throws UsageError in one line for anything that is not valid.
AllreduceOptions parse_allreduce_options(int argc, const char* const* argv, int ranks);

/// Adds all options to `app`, bound to `options`. `ranks`: of which a fault strikes one.
void describe(CLI::App& app, int ranks, AllreduceOptions& options);

/// Throws JointRefusal for registrations where NCCL is none of the `transports`.
void require_nccl_for_registrations(const AllreduceOptions& options,
                                    const std::vector<std::string>& transports);

/// Sizes in bytes, ascending.
std::vector<std::size_t> sizes_of(const AllreduceOptions& options);

/// All cases on `transports` transports: what is compared (algorithms, transports) is always
/// neighbours, and so are the placements that nccl-tests shows in one line; sizes are ascending, or
/// everything is shuffled by the seed.
std::vector<AllreduceCase> plan_of(const AllreduceOptions& options, std::size_t transports);

/// Cap on the repetitions of one case of a plan, unless the options say it: 5 s, or less where that
/// would let the long cases together take more than two minutes.
double stop_seconds_of(const AllreduceOptions& options, const std::vector<AllreduceCase>& plan);

}  // namespace scalebench
