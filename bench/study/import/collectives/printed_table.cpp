// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/collectives/printed_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "bench/record/columns.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr int kMostTried = 1 << 14;  // that are looked for behind a factor

bool is_digits(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_word(std::string_view word) {
  return !word.empty() && std::isalpha(static_cast<unsigned char>(word.front())) != 0 &&
         !is_cell(word);
}

/// A rate to two or three digits, from a time to four: how far apart both may be. `slack`: what the
/// rounding of another number adds.
bool agrees(const PrintedNumber& printed, double follows, const PrintedNumber& time,
            double slack = 0) {
  const double of_time = follows * time.half_unit / time.value;
  return std::abs(printed.value - follows) <= 1.01 * (printed.half_unit + of_time + slack) + 1e-9;
}

/// Where time, algbw and busbw of a placement stand among the cells; wrong elements behind them.
struct Place {
  std::size_t time = 0, algbw = 0, busbw = 0;
  std::optional<std::size_t> wrong;
};
using Layout = std::vector<Place>;

/// All that so many cells may be: a root, and of each of one or two placements three or more, of
/// which the fourth is wrong elements and others are of single operations.
std::vector<Layout> layouts_of(std::size_t cells) {
  std::vector<Layout> layouts;
  for (const std::size_t places : {2U, 1U}) {
    for (const std::size_t root : {0U, 1U}) {
      const std::size_t width = cells < root ? 0 : (cells - root) / places;
      if (width < 3 || root + width * places != cells) continue;
      Layout& layout = layouts.emplace_back();
      for (std::size_t at = root; at < cells; at += width) {
        layout.push_back({at, at + 1, at + 2, {}});
        if (width > 3) layout.back().wrong = at + 3;
      }
    }
  }
  return layouts;
}

/// A time with its bandwidths, as printed.
struct Printed {
  const PrintedRow* row = nullptr;
  std::size_t place = 0;
  double bytes = 0;
  PrintedNumber time{}, algbw{}, busbw{};

  /// `per_second`: of the time's unit.
  double algbw_of(double per_second) const {
    return algbw_gb_per_s(bytes, time.value / per_second);
  }
  bool has_unit(double per_second) const { return agrees(algbw, algbw_of(per_second), time); }
  bool has_factor(double per_second, double factor) const {
    return agrees(busbw, factor * algbw_of(per_second), time, factor * algbw.half_unit);
  }
};

std::vector<Printed> numbers_in(const std::vector<const PrintedRow*>& rows, const Layout& layout) {
  std::vector<Printed> found;
  for (const PrintedRow* const row : rows) {
    const double bytes = read_number<double>(row->bytes).value_or(0);
    for (std::size_t i = 0; i < layout.size(); ++i) {
      const auto time = printed_number(row->cells[layout[i].time]);
      const auto algbw = printed_number(row->cells[layout[i].algbw]);
      const auto busbw = printed_number(row->cells[layout[i].busbw]);
      if (time && algbw && busbw && time->value > 0)
        found.push_back({row, i, bytes, *time, *algbw, *busbw});
    }
  }
  return found;
}

/// A layout with the unit of its times, and how many of its numbers agree: of two with as many that
/// of which fewer do not. The placements that a head names go before others.
struct Reading {
  Layout layout;
  double per_second = 1e6;  // of its times' unit
  std::vector<Printed> numbers;
  std::size_t agree = 0;
};

Reading best_reading(const std::vector<const PrintedRow*>& rows, std::size_t places) {
  Reading best;
  for (const Layout& layout : layouts_of(rows.front()->cells.size())) {
    if (places != 0 && layout.size() != places) continue;
    const std::vector<Printed> numbers = numbers_in(rows, layout);
    for (const double unit : {1e6, 1e3, 1.0}) {
      const auto agree = static_cast<std::size_t>(
          std::ranges::count_if(numbers, [&](const Printed& one) { return one.has_unit(unit); }));
      const bool is_better =
          agree > best.agree || (agree == best.agree && numbers.size() < best.numbers.size());
      if (agree > 0 && is_better) best = {layout, unit, numbers, agree};
    }
  }
  return best.agree == 0 && places != 0 ? best_reading(rows, 0) : best;
}

double allreduce_factor(int ranks) { return 2.0 * (ranks - 1) / ranks; }
double scatter_factor(int ranks) { return 1.0 * (ranks - 1) / ranks; }

/// Of which collective on how many ranks a table is, by its factors.
class Factors {
 public:
  explicit Factors(const Reading& reading) : unit_(reading.per_second) {
    constexpr double kClear = 0.01;  // small ones fit any factor
    constexpr std::size_t kMostNumbers = 100;
    const auto is_clear = [](const Printed& one) {
      return one.algbw.half_unit <= kClear * one.algbw.value;
    };
    std::ranges::copy_if(reading.numbers, std::back_inserter(numbers_), is_clear);
    if (numbers_.empty()) numbers_ = reading.numbers;
    std::ranges::sort(numbers_, std::greater(), [](const Printed& one) { return one.algbw.value; });
    numbers_.resize(std::min(numbers_.size(), kMostNumbers));
  }

  const Printed& clearest() const { return numbers_.front(); }
  double seen() const { return clearest().busbw.value / clearest().algbw_of(unit_); }
  bool fits(double factor) const { return 2 * agreeing(factor) >= numbers_.size(); }
  /// The numbers of ranks with which most agree.
  std::vector<int> ranks_behind(double (*factor)(int)) const {
    std::vector<int> found;
    std::size_t most = (numbers_.size() + 1) / 2;
    for (int ranks = 1; ranks <= kMostTried; ++ranks) {
      const std::size_t agree = agreeing(factor(ranks));
      if (agree > most) found.clear();
      most = std::max(most, agree);
      if (agree == most) found.push_back(ranks);
    }
    return found;
  }

 private:
  std::size_t agreeing(double factor) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        numbers_, [&](const Printed& one) { return one.has_factor(unit_, factor); }));
  }

  double unit_;
  std::vector<Printed> numbers_;  // the clearest first
};

