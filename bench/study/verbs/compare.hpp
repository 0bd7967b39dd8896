// SPDX-License-Identifier: Apache-2.0
// What scalebench compare is told: the runs, which cells of them, on which instance types at which
// price. Everything typed is looked at before any run is read to its end.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bench/study/comparison/instances.hpp"

namespace scalebench {

struct CompareOptions {
  std::vector<std::filesystem::path> runs;
  std::vector<std::string> certificates;  // runs of scalebench certify
  std::string across;                     // "device,transport"
  std::vector<std::string> where;         // "[A:]column=value,value"
  std::vector<std::string> instances;     // "A=p3.8xlarge"
  std::vector<std::string> prices;        // "p3.8xlarge=12.24"
  std::vector<std::string> predictions;   // names of instance types
  std::string from = "A";                 // the run that predictions start at
  std::filesystem::path catalog;          // empty: the one of this installation
  std::string format = "table";
  std::string out;
  bool changed_only = false;
  std::vector<std::string> command;  // argv as typed
};

/// "NAME=VALUE" in two. Throws UsageError, naming `option`, when either is empty.
struct Assignment {
  std::string name;
  std::string value;
};
Assignment split_assignment(std::string_view option, std::string_view text);

/// Which run is meant by a letter, a folder's name or a run's id. Throws UsageError.
std::size_t run_named(std::string_view option, std::string_view name,
                      const std::vector<std::filesystem::path>& runs);

/// "[A:]column=value,value"
struct WhereClause {
  std::optional<std::size_t> run;  // all of them, without
  std::string column;
  std::vector<std::string> values;
};
WhereClause where_of(std::string_view text, const std::vector<std::filesystem::path>& runs);

/// The catalog with the user's own prices in it, each dated `today`. Throws UsageError for a price
/// that is none and for an unknown instance type.
std::vector<Instance> catalog_of(const CompareOptions& options, const std::string& today);

}  // namespace scalebench
