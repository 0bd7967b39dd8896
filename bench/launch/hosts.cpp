// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/hosts.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <unordered_map>

#include "bench/record/file.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kMostHosts = 65536;
constexpr std::ptrdiff_t kMostBrackets = 16;  // of one name: for each there is a call within a call
constexpr std::size_t kLongestName = 253;     // of the domain name system
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kNameLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
constexpr std::string_view kAddressLetters = "0123456789abcdefABCDEF:.%";
constexpr std::string_view kValidName =
    "a host name is letters, digits, '.', '-' and '_', or an IPv6 address in brackets";
constexpr std::string_view kNoUser =
    "a user is ssh's to know, by 'User' of ~/.ssh/config; valid here: the host alone";

/// What is wrong at an offset of the text; never returns.
using Complain = std::function<void(std::size_t offset, const std::string& what)>;

/// For a terminal: what would steer it is spelled out.
std::string shown(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    safe += byte < 0x20 || byte >= 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return safe;
}

/// `offset`: of the name's first letter in what `complain` points into.
void require_name(std::string_view name, std::size_t offset, const Complain& complain) {
  const bool address = name.starts_with('[');
  const std::string_view letters = address ? name.substr(1, name.size() - 2) : name;
  if (const std::size_t at = name.find('@'); at != std::string_view::npos) {
    complain(offset + at, fmt::format("'@' in '{}': {}", shown(name), kNoUser));
  }
  const std::size_t bad = letters.find_first_not_of(address ? kAddressLetters : kNameLetters);
  if (bad != std::string_view::npos) {
    complain(offset + bad + (address ? 1 : 0),
             fmt::format("'{}' in the host name '{}'; {}", shown(letters.substr(bad, 1)),
                         shown(name), kValidName));
  }
  if (letters.empty() || letters.front() == '-' || letters.size() > kLongestName) {
    complain(offset, fmt::format("'{}' is no host name; {}", shown(name), kValidName));
  }
}

int slots_in(std::string_view word, std::size_t offset, const Complain& complain) {
  const int slots = read_number<int>(word).value_or(0);
  if (slots < 1 || slots > kMostSlots) {
    complain(offset, fmt::format("'{}' is not a number from 1 to {}", shown(word), kMostSlots));
  }
  return slots;
}

/// Hosts in their order, each once. One that is named again has one more slot, or as many as it is
/// given each time: so mpirun takes it.
class NamedHosts {
 public:
  void add(Host host, std::size_t offset, const Complain& complain) {
    // Looking for a name among 65 536 of them one by one would take minutes for all.
    const auto [place, is_new] = places_.emplace(host.name, hosts_.size());
    if (is_new) {
      if (hosts_.size() == kMostHosts) {
        complain(offset, fmt::format("more than {} hosts", kMostHosts));
      }
      hosts_.push_back(std::move(host));
      return;
    }
    Host& known = hosts_[place->second];
    known.slots = std::max(known.slots, 1) + std::max(host.slots, 1);
    if (known.slots > kMostSlots) {
      complain(offset, fmt::format("more than {} slots of host '{}'", kMostSlots, host.name));
    }
  }
  Hosts take() { return std::move(hosts_); }
  bool empty() const { return hosts_.empty(); }

 private:
  Hosts hosts_;
  std::unordered_map<std::string, std::size_t> places_;
};

/// Of lists, which stand in one line: "--hosts: 'h1,h;2': column 5: what".
Complain complain_about(std::string_view text, std::string_view source) {
  return [text, source](std::size_t offset, const std::string& what) {
    constexpr std::size_t kShown = 60;
    fail<UsageError>("{}: '{}{}': column {}: {}", source, shown(text.substr(0, kShown)),
                     text.size() > kShown ? "..." : "", offset + 1, what);
  };
}

/// The parts of `text` between `separator`s that are in no brackets, with their offsets.
std::vector<std::pair<std::string_view, std::size_t>> split(std::string_view text, char separator) {
  std::vector<std::pair<std::string_view, std::size_t>> parts;
  std::size_t begin = 0;
  bool in_brackets = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : separator;
    const bool ends = i == text.size() || (c == separator && !in_brackets);
    if (ends) {
      parts.emplace_back(text.substr(begin, i - begin), begin);
      begin = i + 1;
    } else if (c == '[' || c == ']') {
      in_brackets = c == '[';
    }
  }
  return parts;
}

/// "1-3", "007", within the brackets of an expression: with as many digits as written.
std::vector<std::string> numbers_in(std::string_view range, std::size_t offset,
                                    const Complain& complain) {
  const std::size_t dash = range.find('-');
  const std::string_view low = range.substr(0, dash);
  const std::string_view high = dash == std::string_view::npos ? low : range.substr(dash + 1);
  constexpr std::size_t kMostDigits = 9;
  for (const std::string_view end : {low, high}) {
    const bool whole = !end.empty() && end.size() <= kMostDigits &&
                       end.find_first_not_of(kDigits) == std::string_view::npos;
    if (!whole) complain(offset, fmt::format("'{}' in brackets; valid: 7 or 1-3", shown(range)));
  }
  const int first = std::stoi(std::string(low)), last = std::stoi(std::string(high));
  if (last < first || static_cast<std::size_t>(last - first) >= kMostHosts) {
    complain(offset, fmt::format("'{}' in brackets; valid: from the smaller to the larger, at most "
                                 "{} hosts",
                                 shown(range), kMostHosts));
  }
  std::vector<std::string> numbers;
  for (int number = first; number <= last; ++number) {
    numbers.push_back(fmt::format("{:0{}}", number, low.size()));
  }
  return numbers;
}

