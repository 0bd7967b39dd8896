// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "bench/study/import/epochs.hpp"
#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"

namespace scalebench {
namespace {

using nlohmann::json;

constexpr std::string_view kMark = ":::MLLOG ";

/// From an event's start to its stop, in seconds of one clock; where several processes log, from
/// the first start to the last stop.
struct Interval {
  double start = std::numeric_limits<double>::infinity();
  double stop = -std::numeric_limits<double>::infinity();
  double epochs = 1;     // that it holds
  std::size_t line = 0;  // where it starts

  bool whole() const { return stop > start && std::isfinite(start) && std::isfinite(stop); }
  bool holds(const Interval& other) const { return start <= other.start && other.stop <= stop; }
};

double number_of(const json& value) {
  return value.is_number() ? value.get<double>() : std::nan("");
}

/// One training, from run_start to run_stop.
struct MlperfRun {
  double start = std::nan(""), stop = std::nan("");
  std::string status;
  std::map<double, Interval> epochs, blocks, evaluations;  // by (first) epoch
  std::map<double, double> qualities;                      // by epoch

  /// Epochs where the log has them, else blocks of so many.
  const std::map<double, Interval>& parts() const { return epochs.empty() ? blocks : epochs; }

  /// Without the evaluations inside of it.
  double seconds(const Interval& part) const {
    double seconds = part.stop - part.start;
    for (const auto& [epoch, evaluation] : evaluations) {
      if (evaluation.whole() && part.holds(evaluation)) {
        seconds -= evaluation.stop - evaluation.start;
      }
    }
    return seconds / part.epochs;
  }

  double quality(double first, const Interval& part) const {
    const auto found = qualities.lower_bound(first);
    const bool inside = found != qualities.end() && found->first < first + part.epochs;
    return inside ? found->second : std::nan("");
  }
};

class MlperfReader {
 public:
  MlperfReader(const std::string& file, const Settings& settings, ImportedFile& result)
      : file_(file), settings_(settings), result_(result) {}

  void line(const ForeignLine& line) {
    const std::size_t mark = line.text.find(kMark);
    if (mark == std::string_view::npos) return;
    const json event = json_or_null(line.text.substr(mark + kMark.size()));
    const double time = number_of(member(event, "time_ms")) / 1e3;
    if (!std::isfinite(time)) return find(line.number, "no event of MLPerf's: it is left out");
    const std::string key = member_text(event, "key");
    if (key == "run_start") return begin(time);
    if (key == "run_stop") return end(time, member_text(member(event, "metadata"), "status"));
    if (run_.has_value()) take(key, time, event, line.number);
    const std::string value = member_text(event, "value");
    const bool over = run_ && !std::isnan(run_->stop);
    if (!value.empty()) (over ? later_ : facts_).emplace(key, value);
  }

  void finish() {
    if (run_) add_case();
  }

 private:
  /// Another process's line of the same start is none.
  void begin(double time) {
    if (run_ && std::isnan(run_->stop)) return;
    if (run_) add_case();
    run_.emplace().start = time;
  }

  void end(double time, const std::string& status) {
    if (!run_) return;
    run_->stop = time;
    run_->status = status;
  }

  void take(const std::string& key, double time, const json& event, std::size_t line) {
    const json& more = member(event, "metadata");
    const double epoch = number_of(member(more, "epoch_num"));
    if (key == "epoch_start" || key == "epoch_stop") {
      take(run_->epochs, epoch, key == "epoch_start", time, line);
    } else if (key == "eval_start" || key == "eval_stop") {
      take(run_->evaluations, epoch, key == "eval_start", time, line);
    } else if (key == "block_start" || key == "block_stop") {
      const double first = number_of(member(more, "first_epoch_num"));
      take(run_->blocks, first, key == "block_start", time, line);
      const double epochs = number_of(member(more, "epoch_count"));
      if (key == "block_start" && !std::isnan(first)) run_->blocks[first].epochs = epochs;
    } else if (key == "eval_accuracy" && !std::isnan(epoch)) {
      const double quality = number_of(member(event, "value"));
      if (quality >= 0 && quality <= 1) run_->qualities[epoch] = quality;
    }
  }

