# SPDX-License-Identifier: Apache-2.0
from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class FastCppCsvParser(Package):
    """A reader of CSV files in one header."""

    homepage = "https://github.com/ben-strasser/fast-cpp-csv-parser"
    git = "https://github.com/ben-strasser/fast-cpp-csv-parser.git"

    license("BSD-3-Clause")

    # It has no releases.
    version("2021-01-03", commit="75600d0b77448e6c410893830df0aec1dbacf8e3")

    def install(self, spec, prefix):
        mkdirp(prefix.include)
        install("csv.h", prefix.include)
