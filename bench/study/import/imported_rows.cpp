// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/imported_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "bench/measure/statistics.hpp"
#include "bench/record/result_row.hpp"
#include "bench/study/import/settings.hpp"
#include "kernels/dtype.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

std::string bench_of(const Schema& schema) {
  return std::string(schema.file.substr(0, schema.file.find('.')));
}

bool is_training(const Schema& schema) {
  return schema.file == epoch_schema().file || schema.file == throughput_schema().file;
}

std::vector<std::string_view> required(const Schema& schema) {
  if (schema.file == kernels_schema().file) return {"kernel"};
  if (schema.file == allreduce_schema().file) return {"ranks", "size_bytes"};
  return {"ranks", "model"};
}

void require_case(const ResultRow& row, const std::string& file) {
  for (const std::string_view column : required(row.schema())) {
    const std::string& value = row.get(column);
    if (value.empty()) fail<UsageError>("{0}: {1} is not in it; add --set {1}=...", file, column);
    require_value(file, column, value);
  }
}

/// The columns in which rows with equal ids agree: all but N and what follows from it.
std::vector<std::string_view> columns_of_the_case(const Schema& schema) {
  static const std::set<std::string_view> kNotOfTheCase{"note",
                                                        "ranks",
                                                        "nodes",
                                                        "rank",
                                                        "host",
                                                        "count",
                                                        "sync",
                                                        "operations",
                                                        "parameters",
                                                        "workers",
                                                        "wire_bw_gb_per_s",
                                                        "warm",
                                                        "first_call_seconds",
                                                        "redone",
                                                        "slowest_rank",
                                                        "clock_residual_seconds",
                                                        "skew_seconds",
                                                        "train_loss",
                                                        "test_accuracy",
                                                        "epochs_to_target",
                                                        "seconds_to_target",
                                                        "replicas_equal",
                                                        "replica_divergence",
                                                        "relative_to_one_rank",
                                                        "last_rank",
                                                        "last_rank_share"};
  std::vector<std::string_view> columns = describing_columns(schema);
  std::erase_if(columns, [](std::string_view column) {
    return kNotOfTheCase.contains(column) || column.ends_with("_seconds");
  });
  return columns;
}

std::string canonical(const ResultRow& row, const std::vector<std::string_view>& columns) {
  const std::string scaling = text_in(row, "scaling");
  std::string text = bench_of(row.schema());
  for (const std::string_view column : columns) {
    const bool follows = (column == "batch" && scaling == "strong") ||
                         (column == "global_batch" && scaling == "weak");
    const std::string& value = row.get(column);
    if (!follows && !value.empty()) text += fmt::format(" {}={}", column, value);
  }
  return text;
}

/// What follows from other columns, where the file does not say it.
void complete(ResultRow& row, const ImportIdentity& identity,
              const std::vector<std::string_view>& columns) {
  if (is_training(row.schema()) && row.get("rank").empty()) row.set("rank", "all");
  if (row.schema().file == allreduce_schema().file && row.get("count").empty()) {
    const auto dtype = dtype_named(row.get("dtype"));
    if (dtype) row.set("count", std::stoull(row.get("size_bytes")) / size_of(*dtype));
  }
  row.set("schema_version", kSchemaVersion).set("run_id", identity.run_id);
  row.set("case_id", case_id(canonical(row, columns))).set("origin", identity.origin);
  if (row.get("status").empty()) row.set("status", "ok");
  if (identity.remark.empty()) return;
  const std::string& note = row.get("note");
  row.set("note", note.empty() ? identity.remark : fmt::format("{}; {}", note, identity.remark));
}

ResultRow sample_of(const ResultRow& row, int launch, std::size_t repetition, double seconds) {
  ResultRow sample(samples_schema());
  for (const std::string_view column : {"schema_version", "run_id", "case_id", "origin"}) {
    sample.set(column, row.get(column));
  }
  sample.set("bench", bench_of(row.schema())).set("launch", launch).set("repetition", repetition);
  sample.set("ranks", text_in(row, "ranks")).set("seconds", seconds);
  // As the programs write it: all ranks together have no number.
  if (text_in(row, "rank") != "all") sample.set("rank", text_in(row, "rank"));
  sample.set("bytes", text_in(row, "size_bytes") + text_in(row, "bytes"));
  sample.set("samples", text_in(row, "samples"));
  sample.set("skew_seconds", text_in(row, "skew_seconds"));
  return sample;
}

