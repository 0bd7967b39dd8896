// SPDX-License-Identifier: Apache-2.0
// mpirun -np N bench_throughput: images/s of each rank for full training steps without
// synchronisation, all ranks at work at once, so that what they take from each other shows.
#include "bench/training/throughput/run.hpp"

int main(int argc, char** argv) {
  return scalebench::run_program(argc, argv, &scalebench::parse_throughput_options,
                                 &scalebench::measure_steps);
}
