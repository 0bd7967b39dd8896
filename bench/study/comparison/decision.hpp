// SPDX-License-Identifier: Apache-2.0
// Which of several instance types to rent. An instance is rented whole, so each type stands at its
// whole instances only, and its best is the number of them with the cheapest epoch. Whether two
// differ in time or in cost says the comparison's one engine, of their launches. The answer is one
// sentence with its interval; what it leaves open, and what would have to be measured for it, are
// others.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/study/analysis/pairs.hpp"
#include "bench/study/comparison/cost.hpp"

namespace scalebench {

/// The best of two types on one workload, or why there is none. Both questions are of B over A: A
/// is better where the verdict is `slower`, and where a side is not known it is `missing`.
struct Decision {
  std::string name_a, name_b;  // of the types, with the run where several were on one
  std::string workload;        // with its images
  std::optional<Cost> a, b;    // without: nothing can be decided
  std::string note;            // then why
  bool tested = true;          // else a side is predicted, or a single number from elsewhere: the
                               // ratio alone says which is better
  CellComparison time{}, usd{};
  double equal_usd_per_hour = std::nan("");  // of the dearer type, for equal cost
  double break_even_epochs = std::nan("");   // from so many on start-up is paid back
  std::string unknown{};                     // what stays open, and what would tell
};

/// Of each pair of types a decision for each workload and number of images that both have, or one
/// that says why there is none. `types` has the costs of one run or prediction each; those without
/// any are left out. Costs of different origin meet only where one is predicted.
/// `startup_seconds`: what each instance is paid for before its first epoch.
std::vector<Decision> decisions_of(const std::vector<std::vector<Cost>>& types,
                                   double startup_seconds = 0);

/// Whether they answer what was asked: there are some, and each says which type is better in what,
/// or that they are equal.
bool all_decided(const std::vector<Decision>& decisions);

/// What they say, each with its workload where there are several; the answer comes last. Of three
/// or more types it is one sentence that names the winner.
std::vector<std::string> sentences_of(const std::vector<Decision>& decisions);

/// Of three or more types, a line for each pair.
std::string table_of_pairs(const std::vector<Decision>& decisions);

nlohmann::json json_of(const Decision& decision);

}  // namespace scalebench
