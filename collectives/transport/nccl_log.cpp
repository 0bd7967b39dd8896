// SPDX-License-Identifier: Apache-2.0
// Lines as NCCL's issue 1453 shows them, "262144 Bytes -> Algo 0 proto 1 time 54.707825", and as
// the texts in NCCL 2.28 have them, "AllReduce: 4096 Bytes -> Algo TREE proto LL
// channel{Lo..Hi}={0..3}".
#include "collectives/transport/nccl_log.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <vector>

#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

// In the order of NCCL's numbers: NCCL_ALGO_TREE is 0, NCCL_PROTO_LL is 0.
constexpr std::array<std::string_view, 7> kAlgorithms{
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
constexpr std::array<std::string_view, 3> kProtocols{"LL", "LL128", "SIMPLE"};

/// The name of a number; other words are names already.
std::string named(const std::string& word, std::span<const std::string_view> names) {
  const bool number = word.size() == 1 && word[0] >= '0' && word[0] <= '9';
  const auto index = number ? static_cast<std::size_t>(word[0] - '0') : names.size();
  return index < names.size() ? std::string(names[index]) : word;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

/// NCCL_DEBUG_SUBSYS: words with commas, the whole list preceded by ^ where it says what is not
/// logged.
bool logs_choices(const std::string& systems) {
  const bool without = systems.starts_with('^');
  const std::string list = "," + upper(without ? systems.substr(1) : systems) + ",";
  const bool named = list.find(",TUNING,") != std::string::npos || list == ",ALL,";
  return named != without && !systems.empty();
}

std::string short_host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return {};
  const std::string whole = name.data();
  return whole.substr(0, whole.find('.'));
}

/// " channel{Lo..Hi}={0..15}" are "/16"; anything else is nothing.
std::string channels_in(std::string_view word) {
  constexpr std::string_view kBefore = "channel{Lo..Hi}={";
  if (!word.starts_with(kBefore) || !word.ends_with('}')) return {};
  word = word.substr(kBefore.size(), word.size() - kBefore.size() - 1);
  const std::size_t dots = word.find("..");
  if (dots == std::string_view::npos) return {};
  const auto low = read_number<int>(word.substr(0, dots)),
             high = read_number<int>(word.substr(dots + 2));
  if (!low || !high || *high < *low) return {};
  return fmt::format("/{}", *high - *low + 1);
}

std::string choice_of_line(const std::string& line, std::size_t bytes) {
  std::istringstream text(line);
  const std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
  const auto arrow = std::ranges::find(words, "->");
  const auto at = static_cast<std::size_t>(arrow - words.begin());
  if (arrow == words.end() || at < 3 || words[at - 1] != "Bytes") return {};
  if (words[at - 2] != std::to_string(bytes)) return {};
  const auto word = [&](std::size_t behind) {
    return at + behind < words.size() ? words[at + behind] : std::string();
  };
  // Older lines do not say of which collective they are; the benchmark has no other.
  const std::string& of = words[at - 3];
  if (of == "[Symmetric]:" && at > 3 && words[at - 4] == "AllReduce" && word(1) == "Kernel") {
    return word(2).empty() ? std::string() : "symmetric " + word(2);
  }
  if ((of != "AllReduce:" && of != "INFO") || word(1) != "Algo" || word(3) != "proto") return {};
  if (word(4).empty()) return {};
  return named(word(2), kAlgorithms) + "/" + named(word(4), kProtocols) + channels_in(word(5));
}

}  // namespace

std::string nccl_choice_in(std::string_view lines, std::size_t bytes) {
  std::istringstream text{std::string(lines)};
  std::string line, choice;
  while (std::getline(text, line)) {
    const std::string one = choice_of_line(line, bytes);
    if (!one.empty()) choice = one;
  }
  return choice;
}

std::filesystem::path nccl_choice_log() {
  const std::string level = upper(variable("NCCL_DEBUG"));
  const std::string file = variable("NCCL_DEBUG_FILE");
  if ((level != "INFO" && level != "TRACE") || file.empty()) return {};
  if (!logs_choices(variable("NCCL_DEBUG_SUBSYS"))) return {};
  std::string path;
  for (std::size_t i = 0; i < file.size(); ++i) {
    const char next = file[i] == '%' && i + 1 < file.size() ? file[i + 1] : '\0';
    if (next == 'h') path += short_host_name();
    if (next == 'p') path += std::to_string(getpid());
    if (next == '%') path += '%';
    if (next == 'h' || next == 'p' || next == '%') {
      ++i;
    } else {
      path += file[i];
    }
  }
  return path;
}

std::string NcclLog::choice_since(std::size_t bytes) {
  std::ifstream file(file_, std::ios::binary);
  if (file_.empty() || !file) return {};
  file.seekg(static_cast<std::streamoff>(read_));
  const std::string lines{std::istreambuf_iterator<char>(file), {}};
  read_ += lines.size();
  return nccl_choice_in(lines, bytes);
}

}  // namespace scalebench
