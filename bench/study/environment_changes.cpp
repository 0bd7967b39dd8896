// SPDX-License-Identifier: Apache-2.0
#include "bench/study/environment_changes.hpp"

#include <algorithm>
#include <set>
#include <sstream>

namespace scalebench {
namespace {

constexpr std::size_t kMostLines = 2000;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

std::vector<FactChange> changes_of(const Facts& before, const Facts& after) {
  std::set<std::string> names;
  for (const auto& [name, fact] : before) names.insert(name);
  for (const auto& [name, fact] : after) names.insert(name);
  const auto value = [](const Facts& facts, const std::string& name) {
    const auto found = facts.find(name);
    return found == facts.end() ? nlohmann::json() : found->second.value;
  };
  std::vector<FactChange> changes;
  for (const std::string& name : names) {
    FactChange change{name, value(before, name), value(after, name)};
    if (change.before != change.after) changes.push_back(std::move(change));
  }
  return changes;
}

std::vector<std::string> line_changes(const std::string& before, const std::string& after) {
  const std::vector<std::string> a = lines_of(before), b = lines_of(after);
  if (a.size() > kMostLines || b.size() > kMostLines) {
    return a == b ? std::vector<std::string>() : std::vector<std::string>{"the texts differ"};
  }
  // common[i][j]: the longest common subsequence of what follows line i and line j.
  std::vector<std::vector<std::size_t>> common(a.size() + 1,
                                               std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      common[i][j] =
          a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::vector<std::string> changes;
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      ++i;
      ++j;
    } else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1])) {
      changes.push_back("- " + a[i++]);
    } else {
      changes.push_back("+ " + b[j++]);
    }
  }
  return changes;
}

}  // namespace scalebench
