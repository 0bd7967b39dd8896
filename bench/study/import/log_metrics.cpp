// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "bench/measure/statistics.hpp"
#include "bench/study/import/epochs.hpp"
#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

bool is_epoch(const Schema& schema) { return schema.file == epoch_schema().file; }

/// The epochs that a log names ("Epoch: [3]", "Epoch 3/12", "epoch=3"), line by line.
class NamedEpochs {
 public:
  /// Takes note of the epoch that a line names, if any.
  void read(std::string_view line) {
    static const LinePattern kEpoch("epochs of a log",
                                    R"((?i:(?:^|[^a-z])epoch)['"]?(?: *[:=#]? *)\[? *([0-9]+))");
    const auto name = kEpoch.first_group(line);
    if (!name) return;
    last_ = *name;
    seen_.insert(last_);
  }
  /// The one that was named last; empty: none so far.
  const std::string& last() const { return last_; }
  std::size_t count() const { return seen_.size(); }

 private:
  std::set<std::string> seen_;
  std::string last_;
};

/// Whether the states that a log tells are those of an epoch: computing, the reduction that nothing
/// hides (transfer), and input and evaluation, which are none where it does not tell them. Takes
/// them out where they cannot be, and returns why; else nothing.
std::string check_states(ImportedCase& one) {
  constexpr std::array<const char*, 2> kMustBeThere{"compute_seconds", "transfer_seconds"};
  constexpr std::array<const char*, 2> kMayBeThere{"input_seconds", "evaluation_seconds"};
  double parts = 0;
  for (const char* const state : kMustBeThere) parts += number_in(one.row, state);
  if (one.seconds.empty() || std::isnan(parts)) return "";
  for (const char* const state : kMayBeThere) {
    set_where_empty(one.row, state, "0");
    parts += number_in(one.row, state);
  }
  const double mean = summarise(one.seconds).mean;
  constexpr double kRounding = 0.01;  // of what a log prints
  if (parts <= (1 + kRounding) * mean) return "";
  for (const char* const state : kMustBeThere) one.row.set(state, "");
  return fmt::format("the parts of an epoch sum to {:g} s, and it takes {:g} s", parts, mean);
}

/// What one metric found: numbers in our unit, in order; texts where a column holds words.
struct Found {
  std::vector<double> numbers;
  std::vector<std::string> texts;
  std::vector<std::string> epochs;  // that the log had named last; empty: none so far
  bool bad = false;                 // it was no number somewhere
};

class LogReader {
 public:
  LogReader(const std::string& file, const Schema& schema, const std::vector<LogMetric>& metrics,
            const Settings& settings)
      : file_(file),
        schema_(schema),
        metrics_(metrics),
        settings_(settings),
        found_(metrics.size()) {}

  ImportedFile read(std::string_view text) && {
    for (const ForeignLine& line : lines_of(text, file_, result_.findings)) {
      named_.read(line.text);
      match(line);
    }
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      if (!found_[i].texts.empty() || found_[i].bad) continue;
      find(0, fmt::format("{}: no line matches '{}'", metrics_[i].column, metrics_[i].expression));
    }
    const bool any = std::ranges::any_of(
        found_, [](const Found& found) { return found.bad || !found.texts.empty(); });
    if (any) result_.launches.emplace_back().cases.push_back(the_case());
    return std::move(result_);
  }

 private:
  void find(std::size_t line, const std::string& what) { result_.findings.push_back({line, what}); }

  void match(const ForeignLine& line) {
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      const auto group = metrics_[i].pattern->first_group(line);
      if (group) take(metrics_[i], *group, line, found_[i]);
    }
  }

