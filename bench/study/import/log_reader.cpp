// SPDX-License-Identifier: Apache-2.0
// Reads logs by patterns: those of configs/presets.toml, or a user's own (--metric). Where no
// epoch's time is printed it is the mean step times the epoch's steps, or its images over images a
// second; what a log does not hold is asked for, never guessed.
#include <fmt/format.h>

#include <algorithm>
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
constexpr std::string_view kOfTime[]{"step_seconds",     "mean_step_seconds", "epoch_seconds",
                                     "images_per_s",     "images_per_s_each", "images_per_s_so_far",
                                     "run_images_per_s", "run_seconds"};
constexpr std::string_view kNoNumbers[]{"epoch", "epoch_name", "local_rank", "loss", "resumed"};

bool has_time(const Line& line) {
  return std::ranges::any_of(kOfTime,
                             [&](std::string_view says) { return said_in(line, says) != nullptr; });
}

/// Of an epoch's steps so far, as ranks print it at one of them.
struct MeanSoFar {
  double step = -1, sum = 0, ranks = 0;
  double mean() const { return sum / ranks; }
};

/// One epoch while it is read.
struct EpochSoFar {
  std::string name;
  std::size_t last_line = 0;
  double step = -1, steps = 0;
  double interval = std::numeric_limits<double>::infinity();  // between two steps that are printed
  MeanSoFar first, last;
  double unit_seconds = std::nan("");
  double printed_seconds = std::nan("");
  double accuracy = std::nan("");

  /// Whether its mean is that of all its steps, but those after the last line that is printed.
  /// Where these could be many, something has to follow.
  bool whole(bool is_last) const {
    if (!std::isnan(printed_seconds)) return true;
    const double left = std::isfinite(interval) ? interval : 0.01 * steps;
    const bool followed = !is_last || !std::isnan(accuracy);
    return steps > 0 && last.ranks > 0 && last.step + left >= steps &&
           (followed || left < 0.05 * steps);
  }
  /// A printed second is half a second wrong; the same from its parts, where they agree, is not.
  double seconds() const {
    if (std::isnan(printed_seconds)) return last.mean() * steps;
    const double of_parts = unit_seconds * steps;
    return std::abs(of_parts - printed_seconds) <= 0.5 + 0.02 * printed_seconds ? of_parts
                                                                                : printed_seconds;
  }
  /// The mean of the steps from the first to the last that is printed; NaN: the digits do not say.
  double seconds_between() const {
    // Of every tenth step versions name 0, 10 and 20, or 1, 11 and 21.
    const bool from_one = first.step > 0 && std::fmod(first.step - 1, interval) == 0;
    const double before = from_one ? first.step : first.step + 1, others = last.step - first.step;
    const double mean = (last.mean() * (before + others) - first.mean() * before) / others;
    const double rounding = 0.0005 * (2 * before + others) / others;
    return rounding <= 0.05 * mean ? mean : std::nan("");
  }
};

