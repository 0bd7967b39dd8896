// SPDX-License-Identifier: Apache-2.0
// What a run's rows hold for predictions: one case for each strategy of each model, with its epochs
// on one and more ranks by launch and the allreduce curves of its transport.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/analysis/fit.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/prediction/prediction.hpp"

namespace scalebench {

/// Where steps of one rank were profiled.
struct Profiles {
  std::map<int, StepProfile> by_launch{};                      // of the run
  std::map<std::string, StepProfile, std::less<>> by_model{};  // given beside it: goes first
};

struct CaseOfRun {
  PredictionCase of;
  ResultRow like;         // of epoch.csv: model, transport and so on; of the largest N
  std::string missing{};  // why nothing can be predicted; else empty
};

/// In order of first appearance. `strategies`: of these, whether they were measured or not, with
/// the transport, allreduce and scaling of the model's first strategy; empty: those measured.
std::vector<CaseOfRun> cases_of_run(const StoredRun& run, const Profiles& profiles,
                                    const std::vector<std::string>& strategies,
                                    const FitModel& model);

}  // namespace scalebench
