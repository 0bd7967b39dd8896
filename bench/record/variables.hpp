// SPDX-License-Identifier: Apache-2.0
// The environment variables that may change a result, and no other: a full dump would leak secrets.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace scalebench {

/// Whether a variable is stored: NCCL_* OMPI_MCA_* PMIX_MCA_* UCX_* FI_* OMP_* OPENBLAS_* MKL_*
/// GOMP_* CUDA_VISIBLE_DEVICES, but none that names a secret, and none that a launcher makes up
/// anew for each start.
bool is_recorded_variable(std::string_view name);

/// The recorded ones of `environment`, a null-terminated array of "NAME=value" as ::environ is.
std::map<std::string, std::string> recorded_variables(const char* const* environment);

}  // namespace scalebench
