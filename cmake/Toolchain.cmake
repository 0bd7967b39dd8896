# SPDX-License-Identifier: Apache-2.0
# Compiler settings that every target shares. Warnings are errors where CMAKE_COMPILE_WARNING_AS_ERROR
# says so: in preset debug and under CI, not for users, whose compiler may know warnings that ours does not.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_UNITY_BUILD ${SCALEBENCH_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Where loops over every element gain by more, their room says so.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
# An installed program still finds a LibTorch or NCCL that is in no standard place.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
option(SCALEBENCH_WHEEL "For scripts/wheel, which tells programs where their libraries are: the BLAS is PyTorch's" OFF)
if(SCALEBENCH_WHEEL)
  add_link_options(-Wl,--as-needed)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 11)
  message(FATAL_ERROR "C++20 as it is used here needs GCC 11 or newer, and ${CMAKE_CXX_COMPILER} is \
${CMAKE_CXX_COMPILER_VERSION}: install a newer one, remove ${PROJECT_BINARY_DIR} and name it, for example \
export CC=gcc-12 CXX=g++-12")
endif()
# Where somebody keeps a cache of what was compiled: filling one that nobody asks takes a build 7 % longer.
set(SCALEBENCH_CCACHE_WANTED OFF)
foreach(folder IN ITEMS "$ENV{CCACHE_DIR}" "$ENV{XDG_CACHE_HOME}/ccache" "$ENV{HOME}/.cache/ccache" "$ENV{HOME}/.ccache")
  if(IS_DIRECTORY "${folder}" OR DEFINED ENV{CCACHE_DIR})
    set(SCALEBENCH_CCACHE_WANTED ON)
  endif()
endforeach()
find_program(SCALEBENCH_CCACHE ccache)
if(SCALEBENCH_CCACHE AND SCALEBENCH_CCACHE_WANTED AND NOT DEFINED SCALEBENCH_CCACHE_WORKS)
  # It cannot compile where it has no folder to write to: a container's user without a home.
  set(probe ${PROJECT_BINARY_DIR}/ccache_probe)
  file(WRITE ${probe}.cpp "int main() {}\n")
  execute_process(COMMAND ${SCALEBENCH_CCACHE} ${CMAKE_CXX_COMPILER} -c ${probe}.cpp -o ${probe}.o
                  RESULT_VARIABLE failed ERROR_VARIABLE why OUTPUT_QUIET)
  if(failed)
    string(STRIP "${why}" why)
    message(STATUS "ccache: not used: ${why}")
    set(SCALEBENCH_CCACHE_WORKS OFF CACHE INTERNAL "")
  else()
    set(SCALEBENCH_CCACHE_WORKS ON CACHE INTERNAL "")
  endif()
endif()
if(SCALEBENCH_CCACHE_WORKS)
  # Clones share what they compile, and ccache looks into precompiled headers when it is told how.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
               CCACHE_SLOPPINESS=pch_defines,time_macros ${SCALEBENCH_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
endif()

# GCC collects the garbage of its own memory from 128 MB on: the build takes a tenth longer, for 50 MB less.
add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=300000>")

add_library(scalebench_options INTERFACE)
target_include_directories(scalebench_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(
  scalebench_options
  INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wshadow>"
            "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>") # for ccache
if(SCALEBENCH_HARDENED)
  # What Debian's own packages have, and the stack's guard pages. _FORTIFY_SOURCE needs an optimiser.
  include(CheckPIESupported)
  check_pie_supported()
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-U_FORTIFY_SOURCE;-fstack-protector-strong;-fstack-clash-protection>"
                      "$<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<NOT:$<CONFIG:Debug>>>:-D_FORTIFY_SOURCE=3>")
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-fcf-protection>")
  endif()
  add_link_options(LINKER:-z,relro,-z,now)
endif()
if(SCALEBENCH_SANITIZE)
  # GCC's own manual: instrumented code makes -Wmaybe-uninitialized see what is not there.
  add_compile_options(-fsanitize=${SCALEBENCH_SANITIZE} -fno-omit-frame-pointer
                      "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>")
  target_link_options(scalebench_options INTERFACE -fsanitize=${SCALEBENCH_SANITIZE})
endif()
