# SPDX-License-Identifier: Apache-2.0
# The three kinds of target: a room's library, a program, a test.
# Sources of a room are compiled together (CMAKE_UNITY_BUILD), and so are its tests, since most of their
# time goes into headers that they share; what most of them share is precompiled. A build without unity
# (SCALEBENCH_UNITY=OFF) also compiles every header alone, so that none leans on its includer.
set(headers <fmt/format.h> <fmt/ranges.h> <algorithm> <array> <filesystem> <fstream> <functional>
            <map> <memory> <optional> <set> <span> <string> <string_view> <vector>)
foreach(kind IN ITEMS library test)
  add_library(scalebench_precompiled_${kind} STATIC ${CMAKE_CURRENT_LIST_DIR}/precompiled.cpp)
  target_link_libraries(scalebench_precompiled_${kind} PRIVATE scalebench_options fmt::fmt)
  target_precompile_headers(scalebench_precompiled_${kind} PRIVATE ${headers})
endforeach()
if(SCALEBENCH_UNITY)
  # Not where each source is to compile alone: it would hide that one of them does not include it.
  target_precompile_headers(scalebench_precompiled_library PRIVATE <nlohmann/json.hpp>)
endif()
# What GoogleTest's macros become takes the optimiser longer than the tests run.
set(SCALEBENCH_TEST_OPTIONS "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-O0>")
# Programs are linked as the platform does it; of tests there are three times as many.
find_program(SCALEBENCH_MOLD mold)
if(SCALEBENCH_MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12.1)
  set(SCALEBENCH_TEST_LINKER "$<$<LINK_LANGUAGE:CXX>:-fuse-ld=mold>")
endif()
target_compile_options(scalebench_precompiled_test PRIVATE ${SCALEBENCH_TEST_OPTIONS})
target_link_libraries(scalebench_precompiled_test PRIVATE GTest::gtest)
target_precompile_headers(scalebench_precompiled_test PRIVATE <gmock/gmock.h> <gtest/gtest.h>)

# scalebench_names(out FILE MACRO): the first argument of every line MACRO(name, ...) of a .def file.
# CMake reads it again when it has changed.
function(scalebench_names out file macro)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} lines REGEX "^${macro}\\([a-z0-9_]+,")
  list(TRANSFORM lines REPLACE "^${macro}\\(([a-z0-9_]+),.*" "\\1")
  set(${out} ${lines} PARENT_SCOPE)
endfunction()

# scalebench_headers_alone(target HEADERS ... LIBRARIES ...): each header as a source of its own.
function(scalebench_headers_alone target)
  cmake_parse_arguments(ARG "" "" "HEADERS;LIBRARIES" ${ARGN})
  if(SCALEBENCH_UNITY)
    return()
  endif()
  set(alone)
  foreach(header IN LISTS ARG_HEADERS)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${header})
    string(MAKE_C_IDENTIFIER ${path} id)
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/alone/${id}.cpp CONTENT "#include \"${path}\"\n")
    list(APPEND alone ${CMAKE_CURRENT_BINARY_DIR}/alone/${id}.cpp)
  endforeach()
  add_library(${target} OBJECT ${alone})
  target_link_libraries(${target} PRIVATE ${ARG_LIBRARIES})
  # Only whether it compiles is asked.
  target_compile_options(${target} PRIVATE -O0 -g0)
  if(SCALEBENCH_SANITIZE)
    target_compile_options(${target} PRIVATE -fno-sanitize=all)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
endfunction()

# scalebench_library(name SOURCES ... LIBRARIES ... [NO_HEADERS] [OWN_PRECOMPILED])
# NO_HEADERS: another library of the folder has them checked, or they need LibTorch's half minute.
# OWN_PRECOMPILED: it has a precompiled header of its own, or other flags than the shared one.
function(scalebench_library name)
  cmake_parse_arguments(ARG "NO_HEADERS;OWN_PRECOMPILED" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC scalebench_options ${ARG_LIBRARIES})
  if(NOT ARG_OWN_PRECOMPILED)
    target_precompile_headers(${name} REUSE_FROM scalebench_precompiled_library)
  endif()
  if(NOT ARG_NO_HEADERS)
    file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.hpp)
    scalebench_headers_alone(${name}_headers_alone HEADERS ${headers} LIBRARIES ${name})
  endif()
