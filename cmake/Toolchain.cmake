# SPDX-License-Identifier: Apache-2.0
# Compiler settings that every target shares. Warnings are errors.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# An installed program still finds a LibTorch or NCCL that is in no standard place.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
find_program(SCALEBENCH_CCACHE ccache)
if(SCALEBENCH_CCACHE)
  # Clones share what they compile, and ccache looks into precompiled headers when it is told how.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
               CCACHE_SLOPPINESS=pch_defines,time_macros ${SCALEBENCH_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
endif()

add_library(scalebench_options INTERFACE)
target_include_directories(scalebench_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(
  scalebench_options
  INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wshadow;-Werror>"
            "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>") # for ccache
if(SCALEBENCH_SANITIZE)
  target_compile_options(scalebench_options
                         INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${SCALEBENCH_SANITIZE};-fno-omit-frame-pointer>")
  target_link_options(scalebench_options INTERFACE -fsanitize=${SCALEBENCH_SANITIZE})
endif()