/// Images behind one repetition; NaN where the row does not say.
double images_of(const ResultRow& row) {
  if (row.schema().file == epoch_schema().file) return number_in(row, "samples");
  return number_in(row, "batch") * (row.get("rank") == "all" ? number_in(row, "ranks") : 1);
}

/// A row of one of the launches. Rows with equal ids are of one group.
struct Member {
  std::uint32_t group = 0, launch = 0;
  std::size_t place = 0;
};

using Groups = std::unordered_map<std::string, std::uint32_t>;

/// All rows of the launches, group after group.
std::vector<Member> members(const std::vector<ImportedLaunchRows>& launches,
                            PackedRows ImportedLaunchRows::*rows, Groups& groups) {
  std::vector<Member> found;
  for (std::uint32_t launch = 0; launch < launches.size(); ++launch) {
    const PackedRows& of_launch = launches[launch].*rows;
    for (std::size_t place = 0; place < of_launch.size(); ++place) {
      const auto next = static_cast<std::uint32_t>(groups.size());
      const std::string id(of_launch.text(place, "case_id"));
      found.push_back({groups.try_emplace(id, next).first->second, launch, place});
    }
  }
  std::ranges::stable_sort(found, {}, &Member::group);
  return found;
}

/// The rows of one group as over_launches takes them.
class Group {
 public:
  explicit Group(const std::vector<ImportedLaunchRows>& launches) : launches_(launches) {}

  void add_case(const Member& member) {
    const ImportedLaunchRows& from = launches_[member.launch];
    if (parts_.empty() || parts_.back().launch != from.launch)
      parts_.push_back({from.launch, {}, {}});
    parts_.back().cases.push_back(from.cases[member.place]);
    cases_.push_back(member);
  }

  /// After the cases.
  void add_sample(const Member& member) {
    const ImportedLaunchRows& from = launches_[member.launch];
    const auto part = std::ranges::find(parts_, from.launch, &LaunchRows::launch);
    part->samples.push_back(from.samples[member.place]);
  }

  const std::vector<LaunchRows>& parts() const { return parts_; }

  /// Of the rows behind `row`, which is over launches, the first.
  std::pair<std::uint32_t, std::size_t> first_of(const ResultRow& row) const {
    const auto is_it = [&](const Member& member) {
      const PackedRows& cases = launches_[member.launch].cases;
      return std::ranges::all_of(std::array{"ranks", "nodes", "rank"}, [&](const char* column) {
        return cases.text(member.place, column) == text_in(row, column);
      });
    };
    const auto found = std::ranges::find_if(cases_, is_it);
    const Member& member = found == cases_.end() ? cases_.front() : *found;
    return {member.launch, member.place};
  }

 private:
  const std::vector<ImportedLaunchRows>& launches_;
  std::vector<LaunchRows> parts_;
  std::vector<Member> cases_;
};

/// order_of, as a text that is compared byte by byte: it takes a third of the memory.
std::string sort_key(const ResultRow& row) {
  std::string key;
  for (const auto& [number, text] : order_of(row)) {
    // Of positive numbers, the larger one has the larger bits.
    const auto bits = std::bit_cast<std::uint64_t>(number);
    for (int shift = 56; shift >= 0; shift -= 8) key += static_cast<char>((bits >> shift) & 0xffU);
    key += text;
    key += '\0';
  }
  key.shrink_to_fit();
  return key;
}

