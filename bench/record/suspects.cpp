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

#include "bench/measure/statistics.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kNobody = "none";
constexpr std::array<std::string_view, 11> kNumbers{
    "send_gb_per_s",   "send_relative",   "receive_gb_per_s", "receive_relative",
    "latency_seconds", "tail_seconds",    "messages",         "lost",
    "retransmits",     "compute_seconds", "compute_relative"};

bool is_named(const ResultRow& row) {
  return !row.get("verdict").empty() && row.get("verdict") != kNobody;
}

/// The verdict that most of the rows that name the host have.
std::string usual_verdict(const std::vector<ResultRow>& rows) {
  std::map<std::string, int> times;
  for (const ResultRow& row : rows) {
    if (is_named(row)) ++times[row.get("verdict")];
  }
  if (times.empty()) return std::string(kNobody);
  return std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; })->first;
}

/// Rows of one host.
ResultRow over_launches(const std::vector<ResultRow>& rows) {
  std::size_t accused = 0, launches = 0;
  for (const ResultRow& row : rows) {
    launches += static_cast<std::size_t>(number_in(row, "launches"));
    accused += static_cast<std::size_t>(number_in(row, "accused"));
  }
  const bool counts = 2 * accused >= launches && accused > 0;
  const std::string verdict = counts ? usual_verdict(rows) : std::string(kNobody);
  std::vector<ResultRow> alike;
  std::ranges::copy_if(rows, std::back_inserter(alike),
                       [&](const ResultRow& row) { return row.get("verdict") == verdict; });
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

std::vector<ResultRow> suspect_rows(const std::vector<ResultRow>& of_launches) {
  double most = 0;
  for (const ResultRow& row : of_launches) most = std::fmax(most, number_in(row, "nodes"));
  std::map<std::string, std::vector<ResultRow>> by_host;
  for (const ResultRow& row : of_launches) {
    if (number_in(row, "nodes") >= most) by_host[row.get("host")].push_back(row);
  }
  std::vector<ResultRow> result;
  for (const auto& [host, rows] : by_host) result.push_back(over_launches(rows));
  return result;
}

std::vector<ResultRow> named_hosts(const std::vector<ResultRow>& rows) {
  std::vector<ResultRow> named;
  std::ranges::copy_if(rows, std::back_inserter(named), is_named);
  return named;
}

void note_pairs(std::vector<ResultRow>& links, const std::vector<ResultRow>& of_launches) {
  for (ResultRow& link : links) {
    std::size_t launches = 0;
    std::vector<std::string> notes;
    for (const ResultRow& row : of_launches) {
      const bool same = std::ranges::all_of(
          std::array<std::string_view, 4>{"from_host", "to_host", "nodes", "ranks"},
          [&](std::string_view column) { return row.get(column) == link.get(column); });
      if (!same) continue;
      ++launches;
      if (!row.get("note").empty()) notes.push_back(row.get("note"));
    }
    const bool counts = !notes.empty() && 2 * notes.size() >= launches;
    link.set("note", counts ? notes[(notes.size() - 1) / 2] : "");
  }
}

std::string suspect_line(const std::vector<ResultRow>& hosts, const std::vector<ResultRow>& links) {
  if (hosts.empty()) return "";
  const std::vector<ResultRow> named = named_hosts(hosts);
  const auto is_named = [&](const std::string& host) {
    return std::ranges::any_of(named,
                               [&](const ResultRow& row) { return row.get("host") == host; });
  };
  std::vector<std::string> words;
  for (const ResultRow& row : named) {
    const double launches = number_in(row, "launches");
    words.push_back(fmt::format(
        "{}, {}{}", row.get("host"), row.get("note"),
        launches > 1 ? fmt::format(" in {} of {} launches", row.get("accused"), row.get("launches"))
                     : ""));
  }
  std::string line = named.empty()
                         ? "no host stands out"
                         : fmt::format("{}: {}", named.size() == 1 ? "suspect" : "suspects",
                                       fmt::join(words, "; "));
  for (const ResultRow& link : links) {
    const bool counts = !link.get("note").empty() && link.get("nodes") == hosts[0].get("nodes") &&
                        !is_named(link.get("from_host")) && !is_named(link.get("to_host"));
    if (counts) line += "; " + link.get("note");
  }
  return line;
}

}  // namespace scalebench
