// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/hosts.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <sstream>

#include "bench/record/file.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kMostHosts = 8192;
constexpr std::size_t kLongestName = 253;  // of the domain name system

/// The beginning of a text, for a terminal: what would steer it is spelled out.
std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string safe;
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    safe += byte < 0x20 || byte >= 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return text.size() > kShown ? safe + "..." : safe;
}

[[noreturn]] void refuse(std::string_view source, std::string_view word, std::string_view what) {
  fail<UsageError>("{}: '{}': {}", source, shown(word), what);
}

/// 0: it is no number, or is above kMostSlots.
int number_in(std::string_view word) {
  const int number = read_number<int>(word).value_or(0);
  return number <= kMostSlots ? number : 0;
}

bool is_name(std::string_view name) {
  static const RE2 kName(R"([\w.][\w.-]*|\[[[:xdigit:].%]*:[[:xdigit:]:.%]*\])");
  return name.size() <= kLongestName && RE2::FullMatch(std::string(name), kName);
}

/// `word`: what `slots` stands in.
int slots_in(std::string_view slots, std::string_view source, std::string_view word) {
  const int number = number_in(slots);
  if (number < 1) {
    refuse(source, word, fmt::format("slots are a number from 1 to {}", kMostSlots));
  }
  return number;
}

/// Each host is in the list once. One that is named again has one more slot, or as many as it is
/// given each time: so mpirun takes it.
void add(Hosts& hosts, Host host, std::string_view source) {
  const bool is_last = !hosts.empty() && hosts.back().name == host.name;
  const auto known = is_last ? hosts.end() - 1 : std::ranges::find(hosts, host.name, &Host::name);
  if (known == hosts.end()) {
    if (hosts.size() == kMostHosts) fail<UsageError>("{}: more than {} hosts", source, kMostHosts);
    hosts.push_back(std::move(host));
    return;
  }
  known->slots = std::max(known->slots, 1) + std::max(host.slots, 1);
  if (known->slots > kMostSlots) {
    refuse(source, host.name, fmt::format("more than {} slots", kMostSlots));
  }
}

/// The parts of `text` between commas that are in no brackets.
std::vector<std::string> split(std::string_view text) {
  static const RE2 kPart(R"((?s)((?:[^,\[]|\[[^\]]*\]?)*)(,?))", RE2::Latin1);
  std::vector<std::string> parts;
  re2::StringPiece rest(text.data(), text.size());
  for (std::string part, comma = ","; !comma.empty(); parts.push_back(part)) {
    RE2::Consume(&rest, kPart, &part, &comma);
  }
  return parts;
}

/// "1-3", "007", within the brackets of an expression: with as many digits as written. Empty: it is
/// neither, or names more than kMostHosts.
std::vector<std::string> numbers_in(std::string_view range) {
  static const RE2 kRange(R"((\d{1,9})(?:-(\d{1,9}))?)");
  std::string low, high;
  if (!RE2::FullMatch(std::string(range), kRange, &low, &high)) return {};
  const int first = std::stoi(low), last = high.empty() ? first : std::stoi(high);
  if (last - first >= static_cast<int>(kMostHosts)) return {};
  std::vector<std::string> numbers;
  for (int i = first; i <= last; ++i) numbers.push_back(fmt::format("{:0{}}", i, low.size()));
  return numbers;
}

/// "rack[1-2]n[1-8]" -> 16 names.
std::vector<std::string> expanded(std::string_view word, std::string_view source) {
  std::vector<std::string> names{""};
  for (std::string_view rest = word;;) {
    const std::size_t open = rest.find('[');
    for (std::string& name : names) name += rest.substr(0, open);
    if (open == rest.npos || names.front().size() > kLongestName) return names;
    const std::size_t close = rest.find(']', open);
    if (close == rest.npos) refuse(source, word, "'[' without ']'");
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const std::string& range : split(rest.substr(open + 1, close - open - 1))) {
        const std::vector<std::string> numbers = numbers_in(range);
        if (numbers.empty() || longer.size() + numbers.size() > kMostHosts) {
          refuse(source, word,
                 fmt::format("'{}' in brackets; valid: 7 or 1-3, from the smaller to the larger, "
                             "at most {} hosts",
                             shown(range), kMostHosts));
        }
        for (const std::string& number : numbers) longer.push_back(name + number);
      }
    }
    names = std::move(longer);
    rest.remove_prefix(close + 1);
  }
}

