// SPDX-License-Identifier: Apache-2.0
#include "bench/study/comparison/run_difference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "bench/cli/console.hpp"

namespace scalebench {
namespace {

std::string plain_text_of(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// A fact that is an object, as the recorded variables, has a field for each of its names.
using Texts = std::map<std::string, std::string>;
Texts texts_of(const Facts& facts) {
  Texts texts;
  for (const auto& [name, fact] : facts) {
    if (fact.value.is_object()) {
      for (const auto& [inner, value] : fact.value.items()) {
        texts[fmt::format("{}.{}", name, inner)] = plain_text_of(value);
      }
    } else if (fact.value.is_null()) {
      texts[name] = fmt::format("unknown ({})", fact.absent_because);
    } else {
      texts[name] = plain_text_of(fact.value);
    }
  }
  return texts;
}

void add(std::vector<FieldDifference>& fields, std::string_view set, Texts a, Texts b) {
  constexpr const char* kNotRecorded = "not recorded";
  for (const auto& [name, text] : a) b.try_emplace(name, kNotRecorded);
  for (const auto& [name, text] : b) {
    fields.push_back({set, name, a.try_emplace(name, kNotRecorded).first->second, text});
  }
}

/// "bench_epoch on 2": the words before the program. Several where launches differ in them.
Texts launchers_of(const Manifest& manifest) {
  std::map<std::string, std::set<std::string>> by_program;
  for (const LaunchRecord& launch : manifest.launches) {
    const auto is_program = [&](const std::string& word) {
      return std::filesystem::path(word).filename() == launch.program;
    };
    const auto program = std::ranges::find_if(launch.command, is_program);
    if (program == launch.command.end()) continue;  // skipped: was never started
    by_program[fmt::format("{} on {}", launch.program, launch.ranks)].insert(
        fmt::format("{}", fmt::join(launch.command.begin(), std::next(program), " ")));
  }
  Texts texts;
  for (const auto& [name, words] : by_program) {
    texts[name] = fmt::format("{}", fmt::join(words, " | "));
  }
  return texts;
}

Texts run_of(const Manifest& manifest) {
  return {{"study", manifest.study},
          {"origin", manifest.origin},
          {"status", manifest.status},
          {"seed", manifest.seed ? std::to_string(*manifest.seed) : "unknown"},
          {"command", fmt::format("{}", fmt::join(manifest.command, " "))},
          {"started_utc", manifest.started_utc}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

std::vector<FieldDifference> fields_of(const Environment& a, const Environment& b) {
  std::vector<FieldDifference> fields;
  add(fields, "key", texts_of(a.key), texts_of(b.key));
  add(fields, "treatment", texts_of(a.treatment), texts_of(b.treatment));
  add(fields, "observation", texts_of(a.observation), texts_of(b.observation));
  return fields;
}

std::vector<FieldDifference> fields_of(const Manifest& a, const Manifest& b) {
  std::vector<FieldDifference> fields = fields_of(a.environment, b.environment);
  add(fields, "binaries", a.binaries, b.binaries);
  add(fields, "launchers", launchers_of(a), launchers_of(b));
  add(fields, "run", run_of(a), run_of(b));
  return fields;
}

std::vector<FieldDifference> differing(const std::vector<FieldDifference>& fields,
                                       std::string_view set) {
  std::vector<FieldDifference> found;
  for (const FieldDifference& field : fields) {
    if (!field.equal() && (set.empty() || field.set == set)) found.push_back(field);
  }
  return found;
}

std::vector<std::string> line_differences(const std::string& a, const std::string& b) {
  const std::vector<std::string> before = lines_of(a), after = lines_of(b);
  // common[i][j]: length of the longest common subsequence of before[i..] and after[j..].
  std::vector<std::vector<std::size_t>> common(before.size() + 1,
                                               std::vector<std::size_t>(after.size() + 1));
  for (std::size_t i = before.size(); i-- > 0;) {
    for (std::size_t j = after.size(); j-- > 0;) {
      common[i][j] = before[i] == after[j] ? common[i + 1][j + 1] + 1
                                           : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::vector<std::string> lines;
  std::size_t i = 0, j = 0;
  while (i < before.size() || j < after.size()) {
    if (i < before.size() && j < after.size() && before[i] == after[j]) {
      ++i, ++j;
    } else if (j == after.size() || (i < before.size() && common[i + 1][j] >= common[i][j + 1])) {
      lines.push_back("- " + before[i++]);
    } else {
      lines.push_back("+ " + after[j++]);
    }
  }
  return lines;
}

namespace {

std::string_view meaning_of(std::string_view set) {
  if (set == "key") return "key: what must be equal for a difference in time to be the software's";
  if (set == "treatment") return "treatment: what may have caused one";
  if (set == "observation") return "observation: noted only";
  if (set == "binaries") return "binaries: SHA-256 of the programs";
  if (set == "launchers") return "launchers: how launches were started";
  return set;
}

}  // namespace

std::string difference_table(const std::vector<FieldDifference>& fields) {
  std::string table;
  std::string_view set;
  for (const FieldDifference& field : fields) {
    if (field.set != set) table += fmt::format("{}\n", meaning_of(set = field.set));
    table += field.equal()
                 ? fmt::format("  {}: {} (both)\n", printable(field.field), printable(field.a))
                 : fmt::format("  {}: {} -> {}\n", printable(field.field), printable(field.a),
                               printable(field.b));
  }
  return table;
}

nlohmann::json json_of(const std::vector<FieldDifference>& fields) {
  nlohmann::json list = nlohmann::json::array();
  for (const FieldDifference& field : fields) {
    list.push_back({{"set", field.set}, {"field", field.field}, {"a", field.a}, {"b", field.b}});
  }
  return list;
}

}  // namespace scalebench
