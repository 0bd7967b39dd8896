// SPDX-License-Identifier: Apache-2.0
// The versions that only a program which links these libraries can tell.
#pragma once

#include <string>

namespace scalebench {

/// What this room cannot know itself. Empty: not in this build.
struct LinkedLibraries {
  std::string mpi;    // MPI_Get_library_version
  std::string torch;  // "1.13.1"
  std::string nccl;   // "2.21.5"
};

}  // namespace scalebench