/// The bytes of an element; 0 of a type that is not known.
std::size_t bytes_of_type(std::string_view type) {
  static const std::map<std::string_view, std::size_t> kBytes{
      {"int8", 1},   {"uint8", 1}, {"char", 1},     {"fp8_e4m3", 1}, {"fp8_e5m2", 1}, {"f8e4m3", 1},
      {"f8e5m2", 1}, {"half", 2},  {"bfloat16", 2}, {"bfloat", 2},   {"int", 4},      {"int32", 4},
      {"uint32", 4}, {"float", 4}, {"int64", 8},    {"uint64", 8},   {"double", 8}};
  const auto found = kBytes.find(type);
  return found == kBytes.end() ? 0 : found->second;
}

/// Why a row can be of no allreduce, whatever its times are; empty where it can.
std::string no_allreduce(const PrintedRow& row, const Layout& layout) {
  const std::string& root = row.cells.front();
  if (layout.front().time == 1 && root != "-1") {
    return fmt::format("its root is {}: a broadcast, reduce, gather or scatter", root);
  }
  // nccl-tests checks an allreduce in both placements, or in none.
  const auto is_checked = [&](const Place& place) {
    return place.wrong && row.cells[*place.wrong] != "N/A";
  };
  const bool has_both = layout.size() == 2 && decimal_of(row.cells[layout[0].time]) &&
                        decimal_of(row.cells[layout[1].time]);
  if (has_both && is_checked(layout[0]) != is_checked(layout[1])) {
    return "its result is checked in one placement alone: a sendrecv or alltoall";
  }
  if (row.redop == "none" || (row.redop.empty() && !row.type.empty())) {
    return "no reduction: a collective other than allreduce";
  }
  const std::size_t bytes = read_number<std::size_t>(row.bytes).value_or(0);
  const std::size_t count = read_number<std::size_t>(row.count).value_or(1);
  const std::size_t of_type = bytes_of_type(row.type);
  const bool is_whole = of_type == 0 || bytes == count * of_type;
  if (is_whole && bytes / count <= sizeof(double) && bytes % count == 0) return "";
  return fmt::format(
      "{} B are not {} of {}, but of several ranks: a reduce_scatter, allgather or "
      "alltoall",
      row.bytes, row.count, row.type.empty() ? "a type" : row.type);
}

/// What has the factors of these numbers and is no allreduce; empty: nothing known.
std::string other_collective(const Factors& factors, std::optional<int> ranks) {
  const std::vector<int> behind = ranks ? std::vector<int>() : factors.ranks_behind(scatter_factor);
  const int p = ranks ? *ranks : behind.size() == 1 ? behind[0] : 0;
  if (p > 1 && factors.fits(scatter_factor(p))) {
    return fmt::format(
        "busbw/algbw is {:.3f} = {}/{}, as of a reduce_scatter, allgather or alltoall of {} ranks; "
        "of an allreduce it is {:.3f}",
        factors.seen(), p - 1, p, p, allreduce_factor(p));
  }
  const bool tells = !factors.fits(allreduce_factor(kMostTried));  // small ones fit any factor
  return tells && factors.fits(1) ? "busbw is algbw: a broadcast, reduce or sendrecv" : "";
}

