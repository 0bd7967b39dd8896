// SPDX-License-Identifier: Apache-2.0
// Reads logs by patterns: those of configs/presets.toml, or a user's own (--metric). Where no
// epoch's time is printed it is the mean step times the epoch's steps, or its images over images a
// second; what a log does not hold is asked for, never guessed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <set>

#include "bench/measure/statistics.hpp"
#include "bench/study/import/kinds.hpp"
#include "bench/study/import/presets.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

// Words of kSays.
constexpr std::string_view kOfTime[]{"step_seconds", "mean_step_seconds", "epoch_seconds",
                                     "images_per_s", "images_per_s_each", "images_per_s_so_far",
                                     "run_seconds"};
constexpr std::string_view kNoNumbers[]{"epoch", "epoch_name", "local_rank", "loss"};

bool has_time(const Line& line) {
  return std::ranges::any_of(kOfTime,
                             [&](std::string_view says) { return said_in(line, says) != nullptr; });
}

/// One epoch while it is read.
struct EpochSoFar {
  std::string name;
  std::size_t last_line = 0;
  double step = -1, steps = 0;
  double interval = std::numeric_limits<double>::infinity();  // between two steps that are printed
  double mean_sum = 0, means = 0;  // of the ranks that printed it, at `step`
  double unit_seconds = std::nan("");
  double printed_seconds = std::nan("");
  double accuracy = std::nan("");

  /// Whether its mean is that of all its steps, but those after the last line that is printed.
  /// Where these could be many, something has to follow.
  bool whole(bool is_last) const {
    if (!std::isnan(printed_seconds)) return true;
    const double left = std::isfinite(interval) ? interval : 0.01 * steps;
    const bool followed = !is_last || !std::isnan(accuracy);
    return means > 0 && steps > 0 && step + left >= steps && (followed || left < 0.05 * steps);
  }
  /// A printed second is half a second wrong; the same from its parts, where they agree, is not.
  double seconds() const {
    if (std::isnan(printed_seconds)) return mean_sum / means * steps;
    const double of_parts = unit_seconds * steps;
    return std::abs(of_parts - printed_seconds) <= 0.5 + 0.02 * printed_seconds ? of_parts
                                                                                : printed_seconds;
  }
};

// Far above what anybody has published of one device (configs/published.csv), far below what a step
// makes of an epoch; images of 28 x 28 are some hundred times smaller than those of ImageNet.
constexpr double kFastestOnImagenet = 50'000;
constexpr double kFastestOnAnything = 10'000'000;
constexpr double kSamplesOfImagenet = 1281167;

/// Throws for epochs whose ranks would train more images a second than any device can: a step that
/// is taken for an epoch is some thousand times too fast, and looks like a result.
void require_possible(const ImportedCase& one, const std::string& file) {
  if (one.row.schema().file != epoch_schema().file || one.seconds.empty()) return;
  const double seconds = median_of(one.seconds);
  const double ranks = std::max(1.0, number_in(one.row, "ranks"));
  const double rate = number_in(one.row, "samples") / seconds / ranks;
  const bool imagenet = number_in(one.row, "samples") == kSamplesOfImagenet;
  const double fastest = imagenet ? kFastestOnImagenet : kFastestOnAnything;
  if (!(rate > fastest)) return;
  fail<UsageError>(
      "{}: epochs of {:g} s and {} images would be {:.0f} images/s on each rank, and no device "
      "comes near {:.0f}; are these steps? write --bench throughput",
      file, seconds, one.row.get("samples"), rate, fastest);
}

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

/// The case takes the accuracies of its epochs where each has one, and when its target was reached.
void add_accuracies(ImportedCase& one, const std::vector<double>& accuracies) {
  const double target = number_in(one.row, "target_accuracy");
  const auto reached =
      std::ranges::find_if(accuracies, [&](double accuracy) { return accuracy >= target; });
  if (reached != accuracies.end()) {
    const auto epoch = reached - accuracies.begin() + 1;
    set_where_empty(one.row, "epochs_to_target", std::to_string(epoch));
  }
  if (accuracies.size() == one.seconds.size()) one.accuracies = accuracies;
}