/// "rack[1-2]n[1-8]" -> 16 names.
std::vector<std::string> names_in(std::string_view word, std::size_t offset,
                                  const Complain& complain) {
  const std::size_t open = word.find('[');
  if (open == std::string_view::npos) return {std::string(word)};
  const std::size_t close = word.find(']', open);
  if (close == std::string_view::npos) complain(offset + open, "'[' without ']'");
  const std::vector<std::string> rests =
      names_in(word.substr(close + 1), offset + close + 1, complain);
  std::vector<std::string> names;
  for (const auto& [range, at] : split(word.substr(open + 1, close - open - 1), ',')) {
    for (const std::string& number : numbers_in(range, offset + open + 1 + at, complain)) {
      for (const std::string& rest : rests) {
        if (names.size() == kMostHosts) {
          complain(offset, fmt::format("more than {} hosts", kMostHosts));
        }
        names.push_back(fmt::format("{}{}{}", word.substr(0, open), number, rest));
      }
    }
  }
  return names;
}

/// "host", "host:4", "[::1]:4", "node[01-04]:8".
Hosts hosts_in(std::string_view word, std::size_t offset, const Complain& complain) {
  std::size_t name_end = std::min(word.find(':'), word.size());
  const std::size_t bracket = word.find(']');
  const bool address = word.starts_with('[') && name_end < bracket;
  if (address) {
    if (bracket == std::string_view::npos) complain(offset, "'[' without ']'");
    name_end = bracket + 1;
    if (name_end < word.size() && word[name_end] != ':') {
      complain(offset + name_end,
               fmt::format("'{}' after an address; valid: ':' and slots", shown(word)));
    }
  }
  const std::string_view name = word.substr(0, name_end);
  if (!address && std::ranges::count(name, '[') > kMostBrackets) {
    complain(offset, fmt::format("more than {} brackets in a name", kMostBrackets));
  }
  int slots = 0;
  if (name_end < word.size()) {
    slots = slots_in(word.substr(name_end + 1), offset + name_end + 1, complain);
  }
  Hosts hosts;
  for (std::string& one :
       address ? std::vector{std::string(name)} : names_in(name, offset, complain)) {
    require_name(one, offset, complain);
    hosts.push_back({std::move(one), slots});
  }
  return hosts;
}

/// The words of a hostfile's line with their offsets: '=' and the blanks around it are part of one.
std::vector<std::pair<std::string, std::size_t>> words_in(std::string_view line) {
  std::vector<std::pair<std::string, std::size_t>> words;
  bool joins = false;
  for (std::size_t i = line.find_first_not_of(kBlanks); i < line.size();
       i = line.find_first_not_of(kBlanks, i)) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, i), line.size());
    const std::string word(line.substr(i, end - i));
    if (!words.empty() && (joins || word.starts_with('='))) {
      words.back().first += word;
    } else {
      words.emplace_back(word, i);
    }
    joins = word.ends_with('=');
    i = end;
  }
  return words;
}

/// "host slots=2 max_slots=4", "host:2".
Hosts hosts_of_line(const std::vector<std::pair<std::string, std::size_t>>& words,
                    const Complain& complain) {
  Hosts hosts = hosts_in(words.front().first, words.front().second, complain);
  int slots = hosts.front().slots, most = kMostSlots;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto& [word, offset] = words[i];
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const bool is_most = key == "max_slots" || key == "max-slots";
    if (equals == std::string::npos || (key != "slots" && !is_most)) {
      complain(offset, fmt::format("'{}'; valid after a host: slots=N, max_slots=N, # comment",
                                   shown(word)));
    }
    if (key == "slots" && slots > 0) complain(offset, "slots are given twice");
    const int value =
        slots_in(std::string_view(word).substr(equals + 1), offset + equals + 1, complain);
    (is_most ? most : slots) = value;
  }
  if (slots > most) {
    complain(words.front().second, fmt::format("{} slots are more than max_slots={}", slots, most));
  }
  for (Host& host : hosts) host.slots = slots;
  return hosts;
}

}  // namespace

Hosts parse_hosts(std::string_view words, std::string_view source) {
  const Complain complain = complain_about(words, source);
  NamedHosts hosts;
  for (const auto& [word, offset] : split(words, ',')) {
    for (Host& host : hosts_in(word, offset, complain)) {
      hosts.add(std::move(host), offset, complain);
    }
  }
  return hosts.take();
}

