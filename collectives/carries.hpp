// SPDX-License-Identifier: Apache-2.0
// Algorithms and transports by their names: which carries which, what a study is refused for before
// its first launch and a prediction leaves out; and the names that TensorFlow has for three of
// them.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace scalebench {

/// Why ranks on so many hosts cannot reduce by `algorithm` over `transport`, in one line that says
/// what is valid; empty where they can, also with `auto` that may come to one of them, and for a
/// name that is in no table.
std::string why_not_carried(std::string_view algorithm, std::string_view transport, int hosts = 1);

/// TensorFlow's CrossDeviceOps and CommunicationImplementation that have another name here.
inline constexpr std::array<std::string_view, 3> kTensorFlowAllreduces{"nccl", "hierarchical_copy",
                                                                       "reduce_to_one"};

/// The algorithm that such a word means, which for nccl is the own one of the transport of that
/// name; any other word is its own.
std::string_view allreduce_meant(std::string_view word);

}  // namespace scalebench
