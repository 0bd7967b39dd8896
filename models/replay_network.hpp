// SPDX-License-Identifier: Apache-2.0
// A network that takes as long as a recorded one without computing it: each layer passes its
// numbers on, lasts as long as it was recorded, and makes as many gradients. Its parameters are
// real, so that every gradient sync moves and updates what it would of the recorded network.
#pragma once

#include <memory>

#include "models/network.hpp"
#include "models/pace.hpp"
#include "models/replay_trace.hpp"

namespace scalebench {

/// Images of (n, 1, 1, 1) of two classes; parameters of zeros. All gradients of a pass have one
/// value, which follows from its images, so that ranks with different ones disagree until they
/// have synchronised. In evaluation nothing waits. `pace` must outlive it.
std::shared_ptr<Network> make_replay_network(const ReplayTrace& trace, double dilation, Pace& pace);

}  // namespace scalebench
