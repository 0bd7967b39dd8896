# SPDX-License-Identifier: Apache-2.0
# cmake --install: programs, and what they look for beside themselves: share/scalebench/{scripts,configs}.
# Completion scripts and manual pages are printed by the programs themselves when they are installed.
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
  add_dependencies(programs simulate_allreduce) # scalebench simulate runs it
endif()
install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

set(share ${CMAKE_INSTALL_DATADIR}/scalebench)
install(DIRECTORY configs/ DESTINATION ${share}/configs)
install(DIRECTORY scripts/ DESTINATION ${share}/scripts USE_SOURCE_PERMISSIONS
        PATTERN __pycache__ EXCLUDE PATTERN "*_test*" EXCLUDE PATTERN "fixture*" EXCLUDE
        PATTERN CMakeLists.txt EXCLUDE PATTERN style EXCLUDE PATTERN "check_*" EXCLUDE PATTERN "test*" EXCLUDE
        PATTERN setup EXCLUDE PATTERN quickstart EXCLUDE PATTERN "bundl*" EXCLUDE
        PATTERN fuzz EXCLUDE PATTERN pages EXCLUDE PATTERN faults EXCLUDE)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

string(REPLACE ";" " " programs "${programs}")
# print(program file words...): what the program says to these words becomes that file.
install(CODE "
  function(print program file)
    set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
    set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)
    execute_process(COMMAND ${PROJECT_BINARY_DIR}/bin/\${program} \${ARGN} OUTPUT_VARIABLE text
                    RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR \"\${program} \${ARGN}: \${failed}\")
    endif()
    file(WRITE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\${file}\" \"\${text}\")
    message(STATUS \"Installing: \${CMAKE_INSTALL_PREFIX}/\${file}\")
  endfunction()
  foreach(program IN ITEMS ${programs})
    print(\${program} ${CMAKE_INSTALL_DATADIR}/bash-completion/completions/\${program} --completion bash)
    print(\${program} ${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_\${program} --completion zsh)
    print(\${program} ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/\${program}.fish --completion fish)
    print(\${program} ${CMAKE_INSTALL_MANDIR}/man1/\${program}.1 --man-page)
  endforeach()"
  COMPONENT words)