class LogReader {
 public:
  LogReader(const LogGuide& guide, const std::string& file, const Settings& settings)
      : presets_(guide.presets),
        preset_(row_named(guide.presets, &Preset::name, "preset", guide.preset)),
        file_(file),
        schema_(*guide.schema),
        settings_(settings),
        is_epoch_(schema_.file == epoch_schema().file) {}

  ImportedFile read(std::string_view text) && {
    const std::vector<ForeignLine> lines = lines_of(text, file_, result_.findings);
    for (const ForeignLine& line : lines) take(line);
    if (is_own()) {
      for (const Pattern& metric : preset_.patterns) {
        if (metric.says == "epoch_name" || found_.contains(&metric)) continue;
        find(0, fmt::format("no line matches '{}'", metric.expression.expression()));
      }
      any_time_ = !values_.empty() || has_rates();
    } else if (!any_time_ && !lines.empty()) {
      refuse(lines);
    }
    if (any_time_) add_case();
    return std::move(result_);
  }

 private:
  /// By metrics, not by a preset.
  bool is_own() const { return preset_.name.empty(); }

  void find(std::size_t line, const std::string& what) { result_.findings.push_back({line, what}); }

  std::optional<std::string_view> text(std::string_view says) const {
    const Said* const said = said_in(line_, says);
    return said == nullptr ? std::nullopt : std::optional(said->text);
  }
  /// NaN: the line does not say.
  double number(std::string_view says) const {
    const Said* const said = said_in(line_, says);
    return said == nullptr ? std::nan("") : number_of(*said);
  }
  double number_of(const Said& said) const {
    const double number = number_in_line(said.text, text_).value_or(std::nan(""));
    return said.pattern->per_second ? 1 / number : number * said.pattern->factor;
  }

  void take(const ForeignLine& line) {
    text_ = line.text;
    line_ = read_line(preset_, line);
    if (line_.empty()) return;
    if (text("epoch")) enter(std::string(*text("epoch")));
    if (text("epoch_name")) names_.emplace(*text("epoch_name"));
    if (text("local_rank")) local_ranks_.emplace(*text("local_rank"));
    for (const Said& said : line_) take_word(said, line.number);
    any_time_ |= has_time(line_);
    if (epoch_ != nullptr) take_epoch(line.number);
    if (number("run_seconds") > 0 && number("run_epochs") > 0) {
      ends_.emplace(number("run_seconds"), number("run_epochs"));
    }
    take_step();
  }

  void take_word(const Said& said, std::size_t line) {
    const std::string& says = said.pattern->says;
    std::vector<double>& found = found_[said.pattern];
    if (std::ranges::count(kNoNumbers, says) > 0) return;
    if (said.pattern->is_fact) {
      const std::optional<double> number = number_in_line(said.text, "");
      const std::string value =
          number ? fmt::format("{}", *number * said.pattern->factor) : std::string(said.text);
      require_value(fmt::format("{}:{}", file_, line), says, value);
      return note(says, value, line);
    }
    const double number = number_of(said);
    if (std::isnan(number)) return find(line, no_number(says, said.text));
    const bool is_none = carries_values(schema_, says) && number <= 0;
    if (is_none) return find(line, fmt::format("{} is {}", says, said.text));
    if (says == "accuracy" && (number < 0 || number > 1)) {
      fail<UsageError>(
          "{}:{}: test_accuracy is {}, and a share is from 0 to 1; for percent write --metric "
          "'test_accuracy:%=...'",
          file_, line, number);
    }
    found.push_back(number);
    if (says == "seconds") values_.push_back(number);
    if (says == "accuracy") accuracies_.push_back(number);
  }

  void note(std::string_view column, std::string_view value, std::size_t line) {
    const auto [at, is_new] = facts_.emplace(column, value);
    if (is_new || at->second == value || !conflicts_.emplace(column).second) return;
    find(line, fmt::format("{}: the log says {} and {}", column, at->second, value));
  }