/// The case takes the accuracies of its epochs where each has one, and when its target was reached.
void add_accuracies(ImportedCase& one, const std::vector<double>& accuracies) {
  if (!accuracies.empty()) one.row.set("test_accuracy", accuracies.back());
  if (accuracies.size() != one.seconds.size()) return;
  const double target = number_in(one.row, "target_accuracy");
  const auto reached =
      std::ranges::find_if(accuracies, [&](double accuracy) { return accuracy >= target; });
  if (reached != accuracies.end()) {
    const auto epoch = reached - accuracies.begin() + 1;
    set_where_empty(one.row, "epochs_to_target", std::to_string(epoch));
  }
  one.accuracies = accuracies;
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
    if (text("epoch")) enter(std::string(*text("epoch")), line.number);
    if (text("epoch_name")) names_.emplace(*text("epoch_name"));
    if (text("local_rank")) local_ranks_.emplace(*text("local_rank"));
    for (const Said& said : line_) take_word(said, line.number);
    any_time_ |= has_time(line_);
    if (epoch_ != nullptr) take_epoch(line.number);
    if (number("run_seconds") > 0 && number("run_epochs") > 0) {
      ends_.emplace(number("run_seconds"), number("run_epochs"));
      if (ends_.size() > 1) refuse_second(line.number);
    }
    if (const double rate = number("run_images_per_s"); rate > 0) {
      if (std::abs(rate_so_far_ / rate - 1) > 0.02) refuse_second(line.number);  // no other rank's
      rate_so_far_ = rate;
    }
    if (text("resumed")) {
      fail<UsageError>("{}:{}: a resumed training: its time is of fewer epochs than it names",
                       file_, line.number);
    }
    take_step();
  }

  /// A second training would pass for epochs of the first. Several ranks may print the same ones.
  void refuse_second(std::size_t line) const {
    if (local_ranks_.size() > 1) return;
    fail<UsageError>("{}:{}: a second training is in it; give each a file of its own", file_, line);
  }

  void take_word(const Said& said, std::size_t line) {
    const std::string& says = said.pattern->says;
    std::vector<double>& found = found_[said.pattern];
    if (std::ranges::count(kNoNumbers, says) > 0) return;
    if (said.pattern->is_fact) {
      const std::optional<double> number = number_in_line(said.text, "");
      const bool is_written_anew = number && (is_count_column(says) || said.pattern->factor != 1);
      const std::string value = is_written_anew ? fmt::format("{}", *number * said.pattern->factor)
                                                : std::string(said.text);
      require_value(fmt::format("{}:{}", file_, line), says, value);
      return note(says, value, line);
    }
    const double number = number_of(said);
    const bool is_value = carries_values(schema_, says);
    const bool is_share = says != "accuracy" || (number >= 0 && number <= 1);
    if (!std::isfinite(number) || (is_value && number <= 0) || (!is_share && !is_own())) {
      are_pairs_ &= !is_value && says != "accuracy";
      return find(line, std::isnan(number) ? no_number(says, said.text)
                                           : fmt::format("{} is {}", says, said.text));
    }
    if (!is_share) {
      fail<UsageError>(
          "{}:{}: test_accuracy is {}, and a share is from 0 to 1; for percent write --metric "
          "'test_accuracy:%=...'",
          file_, line, number);
    }
    if (is_value && start_line_ == 0) start_line_ = line;
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
  void enter(const std::string& name, std::size_t line) {
    for (std::size_t back = 1; back <= std::min(std::size_t{2}, epochs_.size()); ++back) {
      epoch_ = &epochs_[epochs_.size() - back];
      if (epoch_->name == name) return;
    }
    if (!names_.emplace(name).second) refuse_second(line);
    epoch_ = &epochs_.emplace_back();
    epoch_->name = name;
  }

  void take_epoch(std::size_t line) {
    EpochSoFar& epoch = *epoch_;
    const double step = number("step"), steps = number("steps");
    const bool at_end = std::isnan(step) || step == steps;
    const bool begins = text("epoch") && !(step > epoch.first.step || step >= epoch.step);
    if (begins && epoch.whole(/*is_last=*/false)) refuse_second(line);
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
    }
    if (const double mean = number("mean_step_seconds"); mean > 0) {
      if (epoch.first.step < 0) epoch.first.step = step;
      if (step > epoch.last.step) epoch.last = {step};
      for (MeanSoFar* const at : {&epoch.first, &epoch.last}) {
        if (at->step != step) continue;
        at->sum += mean;
        at->ranks += 1;
      }
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
      bool has_means = false;
      for (const EpochSoFar& epoch : epochs_) {
        if (epoch.last.ranks == 0) continue;
        has_means = true;
        const double seconds = epoch.seconds_between();
        if (seconds > 0) {
          values_.push_back(seconds);
        } else {
          find(epoch.last_line,
               fmt::format("{} of epoch {} is printed: no mean between two",
                           epoch.first.step == epoch.last.step ? "one step" : "too little",
                           epoch.name));
        }
      }
      if (has_means && values_.empty()) return;
      set_steps(one);
      return leave_out_start(one);
    }
    for (const auto& [seconds, epochs] : ends_) {
      values_.push_back(seconds / epochs);
      row.set("note", fmt::format("mean of {:g} epochs, with what lies between them", epochs));
    }
    std::vector<double> accuracies = epochs_.empty() ? accuracies_ : add_whole_epochs(one);
    if (epochs_.empty()) {
      set_steps(one);
    } else if (!accuracies.empty()) {
      compare_images(row, epochs_.back().steps);
      const bool printed = std::ranges::any_of(
          epochs_, [](const EpochSoFar& epoch) { return !std::isnan(epoch.printed_seconds); });
      if (!printed) row.set("note", "mean step x steps of an epoch, without evaluation");
    }
    if (!are_pairs_) accuracies.clear();  // nobody knows of which epoch each is
    add_accuracies(one, accuracies);
  }

  /// Steps times images of a step are the images of an epoch, but for the last step.
  void compare_images(const ResultRow& row, double steps) {
    const double samples = number_in(row, "samples"), batch = number_in(row, "global_batch");
    const double all = steps * batch;
    if (steps == samples || !(all > 0 && std::abs(all - samples) > batch + 0.01 * samples)) return;
    find(0, fmt::format("{} steps of {} images are {}, and samples is {}", steps, batch, all,
                        samples));
  }

  /// A first step that compiles, or waits for its data, is none of those that follow.
  void leave_out_start(ImportedCase& one) {
    constexpr double kMuchLonger = 3;
    if (one.seconds.size() < 2) return;
    const double times =
        one.seconds.front() / median_of({one.seconds.begin() + 1, one.seconds.end()});
    if (!(times > kMuchLonger)) return;
    one.seconds.erase(one.seconds.begin());
    one.row.add_note(fmt::format("the first value, {:.1f} times the others, is left out", times));
    if (is_own()) find(start_line_, one.row.get("note"));
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
      const bool counts_images = std::ranges::none_of(preset_.patterns, [&](const Pattern& one) {
        return one.says == "steps_per_s" && !found_.contains(&one);
      });
      if (counts_images) return {rate_so_far_};
      fail<UsageError>(
          "{}: samples a second stand without steps a second: a version of {} counts steps there{}",
          file_, preset_.reads,
          is_epoch_ ? "" : "; its epochs are read without --bench throughput");
    }
    const double ranks = number_in(row, "ranks");
    if (!(ranks > 0)) fail<UsageError>("{}: ranks is not in it; add --set ranks=...", file_);
    std::vector<double> rates = rates_each_;
    for (double& rate : rates) rate *= ranks;
    return rates;
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
  bool are_pairs_ = true;                                // values and accuracies: none was left out
  std::size_t start_line_ = 0;                           // of the first value
  std::map<const Pattern*, std::vector<double>> found_;  // in our units
  std::map<std::string, std::string, std::less<>> facts_;  // by column
  std::set<std::string> conflicts_;                        // columns of which it says two things
  std::set<std::string> local_ranks_, names_;              // the names of epochs
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
