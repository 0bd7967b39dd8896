// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/line_pattern.hpp"

#include <utility>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

#ifdef __GLIBCXX__
// The other matcher of libstdc++ backtracks: "(a+)+b" then takes longer than anyone waits, and a
// long line overflows the stack. This one knows no back-references and refuses them.
constexpr auto kSyntax = std::regex::ECMAScript | std::regex_constants::__polynomial;
#else
constexpr auto kSyntax = std::regex::ECMAScript;
#endif

}  // namespace

LinePattern::LinePattern(std::string_view place, const std::string& expression) {
  try {
    regex_.assign(expression, kSyntax);
  } catch (const std::regex_error& error) {
    fail<UsageError>("{}: '{}' is no regular expression: {}", place, expression, error.what());
  }
  if (regex_.mark_count() == 0) {
    fail<UsageError>("{}: '{}' has no group (...) around its number", place, expression);
  }
  literal_ = literal_in(expression);
}

std::optional<std::string_view> LinePattern::first_group(std::string_view line) const {
  if (line.find(literal_) == std::string_view::npos) return std::nullopt;
  std::cmatch match;
  const char* const begin = line.data();
  if (!std::regex_search(begin, begin + line.size(), match, regex_)) return std::nullopt;
  if (!match[1].matched) return std::string_view();
  return std::string_view(match[1].first, static_cast<std::size_t>(match[1].length()));
}

std::string literal_in(std::string_view expression) {
  if (expression.find('|') != std::string_view::npos) return "";
  std::string longest, run;
  int depth = 0;
  const auto end_run = [&] {
    if (run.size() > longest.size()) longest = run;
    run.clear();
  };
  for (std::size_t i = 0; i < expression.size(); ++i) {
    char c = expression[i];
    if (c == '\\' && i + 1 < expression.size()) {
      c = expression[++i];
      const bool punctuation = std::string_view(".*+?()[]{}^$/-").find(c) != std::string_view::npos;
      if (!punctuation || depth > 0) {
        end_run();
        continue;
      }
    } else if (c == '[') {
      end_run();
      // A ']' first in a class ends it in ECMAScript.
      while (i + 1 < expression.size() && expression[++i] != ']') {
        if (expression[i] == '\\') ++i;
      }
      continue;
    } else if (c == '(' || c == ')') {
      depth += c == '(' ? 1 : -1;
      end_run();
      continue;
    } else if (std::string_view("*?{").find(c) != std::string_view::npos) {
      if (!run.empty()) run.pop_back();  // the character before may be missing
      end_run();
      if (c == '{') i = std::min(expression.find('}', i), expression.size());
      continue;
    } else if (std::string_view("+.^$").find(c) != std::string_view::npos) {
      end_run();
      continue;
    }
    if (depth == 0) run += c;
  }
  end_run();
  return longest;
}

}  // namespace scalebench
