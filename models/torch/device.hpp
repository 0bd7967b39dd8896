// SPDX-License-Identifier: Apache-2.0
// Where and how steps are computed, for callers that do not include LibTorch: the kind of device,
// the number type of forward and backward passes (weights, gradients and updates stay float32),
// what this LibTorch can do of it, and its exceptions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench {

enum class ComputeDevice : std::uint8_t { cpu, cuda };

/// tf32: float32 whose products and convolutions a CUDA card's tensor cores may round to TF32's ten
/// bits of fraction; float32 forbids it, whatever LibTorch's default. bfloat16 and fp16: autocast,
/// which computes matrix products and convolutions in that type and leaves the rest where its
/// accuracy needs float32, as torch.autocast does; fp16 with loss scaling.
enum class Precision : std::uint8_t { float32, tf32, bfloat16, fp16 };
inline constexpr std::array<std::string_view, 4> kPrecisionNames{"float32", "tf32", "bfloat16",
                                                                 "fp16"};

constexpr bool is_autocast(Precision precision) {
  return precision == Precision::bfloat16 || precision == Precision::fp16;
}

/// As in result files: `float`, `tf32`, `bfloat16` or `fp16`.
constexpr std::string_view dtype_label(Precision precision) {
  return precision == Precision::float32 ? "float"
                                         : kPrecisionNames[static_cast<std::size_t>(precision)];
}

/// What of a step is launched, and how: LibTorch's kernels one by one; all of it as one CUDA graph;
/// or with layers of our own (models/network/fused.hpp) where the network has some that they can
/// take the place of, on a card as a graph, on the CPU one by one.
enum class StepKind : std::uint8_t { eager, graph, fused };
inline constexpr std::array<std::string_view, 3> kStepNames{"eager", "graph", "fused"};

/// Whether such a step is recorded as a graph.
constexpr bool is_recorded(StepKind step, bool cuda) {
  return step == StepKind::graph || (step == StepKind::fused && cuda);
}

// Which ways to compute a step a device and this LibTorch have, asked before anything is trained.

/// What matters of a device here.
struct StepDevice {
  bool cuda = false;
  bool tf32 = false;
};

/// Why no device of that kind computes steps so, whatever the LibTorch; empty: one can.
std::string why_no_step(Precision precision, StepKind step, const StepDevice& device);

/// The same for that device and this LibTorch, which tries the precision. Selects the device for
/// the calling thread, with that many CPU threads.
std::string why_no_step(Precision precision, StepKind step, ComputeDevice device, int index,
                        int threads);

/// Steps that are launched kernel by kernel before a step graph is recorded, so that libraries have
/// chosen their kernels and made their workspaces.
inline constexpr int kStepsBeforeGraph = 11;

// What only a LibTorch with CUDA can say and do about a device, for callers that do not include it.
// In a build without, there is no device and nothing to do.

/// Where LibTorch enqueues what the calling thread asks for; the default stream without CUDA.
DeviceStream torch_stream();

/// Waits for that stream alone, not for those of communicators.
void synchronize_torch_stream();

/// Whether the device's tensor cores have TF32 (compute capability 8.0 and later).
bool has_tf32(int device);

/// Gives back what LibTorch keeps of freed memory, on the selected device and the host, so that a
/// later trainer finds as much as the first one did.
void release_kept_memory();

/// Kernels of convolutions are chosen by trying them, once for each shape: for shapes that stay.
void try_convolutions(bool wanted);

// LibTorch's exceptions as one line, and those of memory as an error of ours.

/// Memory that training asked for is not there; the text gives bytes asked for and free.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// A step graph of this model cannot be made; it can be trained without.
class NotRecorded : public Error {
 public:
  using Error::Error;
};

/// What is wrong: LibTorch's texts are a trace of many lines, and that is the last of them.
std::string last_line(const std::exception& error);

/// Rethrows the exception that is being handled: as OutOfMemory when it is LibTorch's, the C++
/// library's, a CUDA library's or a Buffer's way to say so, else unchanged. To be called in a catch
/// clause.
[[noreturn]] void rethrow_memory_error();

// Facts about the LibTorch that is linked, for callers that do not include it.

/// "1.13.0": of the headers that this was built with.
std::string torch_version();

/// Whether LibTorch was built with CUDA and sees a card.
bool torch_sees_cuda();

}  // namespace scalebench
