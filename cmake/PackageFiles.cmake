# SPDX-License-Identifier: Apache-2.0
# What Debian's policy wants in a package beside what is installed: a copyright file and a changelog. CPack
# runs this before it packs CPACK_TEMPORARY_INSTALL_DIRECTORY.
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share)
set(doc ${share}/doc/${CPACK_PACKAGE_NAME})
file(WRITE ${doc}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: ${CPACK_PACKAGE_NAME}

Files: *
Copyright: 2026 the scalebench authors
License: Apache-2.0
 On Debian systems the full text of this licence is in
 /usr/share/common-licenses/Apache-2.0.
")
file(REMOVE ${doc}/LICENSE) # the same
string(TIMESTAMP today "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH, where that is set
file(WRITE ${doc}/changelog "${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * As the repository's history has it.

 -- ${CPACK_PACKAGE_CONTACT}  ${today}
")
# Nobody but root writes there, whatever the umask of who packs.
execute_process(COMMAND chmod --recursive go-w ${CPACK_TEMPORARY_INSTALL_DIRECTORY} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND gzip --best --no-name ${doc}/changelog COMMAND_ERROR_IS_FATAL ANY)
