# SPDX-License-Identifier: Apache-2.0
from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Scalebench(CMakePackage, CudaPackage):
    """Benchmarks of scaling efficiency: allreduce algorithms, training steps and whole epochs on
    1..N ranks, compared with the ideal H/N."""

    license("Apache-2.0")

    version("0.1.0")  # nothing to fetch yet: docs/packages.md says how a checkout is built

    variant("training", default=True, description="bench_throughput and bench_epoch, on LibTorch")
    variant("jpeg", default=True, description="Training on folders of JPEG files")
    variant("simulation", default=False, description="scalebench simulate, on SimGrid")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("mpi")
    depends_on("blas")
    depends_on("benchmark")
    depends_on("boost+math")
    depends_on("cli11")
    depends_on("fast-cpp-csv-parser")
    depends_on("fmt@9:")
    depends_on("googletest@1.12:+gmock")
    depends_on("hwloc@2:")
    depends_on("nlohmann-json")
    depends_on("openssl@3:")
    depends_on("re2+shared")
    depends_on("tomlplusplus")
    depends_on("utf8cpp")
    depends_on("zlib-api")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-matplotlib@3.6:", type="run")

    depends_on("py-torch@1.13:", when="+training")
    depends_on("py-torch+cuda", when="+training+cuda")
    depends_on("libjpeg-turbo", when="+jpeg")
    depends_on("simgrid@3.32:+smpi", when="+simulation")
    depends_on("cuda@12:", when="+cuda")
    depends_on("nccl@2.19:", when="+cuda")

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define_from_variant("SCALEBENCH_CUDA", "cuda"),
            self.define_from_variant("SCALEBENCH_TORCH", "training"),
        ]
        if self.spec.satisfies("+training"):
            args.append(self.define("SCALEBENCH_TORCH_FROM", "PYTHON"))
            args.append(self.define("SCALEBENCH_PYTHON", self.spec["python"].command.path))
        if self.spec.satisfies("+cuda"):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return args

    @property
    def build_targets(self):
        return [] if self.run_tests else ["programs"]
