// SPDX-License-Identifier: Apache-2.0
// Which of several instance types to rent, from rows of cost.csv. An instance is rented whole, so
// each type stands at its whole instances only, and its best is the number of them with the
// cheapest epoch. The answer is one sentence with its interval; what it leaves open, and what would
// have to be measured for it, are others.
#pragma once

#include <string>
#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

/// Of each pair of types a row for each workload (model, data set, scaling, images of an epoch)
/// that both have, or one that is `skipped` and says why there is none. `types` has the rows of one
/// run or prediction each; those without any are left out. Rows of different origin meet only where
/// one is predicted. Throughput is no epoch: it decides nothing, and where a type has nothing else
/// its row says so. `startup_seconds`: what each instance is paid for before its first epoch, by
/// which `break_even_epochs` is known.
std::vector<ResultRow> decision_rows(const std::vector<std::vector<ResultRow>>& types,
                                     double startup_seconds = 0);

/// Whether the rows answer what was asked: there are some, and each says which type is better in
/// what, or that they are equal.
bool all_decided(const std::vector<ResultRow>& decisions);

/// What the rows say, each with its workload where there are several; the answer comes last. Of
/// three or more types it is one sentence that names the winner.
std::vector<std::string> sentences_of(const std::vector<ResultRow>& decisions);

/// Of three or more types, a line for each pair.
std::string table_of_pairs(const std::vector<ResultRow>& decisions);

/// "resnet50 imagenet strong", of a row of cost.csv or of a decision.
std::string workload_of(const ResultRow& row);

}  // namespace scalebench
