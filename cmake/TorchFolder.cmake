# SPDX-License-Identifier: Apache-2.0
# Finds the LibTorch to build on: the folder that has its include/ and lib/. Sets
# SCALEBENCH_TORCH_FOLDER (empty: none), SCALEBENCH_TORCH_WHY, Torch_VERSION, SCALEBENCH_TORCH_CUDA_VERSION
# (empty: a CPU build), and of a PyTorch of Python also SCALEBENCH_TORCH_NCCL, the folder of its NCCL, and
# SCALEBENCH_TORCH_LIBRARY_FOLDERS, where its CUDA libraries are.
# TorchConfig.cmake is looked for but not run: a CUDA one wants all of CUDA, resets CMAKE_CUDA_ARCHITECTURES
# and CMAKE_CUDA_FLAGS, and up to 2.5 asks for a target that CUDA 12 no longer has. PyTorch's own
# extensions are built from the folder, too.
include(TorchChoice)
set(SCALEBENCH_TORCH_FROM AUTO CACHE STRING "Whose LibTorch: AUTO, PYTHON (of SCALEBENCH_PYTHON) or SYSTEM")
set(SCALEBENCH_PYTHON "" CACHE STRING "Interpreter that is asked for its PyTorch; empty: python3 of the PATH")

# Sets PYTHON_* to what ask_pytorch.py says.
function(scalebench_ask_pytorch interpreter)
  execute_process(
    COMMAND "${interpreter}" ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/ask_pytorch.py
    OUTPUT_VARIABLE answer ERROR_QUIET RESULT_VARIABLE failed TIMEOUT 120)
  string(JSON error ERROR_VARIABLE absent GET "${answer}" error)
  if(failed)
    set(error "asking it failed: ${failed}")
  elseif(absent)
    unset(error)
    foreach(name IN ITEMS version cuda folder cmake_prefix_path cxx11_abi nccl_folder)
      string(JSON value GET "${answer}" ${name})
      string(TOUPPER ${name} name)
      set(PYTHON_${name} "${value}" PARENT_SCOPE)
    endforeach()
    string(JSON last LENGTH "${answer}" library_folders)
    set(folders)
    while(last GREATER 0)
      math(EXPR last "${last} - 1")
      string(JSON one GET "${answer}" library_folders ${last})
      list(PREPEND folders "${one}")
    endwhile()
    set(PYTHON_LIBRARY_FOLDERS "${folders}" PARENT_SCOPE)
  endif()
  set(PYTHON_ERROR "${error}" PARENT_SCOPE)
endfunction()

# The folder above TorchConfig.cmake that has include/torch, or nothing.
function(scalebench_find_torch_folder out)
  set(places share/cmake/Torch lib/cmake/Torch lib64/cmake/Torch lib/${CMAKE_LIBRARY_ARCHITECTURE}/cmake/Torch)
  find_file(config TorchConfig.cmake PATHS ${ARGN} PATH_SUFFIXES Torch ${places} NO_DEFAULT_PATH NO_CACHE)
  set(folder "${config}")
  while(config AND folder AND NOT EXISTS "${folder}/include/torch")
    cmake_path(GET folder PARENT_PATH above)
    if(above STREQUAL folder)
      set(above)
    endif()
    set(folder "${above}")
  endwhile()
  if(NOT config)
    set(folder)
  endif()
  set(${out} "${folder}" PARENT_SCOPE)
endfunction()

# The first line of the file that matches, as the first group of the expression; else nothing.
function(scalebench_read_match out file expression)
  set(match)
  if(EXISTS "${file}")
    file(STRINGS "${file}" match REGEX "${expression}" LIMIT_COUNT 1)
    string(REGEX REPLACE ".*${expression}.*" "\\1" match "${match}")
  endif()
  set(${out} "${match}" PARENT_SCOPE)
endfunction()

set(named)
foreach(by IN ITEMS Torch_DIR Torch_ROOT CMAKE_PREFIX_PATH)
  set(folders ${${by}} $ENV{${by}})
  string(REPLACE ":" ";" folders "${folders}")
  if(NOT named AND folders)
    scalebench_find_torch_folder(named ${folders})
    set(named_by ${by})
  endif()
endforeach()
scalebench_find_torch_folder(system ${CMAKE_SYSTEM_PREFIX_PATH})

set(interpreter "${SCALEBENCH_PYTHON}")
if(NOT interpreter)
  set(interpreter python3)
endif()
set(PYTHON_ERROR "it was not asked")
if(NOT SCALEBENCH_TORCH_FROM STREQUAL "SYSTEM" OR named)
  scalebench_ask_pytorch("${interpreter}")
  # The headers of conda's lie elsewhere than the module.
  scalebench_find_torch_folder(python_folder "${PYTHON_CMAKE_PREFIX_PATH}")
  if(NOT python_folder)
    set(python_folder "${PYTHON_FOLDER}")
  endif()
endif()

scalebench_choose_torch(
  choice FROM "${SCALEBENCH_TORCH_FROM}" NAMED_FOLDER "${named}" NAMED_BY "${named_by}" SYSTEM_FOLDER "${system}"
  INTERPRETER "${interpreter}" PYTHON_VERSION "${PYTHON_VERSION}" PYTHON_CUDA "${PYTHON_CUDA}"
  PYTHON_ABI "${PYTHON_CXX11_ABI}" PYTHON_ERROR "${PYTHON_ERROR}")
if(choice_ERROR)
  message(FATAL_ERROR "${choice_ERROR}")
endif()
set(SCALEBENCH_TORCH_WHY "${choice_WHY}")
set(SCALEBENCH_TORCH_FOLDER)
if(choice_SOURCE STREQUAL "PYTHON" OR (named AND named STREQUAL "${python_folder}"))
  set(SCALEBENCH_TORCH_FOLDER "${python_folder}")
  set(SCALEBENCH_TORCH_CUDA_VERSION "${PYTHON_CUDA}")
  set(SCALEBENCH_TORCH_NCCL "${PYTHON_NCCL_FOLDER}")
  set(SCALEBENCH_TORCH_LIBRARY_FOLDERS ${PYTHON_LIBRARY_FOLDERS})
  set(Torch_VERSION "${PYTHON_VERSION}")
elseif(NOT choice_SOURCE STREQUAL "NONE")
  set(SCALEBENCH_TORCH_FOLDER "${system}")
  if(choice_SOURCE STREQUAL "NAMED")
    set(SCALEBENCH_TORCH_FOLDER "${named}")
  endif()
  foreach(header IN ITEMS torch/csrc/api/include/torch/version.h torch/headeronly/version.h)
    scalebench_read_match(version "${SCALEBENCH_TORCH_FOLDER}/include/${header}" "\"([0-9]+[.][0-9.]+)\"")
    string(APPEND Torch_VERSION "${version}")
  endforeach()
  # Only its major is known: the file names the runtime that it loads.
  scalebench_read_match(SCALEBENCH_TORCH_CUDA_VERSION "${SCALEBENCH_TORCH_FOLDER}/lib/libc10_cuda.so"
                        "^libcudart[^ @]*[.]so[.]([0-9.]+)$")
  # Of a wheel that no interpreter was asked about.
  file(GLOB SCALEBENCH_TORCH_LIBRARY_FOLDERS "${SCALEBENCH_TORCH_FOLDER}/../nvidia/*/lib")
  file(GLOB SCALEBENCH_TORCH_NCCL "${SCALEBENCH_TORCH_FOLDER}/../nvidia/nccl")
endif()
