// SPDX-License-Identifier: Apache-2.0
// MPI_CHECK(call): throws Error with the expression, its place and MPI's own text unless it
// returned MPI_SUCCESS. MpiSession sets MPI_ERRORS_RETURN, so that errors get here.
#pragma once

#include <mpi.h>

namespace scalebench {

[[noreturn]] void throw_mpi_error(int code, const char* expression, const char* file, int line);

}  // namespace scalebench

#define MPI_CHECK(call)                                                   \
  do {                                                                    \
    if (const int mpi_code = (call); mpi_code != MPI_SUCCESS) {           \
      ::scalebench::throw_mpi_error(mpi_code, #call, __FILE__, __LINE__); \
    }                                                                     \
  } while (false)