/// "host", "host:4", "[::1]:4", "node[01-04]:8".
Hosts hosts_in(std::string_view word, std::string_view source) {
  static const RE2 kWord(R"((?s)(\[[^\]]*:[^\]]*\]|[^:]*)(:.*)?)", RE2::Latin1);
  std::string name, colon;
  RE2::FullMatch(std::string(word), kWord, &name, &colon);
  if (name.find('@') != name.npos) {
    refuse(source, word,
           "a user is ssh's to know, by 'User' of ~/.ssh/config; valid: the host alone");
  }
  const int slots = colon.empty() ? 0 : slots_in(std::string_view(colon).substr(1), source, word);
  Hosts hosts;
  const bool stands_for_itself = is_name(name) || name.find(':') != name.npos;
  for (std::string& one : stands_for_itself ? std::vector{name} : expanded(name, source)) {
    if (!is_name(one)) {
      refuse(source, word,
             "a host name is letters, digits, '.', '-' and '_', or an IPv6 address in brackets");
    }
    hosts.push_back({std::move(one), slots});
  }
  return hosts;
}

/// "host slots = 2 max_slots=4", "host:2"; none: a line of blanks and comments.
Hosts hosts_of_line(std::string line, std::string_view source) {
  line.erase(std::min(line.find('#'), line.size()));
  RE2::GlobalReplace(&line, R"(\s*=\s*)", "=");
  std::istringstream words(line);
  std::string name;
  if (!(words >> name)) return {};
  Hosts hosts = hosts_in(name, source);
  int slots = hosts.front().slots, most = kMostSlots;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const bool is_most = key == "max_slots" || key == "max-slots";
    if (equals == std::string::npos || (key != "slots" && !is_most)) {
      refuse(source, word, "valid after a host: slots=N, max_slots=N, # comment");
    }
    if (key == "slots" && slots > 0) refuse(source, word, "slots are given twice");
    (is_most ? most : slots) = slots_in(std::string_view(word).substr(equals + 1), source, word);
  }
  if (slots > most) {
    refuse(source, name, fmt::format("{} slots are more than max_slots={}", slots, most));
  }
  for (Host& host : hosts) host.slots = slots;
  return hosts;
}

}  // namespace

Hosts parse_hosts(std::string_view words, std::string_view source) {
  Hosts hosts;
  for (const std::string& word : split(words)) {
    for (Host& host : hosts_in(word, source)) add(hosts, std::move(host), source);
  }
  return hosts;
}

Hosts read_hostfile(const std::filesystem::path& path) {
  std::istringstream lines(read_file(path));
  Hosts hosts;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string source = fmt::format("{}:{}", path.string(), ++number);
    for (Host& host : hosts_of_line(line, source)) add(hosts, std::move(host), source);
  }
  if (hosts.empty()) {
    fail<UsageError>("{}: names no host; valid: lines as 'host1 slots=4'", path.string());
  }
  return hosts;
}

std::vector<int> tasks_per_node(std::string_view words, std::string_view source) {
  static const RE2 kTasks(R"((\d+)(?:\(x(\d+)\))?)");
  std::vector<int> tasks;
  for (const std::string& word : split(words)) {
    std::string each, times;
    const bool is_read = RE2::FullMatch(word, kTasks, &each, &times);
    const int nodes = times.empty() ? 1 : number_in(times);
    if (!is_read || number_in(each) < 1 || nodes < 1 ||
        tasks.size() + static_cast<std::size_t>(nodes) > kMostHosts) {
      refuse(source, words,
             fmt::format("valid: tasks of each node, as 2(x3),1, of at most {} nodes", kMostHosts));
    }
    tasks.insert(tasks.end(), static_cast<std::size_t>(nodes), number_in(each));
  }
  return tasks;
}

std::string host_words(const Hosts& hosts) {
  std::string words;
  for (const Host& host : hosts) {
    if (!words.empty()) words += ',';
    words += host.name;
    if (host.slots > 0) words += fmt::format(":{}", host.slots);
  }
  return words;
}

std::string layout_words(const Layout& layout) {
  return fmt::format("{}x{}", layout.nodes, layout.per_node);
}

Hosts hosts_of(const Layout& layout, const Hosts& hosts, bool oversubscribe) {
  if (static_cast<int>(hosts.size()) < layout.nodes) {
    fail<UsageError>(
        "layout {0} does not fit on {1}: it takes {2} hosts, and there are {3}; name them: --hosts "
        "h1:{4},h2:{4}...",
        layout_words(layout), host_words(hosts), layout.nodes, hosts.size(), layout.per_node);
  }
  Hosts chosen;
  for (const Host& host : hosts) {
    const bool fits = oversubscribe || host.slots >= layout.per_node;
    if (fits && static_cast<int>(chosen.size()) < layout.nodes) chosen.push_back(host);
  }
  if (static_cast<int>(chosen.size()) == layout.nodes) return chosen;
  fail<UsageError>(
      "layout {} does not fit on {}: {} of {} hosts have {} slots; use fewer, or --oversubscribe, "
      "which marks every row emulated",
      layout_words(layout), host_words(hosts), chosen.size(), hosts.size(), layout.per_node);
}

}  // namespace scalebench
