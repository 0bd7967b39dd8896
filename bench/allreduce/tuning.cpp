// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/tuning.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <sstream>
#include <utility>

#include "bench/measure/statistics.hpp"
#include "bench/record/csv.hpp"
#include "bench/record/result_row.hpp"
#include "collectives/control.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kProblem = "problem ";
constexpr std::array<std::string_view, 9> kWords{"transport", "memory",     "pages",
                                                 "register",  "dtype",      "op",
                                                 "algorithm", "size_bytes", "seconds_median"};
/// Of these, earlier versions wrote none.
constexpr std::array<std::string_view, 2> kLater{"pages", "register"};
constexpr std::array<std::string_view, 3> kFilters{"status", "mode", "ranks"};

/// Throws UsageError `file:line:column: what` for a row that cannot be chosen by.
void require_usable(const CsvTable& table, std::size_t row) {
  const std::optional<std::size_t> bytes = read_number<std::size_t>(table.text(row, "size_bytes"));
  if (!bytes) {
    fail<UsageError>("{}: '{}'; expected bytes", table.place(row, "size_bytes"),
                     table.text(row, "size_bytes"));
  }
  if (!(table.number(row, "seconds_median") > 0)) {
    fail<UsageError>("{}: '{}'; expected a positive number", table.place(row, "seconds_median"),
                     table.text(row, "seconds_median"));
  }
  try {
    allreduce_named(table.text(row, "algorithm"));
  } catch (const UsageError& error) {
    fail<UsageError>("{}: {}", table.place(row, "algorithm"), error.what());
  }
}

/// The rows that count as words, nine a row, or kProblem and what is wrong with the file. `ranks`
/// on `nodes`: elsewhere another algorithm is the fastest.
std::string read_rows(const std::string& path, int ranks, int nodes) {
  std::string words;
  try {
    const CsvTable table = CsvTable::read(path);
    for (const std::string_view column : kFilters) table.require(column);
    const auto has = [&](std::string_view column) {
      return std::ranges::find(table.columns(), column) != table.columns().end();
    };
    for (const std::string_view column : kWords) {
      const bool later = std::ranges::find(kLater, column) != kLater.end();
      if (!later || has(column)) table.require(column);
    }
    for (std::size_t row = 0; row < table.size(); ++row) {
      const auto is = [&](std::string_view column, std::string_view value) {
        return !has(column) || table.text(row, column).empty() || table.text(row, column) == value;
      };
      const bool counts =
          table.text(row, "status") == "ok" && table.text(row, "mode") == "isolated" &&
          table.text(row, "ranks") == std::to_string(ranks) && is("nodes", std::to_string(nodes)) &&
          (is("origin", "measured") || is("origin", "emulated"));
      if (!counts) continue;
      require_usable(table, row);
      for (const std::string_view column : kWords) {
        const std::string word = has(column) ? table.text(row, column) : std::string();
        words += (word.empty() ? "-" : word) + " ";
      }
    }
  } catch (const Error& error) {
    return fmt::format("{}--choices {}: {}", kProblem, path, error.what());
  }
  return words;
}

/// The first calls of shorter ones take several times as long as the later ones.
constexpr double kShortSeconds = 2e-5;
/// Operations at least this long are timed between barriers; the clock's care is for shorter ones.
constexpr double kLongSeconds = 1e-3;
/// A long one that takes this many times as long as the best so far is not looked at again.
constexpr double kHopeless = 4;
/// Shorter ones that take less than so many times as long as the best are looked at again, by
/// turns: what disturbed one of them for a while then counts for nothing.
constexpr double kNear = 1.5;
constexpr int kLooks = 3;
/// When the trial has taken this long, only so many of those that are fast at large sizes go on.
constexpr double kPatienceSeconds = 0.5;
constexpr std::size_t kLarge = std::size_t{1} << 20U;
constexpr std::size_t kFinalists = 3;

/// Every power of two where transports change their ways and a case costs little.
std::size_t step_after(std::size_t bytes) { return bytes < 4 * kLarge ? 2 : 4; }

/// The slowest rank's seconds, the same on all ranks.
double seconds_once(const AllreduceBench& bench, Communicator& host, const AllreduceCase& one) {
  const AllreduceSpans spans = bench.buffers.slot(one, 0);
  host.barrier();
  const double begin = local_seconds();
  bench.run(one, spans);
  bench.wait();
  return std::ranges::max(all_gather(host, local_seconds() - begin));
}

