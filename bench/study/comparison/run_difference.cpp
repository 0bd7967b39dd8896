// SPDX-License-Identifier: Apache-2.0
#include "bench/study/comparison/run_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

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
    const std::string& of_a = a.try_emplace(name, kNotRecorded).first->second;
    if (of_a != text) fields.push_back({set, name, of_a, text});
  }
}

}  // namespace

std::vector<FieldDifference> differences_of(const Manifest& a, const Manifest& b) {
  std::vector<FieldDifference> fields;
  add(fields, "key", texts_of(a.environment.key), texts_of(b.environment.key));
  add(fields, "treatment", texts_of(a.environment.treatment), texts_of(b.environment.treatment));
  add(fields, "observation", texts_of(a.environment.observation),
      texts_of(b.environment.observation));
  add(fields, "binaries", a.binaries, b.binaries);
  return fields;
}

bool of_other_machines(const std::vector<FieldDifference>& fields) {
  return std::ranges::count(fields, "key", &FieldDifference::set) > 0;
}

namespace {

std::string_view meaning_of(std::string_view set) {
  if (set == "key") return "key: what must be equal for a difference in time to be the software's";
  if (set == "treatment") return "treatment: what may have caused one";
  if (set == "observation") return "observation: noted only";
  if (set == "binaries") return "binaries: SHA-256 of the programs";
  return set;
}

}  // namespace

std::string difference_table(const std::vector<FieldDifference>& fields) {
  constexpr std::size_t kDigits = 12;
  std::string table;
  std::string_view set;
  for (const auto& [of_set, field, a, b] : fields) {
    if (of_set != set) table += fmt::format("{}\n", meaning_of(set = of_set));
    const std::size_t most = set == "binaries" ? kDigits : std::string::npos;
    table += fmt::format("  {}: {} -> {}\n", printable(field), printable(a.substr(0, most)),
                         printable(b.substr(0, most)));
  }
  return table;
}

}  // namespace scalebench
