# SPDX-License-Identifier: Apache-2.0
# simulate_allreduce: the sources of the algorithms and of the mpi transport once more, as smpicxx
# compiles them: against SimGrid's mpi.h, as a shared object with a main, which smpirun loads.
set(simulated
    ${PROJECT_SOURCE_DIR}/collectives/allreduce.cpp
    ${PROJECT_SOURCE_DIR}/collectives/allreduce_check.cpp
    ${PROJECT_SOURCE_DIR}/collectives/allreduce_choices.cpp
    ${PROJECT_SOURCE_DIR}/collectives/allreduce_cost.cpp
    ${PROJECT_SOURCE_DIR}/collectives/communicator.cpp
    ${PROJECT_SOURCE_DIR}/collectives/control.cpp
    ${PROJECT_SOURCE_DIR}/collectives/mpi_communicator.cpp
    ${PROJECT_SOURCE_DIR}/collectives/mpi_session.cpp
    ${PROJECT_SOURCE_DIR}/collectives/ring_phases.cpp
    ${PROJECT_SOURCE_DIR}/collectives/together.cpp
    ${PROJECT_SOURCE_DIR}/collectives/two_trees.cpp
    ${PROJECT_SOURCE_DIR}/kernels/buffer.cpp
    ${PROJECT_SOURCE_DIR}/kernels/combine.cpp
    ${PROJECT_SOURCE_DIR}/kernels/dtype.cpp
    ${PROJECT_SOURCE_DIR}/kernels/no_device.cpp
    ${PROJECT_SOURCE_DIR}/kernels/reduce_op.cpp
    ${PROJECT_SOURCE_DIR}/kernels/scale.cpp
    ${PROJECT_SOURCE_DIR}/kernels/span_check.cpp
    ${PROJECT_SOURCE_DIR}/kernels/stream.cpp
    ${PROJECT_SOURCE_DIR}/kernels/unknown_name.cpp)
# A line of allreduce.def without its file would not link.
file(GLOB algorithms CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/collectives/allreduce/*.cpp)
add_library(simulate_allreduce MODULE simulate_allreduce.cpp modelled_communicator.cpp ${simulated}
                                      ${algorithms})
target_include_directories(simulate_allreduce SYSTEM BEFORE PRIVATE ${SMPI_INCLUDE_DIR})
target_link_libraries(simulate_allreduce PRIVATE scalebench_options fmt::fmt PkgConfig::SIMGRID
                                                 ${CMAKE_DL_LIBS})
target_link_options(simulate_allreduce PRIVATE -Wl,-z,defs)
set_target_properties(
  simulate_allreduce PROPERTIES PREFIX "" SUFFIX "" LIBRARY_OUTPUT_DIRECTORY
                                                    ${PROJECT_BINARY_DIR}/bin)
include(GNUInstallDirs)
# Optional: a bundle is made without it, as SimGrid is not in it.
install(TARGETS simulate_allreduce LIBRARY DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)
