// SPDX-License-Identifier: Apache-2.0
// Which of two instance types to rent, from rows of cost.csv. An instance is
// rented whole, so each type stands at its whole instances only, and its best is the number of them
// with the cheapest epoch. The answer is a sentence; what nobody can say yet, and what would have
// to be measured for it, is another one.
#pragma once

#include <string>
#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

/// For each workload (model, data set, scaling, images of an epoch) that both have: `best` against
/// best; then, where other numbers of instances answer them, the fastest of each at an equal
/// `budget` and the cheapest of each at an equal `deadline`. A row that cannot be decided is
/// `skipped` and says why. `a` and `b` are the rows of one run or prediction each; without any of
/// one there is no row. Rows of different origin meet only where one is predicted. Throughput is no
/// epoch: it decides nothing, and where one has nothing else the row says so.
std::vector<ResultRow> decision_rows(std::vector<ResultRow> a, std::vector<ResultRow> b);

/// Whether the rows answer what was asked: there are some, and each says which type is better in
/// what, or that they are equal.
bool all_decided(const std::vector<ResultRow>& decisions);

/// The sentences of all rows in their order, each with its workload where there are several.
std::vector<std::string> sentences_of(const std::vector<ResultRow>& decisions);

}  // namespace scalebench
