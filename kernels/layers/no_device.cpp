// SPDX-License-Identifier: Apache-2.0
// The device's half of norm.hpp, pool.hpp and input.hpp in a build without CUDA: whoever asks is
// told why.
#include "kernels/error.hpp"
#include "kernels/layers/input.hpp"
#include "kernels/layers/norm.hpp"
#include "kernels/layers/pool.hpp"

namespace scalebench::device {
namespace {

[[noreturn]] void refuse_layer() { throw Unavailable(why_no_device()); }

}  // namespace

Grid layer_grid(const Activations&) { refuse_layer(); }
void norm_forward(const NormForward&, const Grid&, DeviceStream) { refuse_layer(); }
void norm_backward(const NormBackward&, const Grid&, DeviceStream) { refuse_layer(); }
void bias_forward(const BiasForward&, const Grid&, DeviceStream) { refuse_layer(); }
void bias_backward(const BiasBackward&, const Grid&, DeviceStream) { refuse_layer(); }
void pool_forward(const PoolForward&, DeviceStream) { refuse_layer(); }
void pool_backward(const PoolBackward&, DeviceStream) { refuse_layer(); }
void gather_images(const ImageGather&, DeviceStream) { refuse_layer(); }

}  // namespace scalebench::device
