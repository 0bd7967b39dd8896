// SPDX-License-Identifier: Apache-2.0
// A leg: one strategy on N ranks, and what it is compared with.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/analysis/cells.hpp"

namespace scalebench {

/// Whether a row of epoch.csv did one rank's share of a run on several.
bool is_share(const ResultRow& row);

/// The columns because of which they are not comparable. None: equal in everything but N, the
/// strategy and how gradients travel. Strong scaling keeps the global batch, weak scaling each
/// rank's.
std::vector<std::string_view> differences(const ResultRow& leg, const ResultRow& one);

/// Of the cells on one rank that fit and are comparable with a leg, the one whose number of images
/// is nearest to `samples`; null: there is none.
const Cell* nearest(const std::vector<Cell>& cells, const ResultRow& leg, double samples,
                    const std::function<bool(const ResultRow&)>& fits);

/// What a leg is compared with, from the same origin; null: was not measured.
struct Bases {
  const Cell* one = nullptr;      // one_device: H
  const Cell* raw = nullptr;      // the plain loop on one rank
  const Cell* share = nullptr;    // the plain loop on one rank with its share of the images
  std::string other_origin = {};  // of a one_device that is not taken
};

Bases bases_of(const ResultRow& leg, const std::vector<Cell>& epochs);

/// Whether each of N devices does as much as one; else they share the work of one.
bool is_weak(const ResultRow& leg);
int ranks_of(const ResultRow& leg);
/// Ranks among which the images of a step are divided: fewer with parameter servers, 1 with a split
/// model; where a row does not say its batches, all.
int workers_in(const ResultRow& leg);
/// How many times the samples of `one` a leg processes.
double rho_of(const ResultRow& leg, const ResultRow& one);

}  // namespace scalebench
