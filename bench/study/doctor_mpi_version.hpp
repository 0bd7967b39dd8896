// SPDX-License-Identifier: Apache-2.0
// Which MPI a text names, so that the launcher can be compared with the library. With two different
// ones every rank becomes a world of its own, and N of them look like perfect scaling.
#pragma once

#include <string>
#include <string_view>

namespace scalebench {

struct MpiVersion {
  std::string family;   // "Open MPI", "MPICH", "Intel MPI"; empty: not recognized
  std::string version;  // "4.1.4"; may be empty

  std::string text() const;
};

/// Reads what `mpirun --version` prints or what MPI_Get_library_version says.
MpiVersion mpi_version_in(std::string_view text);

}  // namespace scalebench
