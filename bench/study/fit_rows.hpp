// SPDX-License-Identifier: Apache-2.0
// fit.csv and fit_points.csv from allreduce rows: one fit for every algorithm, transport, memory,
// dtype and op, over all sizes and numbers of ranks that were measured.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/fit.hpp"

namespace scalebench {

/// What must be equal for points to share a fit. Inside a node and between nodes are two things.
struct FitCase {
  std::string algorithm, transport, memory, dtype, op, placement, mode, cache, graph, origin;
  bool one_node = true;

  auto operator<=>(const FitCase&) const = default;
};

struct AllreducePoint {
  FitCase of;
  int ranks = 0;
  int nodes = 1;
  double element_bytes = 0;
  double count = 0;    // elements of one rank's buffer
  double seconds = 0;  // measured median

  double size_bytes() const { return count * element_bytes; }
};

/// What the study cannot know by itself.
struct FitModel {
  /// Elements that the busiest rank sends and reduces, and its steps, for p ranks of which g share
  /// a node, and n elements: `AllreduceWork` with elements for bytes. Throws for unknown names.
  std::function<AllreduceWork(std::string_view algorithm, double p, double n, double g)> cost_of;
};

struct FitRow {
  FitCase of;
  std::vector<AllreducePoint> points;  // by ranks, then size
  std::optional<AllreduceFit> fit;     // nothing: too few points
};

/// Rows of allreduce.csv that can be fitted: status ok, two or more ranks.
std::vector<AllreducePoint> points_of(const std::vector<ResultRow>& allreduce_rows);

/// One entry for each case, in order of first appearance.
std::vector<FitRow> fits_of(const std::vector<AllreducePoint>& points, const FitModel& model);

/// Rows of fit.csv; a case with too few points is a `skipped` row.
std::vector<ResultRow> fit_rows(const std::vector<FitRow>& fits, std::string_view run_id);
/// Rows of fit_points.csv: what each fit says where something was measured; origin `predicted`.
std::vector<ResultRow> fit_point_rows(const std::vector<FitRow>& fits, const FitModel& model,
                                      std::string_view run_id);

}  // namespace scalebench
