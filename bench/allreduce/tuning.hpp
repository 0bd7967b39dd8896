// SPDX-License-Identifier: Apache-2.0
// From what the algorithm `auto` chooses: the rows of an earlier run, or a short trial of all
// algorithms before the first case. All ranks come to the same table.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/allreduce/measure.hpp"
#include "collectives/allreduce.hpp"

namespace scalebench {

/// For which cases a table holds.
struct AllreduceSetting {
  AllreducePlace place;  // of a file that knows no pages, or a training: without any
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;
  bool operator==(const AllreduceSetting&) const = default;
};

using SharedChoices = std::shared_ptr<const AllreduceChoices>;

/// What an earlier allreduce.csv says of isolated cases on this many ranks.
class EarlierRows {
 public:
  /// Collective: rank 0 reads `path`. Throws UsageError on every rank when it cannot be read or is
  /// not such a file.
  EarlierRows(Communicator& host, const std::string& path);
  /// Throws Unavailable when it has none for the setting.
  SharedChoices choices(const AllreduceSetting& setting) const;

 private:
  struct Row {
    AllreduceSetting setting;
    MeasuredAllreduce measured;
  };
  std::string path_;
  std::vector<Row> rows_;
};

/// Collective: a few repetitions of every algorithm that works, in place, from `smallest_bytes` to
/// `largest_bytes` in factors of 4. Throws Unavailable when there is none.
SharedChoices tune(const AllreduceBench& bench, Communicator& host, const AllreduceSetting& setting,
                   const AllreduceMethod& method, std::size_t smallest_bytes,
                   std::size_t largest_bytes);

}  // namespace scalebench
