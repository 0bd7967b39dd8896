# SPDX-License-Identifier: Apache-2.0
# cmake --install: programs, and what they look for beside themselves: share/scalebench/{scripts,configs}.
include(GNUInstallDirs)

set(programs scalebench bench_allreduce bench_kernels)
if(SCALEBENCH_HAS_TORCH)
  list(APPEND programs bench_epoch bench_throughput)
endif()
add_custom_target(programs DEPENDS ${programs}) # without the tests
set(of_quickstart ${programs})
list(REMOVE_ITEM of_quickstart bench_kernels)
add_custom_target(quickstart_programs DEPENDS ${of_quickstart}) # what its study starts
if(TARGET simulate_allreduce)
  add_dependencies(programs simulate_allreduce) # scalebench predict --topology runs it
endif()
install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(SCALEBENCH_WHEEL)
  # Below <site-packages>/scalebench, whose modules pip puts there: what it runs Python with, and no more of scripts.
  add_custom_target(wheel DEPENDS ${programs})
  if(SCALEBENCH_WHEEL_TESTS)
    list(APPEND programs kernels_device_test device_transports_test device_processes_test)
    add_dependencies(wheel ${programs})
  endif()
  install(TARGETS ${programs} RUNTIME DESTINATION bin COMPONENT wheel)
  install(DIRECTORY configs/ DESTINATION share/scalebench/configs COMPONENT wheel)
  install(PROGRAMS scripts/python DESTINATION share/scalebench/scripts COMPONENT wheel)
endif()

set(share ${CMAKE_INSTALL_DATADIR}/scalebench)
install(DIRECTORY configs/ DESTINATION ${share}/configs)
install(DIRECTORY scripts/ DESTINATION ${share}/scripts USE_SOURCE_PERMISSIONS
        PATTERN __pycache__ EXCLUDE PATTERN "*_test*" EXCLUDE PATTERN "fixture*" EXCLUDE
        PATTERN CMakeLists.txt EXCLUDE PATTERN style EXCLUDE PATTERN "check_*" EXCLUDE PATTERN "test*" EXCLUDE
        PATTERN setup EXCLUDE PATTERN quickstart EXCLUDE PATTERN wheel EXCLUDE
        PATTERN fuzz EXCLUDE REGEX scripts/pages$ EXCLUDE PATTERN exports EXCLUDE PATTERN faults EXCLUDE)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