  void take(const LogMetric& metric, std::string_view text, const ForeignLine& in, Found& found) {
    const std::size_t line = in.number;
    const bool numeric = carries_values(schema_, metric.column) || metric.factor != 1 ||
                         metric.column == "test_accuracy" || metric.column.ends_with("_seconds");
    const std::optional<double> number = number_in_line(text, in.text);
    const bool positive = !carries_values(schema_, metric.column) || (number && *number > 0);
    if (numeric && (!number || !positive)) {
      found.bad = true;
      find(line,
           number ? fmt::format("{} is {}", metric.column, text) : no_number(metric.column, text));
      return;
    }
    std::string value(text);
    const double in_our_unit =
        metric.per_second ? 1 / number.value_or(1) : number.value_or(1) * metric.factor;
    if (number) value = fmt::format("{}", in_our_unit);
    try {
      require_value("", metric.column, value);
    } catch (const UsageError& error) {
      const bool percent = metric.column.ends_with("_accuracy") && metric.factor == 1;
      fail<UsageError>(
          "{}:{}{}{}", file_, line, error.what(),
          percent ? fmt::format("; for percent write --metric '{}:%=...'", metric.column) : "");
    }
    found.texts.push_back(value);
    if (!number) return;
    found.numbers.push_back(in_our_unit);
    found.epochs.push_back(named_.last());
  }

  const Found* of(std::string_view column) const {
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      if (metrics_[i].column == column) return &found_[i];
    }
    return nullptr;
  }

  /// One value for the column out of those of all matches.
  void describe(const LogMetric& metric, const Found& found, ResultRow& row) {
    if (found.texts.empty()) return;
    if (metric.column == "test_accuracy") {
      row.set(metric.column, found.texts.back());
    } else if (metric.column.ends_with("_seconds")) {
      // Several metrics of one column are its parts.
      const double others = row.get(metric.column).empty() ? 0 : number_in(row, metric.column);
      const double sum = std::accumulate(found.numbers.begin(), found.numbers.end(), 0.0);
      row.set(metric.column, others + sum / static_cast<double>(found.numbers.size()));
    } else if (std::ranges::count(found.texts, found.texts[0]) != std::ssize(found.texts)) {
      find(0, fmt::format("{}: the log says {} and other things", metric.column, found.texts[0]));
    } else {
      row.set(metric.column, found.texts[0]);
    }
  }

  ImportedCase the_case() {
    ImportedCase one{ResultRow(schema_), {}};
    std::size_t carrier = 0;
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      if (carries_values(schema_, metrics_[i].column)) {
        carrier = i;
      } else {
        describe(metrics_[i], found_[i], one.row);
      }
    }
    apply(settings_, one.row, file_);
    if (is_training(schema_)) complete_training(one.row);
    set_values(metrics_[carrier], found_[carrier], one);
    if (is_epoch(schema_)) {
      const Found* const accuracy = of("test_accuracy");
      if (accuracy != nullptr) add_accuracies(one, accuracy->numbers);
      require_possible(one, file_);
      if (const std::string problem = check_states(one); !problem.empty()) find(0, problem);
    }
    return one;
  }

  /// Of values that are steps, epochs: the mean of the steps of each epoch that the log names, or
  /// of all, times the steps of an epoch.
  std::vector<double> epochs_of_steps(const LogMetric& metric, const Found& found) {
    std::vector<std::pair<std::string, std::vector<double>>> epochs;
    for (std::size_t i = 0; i < found.numbers.size(); ++i) {
      const bool same = !epochs.empty() && epochs.back().first == found.epochs[i];
      if (!same) epochs.emplace_back(found.epochs[i], std::vector<double>());
      epochs.back().second.push_back(found.numbers[i]);
    }
    std::size_t most = 0;
    for (const auto& [name, steps] : epochs) most = std::max(most, steps.size());
    std::vector<double> seconds;
    for (const auto& [name, steps] : epochs) {
      if (steps.size() < most) {
        find(0, fmt::format("epoch {} has {} values and others {}: it does not count", name,
                            steps.size(), most));
        continue;
      }
      const double sum = std::accumulate(steps.begin(), steps.end(), 0.0);
      seconds.push_back(sum / static_cast<double>(steps.size()) * metric.steps);
    }
    return seconds;
  }

  /// More epochs than the log names are no epochs.
  void compare_with_names(std::size_t values) {
    if (named_.count() == 0 || values <= named_.count()) return;
    find(0,
         fmt::format("{} values for {} epoch(s) that the log names; are these steps, or do several "
                     "processes print? for steps write --metric 'seconds=... *STEPS' or --bench "
                     "throughput",
                     values, named_.count()));
  }

  void set_values(const LogMetric& metric, const Found& found, ImportedCase& one) {
    const std::string& column = metric.column;
    if (found.bad || found.numbers.empty()) {
      one.row.set("status", "failed");
      one.row.set("note", fmt::format("the log has no {} where it should", column));
      return;
    }
    if (metric.steps > 0) {
      one.seconds = epochs_of_steps(metric, found);
      one.row.set("note", fmt::format("mean step x {:g} steps", metric.steps));
      return;
    }
    if (is_epoch(schema_) && column == "seconds") compare_with_names(found.numbers.size());
    for (const double value : found.numbers) {
      one.seconds.push_back(seconds_behind(file_, one.row, column, value));
    }
  }

  const std::string& file_;
  const Schema& schema_;
  const std::vector<LogMetric>& metrics_;
  const Settings& settings_;
  std::vector<Found> found_;  // by each of metrics_
  NamedEpochs named_;
  ImportedFile result_;
};

