# SPDX-License-Identifier: Apache-2.0
# Finds what the suite builds on and says what was taken, what is missing and what that costs.
# Sets SCALEBENCH_HAS_TORCH, SCALEBENCH_HAS_TORCH_CUDA, SCALEBENCH_HAS_CUDA and SCALEBENCH_HAS_JPEG.
# Nothing is downloaded.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(MPI REQUIRED COMPONENTS C)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(benchmark REQUIRED)
find_package(GTest REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(TOMLPLUSPLUS REQUIRED IMPORTED_TARGET tomlplusplus)
find_path(FCCP_INCLUDE_DIR NAMES csv.h PATH_SUFFIXES libfccp REQUIRED)
find_package(BLAS REQUIRED)

set(SCALEBENCH_HAS_JPEG OFF)
pkg_check_modules(TURBOJPEG IMPORTED_TARGET libturbojpeg)
if(TURBOJPEG_FOUND)
  set(SCALEBENCH_HAS_JPEG ON)
  message(STATUS "libjpeg-turbo: ${TURBOJPEG_VERSION}")
else()
  message(STATUS "libjpeg-turbo: none (Debian: libturbojpeg0-dev): JPEG folders cannot be read")
endif()

# Simulated ranks: what runs over them is compiled against SimGrid's MPI instead of a real one.
set(SCALEBENCH_HAS_SIMGRID OFF)
pkg_check_modules(SIMGRID IMPORTED_TARGET simgrid)
find_path(SMPI_INCLUDE_DIR NAMES mpi.h PATHS ${SIMGRID_INCLUDEDIR} PATH_SUFFIXES smpi NO_DEFAULT_PATH)
find_program(SMPIRUN NAMES smpirun)
if(SIMGRID_FOUND AND SMPI_INCLUDE_DIR AND SMPIRUN)
  set(SCALEBENCH_HAS_SIMGRID ON)
  message(STATUS "SimGrid: ${SIMGRID_VERSION}, ${SMPIRUN}")
else()
  message(STATUS "SimGrid: none (Debian: libsimgrid-dev): no scalebench simulate "
                 "(mpi.h: ${SMPI_INCLUDE_DIR}, smpirun: ${SMPIRUN})")
endif()

set(SCALEBENCH_TORCH_FOLDER)
set(SCALEBENCH_TORCH_WHY "off by SCALEBENCH_TORCH=OFF")
if(NOT SCALEBENCH_TORCH STREQUAL "OFF")
  include(TorchFolder)
endif()
include(Cuda)
include(Torch)
