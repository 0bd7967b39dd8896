// SPDX-License-Identifier: Apache-2.0
// Parts of the costs in allreduce.def that are no plain expression of p and n.
#pragma once

#include "collectives/allreduce.hpp"

namespace scalebench::cost {

/// floor(lg p).
double lg(double p);
/// 1 when p ranks have to be folded into 2^lg(p), else 0.
double folded(double p);
/// (q - 1) / q for q = 2^lg(p): what is left to send when a buffer is halved lg(p) times.
double halved(double p);
/// Segments of n elements; they are as many elements in every dtype.
double segments(double n);
/// double_binary_tree, read from its timetable, where turns coincide differently for every p. O(p).
AllreduceCost trees(double p, double n);

}  // namespace scalebench::cost
