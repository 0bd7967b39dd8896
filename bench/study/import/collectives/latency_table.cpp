// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/collectives/latency_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "bench/study/import/collectives/printed_table.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

std::string dtype_named_by_mpi(std::string_view name) {
  static const std::map<std::string_view, std::string> kNames{
      {"MPI_FLOAT", "float"}, {"MPI_DOUBLE", "double"}, {"MPI_INT", "int32"}, {"MPI_CHAR", "char"}};
  while (name.ends_with('.')) name.remove_suffix(1);
  const auto found = kNames.find(name);
  return found == kNames.end() ? std::string(name) : found->second;
}

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return small;
}

std::string column_named(std::string_view name) {
  if (name == "Avg" || name.starts_with("t_avg")) return "avg";
  if (name == "Min" || name.starts_with("t_min")) return "min";
  if (name == "Max" || name.starts_with("t_max")) return "max";
  return "other";
}

}  // namespace

bool LatencyTable::begins(const ForeignLine& line) {
  const std::size_t osu = line.text.find("OSU "), intel = line.text.find("Benchmarking ");
  const bool is_osu =
      osu != std::string_view::npos && line.text.find("Test") != std::string_view::npos;
  if (!is_osu && intel == std::string_view::npos) return false;
  end();
  is_open_ = true;
  const std::string_view title = line.text.substr(is_osu ? osu : intel);
  const std::vector<std::string_view> words = cells_of(title);
  is_other_ = title.find("Allreduce") == std::string_view::npos ||
              title.find("Non-blocking") != std::string_view::npos ||
              title.find("Persistent") != std::string_view::npos;
  program_ = is_osu ? "osu_allreduce" : "Allreduce of the Intel MPI Benchmarks";
  if (is_other_) {
    result_.findings.push_back(
        {line.number, fmt::format("'{}' is left out: no {}", title, program_)});
  }
  if (is_osu && words.size() > 1) {
    // "OSU MPI-CUDA Allreduce Latency Test v7.0", "OSU NCCL-CUDA Allreduce Latency Test v7.5"
    const std::size_t dash = words[1].find('-');
    if (dash != std::string_view::npos) memory_ = "device";
    transport_ = lower(words[1].substr(0, dash));
  }
  return true;
}

bool LatencyTable::line(const ForeignLine& line, bool is_cut) {
  const std::vector<std::string_view> words = cells_of(line.text);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "Datatype:") dtype_ = dtype_named_by_mpi(words[i + 1]);
    const bool counts = words[i].ends_with("#processes") || words[i] == "processes";
    if (counts && words[i + 1] == "=" && i + 2 < words.size()) {
      ranks_ = read_number<int>(words[i + 2]);
    }
  }
  return head(words) || row(line, is_cut);
}

bool LatencyTable::head(const std::vector<std::string_view>& words) {
  const auto size = std::ranges::find_if(words, [](auto word) {
    return word == "Size" || word.ends_with("#Size") || word.ends_with("bytes");
  });
  if (size == words.end()) return false;
  std::vector<std::string> columns;
  std::string_view first;  // of a column's words
  for (auto word = size + 1; word != words.end(); ++word) {
    if (first.empty()) first = *word;
    const bool ends = word->ends_with(')') || word->ends_with(']') || *word == "Iterations" ||
                      word->starts_with('#') || *word == "repetitions";
    if (*word == "Validation") break;  // a word below it, no number
    if (!ends) continue;
    columns.push_back(column_named(first));
    first = "";
  }
  if (std::ranges::find(columns, "avg") == columns.end()) return false;
  columns_ = std::move(columns);
  return true;
}

bool LatencyTable::row(const ForeignLine& line, bool is_cut) {
  std::vector<std::string_view> words = cells_of(line.text);
  const bool failed = !words.empty() && words.back() == "Fail";
  if (failed || (!words.empty() && words.back() == "Pass")) words.pop_back();
  auto begin = words.end();
  for (auto word = words.end(); word != words.begin(); --word) {
    if (!size_in(*(word - 1)).empty()) begin = word - 1;
    if (!is_cell(*(word - 1))) break;
  }
  if (words.end() - begin < (columns_.empty() ? 3 : 2) || is_other_) return false;
  const auto find = [&](const std::string& what) {
    result_.findings.push_back({line.number, what});
    return true;
  };
  if (columns_.empty()) return find("no head above says which number is the average");
  if (is_cut) return find("the output ends within this line: it is left out");
  const std::string_view bytes = size_in(*begin);
  if (!is_count(bytes)) return find("size 0: nothing is moved");
  const std::vector<std::string_view> cells(begin + 1, words.end());
  std::vector<std::string> columns = columns_;
  // -f adds columns whose names some versions forget.
  if (columns.size() == 1 && cells.size() == 4) columns = {"avg", "min", "max", "other"};
  if (columns.size() != cells.size()) {
    return find(
        fmt::format("{} numbers where the head has {}", cells.size() + 1, columns.size() + 1));
  }
  std::map<std::string, std::string_view> named;
  for (std::size_t i = 0; i < cells.size(); ++i) named.emplace(columns[i], cells[i]);
  const auto average = decimal_of(named["avg"]), low = decimal_of(named["min"]),
             high = decimal_of(named["max"]);
  if (!average || *average <= 0) return find(no_number("average", named["avg"]));
  if (low && high && (*average < *low || *average > *high)) {
    return find(fmt::format("average {} is not between {} and {}", named["avg"], named["min"],
                            named["max"]));
  }
  ImportedCase one{described(bytes), {*average / 1e6}, {}};
  one.row.set("note", fmt::format("mean over iterations and ranks, as {} prints it", program_));
  if (low && high) one.row.set("skew_seconds", (*high - *low) / 1e6);
  if (failed) {
    one.seconds.clear();
    one.row.set("status", "wrong").set("note", program_ + ": validation failed");
    find(one.row.get("note"));
  }
  launch_.cases.push_back(std::move(one));
  return true;
}

ResultRow LatencyTable::described(std::string_view bytes) const {
  ResultRow row(allreduce_schema());
  row.set("memory", memory_).set("dtype", dtype_).set("size_bytes", bytes);
  if (ranks_) row.set("ranks", *ranks_);
  apply(settings_, row, file_);
  set_where_empty(row, "algorithm", "native");
  set_where_empty(row, "transport", transport_.empty() ? "mpi" : transport_);
  set_where_empty(row, "memory", "host");
  set_where_empty(row, "dtype", "float");
  set_where_empty(row, "op", "sum");
  set_where_empty(row, "placement", "out_of_place");
  set_where_empty(row, "mode", "isolated");
  if (row.get("ranks").empty()) {
    fail<UsageError>("{}: the number of ranks of {} is not in it; add --set ranks=N", file_,
                     program_);
  }
  return row;
}

void LatencyTable::end() {
  if (!launch_.cases.empty()) result_.launches.push_back(std::move(launch_));
  launch_ = {};
  columns_.clear();
  memory_ = dtype_ = transport_ = "";
  ranks_.reset();
  is_open_ = is_other_ = false;
}

}  // namespace scalebench
