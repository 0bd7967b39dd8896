// SPDX-License-Identifier: Apache-2.0
// Reads the logs of configs/presets.toml. Where no epoch's time is printed it is the mean step
// times the epoch's steps, or its images over images a second; what a log does not hold is asked
// for, never guessed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <set>

#include "bench/study/import/epochs.hpp"
#include "bench/study/import/kinds.hpp"
#include "bench/study/import/presets.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// A word of kSays: another one does not compile.
struct Says {
  consteval Says(const char* text) : word(text) {
    const std::string known = ' ' + std::string(kSays) + ' ';
    if (known.find(' ' + std::string(word) + ' ') == std::string::npos) throw "no word of kSays";
  }
  std::string_view word;
};

constexpr Says kOfTime[]{"step_seconds", "mean_step_seconds", "epoch_seconds",
                         "images_per_s", "images_per_s_each", "images_per_s_so_far"};
/// What is the same in the whole log, in columns of these names.
constexpr Says kFacts[]{"model", "ranks", "batch", "global_batch", "samples"};

struct Said {
  std::string_view text;
  double factor = 1;
};
/// What one line says, by words of kSays.
using Line = std::map<std::string_view, Said>;

class PresetLines {
 public:
  explicit PresetLines(const Preset& preset) {
    for (const Pattern& pattern : preset.patterns) {
      patterns_.emplace_back(&pattern, LinePattern(preset.name, pattern.expression));
    }
  }

  /// An expression that stands first in the table goes before others of its word.
  Line read(const ForeignLine& text) const {
    Line line;
    for (const auto& [pattern, expression] : patterns_) {
      if (line.contains(pattern->says)) continue;
      if (const auto group = expression.first_group(text)) {
        line[pattern->says] = {*group, pattern->factor};
      }
    }
    return line;
  }

 private:
  std::vector<std::pair<const Pattern*, LinePattern>> patterns_;
};