  /// Lines of several processes may be out of order by one epoch.
  void enter(const std::string& name) {
    for (std::size_t back = 1; back <= std::min(std::size_t{2}, epochs_.size()); ++back) {
      epoch_ = &epochs_[epochs_.size() - back];
      if (epoch_->name == name) return;
    }
    epoch_ = &epochs_.emplace_back();
    epoch_->name = name;
  }

  void take_epoch(std::size_t line) {
    EpochSoFar& epoch = *epoch_;
    const double step = number("step"), steps = number("steps");
    const bool at_end = std::isnan(step) || step == steps;
    if (text("epoch_seconds")) {
      // A second bar is that of an evaluation, one without a loss that of a prediction, which may
      // stand before the epoch's own; and one before the end will be overwritten.
      const bool predicts = !std::isnan(step) && !text("loss");
      if (!std::isnan(epoch.printed_seconds) || predicts || !at_end) return;
      epoch.printed_seconds = number("epoch_seconds");
      epoch.unit_seconds = number("unit_seconds");
    }
    epoch.last_line = line;
    if (steps > 0) epoch.steps = steps;
    if (step > epoch.step) {
      if (epoch.step >= 0) epoch.interval = std::min(epoch.interval, step - epoch.step);
      epoch.step = step;
      epoch.mean_sum = epoch.means = 0;
    }
    if (const double mean = number("mean_step_seconds"); mean > 0 && step == epoch.step) {
      epoch.mean_sum += mean;
      epoch.means += 1;
    }
    if (const double accuracy = number("accuracy"); !std::isnan(accuracy)) {
      epoch.accuracy = accuracy;
    }
  }

  /// Times of steps and rates, which need no epoch.
  void take_step() {
    const double step = number("step"), seconds = number("step_seconds");
    const double rate = number("images_per_s"), each = number("images_per_s_each");
    if (seconds > 0 || rate > 0 || each > 0) {
      const std::string at = fmt::format("{}/{}", epoch_ == nullptr ? "" : epoch_->name, step);
      // Another process's line of the same step.
      if (!std::isnan(step) && at == last_step_) return;
      last_step_ = at;
    }
    if (seconds > 0) {
      if (!is_epoch_) values_.push_back(seconds);
      if (const double batch = number("global_batch"); batch > 0) {
        rates_.push_back(batch / seconds);
      }
    }
    if (rate > 0) rates_.push_back(rate);
    if (each > 0) rates_each_.push_back(each);
    if (const double mean = number("images_per_s_so_far"); mean > 0) rate_so_far_ = mean;
  }

  [[noreturn]] void refuse(const std::vector<ForeignLine>& lines) const;

  void add_case() {
    ImportedCase one{ResultRow(schema_), {}};
    describe(one.row);
    set_values(one);
    if (one.seconds.empty()) return;
    if (const std::string problem = check_states(one); !problem.empty()) find(0, problem);
    require_possible(one, file_);
    result_.launches.emplace_back().cases.push_back(one);
  }

  void set_values(ImportedCase& one) {
    ResultRow& row = one.row;
    if (!is_epoch_) {
      for (const EpochSoFar& epoch : epochs_) {
        if (epoch.means > 0) values_.push_back(epoch.mean_sum / epoch.means);
      }
      set_steps(one);
      return leave_out_start(one);
    }
    take_end(row);
    const std::vector<double> accuracies = epochs_.empty() ? accuracies_ : add_whole_epochs(one);
    if (epochs_.empty()) {
      set_steps(one);
    } else if (!accuracies.empty()) {
      const bool printed = std::ranges::any_of(
          epochs_, [](const EpochSoFar& epoch) { return !std::isnan(epoch.printed_seconds); });
      if (!printed) row.set("note", "mean step x steps of an epoch, without evaluation");
    }
    add_accuracies(one, accuracies);
    if (!accuracies.empty()) row.set("test_accuracy", accuracies.back());
  }