/// Takes "*STEPS" off the end of an expression: "took ([0-9.]+) *5005" or "...)*5005".
double steps_behind(std::string& expression) {
  const std::size_t star = expression.rfind('*');
  if (star == std::string::npos || star == 0) return 0;
  const char before = expression[star - 1];
  const std::string steps = expression.substr(star + 1);
  if ((before != ' ' && before != ')') || !is_count(steps)) return 0;
  expression.erase(expression.find_last_not_of(' ', star - 1) + 1);
  return decimal_of(steps).value_or(0);
}

}  // namespace

std::vector<LogMetric> parse_metrics(const std::vector<std::string>& texts, const Schema& schema) {
  std::vector<std::string_view> valid = value_columns(schema);
  std::ranges::copy(describing_columns(schema), std::back_inserter(valid));
  std::vector<LogMetric> metrics;
  std::size_t carriers = 0;
  for (const std::string& text : texts) {
    const std::string place = "--metric " + text;
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      fail<UsageError>("{}: write column=expression, as seconds='took ([0-9.]+) s'", place);
    }
    const std::string name = text.substr(0, equals);
    const std::size_t colon = name.find(':');
    LogMetric& metric = metrics.emplace_back();
    metric.column = name.substr(0, colon);
    if (std::ranges::find(valid, metric.column) == valid.end()) {
      fail<UsageError>("{}: {}", place, unknown_name("column", metric.column, valid));
    }
    for (std::size_t i = 0; i + 1 < metrics.size(); ++i) {
      const bool adds_up = metric.column.ends_with("_seconds");
      if (metrics[i].column == metric.column && !adds_up) {
        fail<UsageError>("{}: named twice", place);
      }
    }
    if (colon != std::string::npos) {
      const std::string unit = name.substr(colon + 1);
      metric.per_second = metric.column == "seconds" && unit == "steps/s";
      if (!metric.per_second) metric.factor = unit_factor(place, metric.column, unit);
    }
    metric.expression = text.substr(equals + 1);
    metric.steps = steps_behind(metric.expression);
    if (metric.steps > 0 && (metric.column != "seconds" || !is_epoch(schema))) {
      fail<UsageError>("{}: *STEPS makes epochs of seconds, in epoch.csv alone", place);
    }
    metric.pattern.emplace(place, metric.expression);
    carriers += carries_values(schema, metric.column) ? 1 : 0;
  }
  if (carriers != 1) {
    fail<UsageError>("--metric: exactly one carries the values of {}; valid: {}", schema.file,
                     fmt::join(value_columns(schema), ", "));
  }
  return metrics;
}

ImportedFile read_log(std::string_view text, const std::string& file, const Schema& schema,
                      const std::vector<LogMetric>& metrics, const Settings& settings) {
  return LogReader(file, schema, metrics, settings).read(text);
}

}  // namespace scalebench
