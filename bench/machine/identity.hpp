// SPDX-License-Identifier: Apache-2.0
// What a process is and where it runs, so that ranks on several hosts can be told to be the same
// program with the same libraries: not by versions alone, which two builds may share.
#pragma once

#include <unistd.h>

#include <array>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace scalebench {

// By which two hosts can be told to be one machine, whatever they call themselves.

/// The running kernel's (Linux: /proc/sys/kernel/random/boot_id); empty where it is hidden.
inline std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string line;
  std::getline(file, line);
  return line;
}

/// As this host calls itself; empty where it does not say.
inline std::string own_host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// In which launchers of MPI tell a process its rank: Open MPI, PMIx, PMI.
constexpr std::array<std::string_view, 3> kRankVariables{"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                                         "PMI_RANK"};

/// The versions that only a program which links these libraries can tell. Empty: not in this build.
struct LinkedLibraries {
  std::string mpi;    // MPI_Get_library_version
  std::string torch;  // "1.13.1"
  std::string nccl;   // "2.21.5"
};

struct Identity {
  std::string host;     // as it calls itself
  std::string boot_id;  // the kernel's: equal on two hosts that are one machine; empty: hidden
  int cores = 0;        // that the process may use
  int gpus = 0;
  std::string program;  // "bench_allreduce"
  std::string sha256;   // of its file
  /// MPI and NCCL by version, and the loaded libraries of MPI, NCCL, CUDA and LibTorch by the
  /// linker's build id.
  std::map<std::string, std::string> libraries;
  /// What ranks are as fast as: processor, cores, GPUs; a field is missing where the host hides it.
  std::map<std::string, std::string> hardware = {};
};

/// Of this process. `gpus`: that it sees.
Identity identity_here(const LinkedLibraries& libraries, std::string host, int gpus);

/// One line, and all such lines within what launchers and programs print, in their order.
std::string identity_line(const Identity& identity);
std::vector<Identity> identities_in(std::string_view output);

}  // namespace scalebench
