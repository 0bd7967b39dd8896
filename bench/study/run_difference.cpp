// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run_difference.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace scalebench {
namespace {

constexpr const char* kNotRecorded = "not recorded";

std::string text_of(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string text_of(const Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  if (found == facts.end()) return kNotRecorded;
  const Fact& fact = found->second;
  if (!fact.value.is_null()) return text_of(fact.value);
  return fmt::format("unknown ({})", fact.absent_because);
}

/// A fact that is an object, as the recorded variables, has a field for each of its names.
using Texts = std::map<std::string, std::string>;
Texts texts_of(const Facts& facts) {
  Texts texts;
  for (const auto& [name, fact] : facts) {
    if (!fact.value.is_object()) {
      texts[name] = text_of(facts, name);
      continue;
    }
    for (const auto& [inner, value] : fact.value.items()) {
      texts[fmt::format("{}.{}", name, inner)] = text_of(value);
    }
  }
  return texts;
}

void add(std::vector<FieldDifference>& fields, std::string_view set, const Texts& a,
         const Texts& b) {
  const auto text_in = [](const Texts& texts, const std::string& name) {
    const auto found = texts.find(name);
    return found == texts.end() ? std::string(kNotRecorded) : found->second;
  };
  std::set<std::string> names;
  for (const Texts* const side : {&a, &b}) {
    for (const auto& [name, text] : *side) names.insert(name);
  }
  for (const std::string& name : names) {
    fields.push_back({set, name, text_in(a, name), text_in(b, name)});
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

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
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

bool same_machine(const Environment& a, const Environment& b) {
  return !a.key.empty() && differing(fields_of(a, b), "key").empty();
}

std::vector<std::string> line_differences(std::string_view a, std::string_view b) {
  const std::vector<std::string_view> before = lines_of(a), after = lines_of(b);
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
      lines.push_back(fmt::format("- {}", before[i++]));
    } else {
      lines.push_back(fmt::format("+ {}", after[j++]));
    }
  }
  return lines;
}

}  // namespace scalebench
