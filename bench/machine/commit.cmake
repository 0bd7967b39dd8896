# SPDX-License-Identifier: Apache-2.0
# Runs at every build: writes OUTPUT with the commit that SOURCE is at, and touches it only when
# that has changed. Without git, or outside a clone of this project, the commit is unknown.
set(COMMIT "")
set(DIRTY -1)
find_program(GIT git)
if(GIT)
  # No optional locks: looking must not change the index. An archive unpacked inside somebody
  # else's clone has another top level.
  set(git ${GIT} --no-optional-locks -C ${SOURCE})
  execute_process(COMMAND ${git} rev-parse --show-prefix HEAD OUTPUT_VARIABLE answer
                  RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed AND answer MATCHES "^\n?([0-9a-f]+)$")
    set(COMMIT ${CMAKE_MATCH_1})
    execute_process(COMMAND ${git} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes
                    RESULT_VARIABLE failed ERROR_QUIET)
    if(NOT failed)
      string(COMPARE NOTEQUAL "${changes}" "" DIRTY)
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#define SCALEBENCH_COMMIT "@COMMIT@"
#define SCALEBENCH_DIRTY @DIRTY@
]])
