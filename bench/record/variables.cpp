// SPDX-License-Identifier: Apache-2.0
#include "bench/record/variables.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "bench/record/utf8.hpp"

namespace scalebench {
namespace {

constexpr std::array<std::string_view, 10> kPrefixes{
    "NCCL_", "OMPI_MCA_", "PMIX_MCA_", "UCX_",  "FI_",
    "OMP_",  "OPENBLAS_", "MKL_",      "GOMP_", "CUDA_VISIBLE_DEVICES"};

constexpr std::array<std::string_view, 9> kSecrets{
    "TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "CREDENTIAL", "AUTH", "COOKIE", "TRANSPORTS"};

// Addresses, jobs and folders of one start; "transports" above is Open MPI's name for a shared key.
constexpr std::array<std::string_view, 7> kLaunchers{
    "OMPI_MCA_orte_",        "OMPI_MCA_prte_", "OMPI_MCA_plm", "OMPI_MCA_ess_",
    "OMPI_MCA_initial_wdir", "OMPI_MCA_pmix_", "NCCL_COMM_ID"};

}  // namespace

bool is_recorded_variable(std::string_view name) {
  const auto begins = [name](std::string_view prefix) { return name.starts_with(prefix); };
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const auto within = [&](std::string_view word) { return upper.find(word) != std::string::npos; };
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), begins) &&
         std::none_of(kLaunchers.begin(), kLaunchers.end(), begins) &&
         std::none_of(kSecrets.begin(), kSecrets.end(), within);
}

std::map<std::string, std::string> recorded_variables(const char* const* environment) {
  std::map<std::string, std::string> recorded;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    if (is_recorded_variable(name)) recorded.emplace(name, valid_utf8(entry.substr(equals + 1)));
  }
  return recorded;
}

}  // namespace scalebench