  /// A training's time over its epochs, where the log has it once, at its end.
  void take_end(ResultRow& row) {
    if (ends_.size() > 1) {
      fail<UsageError>("{}: {} trainings end in it; give each a file of its own", file_,
                       ends_.size());
    }
    for (const auto& [seconds, epochs] : ends_) {
      values_.push_back(seconds / epochs);
      row.set("note", fmt::format("mean of {:g} epochs, with what lies between them", epochs));
    }
  }

  /// A first step that compiles, or waits for its data, is none of those that follow.
  static void leave_out_start(ImportedCase& one) {
    constexpr double kMuchLonger = 3;
    if (one.seconds.size() < 2) return;
    const double first = one.seconds.front();
    const double others = median_of({one.seconds.begin() + 1, one.seconds.end()});
    if (first <= kMuchLonger * others) return;
    one.seconds.erase(one.seconds.begin());
    one.row.add_note(
        fmt::format("the first value, {:.1f} times the others, is left out", first / others));
  }

  /// More epochs than the log names are no epochs.
  void compare_with_names() {
    if (names_.empty() || values_.size() <= names_.size()) return;
    find(0,
         fmt::format("{} values for {} epoch(s) that the log names; are these steps, or do several "
                     "processes print? for steps write --bench throughput",
                     values_.size(), names_.size()));
  }

  /// What the log says of the training, what the user adds, and what follows from both.
  void describe(ResultRow& row) {
    for (const std::string& column : conflicts_) facts_.erase(column);
    for (const auto& [column, value] : facts_) {
      if (schema_.has(column)) row.set(column, value);
    }
    // Of a state the mean; several metrics of one are its parts.
    for (const auto& [metric, numbers] : found_) {
      const bool is_state = metric->says.ends_with("_seconds") && schema_.has(metric->says);
      if (!is_state || numbers.empty()) continue;
      const double others = row.get(metric->says).empty() ? 0 : number_in(row, metric->says);
      row.set(metric->says, others + summarise(numbers).mean);
    }
    const double global = fact("global_batch");
    const auto here = static_cast<int>(local_ranks_.size());
    const double given = decimal_of(setting(settings_, "ranks")).value_or(0);
    if (here > 0 && std::fmod(given, here) > 0) {
      fail<UsageError>(
          "--set ranks={:g}: {} is of {} ranks, and of a host of a training of a multiple", given,
          file_, here);
    }
    if (here > 0 && given == 0) set_where_empty(row, "ranks", std::to_string(here));
    if (global > 0 && fact("batch") > 0 && row.get("ranks").empty() && given == 0) {
      row.set("ranks", std::llround(global / fact("batch")));
    }
    apply(settings_, row, file_);
    complete_training(row);
    const double ranks = number_in(row, "ranks");
    if (!is_epoch_ && ranks > 0 && std::fmod(global, ranks) == 0) {
      set_where_empty(row, "batch", fmt::format("{}", global / ranks));
    }
    if (is_epoch_ && ranks > 1 && !preset_.sync.empty()) {
      set_where_empty(row, "gradient_sync", preset_.sync);
    }
  }

  double fact(std::string_view column) const {
    const auto found = facts_.find(column);
    return decimal_of(found == facts_.end() ? "" : found->second).value_or(std::nan(""));
  }

  /// The seconds of whole epochs become values of the case; the accuracies of these are returned.
  std::vector<double> add_whole_epochs(ImportedCase& one) {
    std::vector<double> accuracies;
    for (const EpochSoFar& epoch : epochs_) {
      if (!epoch.whole(&epoch == &epochs_.back())) {
        const std::string end = epoch.step >= 0 && epoch.steps > 0
                                    ? fmt::format("ends at step {} of {}", epoch.step, epoch.steps)
                                    : "has no end";
        find(epoch.last_line, fmt::format("epoch {} {}: it does not count", epoch.name, end));
        continue;
      }
      one.seconds.push_back(epoch.seconds());
      accuracies.push_back(epoch.accuracy);
    }
    if (accuracies.empty()) find(0, "no whole epoch in it; --bench throughput takes its steps");
    return accuracies;
  }