endfunction()

# scalebench_program(name LIBRARIES ...): the main in name.cpp; lands in build/<preset>/bin
function(scalebench_program name)
  cmake_parse_arguments(ARG "" "" "LIBRARIES" ${ARGN})
  add_executable(${name} ${name}.cpp)
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
  target_precompile_headers(${name} REUSE_FROM scalebench_precompiled_library)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endfunction()

set(SCALEBENCH_MPIRUN ${MPIEXEC_EXECUTABLE} --allow-run-as-root --oversubscribe --bind-to none
                      --mca btl_base_warn_component_unused 0)

# scalebench_add_suites(name): each suite of the test is one of CTest; what its sources write in another
# form than one that is looked for here is one more. Called when all sources are known.
function(scalebench_add_suites name)
  get_target_property(sources ${name} SOURCES)
  list(FILTER sources INCLUDE REGEX "_test\\.cpp$")
  set(suites)
  foreach(source IN LISTS sources)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(STRINGS ${source} lines REGEX "^(TYPED_)?TEST(_[FP])?\\([A-Za-z0-9]+,")
    list(TRANSFORM lines REPLACE "^[A-Z_]+\\(([A-Za-z0-9]+),.*" "\\1")
    list(APPEND suites ${lines})
  endforeach()
  list(REMOVE_DUPLICATES suites)
  set(rest "-")
  foreach(suite IN LISTS suites)
    set(filter "${suite}.*:${suite}/*:*/${suite}.*:*/${suite}/*")
    string(APPEND rest "${filter}:")
    add_test(NAME ${suite} COMMAND ${name} --gtest_filter=${filter})
  endforeach()
  add_test(NAME ${name}.rest COMMAND ${name} --gtest_filter=${rest})
  set_tests_properties(${suites} ${name}.rest PROPERTIES LABELS unit TIMEOUT 600 SKIP_RETURN_CODE 77)
endfunction()

# scalebench_test(name SOURCES ... LIBRARIES ... [RANKS 1 2 4] [LABELS unit] [OWN_PRECOMPILED] [OPTIMIZED]
#                 [BY_SUITE]):
# one label. OPTIMIZED: its own loops are what takes the time. BY_SUITE: it takes long to start, as LibTorch does.
# With RANKS the same program runs once per count under mpirun, labelled mpi; it brings its own
# main. Without, every TEST, or every suite of them, is a test of CTest.
function(scalebench_test name)
  cmake_parse_arguments(ARG "OWN_PRECOMPILED;OPTIMIZED;BY_SUITE" "" "SOURCES;LIBRARIES;RANKS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  # A test whose made-up helpers have the names of another's is in a namespace of its own.
  set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 8)
  if(NOT ARG_OPTIMIZED)
    target_compile_options(${name} PRIVATE ${SCALEBENCH_TEST_OPTIONS})
    if(NOT ARG_OWN_PRECOMPILED)
      target_precompile_headers(${name} REUSE_FROM scalebench_precompiled_test)
    endif()
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gtest)
  target_link_options(${name} PRIVATE ${SCALEBENCH_TEST_LINKER})
  if(ARG_RANKS)
    foreach(ranks IN LISTS ARG_RANKS)
      add_test(NAME ${name}.np${ranks}
               COMMAND ${SCALEBENCH_MPIRUN} -np ${ranks} $<TARGET_FILE:${name}>)
      set_tests_properties(${name}.np${ranks} PROPERTIES LABELS "mpi" PROCESSORS 2 TIMEOUT 300)
    endforeach()
  elseif(ARG_BY_SUITE)
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/suite_main.cpp)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL scalebench_add_suites ${name})")
  else()
    target_link_libraries(${name} PRIVATE GTest::gtest_main)
    include(GoogleTest)
    if(NOT ARG_LABELS)
      set(ARG_LABELS unit)
    endif()
    # Parameterised tests end in the name that their suite gives, not in the bytes of the parameter.
    gtest_discover_tests(${name} NO_PRETTY_VALUES PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 600 DISCOVERY_TIMEOUT 60)
  endif()
endfunction()