/// The rows that have a size and as many numbers as most rows.
std::vector<const PrintedRow*> whole_rows(const std::vector<PrintedRow>& rows,
                                          std::vector<Remark>& findings) {
  std::map<std::size_t, std::size_t> times;  // of numbers of cells
  for (const PrintedRow& row : rows) ++times[row.cells.size()];
  const std::size_t usual =
      std::ranges::max_element(times, {}, [](const auto& one) { return one.second; })->first;
  std::vector<const PrintedRow*> whole;
  for (const PrintedRow& row : rows) {
    if (row.cells.size() != usual) {
      findings.push_back(
          {row.line, fmt::format("{} numbers where other rows have {}", row.cells.size(), usual)});
    } else if (is_count(row.bytes) && is_count(row.count)) {
      whole.push_back(&row);
    }
  }
  if (whole.empty() && findings.empty()) {
    findings.push_back({rows.front().line, fmt::format("size {} of {} elements: nothing is moved",
                                                       rows.front().bytes, rows.front().count)});
  }
  return whole;
}

/// Why a row has no time in a placement. `one`: what is printed there; null where some of it is no
/// number. Empty: it has one.
std::string no_result(const PrintedRow& row, const Place& place, const Printed* one,
                      double per_second, int ranks) {
  if (one == nullptr) {
    const std::optional<double> time = decimal_of(row.cells[place.time]);
    if (!time || *time <= 0) return no_number("time", row.cells[place.time]);
    const bool has_algbw = decimal_of(row.cells[place.algbw]).has_value();
    return no_number("bandwidth", row.cells[has_algbw ? place.busbw : place.algbw]);
  }
  const double algbw = one->algbw_of(per_second), factor = allreduce_factor(ranks);
  if (one->has_unit(per_second) && one->has_factor(per_second, factor)) return "";
  return fmt::format(
      "algbw {} and busbw {} are printed, but {:.2f} and {:.2f} GB/s follow from time {}, {} B and "
      "{} ranks; it is left out",
      row.cells[place.algbw], row.cells[place.busbw], algbw, factor * algbw, row.cells[place.time],
      row.bytes, ranks);
}

/// Where each row is an allreduce of other ranks, as of a table that somebody has put together: of
/// which; else empty.
std::string several_ranks(const Reading& reading) {
  std::set<int> all;
  for (const Printed& one : reading.numbers) {
    const Factors alone({reading.layout, reading.per_second, {one}, 1});
    const std::vector<int> ranks = alone.ranks_behind(allreduce_factor);
    if (ranks.size() != 1) return "";
    all.insert(ranks.front());
  }
  if (all.size() < 2) return "";
  return fmt::format("its rows are of {} ranks: give each number a file of its own",
                     fmt::join(all, ", "));
}

/// 0, with a finding, where the table is of no allreduce, or with a question where it could be.
int ranks_of(const Reading& reading, const TableHints& hints, ReadTable& table) {
  const Factors factors(reading);
  const PrintedRow& row = *factors.clearest().row;
  const auto refuse = [&](const std::string& why) {
    table.findings.push_back({row.line, why + "; the table is left out"});
    return 0;
  };
  const auto ask = [&](std::string what) {
    table.questions.push_back({row.line, std::move(what)});
    return 0;
  };
  if (const std::string why = no_allreduce(row, reading.layout); !why.empty()) return refuse(why);
  // Of two ranks a sendrecv has the same factor; that its results were checked tells them apart.
  const Place& first = reading.layout.front();
  const bool is_checked = first.wrong && row.cells[*first.wrong] != "N/A";
  const bool could_be_other = hints.ranks == 2 && !is_checked;
  if (hints.ranks && (hints.is_allreduce || !could_be_other) &&
      factors.fits(allreduce_factor(*hints.ranks))) {
    return *hints.ranks;
  }
  const std::vector<int> found = factors.ranks_behind(allreduce_factor);
  const std::string other = other_collective(factors, hints.ranks);
  const bool is_one = found.size() == 1 && other.empty();
  if (is_one && hints.ranks) {
    table.findings.push_back(
        {row.line, fmt::format("{} ranks are known, and busbw/algbw is that of {}, "
                               "which are taken",
                               *hints.ranks, found[0])});
  }
  if (is_one || (hints.is_allreduce && found.size() == 1 && !hints.ranks)) return found[0];
  if (const std::string several = several_ranks(reading); !several.empty()) return refuse(several);
  if (!hints.is_allreduce && hints.ranks.value_or(2) == 2 && found == std::vector<int>{2}) {
    return ask(
        "an allreduce of 2 ranks, or a broadcast or sendrecv of any; add --set ranks=2 if it is "
        "the first");
  }
  if (!other.empty()) return refuse(other);
  if (found.size() > 1 && !hints.ranks) {
    return ask(
        fmt::format("no list of devices, and {} to {} ranks fit its numbers; add --set ranks=N",
                    found.front(), found.back()));
  }
  const std::string of = hints.ranks ? fmt::format(" of {} ranks", *hints.ranks) : "";
  return refuse(fmt::format("busbw/algbw is {:.3f}, as of no collective{}", factors.seen(), of));
}

}  // namespace

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (const std::string_view word : words_of(line)) {
    std::size_t at = 0;
    while (at < word.size()) {
      const std::size_t end = std::min(word.find('|', at), word.size());
      if (end > at) cells.push_back(word.substr(at, end - at));
      at = end + 1;
    }
  }
  return cells;
}