/// One row for each case, with the rates that over_launches leaves to bench_kernels. It is asked
/// for one group at a time, since it copies what it gets.
PackedRows over(const std::vector<ImportedLaunchRows>& launches, const Schema& schema) {
  struct Place {
    std::string key;
    std::pair<std::uint32_t, std::size_t> first;
    std::size_t place = 0;
  };
  Groups groups;
  const std::vector<Member> cases = members(launches, &ImportedLaunchRows::cases, groups);
  const std::vector<Member> samples = members(launches, &ImportedLaunchRows::samples, groups);
  groups.clear();
  PackedRows rows;
  std::vector<Place> order;
  for (auto one = cases.begin(), sample = samples.begin(); one != cases.end();) {
    const std::uint32_t number = one->group;
    Group group(launches);
    for (; one != cases.end() && one->group == number; ++one) group.add_case(*one);
    for (; sample != samples.end() && sample->group == number; ++sample) group.add_sample(*sample);
    for (ResultRow& row : over_launches(group.parts(), schema)) {
      const double seconds = number_in(row, "seconds_median");
      if (schema.file == kernels_schema().file && seconds > 0) {
        row.set("gb_per_s", number_in(row, "bytes") / seconds * 1e-9);
        row.set("gflop_per_s", number_in(row, "flops") / seconds * 1e-9);
      }
      order.push_back({sort_key(row), group.first_of(row), rows.size()});
      rows.push_back(row);
    }
  }
  std::ranges::sort(order, {}, [](const Place& one) { return std::tie(one.key, one.first); });
  std::vector<std::size_t> places;
  for (const Place& one : order) places.push_back(one.place);
  rows.reorder(places);
  return rows;
}

/// The cases of one launch, equal ones together.
class LaunchCases {
 public:
  LaunchCases(int number, const Schema& schema)
      : schema_(schema), columns_(columns_of_the_case(schema)) {
    rows_.launch = number;
  }

  void add(ImportedCase one, const ImportIdentity& identity, std::vector<ResultRow>& accuracies) {
    ResultRow& row = one.row;
    complete(row, identity, columns_);
    const std::string key =
        fmt::format("{}/{}/{}", row.get("case_id"), text_in(row, "ranks"), text_in(row, "rank"));
    const auto [found, is_new] = place_of_.emplace(key, rows_.cases.size());
    if (is_new) {
      rows_.cases.push_back(row);
      seconds_.emplace_back();
    } else if (row.get("status") != "ok") {
      rows_.cases.replace(found->second, row);  // one bad value voids the case
    }
    std::vector<double>& seconds = seconds_[found->second];
    for (const double value : one.seconds) {
      rows_.samples.push_back(sample_of(row, rows_.launch, seconds.size(), value));
      seconds.push_back(value);
    }
    for (ResultRow& accuracy : one.accuracies) {
      for (const std::string& column : accuracy.schema().columns) {
        if (accuracy.get(column).empty()) accuracy.set(column, text_in(row, column));
      }
      accuracies.push_back(accuracy.set("launch", rows_.launch));
    }
  }

  ImportedLaunchRows with_statistics() && {
    for (std::size_t i = 0; i < seconds_.size(); ++i) {
      if (seconds_[i].empty() || !is_training(schema_)) continue;
      ResultRow row = rows_.cases[i];
      const double median = median_of(seconds_[i]);
      row.set("seconds_median", median).set("images_per_s", images_of(row) / median);
      rows_.cases.replace(i, row);
    }
    place_of_.clear();
    std::vector<ImportedLaunchRows> alone;
    alone.push_back(std::move(rows_));
    alone[0].cases = over(alone, schema_);
    return std::move(alone[0]);
  }

 private:
  const Schema& schema_;
  std::vector<std::string_view> columns_;  // of the case
  ImportedLaunchRows rows_;
  std::vector<std::vector<double>> seconds_;  // of each of rows_.cases
  std::unordered_map<std::string, std::size_t> place_of_;
};

}  // namespace

void require_cases(const std::vector<NumberedLaunch>& launches) {
  for (const NumberedLaunch& one : launches) {
    for (std::size_t i = 0; i < one.launch.cases.size(); ++i) {
      require_case(one.launch.cases[i].row, one.file);
    }
  }
}

ImportedRows imported_rows(std::vector<NumberedLaunch> launches, const Schema& schema,
                           const ImportIdentity& identity) {
  std::map<int, LaunchCases> by_number;
  ImportedRows rows;
  for (NumberedLaunch& one : launches) {
    LaunchCases& cases = by_number.try_emplace(one.number, one.number, schema).first->second;
    for (std::size_t i = 0; i < one.launch.cases.size(); ++i) {
      cases.add(one.launch.cases[i], identity, rows.accuracies);
    }
    one.launch = {};  // its memory
  }
  for (auto& [number, cases] : by_number) {
    rows.launches.push_back(std::move(cases).with_statistics());
  }
  // Over one launch there is nothing more to say.
  rows.cases = rows.launches.size() == 1 ? rows.launches[0].cases : over(rows.launches, schema);
  return rows;
}

}  // namespace scalebench
