// SPDX-License-Identifier: Apache-2.0
// Which share of a device's arithmetic a training step uses: model FLOP/s over peak FLOP/s (MFU).
#pragma once

#include "bench/study/collect.hpp"

namespace scalebench {

/// Fills in `mfu` and `mfu_published` of a row of throughput.csv from its other columns; empty
/// where one of those is.
inline void set_utilisation(ResultRow& row) {
  const double rate = number_in(row, "gflop_per_image") * number_in(row, "images_per_s");
  row.set("mfu", rate / number_in(row, "roofline_gflop_per_s"));
  row.set("mfu_published", rate / number_in(row, "published_gflop_per_s"));
}

}  // namespace scalebench