/// Median seconds of one algorithm at one size; empty when it does not work here, or is no rival of
/// one that takes `best`.
std::optional<double> seconds_of(const AllreduceBench& bench, Communicator& host,
                                 const AllreduceCase& one, const AllreduceMethod& method,
                                 double best) {
  double warm = 0;
  try {
    seconds_once(bench, host, one);
    warm = seconds_once(bench, host, one);
    // Hopeless at one look may be a rank that had no core for a moment.
    if (warm > std::max(kLongSeconds, kHopeless * best)) {
      warm = std::min(warm, seconds_once(bench, host, one));
    }
    if (warm > kLongSeconds) {
      if (warm > kHopeless * best) return std::nullopt;
      const std::array<double, 3> seconds{warm, seconds_once(bench, host, one),
                                          seconds_once(bench, host, one)};
      return median_of(seconds);
    }
  } catch (const Unavailable&) {
    return std::nullopt;
  }
  AllreduceMethod brief = method;
  brief.repetitions = 15;
  brief.capped = false;
  brief.warm_up.fixed = warm > kShortSeconds ? 2 : 50;
  brief.checks = 0;
  brief.graph = false;
  std::vector<double> seconds;
  for (const Repetition& repetition : measure_allreduce(bench, one, brief).timing.repetitions) {
    seconds.push_back(repetition.seconds);
  }
  return median_of(seconds);
}

}  // namespace

EarlierRows::EarlierRows(Communicator& host, const std::string& path) : path_(path) {
  const std::string mine =
      host.rank() == 0 ? read_rows(path, host.size(), host.topology().nodes()) : std::string();
  const std::string words = broadcast_text(host, mine, 0);
  if (words.starts_with(kProblem)) throw UsageError(words.substr(kProblem.size()));
  std::istringstream stream(words);
  std::string transport, memory, pages, registration, dtype, op;
  MeasuredAllreduce measured;
  while (stream >> transport >> memory >> pages >> registration >> dtype >> op >>
         measured.algorithm >> measured.bytes >> measured.seconds) {
    const auto dtype_known = dtype_named(dtype);
    const auto op_known = reduce_op_named(op);
    if (!dtype_known || !op_known) continue;
    AllreducePlace place{transport, memory == "host" ? Memory::host : Memory::device, {}};
    for (const Pages known : {Pages::standard, Pages::huge}) {
      if (pages == name_of(known)) place.pages = known;
    }
    for (const Registration known : kRegistrations) {
      if (registration == name_of(known)) place.registration = known;
    }
    rows_.push_back({{std::move(place), *dtype_known, *op_known}, measured});
  }
}

SharedChoices EarlierRows::choices(const AllreduceSetting& setting) const {
  std::vector<MeasuredAllreduce> measured;
  for (const Row& row : rows_) {
    AllreduceSetting same = row.setting;
    if (!same.place.pages) same.place.pages = setting.place.pages;
    if (same.place.registered_as_ever() && setting.place.registered_as_ever()) {
      same.place.registration = setting.place.registration;
    }
    if (same == setting) measured.push_back(row.measured);
  }
  if (measured.empty()) {
    fail<Unavailable>("algorithm auto: {} has no row of {} {} {} on this many ranks", path_,
                      setting.place.described(), name_of(setting.dtype), name_of(setting.op));
  }
  return std::make_shared<const AllreduceChoices>(measured);
}

SharedChoices tune(const AllreduceBench& bench, Communicator& host, const AllreduceSetting& setting,
                   const AllreduceMethod& method, std::size_t smallest_bytes,
                   std::size_t largest_bytes) {
  std::vector<const AllreduceAlgorithm*> rivals;
  for (const AllreduceAlgorithm& algorithm : allreduce_algorithms()) {
    if (!algorithm.chooses()) rivals.push_back(&algorithm);
  }
  std::vector<MeasuredAllreduce> measured;
  AllreduceCase one;
  one.dtype = setting.dtype;
  one.op = setting.op;
  const double begin = local_seconds();
  for (std::size_t bytes = std::max<std::size_t>(smallest_bytes, 8);; bytes *= step_after(bytes)) {
    bytes = std::min(bytes, largest_bytes);
    one.count = bytes / size_of(one.dtype);
    double best = std::numeric_limits<double>::infinity();
    std::vector<std::pair<double, const AllreduceAlgorithm*>> results;
    for (const AllreduceAlgorithm* algorithm : rivals) {
      one.algorithm = algorithm;
      const auto seconds = seconds_of(bench, host, one, method, best);
      if (!seconds) continue;
      best = std::min(best, *seconds);
      measured.push_back({std::string(algorithm->name), bytes, *seconds});
      results.emplace_back(*seconds, algorithm);
    }
    for (int look = 1; look < kLooks && best <= kLongSeconds; ++look) {
      for (const auto& [first, algorithm] : results) {
        if (first > kNear * best) continue;
        one.algorithm = algorithm;
        const auto seconds = seconds_of(bench, host, one, method, best);
        if (seconds) measured.push_back({std::string(algorithm->name), bytes, *seconds});
      }
    }
    if (bytes == largest_bytes) break;
    double spent = local_seconds() - begin;
    broadcast(host, span_of(std::span(&spent, 1)), 0);
    if (bytes >= kLarge && spent > kPatienceSeconds && results.size() > kFinalists) {
      std::ranges::sort(results);
      rivals.clear();
      for (std::size_t i = 0; i < kFinalists; ++i) rivals.push_back(results[i].second);
    }
  }
  return std::make_shared<const AllreduceChoices>(measured);
}

}  // namespace scalebench