bool has_time(const Line& line) {
  return std::ranges::any_of(kOfTime, [&](Says says) { return line.contains(says.word); });
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

class PresetReader {
 public:
  PresetReader(const std::vector<Preset>& presets, const Preset& preset, const std::string& file,
               const Schema& schema, const Settings& settings)
      : presets_(presets),
        preset_(preset),
        file_(file),
        schema_(schema),
        settings_(settings),
        lines_(preset) {}

  ImportedFile read(std::string_view text) && {
    const std::vector<ForeignLine> lines = lines_of(text, file_, result_.findings);
    for (const ForeignLine& line : lines) take(line);
    if (!any_time_ && !lines.empty()) refuse(lines);
    if (any_time_) add_case();
    return std::move(result_);
  }

 private:
  void find(std::size_t line, const std::string& what) { result_.findings.push_back({line, what}); }

  std::optional<std::string_view> text(Says says) const {
    const auto found = line_.find(says.word);
    return found == line_.end() ? std::nullopt : std::optional(found->second.text);
  }
  /// NaN: the line does not say.
  double number(Says says) const {
    const auto found = line_.find(says.word);
    if (found == line_.end()) return std::nan("");
    const Said& said = found->second;
    return number_in_line(said.text, text_).value_or(std::nan("")) * said.factor;
  }

  void take(const ForeignLine& line) {
    text_ = line.text;
    line_ = lines_.read(line);
    if (line_.empty()) return;
    any_time_ |= has_time(line_);
    for (const Says fact : kFacts) note(fact, line.number);
    if (text("local_rank")) local_ranks_.emplace(*text("local_rank"));
    if (text("epoch")) enter(std::string(*text("epoch")));
    if (epoch_ != nullptr) take_epoch(line.number);
    take_step();
  }

  void note(Says fact, std::size_t line) {
    const auto said = text(fact);
    if (!said) return;
    const auto [at, is_new] = facts_.emplace(fact.word, *said);
    if (is_new || at->second == *said || !conflicts_.emplace(fact.word).second) return;
    find(line, fmt::format("{}: the log says {} and {}", fact.word, at->second, *said));
  }

  /// Lines of several processes may be out of order by one epoch.
  void enter(const std::string& name) {
    for (std::size_t back = 1; back <= 2 && back <= epochs_.size(); ++back) {
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
    const double rate = number("images_per_s");
    if (seconds > 0 || rate > 0) {
      const std::string at = fmt::format("{}/{}", epoch_ == nullptr ? "" : epoch_->name, step);
      // Another process's line of the same step.
      if (!std::isnan(step) && at == last_step_) return;
      last_step_ = at;
    }
    if (seconds > 0) {
      steps_.push_back(seconds);
      if (const double batch = number("global_batch"); batch > 0) {
        rates_.push_back(batch / seconds);
      }
    }
    if (rate > 0) rates_.push_back(rate);
    if (const double each = number("images_per_s_each"); each > 0) rates_each_.push_back(each);
    if (const double mean = number("images_per_s_so_far"); mean > 0) rate_so_far_ = mean;
    if (text("accuracy")) accuracy_ = number("accuracy");
  }

  [[noreturn]] void refuse(const std::vector<ForeignLine>& lines) const;

  void add_case() {
    ImportedCase one{ResultRow(schema_), {}};
    ResultRow& row = one.row;
    describe(row);
    const bool epochs = schema_.file == epoch_schema().file;
    std::vector<double> accuracies;
    if (epochs) accuracies = add_whole_epochs(one);
    if (!accuracies.empty()) {
      add_accuracies(one, accuracies);
      const EpochSoFar& last = epochs_.back();
      const bool printed = std::ranges::any_of(
          epochs_, [](const EpochSoFar& epoch) { return !std::isnan(epoch.printed_seconds); });
      if (!printed) row.set("note", "mean step x steps of an epoch, without evaluation");
      compare_images(row, last.steps);
    } else if (epochs && epochs_.empty()) {
      set_seconds_of_rates(one);
    } else if (!epochs) {
      set_steps(one);
    }
    if (one.seconds.empty()) return;
    if (epochs) {
      row.set("test_accuracy", accuracies.empty() ? accuracy_ : accuracies.back());
    }
    require_possible(one, file_);
    result_.launches.emplace_back().cases.push_back(one);
  }

  /// What the log says of the training, what the user adds, and what follows from both.
  void describe(ResultRow& row) {
    const bool epochs = schema_.file == epoch_schema().file;
    for (const auto& [column, value] : facts_) {
      const bool there = epochs || column == "model" || column == "ranks" || column == "batch";
      if (there && !conflicts_.contains(column)) row.set(column, value);
    }
    const double global = fact("global_batch");
    if (epochs && global > 0) set_where_empty(row, "global_batch", fmt::format("{}", global));
    const auto here = static_cast<int>(local_ranks_.size());
    const double given = decimal_of(setting(settings_, "ranks")).value_or(std::nan(""));
    if (here > 0 && std::isnan(given)) set_where_empty(row, "ranks", std::to_string(here));
    if (here > 0 && std::fmod(given, here) > 0) {
      fail<UsageError>(
          "--set ranks={:g}: {} is of {} ranks, and of a host of a training of a multiple", given,
          file_, here);
    }
    if (row.get("ranks").empty() && std::isnan(given) && global > 0 && fact("batch") > 0) {
      row.set("ranks", std::llround(global / fact("batch")));
    }
    apply(settings_, row, file_);
    complete_training(row);
    const double ranks = number_in(row, "ranks");
    if (!epochs && ranks > 0 && std::fmod(global, ranks) == 0) {
      set_where_empty(row, "batch", fmt::format("{}", global / ranks));
    }
    if (epochs && ranks > 1 && !preset_.sync.empty()) {
      set_where_empty(row, "gradient_sync", preset_.sync);
    }
  }

  double fact(std::string_view column) const {
    const auto found = facts_.find(column);
    const bool known = found != facts_.end() && !conflicts_.contains(column);
    return known ? decimal_of(found->second).value_or(std::nan("")) : std::nan("");
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
    if (accuracies.empty() && !epochs_.empty()) {
      result_.remarks.push_back(
          fmt::format("{}: no whole epoch in it; --bench throughput takes its steps", file_));
    }
    return accuracies;
  }

  /// Steps times images of a step are the images of an epoch, but for the last step.
  void compare_images(ResultRow& row, double steps) {
    const double samples = number_in(row, "samples"), batch = number_in(row, "global_batch");
    if (!(steps > 0) || !(samples > 0) || steps == samples) return;
    if (!(batch > 0)) {
      // The only batch that makes so many steps of so many images, if there is one.
      const double largest = std::floor((samples - 1) / (steps - 1));
      const double least = std::ceil(samples / steps);
      if (steps > 1 && least == largest) row.set("global_batch", least);
      return complete_training(row);
    }
    if (std::abs(steps * batch - samples) <= batch + 0.01 * samples) return;
    find(0, fmt::format("{} steps of {} images are {}, and samples is {}", steps, batch,
                        steps * batch, samples));
  }

  /// Of all ranks. Throws where that is not known.
  std::vector<double> rates_of_all(const ResultRow& row) const {
    if (!rates_.empty()) return rates_;
    if (rates_each_.empty()) return {rate_so_far_};
    const double ranks = number_in(row, "ranks");
    if (!(ranks > 0)) fail<UsageError>("{}: ranks is not in it; add --set ranks=...", file_);
    std::vector<double> rates = rates_each_;
    for (double& rate : rates) rate *= ranks;
    return rates;
  }

  bool has_rates() const { return !rates_.empty() || !rates_each_.empty() || rate_so_far_ > 0; }

  void set_seconds_of_rates(ImportedCase& one) const {
    if (!has_rates()) {
      fail<UsageError>("{}: no line begins an epoch, so it is not known whose these times are",
                       file_);
    }
    const double samples = number_in(one.row, "samples");
    if (!(samples > 0)) {
      fail<UsageError>(
          "{}: no epochs are in it, only images or samples a second; add --set samples=... (of an "
          "epoch, 1281167 for ImageNet), or --bench throughput",
          file_);
    }
    for (const double rate : rates_of_all(one.row)) one.seconds.push_back(samples / rate);
    one.row.set("note", "samples over the images a second that the log prints");
  }

  void set_steps(ImportedCase& one) const {
    one.seconds = steps_;
    if (!steps_.empty()) return;
    if (!has_rates())
      fail<UsageError>("{}: {} says no steps; leave --bench out", file_, preset_.name);
    for (const double rate : rates_of_all(one.row)) {
      one.seconds.push_back(seconds_behind(file_, one.row, "images_per_s", rate));
    }
  }

  const std::vector<Preset>& presets_;
  const Preset& preset_;
  const std::string& file_;
  const Schema& schema_;
  const Settings& settings_;
  PresetLines lines_;
  ImportedFile result_;

  Line line_;
  std::string_view text_;  // of that line
  bool any_time_ = false;
  std::map<std::string, std::string, std::less<>> facts_;  // by column
  std::set<std::string, std::less<>> conflicts_;           // columns of which it says two things
  std::set<std::string> local_ranks_;
  std::deque<EpochSoFar> epochs_;
  EpochSoFar* epoch_ = nullptr;
  std::string last_step_;
  std::vector<double> steps_, rates_, rates_each_;
  double rate_so_far_ = std::nan("");
  double accuracy_ = std::nan("");
};

void PresetReader::refuse(const std::vector<ForeignLine>& lines) const {
  for (const Preset& other : presets_) {
    const PresetLines patterns(other);
    for (const ForeignLine& one : lines) {
      if (&other == &preset_ || !has_time(patterns.read(one))) continue;
      fail<UsageError>("{}: no time of {} is in it; line {} is of --preset {}", file_, preset_.name,
                       one.number, other.name);
    }
  }
  fail<UsageError>("{}: no time of {} ({}) is in it; for other logs write --metric", file_,
                   preset_.name, preset_.reads);
}

}  // namespace

ImportedFile read_preset(std::string_view text, const std::string& file, const Schema& schema,
                         const std::vector<Preset>& presets, std::string_view preset,
                         const Settings& settings) {
  const Preset& row = row_named(presets, &Preset::name, "preset", preset);
  return PresetReader(presets, row, file, schema, settings).read(text);
}

}  // namespace scalebench
