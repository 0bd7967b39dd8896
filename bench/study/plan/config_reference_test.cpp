// SPDX-License-Identifier: Apache-2.0
// docs/config.md against the parser: it has every key and no other, the defaults that an empty
// study gets, and examples that are read.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "bench/record/file.hpp"
#include "bench/study/plan/plan.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAreArray;

constexpr std::string_view kHeaders[]{"[study]", "[allreduce]", "[throughput]", "[[epoch]]"};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

struct Reference {
  /// Of each table of a config: the default of each key, as its row says it.
  std::map<std::string, std::map<std::string, std::string>, std::less<>> defaults;
  std::vector<std::string> examples;
};

std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream stream(row.substr(1));
  for (std::string cell; std::getline(stream, cell, '|');) {
    const std::size_t begin = cell.find_first_not_of(' ');
    const std::size_t end = cell.find_last_not_of(' ');
    cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
  }
  return cells;
}

Reference read_reference() {
  constexpr std::size_t kDefault = 3, kColumns = 5;
  Reference reference;
  std::string header;
  bool in_example = false;
  for (const std::string& line : lines_of(read_file(SCALEBENCH_CONFIG_REFERENCE))) {
    if (line.starts_with("```")) {
      in_example = !in_example;
      if (in_example) reference.examples.emplace_back();
    } else if (in_example) {
      reference.examples.back() += line + "\n";
    } else if (line.starts_with("## `")) {
      header = line.substr(4, line.size() - 5);
    } else if (line.starts_with("| `")) {
      const std::vector<std::string> cells = cells_of(line);
      if (cells.size() < kColumns) continue;  // a table of something else
      const std::string key = cells.front().substr(1, cells.front().size() - 2);
      reference.defaults[header].emplace(key, cells[kDefault]);
    }
  }
  return reference;
}

/// As the parser lists them when it refuses another one.
std::vector<std::string> accepted_keys(std::string_view header) {
  constexpr std::string_view kBefore = "unknown key 'zzzzzzzz'; valid: ";
  const std::string text = fmt::format("{}\nzzzzzzzz = 1\n", header);
  const std::string message =
      message_of<UsageError>([&] { parse_study_config(text, "study.toml"); });
  std::vector<std::string> keys;
  for (const std::string& line : lines_of(message)) {
    const std::size_t begin = line.find(kBefore);
    if (begin == std::string::npos) continue;
    std::istringstream names(line.substr(begin + kBefore.size()));
    for (std::string name; names >> name;) keys.push_back(name.substr(0, name.find(',')));
  }
  return keys;
}

/// What is started in a study of all tables with these keys.
std::string plan_with(const std::map<std::string_view, std::string>& keys) {
  std::string text;
  for (const std::string_view header : kHeaders) {
    text +=
        fmt::format("{}\n{}{}\n", header, header == "[throughput]" ? "models = [\"mlp\"]\n" : "",
                    header == "[[epoch]]" ? "model = \"mlp\"\n" : "");
    if (const auto more = keys.find(header); more != keys.end()) text += more->second;
  }
  const StudyConfig config = parse_study_config(text, "study.toml");
  return plan_text({plan_of(config, {.devices = 2}), {}}) + config.name;
}

TEST(ConfigReference, HasEveryKeyAndNoOther) {
  const Reference reference = read_reference();
  for (const std::string_view header : kHeaders) {
    const std::vector<std::string> keys = accepted_keys(header);
    ASSERT_THAT(keys, Not(IsEmpty())) << header;
    std::vector<std::string> documented;
    const auto rows = reference.defaults.find(header);
    ASSERT_NE(rows, reference.defaults.end()) << "docs/config.md has no section " << header;
    for (const auto& [key, value] : rows->second) documented.push_back(key);
    EXPECT_THAT(documented, UnorderedElementsAreArray(keys)) << "docs/config.md, " << header;
  }
  EXPECT_THAT(accepted_keys(""), SizeIs(std::size(kHeaders))) << "a table more is a section more";
}

TEST(ConfigReference, SaysTheDefaultsThatAStudyGets) {
  std::map<std::string_view, std::string> said;
  std::size_t count = 0;
  const Reference reference = read_reference();
  for (const std::string_view header : kHeaders) {
    for (const auto& [key, value] : reference.defaults.find(header)->second) {
      if (!value.starts_with('`')) continue;  // it is no value of its own
      said[header] += fmt::format("{} = {}\n", key, value.substr(1, value.size() - 2));
      ++count;
    }
  }
  EXPECT_EQ(plan_with(said), plan_with({}));
  EXPECT_GT(count, 20U);
}

TEST(ConfigReference, HasExamplesThatAreRead) {
  const Reference reference = read_reference();
  ASSERT_THAT(reference.examples, SizeIs(std::size(kHeaders)));
  for (const std::string& example : reference.examples) {
    EXPECT_EQ(message_of<UsageError>([&] { parse_study_config(example, "docs/config.md"); }), "")
        << example;
  }
}

}  // namespace
}  // namespace scalebench
