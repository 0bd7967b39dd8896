// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/completion.hpp"

#include "bench/cli/command_line.hpp"

namespace scalebench {

std::string completion(const CommandEntry& program, std::string_view shell) {
  require_known("shell", shell, kShells);
  if (shell == "bash") return bash_completion(program);
  return shell == "zsh" ? zsh_completion(program) : fish_completion(program);
}

Filler filler_of(const OptionEntry& option) {
  if (!option.choices.empty()) return Filler::choices;
  const std::string_view value = option.value;
  if (value.starts_with("DIR") || value.starts_with("RUN")) return Filler::folders;
  const bool plain = option.by_place && value.starts_with("TEXT");
  return plain || value.starts_with("FILE") ? Filler::files : Filler::nothing;
}

std::string brief_of(std::string_view description) {
  constexpr std::size_t kLongest = 72;
  std::string text(description.substr(0, description.find_first_of(";\n")));
  if (text.size() <= kLongest) return text;
  const std::size_t blank = text.rfind(' ', kLongest - 3);
  text.resize(blank == std::string::npos ? kLongest - 3 : blank);
  return text + "...";
}

}  // namespace scalebench
