// SPDX-License-Identifier: Apache-2.0
// What gradient synchronisations may be told. Each reads its own part and ignores the rest.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/dtype.hpp"

namespace scalebench {

class Timeline;

/// What carries a bucket's reduction once its last gradient is there.
enum class Progress : std::uint8_t {
  thread,  // a thread beside the backward pass (on a GPU the communicator's stream)
  hook,    // the backward pass itself, which stops meanwhile
  end,     // nothing: all are reduced after the backward pass
};

struct GradientSyncOptions {
  /// bucketed_overlap: a bucket is full from this many bytes on. 25 MiB: PyTorch's default.
  std::size_t bucket_bytes = std::size_t{25} << 20U;
  Progress progress = Progress::thread;
  /// Type in which gradients travel; float32 unless compressed to half or bfloat16.
  DType wire = DType::float32;
  /// horovod: bytes of one fused message, and seconds between two rounds of negotiation. Its own
  /// defaults.
  std::size_t fusion_bytes = std::size_t{128} << 20U;
  double cycle_seconds = 1e-3;
  /// ps_sync, ps_async: ranks that hold the variables and see no images, the last ones.
  int servers = 1;
  /// model_split: parts into which a step's images are cut, so that stages work at once.
  int micro_batches = 4;
  /// mirrored: nccl, ring, hierarchical_copy or reduce_to_one instead of `allreduce`; empty: that.
  std::string cross_device = {};
  /// multi_worker: ring, nccl or auto instead of `allreduce`; empty: that.
  std::string collective = {};
  /// horovod, bucketed_overlap: is told what every tensor or bucket goes through; outlives them.
  Timeline* timeline = nullptr;
  /// horovod: seconds since some instant, by which it counts what negotiation takes; null: it
  /// does not.
  double (*clock)() = nullptr;
};

}  // namespace scalebench
