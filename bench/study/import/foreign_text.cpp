// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/foreign_text.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kBlanks = " \t\v\f\r";

/// Forms of what launchers, collectors of logs and people put before lines.
const std::vector<LinePattern>& prefixes() {
  static const std::vector<LinePattern> kPrefixes = [] {
    std::vector<LinePattern> patterns;
    for (const char* const form :
         {R"(^\s*<std(?:out|err)>: ?(.*))",            // behind a tag
          R"(^\s*[\[(][^\[\]()]{1,60}[\])]:? ?(.*))",  // [rank0]: [pod/a/b] (x pid=7)
          R"(^\s*[\w.-]*[0-9][\w.-]*: (.*))",          // node-1:  0:
          R"(^\s*[\w./-]+ *\| (.*))",                  // worker-0  |
          R"(^\s*> ?(.*))",                            // quoted
          R"(^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.,]{8,18}Z?[ :-]*(.*))",  // a time
          R"(^\s*[A-Z][a-z]{2} (?:[A-Z][a-z]{2} )?[ 0-9]{1,2} [0-9:]{8}(?: [0-9]{4})? ?(.*))",
          R"(^\s*[0-9]{10}[.][0-9]+ (.*))",  // since 1970
          R"(^(?:- )?(?:[\w.-]+ - )?(?:INFO|WARNING|DEBUG|ERROR)(?::\w+)?[ :-]+(.*))",
          R"(^[\w.-]+ [\w.-]+\[[0-9]+\]: (.*))"}) {  // host program[17]:
      patterns.emplace_back("a prefix", form);
    }
    return patterns;
  }();
  return kPrefixes;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(kBlanks) == std::string_view::npos;
}

/// Whether four of five lines begin with it, of those that are looked at.
bool is_common(const LinePattern& prefix, const std::vector<ForeignLine>& lines) {
  constexpr std::size_t kLookedAt = 1000;
  std::size_t with = 0, all = 0;
  for (std::size_t i = 0; i < lines.size(); i += 1 + lines.size() / kLookedAt) {
    if (is_blank(lines[i].bare)) continue;
    ++all;
    with += prefix.first_group(lines[i].bare) ? 1 : 0;
  }
  return with > 0 && 5 * with >= 4 * all;
}

/// A form that nearly all lines have says nothing of any of them.
void find_bare(std::vector<ForeignLine>& lines) {
  constexpr int kMostForms = 6;
  for (int round = 0; round < kMostForms; ++round) {
    const auto common = std::ranges::find_if(
        prefixes(), [&](const LinePattern& prefix) { return is_common(prefix, lines); });
    if (common == prefixes().end()) return;
    for (ForeignLine& line : lines) line.bare = common->first_group(line.bare).value_or(line.bare);
  }
}

/// Throws for compressed files, pictures, programs: a log has few control characters.
void require_text(std::string_view text, const std::string& file) {
  constexpr std::size_t kLookedAt = 65536;
  constexpr std::string_view kUsual = "\t\n\v\f\r\b\x1b";
  if (text.starts_with("\x1f\x8b")) {
    fail<UsageError>("{}:1: this is compressed; unpack it first, as with gunzip", file);
  }
  const std::string_view head = text.substr(0, kLookedAt);
  const auto odd = std::ranges::count_if(head, [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 || byte == 0x7f) && kUsual.find(c) == std::string_view::npos;
  });
  if (odd > 16 && static_cast<std::size_t>(odd) > head.size() / 20) {
    fail<UsageError>("{}:1: this is no text: {} of its first {} bytes are control characters", file,
                     odd, head.size());
  }
}

}  // namespace

std::string text_of(const std::string& file, const Remark& remark) {
  return remark.line > 0 ? fmt::format("{}:{}: {}", file, remark.line, remark.what)
                         : fmt::format("{}: {}", file, remark.what);
}

