// SPDX-License-Identifier: Apache-2.0
#include "models/torch/device.hpp"

#include "kernels/error.hpp"
#include "models/torch/compute.hpp"

namespace scalebench {

std::string why_no_step(Precision precision, bool step_graph, const StepDevice& device) {
  if (step_graph && !device.cuda) return "graphs are CUDA's, not for device cpu";
  if (step_graph && precision == Precision::fp16) {
    return "a graph keeps its loss scale: fp16 cannot have one, bf16 can";
  }
  if (precision == Precision::tf32 && !device.tf32) {
    return device.cuda ? "this card's tensor cores have no TF32 (cards since Ampere have)"
                       : "TF32 is a format of CUDA's tensor cores, not for device cpu";
  }
  return {};
}

std::string why_no_step(Precision precision, bool step_graph, ComputeDevice kind, int index,
                        int threads) {
  const torch::Device device = select_compute_device(kind, index, threads);
  const std::string why =
      why_no_step(precision, step_graph, {.cuda = device.is_cuda(), .tf32 = true});
  if (!why.empty()) return why;
  try {
    require_precision(precision, device);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

}  // namespace scalebench
