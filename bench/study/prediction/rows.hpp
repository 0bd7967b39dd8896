// SPDX-License-Identifier: Apache-2.0
// prediction.csv: for each case first what is said of every measured N, the largest one held out;
// then of the N that are asked for; then what would change there. Bands: 95 % of draws of launches
// and steps with replacement, by a fixed seed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/prediction/input.hpp"

namespace scalebench {

struct PredictionQuestions {
  std::vector<int> ranks;         // N that are asked for
  std::optional<int> per_node{};  // ranks of a node; empty: as in the run
  AssumedNetwork link{};          // another one than the measured network
  std::string link_text{};        // as typed
  StrategyChoices choices{};
  int draws = 200;
};

/// How N ranks stand: `per_node` on each node; else as densely as in the run, where that was on
/// several; else each on a node of its own behind a link that was asked for; else on one.
RankLayout layout_of(int ranks, const PredictionCase& of, const PredictionQuestions& questions);

/// Rows of prediction.csv. What cannot be predicted is a row with status `skipped`, empty cells and
/// the reason.
std::vector<ResultRow> prediction_rows(const CaseOfRun& of, const PredictionQuestions& questions,
                                       std::string_view run_id);

/// The largest number of ranks that any case was measured on; 0: none.
int largest_measured(const std::vector<CaseOfRun>& cases);

}  // namespace scalebench