std::vector<ForeignLine> lines_of(std::string_view text, const std::string& file,
                                  std::vector<Remark>& findings) {
  require_text(text, file);
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<ForeignLine> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (line.ends_with('\r')) line.remove_suffix(1);
    // What a progress bar has overwritten is no longer meant.
    const std::size_t overwritten = line.rfind('\r');
    if (overwritten != std::string_view::npos) line.remove_prefix(overwritten + 1);
    if (line.size() > kLongestLine) {
      findings.push_back({number, fmt::format("a line of {} characters; at most {} are read",
                                              line.size(), kLongestLine)});
    } else if (line.find('\0') != std::string_view::npos) {
      findings.push_back({number, "a NUL byte: this line is no text"});
    } else {
      lines.push_back({number, line, line});
    }
  }
  find_bare(lines);
  return lines;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::optional<double> decimal_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const std::optional<double> value = read_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<double> number_in_line(std::string_view text, std::string_view line) {
  static const LinePattern kGrouped("a number", R"(^([0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?)$)");
  static const LinePattern kPoint("a number", R"((?:^|[^0-9.,])([0-9]+\.[0-9]+)(?:[^0-9.,]|$))");
  if (!kGrouped.first_group(text)) return decimal_of(text);
  const bool is_sure = line.empty() || std::ranges::count(text, ',') > 1 ||
                       text.find('.') != std::string_view::npos || kPoint.first_group(line);
  std::string plain(text);
  std::erase(plain, ',');
  return is_sure ? decimal_of(plain) : std::nullopt;
}

std::optional<PrintedNumber> printed_number(std::string_view text) {
  const std::optional<double> value = decimal_of(text);
  if (!value) return std::nullopt;
  const std::size_t exponent_at = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, exponent_at);
  const std::size_t point = mantissa.find('.');
  double last_digit =
      point == std::string_view::npos ? 0 : -static_cast<double>(mantissa.size() - point - 1);
  if (exponent_at < text.size()) {
    last_digit += decimal_of(text.substr(exponent_at + 1)).value_or(0);
  }
  return PrintedNumber{*value, 0.5 * std::pow(10.0, last_digit)};
}

bool is_count(std::string_view text) {
  const std::uint64_t value = read_number<std::uint64_t>(text).value_or(0);
  return value > 0 && value < std::uint64_t{1} << 62U;
}

std::string no_number(std::string_view name, std::string_view text) {
  std::string what = fmt::format("{}: '{}' is not a number", name, text);
  std::string with_point(text);
  std::ranges::replace(with_point, ',', '.');
  if (with_point != text && decimal_of(with_point)) what += "; write the decimal point as .";
  return what;
}

namespace {

re2::RE2::Options pattern_options() {
  re2::RE2::Options options;
  options.set_log_errors(false);                            // they are thrown
  options.set_encoding(re2::RE2::Options::EncodingLatin1);  // a log may be no UTF-8
  return options;
}

}  // namespace

LinePattern::LinePattern(std::string_view place, const std::string& expression)
    : regex_(std::make_shared<re2::RE2>(expression, pattern_options())) {
  if (!regex_->ok()) {
    fail<UsageError>("{}: '{}' is no regular expression: {}", place, expression, regex_->error());
  }
  if (regex_->NumberOfCapturingGroups() == 0) {
    fail<UsageError>("{}: '{}' has no group (...) around its number", place, expression);
  }
}

const std::string& LinePattern::expression() const { return regex_->pattern(); }

std::optional<std::string_view> LinePattern::first_group(std::string_view line) const {
  // Its own class in earlier versions of RE2, std::string_view in later ones.
  re2::StringPiece groups[2];
  const re2::StringPiece text(line.data(), line.size());
  if (!regex_->Match(text, 0, text.size(), re2::RE2::UNANCHORED, groups, 2)) return std::nullopt;
  return std::string_view(groups[1].data(), groups[1].size());
}

}  // namespace scalebench
