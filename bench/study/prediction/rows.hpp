// SPDX-License-Identifier: Apache-2.0
// What a run's rows hold for predictions: one case for each strategy of each model, with its epochs
// on one and more ranks by launch and the allreduce curves of its transport. Then prediction.csv:
// for each case first what is said of every measured N, the largest one held out, and then of the N
// that are asked for. Bands are as wide as the errors on measured N that were left out say.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/fit/fit.hpp"
#include "bench/study/prediction/prediction.hpp"

namespace scalebench {

/// Steps of one rank, by the launch that recorded them.
using Profiles = std::map<int, StepProfile>;

struct CaseOfRun {
  PredictionCase of;
  ResultRow like;         // of epoch.csv: model, transport and so on; of the largest N
  std::string missing{};  // why nothing can be predicted; else empty
  /// Where its N > 1 were measured.
  std::vector<RankLayout> measured{};
};

/// In order of first appearance.
std::vector<CaseOfRun> cases_of_run(const StoredRun& run, const Profiles& profiles);

struct PredictionQuestions {
  std::vector<int> ranks;         // N that are asked for
  std::optional<int> per_node{};  // ranks of a node; empty: as in the run
  AssumedNetwork link{};          // another one than the measured network
  std::string link_text{};        // as typed
};

/// How N ranks stand: `per_node` on each node; else as densely as in the run, where that was on
/// several; else each on a node of its own behind a link that was asked for; else on one.
RankLayout layout_of(int ranks, const CaseOfRun& of, const PredictionQuestions& questions);

/// Rows of prediction.csv, of one case after the other. What cannot be predicted is a row with
/// status `skipped`, empty cells and the reason. The errors of the N left out of any case widen the
/// bands of all of the same origin: with two N left in one case, Student's t alone is 12.7.
std::vector<ResultRow> prediction_rows(const std::vector<CaseOfRun>& cases,
                                       const PredictionQuestions& questions,
                                       std::string_view run_id);

/// The largest number of ranks that any case was measured on; 0: none.
int largest_measured(const std::vector<CaseOfRun>& cases);

/// The rows as a person reads them: the error where it is known, and what is predicted.
std::string predict_table(const std::vector<ResultRow>& rows);

}  // namespace scalebench