  static void take(std::map<double, Interval>& intervals, double epoch, bool start, double time,
                   std::size_t line) {
    if (std::isnan(epoch)) return;
    Interval& interval = intervals[epoch];
    if (start) {
      interval.start = std::min(interval.start, time);
      interval.line = line;
    } else {
      interval.stop = std::max(interval.stop, time);
    }
  }

  std::string fact(const char* key) const {
    const auto found = facts_.find(key);
    return found == facts_.end() ? "" : found->second;
  }

  std::vector<LoggedEpoch> whole_epochs() {
    std::vector<LoggedEpoch> whole;
    for (const auto& [first, part] : run_->parts()) {
      if (!part.whole()) {
        find(part.line,
             fmt::format("epoch {:g} has no end, or no start: it does not count", first));
      } else if (!(part.epochs >= 1) || !(run_->seconds(part) > 0)) {
        find(part.line, "a block that does not say of how many epochs it is: it does not count");
      } else {
        LoggedEpoch& epoch = whole.emplace_back();
        epoch.seconds = run_->seconds(part);
        epoch.test_accuracy = run_->quality(first, part);
      }
    }
    return whole;
  }

  void add_case() {
    // What follows a run is its own, too, unless it describes another submission.
    const bool of_next = later_.contains("submission_benchmark");
    if (!of_next) facts_.merge(later_);
    ImportedCase one{ResultRow(epoch_schema()), {}, {}};
    ResultRow& row = one.row;
    const std::vector<LoggedEpoch> whole = whole_epochs();
    describe(row);
    for (const LoggedEpoch& epoch : whole) one.seconds.push_back(epoch.seconds);
    run_.reset();
    if (of_next) facts_ = std::move(later_);
    later_.clear();
    if (whole.empty()) return;
    add_accuracies(one, whole);
    const auto last = std::ranges::find_if(
        whole.rbegin(), whole.rend(),
        [](const LoggedEpoch& epoch) { return !std::isnan(epoch.test_accuracy); });
    if (last != whole.rend()) row.set("test_accuracy", last->test_accuracy);
    require_possible(one, file_);
    result_.launches.emplace_back().cases.push_back(one);
  }

  void describe(ResultRow& row) const {
    const std::string benchmark = fact("submission_benchmark");
    const bool resnet = benchmark == "resnet";
    row.set("model", resnet ? "resnet50" : benchmark);
    if (resnet) row.set("dataset", "imagenet");
    if (is_count(fact("train_samples"))) row.set("samples", fact("train_samples"));
    if (is_count(fact("global_batch_size"))) row.set("global_batch", fact("global_batch_size"));
    row.set("optimizer", fact("opt_name"));
    apply(settings_, row, file_);
    if (row.get("ranks").empty()) {
      fail<UsageError>("{}: MLPerf's logs do not say on how many accelerators; add --set ranks=N",
                       file_);
    }
    complete_training(row);
    std::string note = fmt::format("MLPerf {}", benchmark);
    for (const char* const key : {"submission_division", "submission_org", "submission_platform"}) {
      if (!fact(key).empty()) note += ", " + fact(key);
    }
    if (run_->stop > run_->start) {
      note += fmt::format("; {:.1f} s from run_start to run_stop, {}", run_->stop - run_->start,
                          run_->status.empty() ? "status unknown" : run_->status);
    }
    row.set("note", note);
  }

  void find(std::size_t number, const std::string& what) {
    result_.findings.push_back({number, what});
  }

  const std::string& file_;
  const Settings& settings_;
  ImportedFile& result_;
  std::optional<MlperfRun> run_;
  // What was logged first of each key: up to the run's end, and after it.
  std::map<std::string, std::string, std::less<>> facts_, later_;
};

}  // namespace

ImportedFile read_mlperf(std::string_view text, const std::string& file, const Settings& settings) {
  ImportedFile result;
  MlperfReader reader(file, settings, result);
  for (const ForeignLine& line : lines_of(text, file, result.findings)) reader.line(line);
  reader.finish();
  return result;
}

}  // namespace scalebench
