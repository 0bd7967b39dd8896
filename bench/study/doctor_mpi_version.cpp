// SPDX-License-Identifier: Apache-2.0
#include "bench/study/doctor_mpi_version.hpp"

#include <array>
#include <regex>
#include <utility>

namespace scalebench {

std::string MpiVersion::text() const {
  if (family.empty()) return "an unknown MPI";
  return version.empty() ? family : family + " " + version;
}

MpiVersion mpi_version_in(std::string_view text) {
  // Intel's is made from MPICH and may say so as well; MPICH's launcher is called Hydra.
  constexpr std::array<std::pair<std::string_view, const char*>, 5> kFamilies{{
      {"Open MPI", "Open MPI"},
      {"OpenRTE", "Open MPI"},
      {"Intel(R) MPI", "Intel MPI"},
      {"MPICH", "MPICH"},
      {"HYDRA", "MPICH"},
  }};
  MpiVersion found;
  for (const auto& [mark, family] : kFamilies) {
    const std::size_t at = text.find(mark);
    if (at == std::string_view::npos) continue;
    found.family = family;
    const std::string rest(text.substr(at));
    std::smatch match;
    static const std::regex number("[0-9]+\\.[0-9]+(\\.[0-9]+)*");
    if (std::regex_search(rest, match, number)) found.version = match.str();
    break;
  }
  return found;
}

}  // namespace scalebench