Hosts read_hostfile(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  NamedHosts hosts;
  std::size_t number = 0;
  for (const auto& [whole, begin] : split(text, '\n')) {
    ++number;
    const Complain complain = [&](std::size_t offset, const std::string& what) {
      fail<UsageError>("{}:{}:{}: {}", path.string(), number, offset + 1, what);
    };
    const auto words = words_in(whole.substr(0, whole.find('#')));
    if (words.empty()) continue;
    for (Host& host : hosts_of_line(words, complain)) {
      hosts.add(std::move(host), words.front().second, complain);
    }
  }
  if (hosts.empty()) {
    fail<UsageError>("{}: names no host; valid: lines as 'host1 slots=4'", path.string());
  }
  return hosts.take();
}

std::vector<int> tasks_per_node(std::string_view words, std::string_view source) {
  std::vector<int> tasks;
  const char* at = words.data();
  const char* const end = at + words.size();
  const auto refuse = [&] {
    fail<UsageError>("{}: '{}'; valid: tasks of each node, as 2(x3),1", source, words);
  };
  const auto number = [&] {
    int value = 0;
    const auto [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 1 || value > kMostSlots) refuse();
    at = stop;
    return value;
  };
  const auto skip = [&](std::string_view mark) {
    if (!std::string_view(at, static_cast<std::size_t>(end - at)).starts_with(mark)) return false;
    at += mark.size();
    return true;
  };
  do {
    const int each = number();
    int times = 1;
    if (skip("(x")) {
      times = number();
      if (!skip(")")) refuse();
    }
    if (tasks.size() + static_cast<std::size_t>(times) > kMostHosts) refuse();
    tasks.insert(tasks.end(), static_cast<std::size_t>(times), each);
  } while (skip(","));
  if (at != end) refuse();
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

namespace {

int number_in(std::string_view word) {
  const int number = read_number<int>(word).value_or(0);
  return number <= kMostSlots ? number : 0;
}

int hosts_with(int slots, const Hosts& hosts) {
  return static_cast<int>(
      std::ranges::count_if(hosts, [&](const Host& host) { return host.slots >= slots; }));
}

int most_slots(const Hosts& hosts) { return std::ranges::max(hosts, {}, &Host::slots).slots; }

}  // namespace

std::string layout_words(const Layout& layout) {
  return fmt::format("{}x{}", layout.nodes, layout.per_node);
}

std::vector<Layout> parse_layouts(std::string_view words, std::string_view source) {
  std::set<Layout> layouts;
  for (const auto& [word, at] : split(words, ',')) {
    const std::size_t cross = word.find('x');
    const Layout layout{number_in(word.substr(0, cross)),
                        cross < word.size() ? number_in(word.substr(cross + 1)) : 0};
    if (layout.nodes < 1 || layout.per_node < 1 || layout.nodes > kMostSlots / layout.per_node) {
      fail<UsageError>("{}: '{}' is no layout; valid: hosts x ranks of each, as 1x1,1x2,2x2",
                       source, words);
    }
    layouts.insert(layout);
  }
  return {layouts.begin(), layouts.end()};
}

std::vector<int> powers_up_to(int most) {
  std::vector<int> powers;
  for (int n = 1; n < most; n *= 2) powers.push_back(n);
  powers.push_back(most);
  return powers;
}

std::vector<Layout> default_layouts(const Hosts& hosts) {
  std::set<Layout> layouts;
  for (const int per_node : powers_up_to(most_slots(hosts))) {
    for (const int nodes : powers_up_to(hosts_with(per_node, hosts))) {
      layouts.insert({nodes, per_node});
    }
  }
  // Where slots differ, the most that all hosts have.
  const int all = std::ranges::min(hosts, {}, &Host::slots).slots;
  layouts.insert({static_cast<int>(hosts.size()), all});
  return {layouts.begin(), layouts.end()};
}

Layout layout_of(int ranks, const Hosts& hosts, bool oversubscribe) {
  for (int nodes = 1; nodes <= static_cast<int>(hosts.size()); ++nodes) {
    const bool even = ranks % nodes == 0;
    if (even && hosts_with(ranks / nodes, hosts) >= nodes) return {nodes, ranks / nodes};
  }
  for (int nodes = static_cast<int>(hosts.size()); oversubscribe; --nodes) {
    if (ranks % nodes == 0) return {nodes, ranks / nodes};
  }
  fail<UsageError>(
      "{} ranks do not fit evenly on {}; choose another number, name slots (host:{}), or use "
      "--oversubscribe",
      ranks, host_words(hosts), ranks);
}

Hosts hosts_of(const Layout& layout, const Hosts& hosts, bool oversubscribe) {
  if (static_cast<int>(hosts.size()) < layout.nodes) {
    fail<UsageError>("layout {} does not fit on {}: it takes {} hosts, and there are {}",
                     layout_words(layout), host_words(hosts), layout.nodes, hosts.size());
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

std::string ranks_words(const std::string& ranks, const std::string& nodes) {
  const int n = number_in(ranks), k = number_in(nodes);
  if (k < 2) return ranks;
  return n % k == 0 ? layout_words({k, n / k}) : fmt::format("{} on {}", n, k);
}

}  // namespace scalebench
