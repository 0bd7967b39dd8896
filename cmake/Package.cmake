# SPDX-License-Identifier: Apache-2.0
# A .deb of what cmake --install installs: cmake --preset package && cmake --build --preset package && cpack --preset package
# What the programs are linked with is found by dpkg-shlibdeps (Debian: dpkg-dev, file).
set(CPACK_PACKAGE_NAME scalebench)
set(CPACK_PACKAGE_VENDOR scalebench)
# Who packs answers for it, named as for Debian's own tools.
set(CPACK_PACKAGE_CONTACT "nobody <nobody@localhost>")
if(DEFINED ENV{DEBEMAIL})
  set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "benchmarks of scaling efficiency on 1..N devices and nodes")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "Runners for allreduce algorithms, training steps and whole epochs on 1..N\n\
ranks, on CPUs and GPUs, compared with the ideal H/N. It writes CSV files,\n\
figures and a report, and verifies its own numbers from the raw samples.")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "openmpi-bin, python3, python3-jinja2")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-matplotlib")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "dataset-fashion-mnist")
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/PackageFiles.cmake)
include(CPack)