  /// Of all ranks. Throws where that is not known.
  std::vector<double> rates_of_all(const ResultRow& row) const {
    if (!rates_.empty()) return rates_;
    if (rates_each_.empty()) {
      const bool counts_images = !says("steps_per_s") || found_.contains(says("steps_per_s"));
      if (counts_images) return {rate_so_far_};
      fail<UsageError>(
          "{}: samples a second stand without steps a second: a version of {} that counts steps "
          "there; its epochs are read without --bench throughput",
          file_, preset_.reads);
    }
    const double ranks = number_in(row, "ranks");
    if (!(ranks > 0)) fail<UsageError>("{}: ranks is not in it; add --set ranks=...", file_);
    std::vector<double> rates = rates_each_;
    for (double& rate : rates) rate *= ranks;
    return rates;
  }

  /// Null: the preset has no such word.
  const Pattern* says(std::string_view word) const {
    const auto found = std::ranges::find(preset_.patterns, word, &Pattern::says);
    return found == preset_.patterns.end() ? nullptr : &*found;
  }

  bool has_rates() const { return !rates_.empty() || !rates_each_.empty() || rate_so_far_ > 0; }

  /// Steps, or what images a second make of a step or an epoch.
  void set_steps(ImportedCase& one) {
    one.seconds = values_;
    if (is_epoch_) compare_with_names();
    if (!one.seconds.empty()) return;
    if (!has_rates() && is_epoch_) {
      fail<UsageError>("{}: no line begins an epoch, so it is not known whose these times are",
                       file_);
    }
    if (!has_rates())
      fail<UsageError>("{}: {} says no steps; leave --bench out", file_, preset_.name);
    if (is_epoch_ && !(number_in(one.row, "samples") > 0)) {
      fail<UsageError>(
          "{}: no epochs are in it, only images or samples a second; add --set samples=... (of an "
          "epoch, 1281167 for ImageNet), or --bench throughput",
          file_);
    }
    for (const double rate : rates_of_all(one.row)) {
      one.seconds.push_back(seconds_behind(file_, one.row, "images_per_s", rate));
    }
    if (is_epoch_) one.row.set("note", "samples over the images a second that the log prints");
  }

  const std::vector<Preset>& presets_;
  const Preset& preset_;
  const std::string& file_;
  const Schema& schema_;
  const Settings& settings_;
  const bool is_epoch_;
  ImportedFile result_;

  Line line_;
  std::string_view text_;  // of that line
  bool any_time_ = false;
  std::map<const Pattern*, std::vector<double>> found_;    // in our units
  std::map<std::string, std::string, std::less<>> facts_;  // by column
  std::set<std::string> conflicts_;                        // columns of which it says two things
  std::set<std::string> local_ranks_, names_;              // the names of epochs, by --metric
  std::deque<EpochSoFar> epochs_;
  EpochSoFar* epoch_ = nullptr;
  std::set<std::pair<double, double>> ends_;  // of trainings: seconds and epochs
  std::string last_step_;
  std::vector<double> values_, accuracies_, rates_, rates_each_;
  double rate_so_far_ = std::nan("");
};

void LogReader::refuse(const std::vector<ForeignLine>& lines) const {
  for (const Preset& other : presets_) {
    for (const ForeignLine& one : lines) {
      if (&other == &preset_ || !has_time(read_line(other, one))) continue;
      fail<UsageError>("{}: no time of {} is in it; line {} is of --preset {}", file_, preset_.name,
                       one.number, other.name);
    }
  }
  fail<UsageError>("{}: no time of {} ({}) is in it; for other logs write --metric", file_,
                   preset_.name, preset_.reads);
}

}  // namespace

ImportedFile read_log(std::string_view text, const std::string& file, const LogGuide& guide,
                      const Settings& settings) {
  return LogReader(guide, file, settings).read(text);
}

}  // namespace scalebench
