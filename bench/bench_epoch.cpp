// SPDX-License-Identifier: Apache-2.0
// mpirun -np N bench_epoch: whole training epochs on N ranks, strong or weak scaling, with the
// phases of each rank and the accuracy that was reached.
#include "bench/training/epoch/run.hpp"

int main(int argc, char** argv) {
  return scalebench::run_program(argc, argv, &scalebench::parse_epoch_options,
                                 &scalebench::train_epochs);
}
