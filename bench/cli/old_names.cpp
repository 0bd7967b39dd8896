// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/old_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

enum class Change {
  name,       // what follows stays
  to_value,   // the flag is a value of an option now
  to_absent,  // of 0 and 1, 0 is a flag now, and 1 is what happens without it
};

struct OldName {
  std::string_view program;  // that, or whatever begins so
  std::string_view old;
  std::string_view now;
  Change change = Change::name;
  std::string_view value = {};  // of to_value
};

constexpr std::array<OldName, 6> kOldNames{{
    {"bench_", "--batch", "--batch-per-rank"},
    {"bench_", "--bound", "--no-bound", Change::to_absent},
    {"bench_", "--data-dir", "--data"},
    {"bench_", "--links", "--no-links", Change::to_absent},
    {"bench_", "--where", "--places"},
    {"scalebench", "--json", "--format", Change::to_value, "json"},
}};

/// Null: the option is called so today.
const OldName* old_name(std::string_view program, std::string_view option) {
  const auto* const found = std::ranges::find_if(kOldNames, [&](const OldName& one) {
    return program.starts_with(one.program) && option == one.old;
  });
  return found == kOldNames.end() ? nullptr : found;
}

std::string said_today(const OldName& name) {
  if (name.change == Change::to_value) return fmt::format("{} {}", name.now, name.value);
  return std::string(name.now);
}

/// What follows an option in the same word, from its '=' on; empty: nothing.
std::string_view joined_value(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals == std::string_view::npos ? "" : word.substr(equals);
}

}  // namespace

std::vector<const char*> CurrentWords::pointers() const {
  std::vector<const char*> all;
  for (const std::string& word : words) all.push_back(word.c_str());
  return all;
}

CurrentWords current_words(std::span<const char* const> typed) {
  CurrentWords current;
  if (typed.empty()) return current;
  current.words.emplace_back(typed.front());
  const std::string_view path = typed.front();
  const std::string_view program = path.substr(path.rfind('/') + 1);
  for (std::size_t i = 1; i < typed.size(); ++i) {
    const std::string_view word = typed[i];
    const std::string_view joined = joined_value(word);
    const OldName* const name = old_name(program, word.substr(0, word.size() - joined.size()));
    if (name == nullptr) {
      current.words.emplace_back(word);
      continue;
    }
    std::string warning = fmt::format("{} is now {}", name->old, said_today(*name));
    if (std::ranges::find(current.warnings, warning) == current.warnings.end()) {
      current.warnings.push_back(std::move(warning));
    }
    if (name->change == Change::name) {
      current.words.push_back(fmt::format("{}{}", name->now, joined));
    } else if (name->change == Change::to_value) {
      current.words.insert(current.words.end(), {std::string(name->now), std::string(name->value)});
    } else {
      const bool apart = joined.empty() && i + 1 < typed.size();
      const std::string_view value = apart ? typed[++i] : joined.substr(joined.empty() ? 0 : 1);
      if (value != "0" && value != "1") {
        fail<UsageError>("{} {}: must be 0 or 1; it is now {}", name->old, value, name->now);
      }
      if (value == "0") current.words.emplace_back(name->now);
    }
  }
  return current;
}

}  // namespace scalebench
