// SPDX-License-Identifier: Apache-2.0
// Options whose words become values while the command line is read: what is typed goes into the
// options themselves, or is refused in the same line as everywhere.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "bench/cli/command_line.hpp"

namespace scalebench {

/// An option of which `take` makes something: of `otherwise` at once, later of what is typed.
/// Another default may follow with default_val().
template <class Word>
CLI::Option* add_word(CLI::App& app, const std::string& names, const Word& otherwise,
                      std::function<void(const Word&)> take, const std::string& what) {
  CLI::Option* const option = app.add_option_function<Word>(names, std::move(take), what);
  return option->run_callback_for_default()->default_val(otherwise);
}

/// An option with one of `words`, which is kept as typed or, for enums and bool, as the word's
/// place. `words` outlive the app; `value` holds the default.
template <class Value>
CLI::Option* add_choice(CLI::App& app, const std::string& names, Value& value,
                        std::span<const std::string_view> words, const std::string& what) {
  constexpr bool kAsTyped = std::is_same_v<Value, std::string>;
  const std::string kind = names.substr(names.find("--") + 2);
  const auto take = [&value, words, kind](const std::string& word) {
    require_known(kind, word, words);
    if constexpr (kAsTyped) {
      value = word;
    } else {
      value = static_cast<Value>(std::ranges::find(words, word) - words.begin());
    }
  };
  CLI::Option* const option = app.add_option_function<std::string>(names, take, what);
  if constexpr (kAsTyped) {
    option->default_str(value);
  } else {
    option->default_str(std::string(words[static_cast<std::size_t>(value)]));
  }
  return offer(option, words);
}

}  // namespace scalebench