bool is_cell(std::string_view word) {
  if (word == "N/A" || word == "nan" || word == "-nan" || word == "inf" || word == "-inf")
    return true;
  return !word.empty() && word.find_first_not_of("0123456789.,+-eE") == std::string_view::npos &&
         word.find_first_of("0123456789") != std::string_view::npos &&
         word.find_first_of("eE") != 0;
}

std::string_view size_in(std::string_view word) {
  if (is_digits(word)) return word;
  const std::size_t at = word.find_last_of(":>])");
  if (at == std::string_view::npos || !is_digits(word.substr(at + 1))) return "";
  const bool is_time =
      word.substr(0, at).find_first_not_of("0123456789:") == std::string_view::npos;
  return is_time ? "" : word.substr(at + 1);
}

std::optional<PrintedRow> row_in(const ForeignLine& line) {
  std::vector<std::string_view> words = cells_of(line.text);
  // A timestamp behind the numbers.
  while (!words.empty() && !is_cell(words.back()) &&
         words.back().find(':') != std::string_view::npos) {
    words.pop_back();
    if (!words.empty() && words.back().find('-', 1) != std::string_view::npos) words.pop_back();
  }
  for (std::size_t i = 0; i + 4 < words.size(); ++i) {
    const std::string_view bytes = size_in(words[i]);
    if (bytes.empty() || !is_digits(words[i + 1])) continue;
    std::size_t at = i + 2;
    const bool has_type = is_word(words[at]);
    if (has_type) ++at;
    const bool has_redop = has_type && at < words.size() && is_word(words[at]);
    if (has_redop) ++at;
    const bool whole =
        words.size() - at >= 3 &&
        std::all_of(words.begin() + static_cast<std::ptrdiff_t>(at), words.end(), is_cell);
    if (!whole) continue;
    PrintedRow row{line.number, std::string(bytes), std::string(words[i + 1]), "", "", {}};
    if (has_type) row.type = words[i + 2];
    if (has_redop) row.redop = words[i + 3];
    row.cells.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
    return row;
  }
  return std::nullopt;
}

ReadTable read_table(const std::vector<PrintedRow>& rows, const TableHints& hints) {
  ReadTable table;
  const std::vector<const PrintedRow*> whole = whole_rows(rows, table.findings);
  if (whole.empty()) return table;
  const auto find = [&](const PrintedRow& row, std::string what) {
    table.findings.push_back({row.line, std::move(what)});
  };
  const Reading reading = best_reading(whole, hints.places);
  if (reading.agree == 0) {
    find(*whole.front(), fmt::format("size {} and the numbers {} agree in no way: no time has a "
                                     "bandwidth that follows from it; the table is left out",
                                     whole.front()->bytes, fmt::join(whole.front()->cells, " ")));
    return table;
  }
  table.ranks = ranks_of(reading, hints, table);
  if (table.ranks == 0) return table;
  std::map<const PrintedRow*, std::array<const Printed*, 2>> printed;
  for (const Printed& one : reading.numbers) printed[one.row].at(one.place) = &one;
  for (const PrintedRow* const row : whole) {
    if (const std::string why = no_allreduce(*row, reading.layout); !why.empty()) {
      find(*row, why);
      continue;
    }
    for (std::size_t i = 0; i < reading.layout.size(); ++i) {
      const Place& place = reading.layout[i];
      const bool in_place = (i == 1) != hints.in_place_first;
      const std::string_view placement = in_place ? "in_place" : "out_of_place";
      const Printed* const one = printed[row].at(i);
      const std::string why = no_result(*row, place, one, reading.per_second, table.ranks);
      if (!why.empty()) {
        find(*row, fmt::format("{}: {}", placement, why));
        continue;
      }
      PrintedResult& result = table.results.emplace_back();
      result.row = row;
      result.placement = placement;
      result.seconds = one->time.value / reading.per_second;
      if (place.wrong) result.wrong = row->cells[*place.wrong];
      result.counts_wrong = result.wrong.find_first_of(".eE") == std::string::npos;
    }
  }
  return table;
}

}  // namespace scalebench
