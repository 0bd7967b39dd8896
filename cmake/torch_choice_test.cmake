# SPDX-License-Identifier: Apache-2.0
# cmake -P torch_choice_test.cmake: each rule of TorchChoice.cmake, on made-up machines.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/TorchChoice.cmake)

# expect(name pattern): the variable of that name matches
macro(expect name pattern)
  if(NOT "${${name}}" MATCHES "${pattern}")
    message(SEND_ERROR "${test}: ${name} is '${${name}}', expected '${pattern}'")
  endif()
endmacro()

# chooses(test source why arguments...): error or reason matches `why`
function(chooses test source why)
  scalebench_choose_torch(choice INTERPRETER python3 ${ARGN})
  expect(choice_SOURCE "^${source}$")
  if(choice_ERROR)
    expect(choice_ERROR "${why}")
  else()
    expect(choice_WHY "${why}")
  endif()
endfunction()

set(cuda PYTHON_VERSION 2.11.0+cu130 PYTHON_CUDA 13.0 PYTHON_ABI ON)
set(cpu PYTHON_VERSION 2.11.0+cpu PYTHON_ABI ON)
set(none PYTHON_ERROR "No module named 'torch'")
set(named NAMED_FOLDER /opt/libtorch NAMED_BY CMAKE_PREFIX_PATH)
chooses("a CUDA PyTorch before the system's" PYTHON "built for CUDA 13.0" FROM AUTO SYSTEM_FOLDER /usr ${cuda})
chooses("the user's before all" NAMED "named by CMAKE_PREFIX_PATH" FROM AUTO SYSTEM_FOLDER /usr ${cuda} ${named})
chooses("the system's before a CPU PyTorch" SYSTEM "no CUDA build either" FROM AUTO SYSTEM_FOLDER /usr ${cpu})
chooses("a CPU PyTorch before nothing" PYTHON "no other LibTorch" FROM AUTO ${cpu})
chooses("the system's without PyTorch" SYSTEM "No module named 'torch'" FROM AUTO SYSTEM_FOLDER /usr ${none})
chooses("nothing" NONE "No module named 'torch'.*libtorch-dev" FROM AUTO ${none})
chooses("the old ABI" SYSTEM "before GCC 5" FROM AUTO SYSTEM_FOLDER /usr
        PYTHON_VERSION 2.4.1 PYTHON_CUDA 12.1 PYTHON_ABI OFF)
chooses("too old" NONE "older than 1.13" FROM AUTO PYTHON_VERSION 1.10.2 PYTHON_CUDA 11.3 PYTHON_ABI ON)
chooses("only Python's" PYTHON "FROM=PYTHON" FROM PYTHON SYSTEM_FOLDER /usr ${cpu} ${named})
chooses("only Python's, which has none" NONE "SCALEBENCH_PYTHON" FROM PYTHON SYSTEM_FOLDER /usr ${none})
chooses("only the system's" SYSTEM "FROM=SYSTEM" FROM SYSTEM SYSTEM_FOLDER /usr ${cuda})
chooses("only the system's, named" NAMED "named by" FROM SYSTEM SYSTEM_FOLDER /usr ${named})
chooses("only the system's, which has none" NONE "libtorch-dev" FROM SYSTEM ${cuda})
chooses("a typo" NONE "expected AUTO, PYTHON or SYSTEM" FROM SYTEM SYSTEM_FOLDER /usr ${none})

# halves(test ON|OFF why arguments...): error or reason matches `why`
function(halves test cuda why)
  scalebench_choose_torch_cuda(half ${ARGN})
  expect(half_CUDA "^${cuda}$")
  if(half_ERROR)
    expect(half_ERROR "${why}")
  else()
    expect(half_WHY "${why}")
  endif()
endfunction()

halves("both" ON "13.0.*13.0.88" WANTED AUTO TORCH 13.0 TOOLKIT 13.0.88)
halves("minors may differ" ON "12.8.*12.4" WANTED ON TORCH 12.8 TOOLKIT 12.4.131)
halves("only the major is known" ON "CUDA 13," WANTED AUTO TORCH 13 TOOLKIT 13.0.88)
halves("majors may not" OFF "CUDACXX.*CUDA 13, .*TORCH_CUDA=OFF" WANTED AUTO TORCH 13.0 TOOLKIT 12.4.131)
halves("unless the GPU half is left out" OFF "=OFF" WANTED OFF TORCH 13.0 TOOLKIT 12.4.131)
halves("no toolkit" OFF "nvcc not found" WANTED AUTO TORCH 13.0 NO_TOOLKIT "nvcc not found")
halves("no toolkit, but wanted" OFF "only be used on the CPU: nvcc not found" WANTED ON TORCH 13.0
       NO_TOOLKIT "nvcc not found")
halves("a CPU build" OFF "no CUDA half" WANTED AUTO TOOLKIT 13.0.88)
halves("a CPU build, but wanted" OFF "no CUDA half" WANTED ON TOOLKIT 13.0.88)
halves("a typo" OFF "expected AUTO, ON or OFF" WANTED YES TORCH 13.0 TOOLKIT 13.0.88)

# inside(test folders LIBRARIES file... TREES folder...)
function(inside test folders)
  scalebench_folders_inside(own ${ARGN})
  expect(own "^${folders}$")
endfunction()

inside("a wheel in the checkout" "/src/wheel/torch/lib" TREES /src /src/build
       LIBRARIES /src/wheel/torch/lib/libtorch_cpu.so /src/wheel/torch/lib/libc10.so)
inside("one beside it" "" TREES /src /build LIBRARIES /src2/torch/lib/libc10.so /usr/lib/libc10.so)
