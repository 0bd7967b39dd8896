# SPDX-License-Identifier: Apache-2.0
# The LibTorch of TorchFolder.cmake as the target scalebench_torch, after Cuda.cmake. Sets
# SCALEBENCH_HAS_TORCH and SCALEBENCH_HAS_TORCH_CUDA, and says what was taken and why.
set(SCALEBENCH_TORCH_CUDA AUTO CACHE STRING "Use the GPU half of a LibTorch for CUDA: AUTO, ON or OFF")
set(SCALEBENCH_HAS_TORCH OFF)
set(SCALEBENCH_HAS_TORCH_CUDA OFF)
if(NOT SCALEBENCH_TORCH_FOLDER)
  if(SCALEBENCH_TORCH STREQUAL "ON")
    message(FATAL_ERROR "SCALEBENCH_TORCH=ON, but there is no LibTorch: ${SCALEBENCH_TORCH_WHY}")
  endif()
  message(STATUS "LibTorch: none, ${SCALEBENCH_TORCH_WHY}: no bench_throughput, no bench_epoch")
  return()
endif()

set(toolkit)
if(SCALEBENCH_HAS_CUDA)
  set(toolkit ${CUDAToolkit_VERSION})
endif()
scalebench_choose_torch_cuda(
  half WANTED "${SCALEBENCH_TORCH_CUDA}" TORCH "${SCALEBENCH_TORCH_CUDA_VERSION}" TOOLKIT "${toolkit}"
  NO_TOOLKIT "CUDA is ${SCALEBENCH_NO_CUDA}")
if(half_ERROR)
  message(FATAL_ERROR "${half_ERROR}")
endif()

set(folders ${SCALEBENCH_TORCH_FOLDER}/lib ${SCALEBENCH_TORCH_FOLDER}/lib/${CMAKE_LIBRARY_ARCHITECTURE})
set(names torch_cpu c10)
if(half_CUDA)
  list(PREPEND names torch_cuda c10_cuda)
endif()
set(torch_libraries)
foreach(name IN LISTS names)
  find_library(library ${name} PATHS ${folders} NO_DEFAULT_PATH NO_CACHE REQUIRED)
  list(APPEND torch_libraries ${library})
  unset(library)
endforeach()

# libc10 names std::__cxx11 unless it was built with the ABI from before GCC 5.
list(GET torch_libraries -1 c10)
scalebench_read_match(new_abi "${c10}" "NSt7_(_cxx11)")
if(NOT new_abi)
  message(FATAL_ERROR "LibTorch in ${SCALEBENCH_TORCH_FOLDER} has the C++ ABI from before GCC 5, and fmt and "
                      "GoogleTest here have the new one: take a PyTorch from 2.7 on, or a LibTorch named cxx11-abi")
endif()

# PyTorch also brings the headers of another fmt than the library that is linked here.
set(ours_before_its)
get_target_property(fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
if(EXISTS ${SCALEBENCH_TORCH_FOLDER}/include/fmt AND NOT fmt_include STREQUAL "${SCALEBENCH_TORCH_FOLDER}/include")
  set(ours_before_its ${PROJECT_BINARY_DIR}/ours_before_its)
  file(MAKE_DIRECTORY ${ours_before_its})
  file(CREATE_LINK ${fmt_include}/fmt ${ours_before_its}/fmt SYMBOLIC)
endif()

# Its headers are not held to our warnings. libstdc++ comes before PyTorch's libtorch, which exports
# an older std::filesystem of its own that would end ours in a crash.
# No toolchain may leave the GPU half out because nothing of it is called by name.
add_library(scalebench_torch INTERFACE)
target_include_directories(
  scalebench_torch SYSTEM INTERFACE ${ours_before_its} ${SCALEBENCH_TORCH_FOLDER}/include
                                    ${SCALEBENCH_TORCH_FOLDER}/include/torch/csrc/api/include)
target_link_libraries(scalebench_torch INTERFACE stdc++ -Wl,--push-state,--no-as-needed ${torch_libraries}
                                                 -Wl,--pop-state ${CMAKE_DL_LIBS})
if(half_CUDA)
  target_include_directories(scalebench_torch SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  # bench_kernels multiplies by the cuBLAS that PyTorch uses, too.
  list(PREPEND CMAKE_BUILD_RPATH ${SCALEBENCH_TORCH_LIBRARY_FOLDERS})
  list(PREPEND CMAKE_INSTALL_RPATH ${SCALEBENCH_TORCH_LIBRARY_FOLDERS})
endif()
scalebench_folders_inside(own LIBRARIES ${torch_libraries} TREES ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
list(APPEND CMAKE_INSTALL_RPATH ${own})
set(SCALEBENCH_HAS_TORCH ON)
set(SCALEBENCH_HAS_TORCH_CUDA ${half_CUDA})
set(halves "for the CPU (${half_WHY})")
if(half_CUDA)
  set(halves "for CPU and CUDA (${half_WHY})")
endif()
message(STATUS "LibTorch: ${Torch_VERSION} in ${SCALEBENCH_TORCH_FOLDER}: ${SCALEBENCH_TORCH_WHY}")
message(STATUS "LibTorch is used ${halves}")
