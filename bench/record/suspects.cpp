// SPDX-License-Identifier: Apache-2.0
#include "bench/record/suspects.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>

#include "bench/measure/statistics.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kNobody = "none";
constexpr std::array<std::string_view, 7> kNumbers{
    "gb_per_s", "latency_seconds", "tail_seconds",    "messages",
    "lost",     "retransmits",     "compute_relative"};

bool is_link(const ResultRow& row) { return !row.get("to_host").empty(); }

bool is_named(const ResultRow& row) {
  return !row.get("verdict").empty() && row.get("verdict") != kNobody;
}

bool is_accused(const ResultRow& row) { return number_in(row, "accused") > 0; }

/// The verdict that most of the rows that name the host have; of a link none.
std::string usual_verdict(const std::vector<ResultRow>& rows) {
  std::map<std::string, int> times;
  for (const ResultRow& row : rows) {
    if (is_named(row)) ++times[row.get("verdict")];
  }
  if (times.empty()) return std::string(is_link(rows.front()) ? "" : kNobody);
  return std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; })->first;
}

/// Rows of one host, or of one link.
ResultRow over_launches(const std::vector<ResultRow>& rows) {
  double accused = 0, launches = 0;
  for (const ResultRow& row : rows) {
    launches += number_in(row, "launches");
    accused += number_in(row, "accused");
  }
  const bool counts = 2 * accused >= launches && accused > 0;
  const std::string verdict = is_link(rows.front()) ? ""
                              : counts              ? usual_verdict(rows)
                                                    : std::string(kNobody);
  std::vector<ResultRow> alike;
  std::ranges::copy_if(rows, std::back_inserter(alike), [&](const ResultRow& row) {
    return row.get("verdict") == verdict && is_accused(row) == counts;
  });
  ResultRow result = alike.empty() ? rows.front() : alike[(alike.size() - 1) / 2];
  for (const std::string_view column : kNumbers) {
    std::vector<double> values;
    for (const ResultRow& row : rows) {
      const double value = number_in(row, column);
      if (!std::isnan(value)) values.push_back(value);
    }
    result.set(column, median_of(values));
  }
  result.set("launches", launches).set("accused", accused).set("verdict", verdict);
  if (!counts) result.set("note", "");
  return result;
}

}  // namespace

std::vector<ResultRow> host_rows(const std::vector<ResultRow>& of_launches) {
  double most = 0;
  for (const ResultRow& row : of_launches) most = std::fmax(most, number_in(row, "nodes"));
  std::map<std::tuple<bool, std::string, std::string>, std::vector<ResultRow>> by_name;
  for (const ResultRow& row : of_launches) {
    if (number_in(row, "nodes") < most) continue;
    by_name[{is_link(row), row.get("host"), row.get("to_host")}].push_back(row);
  }
  std::vector<ResultRow> result;
  for (const auto& [name, rows] : by_name) result.push_back(over_launches(rows));
  return result;
}

std::vector<ResultRow> named_hosts(const std::vector<ResultRow>& rows) {
  std::vector<ResultRow> named;
  std::ranges::copy_if(rows, std::back_inserter(named), is_named);
  return named;
}

std::string lost_host_in(const std::string& line) {
  constexpr std::string_view kBegin = "(all of ", kEnd = ": stopped, down or cut off)";
  const std::size_t end = line.find(kEnd), begin = line.rfind(kBegin, end);
  if (end == line.npos || begin == line.npos) return "";
  return line.substr(begin + kBegin.size(), end - begin - kBegin.size());
}

std::string suspect_line(const std::vector<Suspect>& lost, const std::vector<ResultRow>& rows) {
  if (rows.empty() && lost.empty()) return "";
  const std::vector<ResultRow> named = named_hosts(rows);
  const auto is_one_of_them = [&](const std::string& host) {
    return std::ranges::any_of(named,
                               [&](const ResultRow& row) { return row.get("host") == host; });
  };
  std::vector<std::string> words;
  for (const Suspect& one : lost) words.push_back(fmt::format("{}, {}", one.host, one.why));
  for (const ResultRow& row : named) {
    const double launches = number_in(row, "launches");
    words.push_back(fmt::format(
        "{}, {}{}", row.get("host"), row.get("note"),
        launches > 1 ? fmt::format(" in {} of {} launches", row.get("accused"), row.get("launches"))
                     : ""));
  }
  std::string line = words.empty()
                         ? "no host stands out"
                         : fmt::format("{}: {}", words.size() == 1 ? "suspect" : "suspects",
                                       fmt::join(words, "; "));
  for (const ResultRow& row : rows) {
    const bool counts = is_link(row) && !row.get("note").empty() &&
                        !is_one_of_them(row.get("host")) && !is_one_of_them(row.get("to_host"));
    if (counts) line += "; " + row.get("note");
  }
  return line;
}

}  // namespace scalebench
