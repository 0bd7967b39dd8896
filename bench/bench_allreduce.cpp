// SPDX-License-Identifier: Apache-2.0
// mpirun -np N bench_allreduce: allreduce algorithms and transports side by side in one launch.
#include "bench/allreduce/run.hpp"

int main(int argc, char** argv) {
  return scalebench::run_program(argc, argv, &scalebench::parse_allreduce_options,
                                 &scalebench::run_allreduce);
}
