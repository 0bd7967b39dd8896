// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/recovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>

#include "bench/cli/quantity.hpp"
#include "bench/machine/identity.hpp"
#include "bench/measure/clock.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/record/csv.hpp"
#include "bench/record/file.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/record/seal.hpp"
#include "bench/study/analysis/rows.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/run/run.hpp"
#include "kernels/error.hpp"
#include "models/checkpoint_file.hpp"

namespace scalebench {
namespace {

constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

/// The first of these, nullptr without one.
const Milestone* find(const TrainingStart& start, std::string_view event) {
  const auto found = std::ranges::find(start.milestones, event, &Milestone::event);
  return found == start.milestones.end() ? nullptr : &*found;
}

/// From `a` to `b`, where they have the same clock.
double between(const Milestone* a, const Milestone* b) {
  return a != nullptr && b != nullptr && a->host == b->host ? b->seconds - a->seconds : kNotKnown;
}

std::string_view tensors_in(std::string_view bytes, const std::filesystem::path& path) try {
  return checkpoint_parts(bytes).tensors;
} catch (const UsageError& error) {
  fail<UsageError>("{}: {}", path.string(), error.what());
}

}  // namespace

std::vector<Milestone> read_milestones(const std::filesystem::path& path) {
  std::vector<Milestone> milestones;
  if (!std::filesystem::exists(path)) return milestones;
  const CsvTable table = CsvTable::read(path);
  for (std::size_t i = 0; i < table.size(); ++i) {
    milestones.push_back({table.number(i, "seconds"), table.text(i, "host"),
                          static_cast<int>(table.number(i, "rank")), table.text(i, "event"),
                          static_cast<std::int64_t>(table.number(i, "step")),
                          table.text(i, "note")});
  }
  return milestones;
}

void set_recovery(ResultRow& row, std::string_view event, const TrainingStart& hit,
                  const TrainingStart& resumed, const TrainingStart& undisturbed,
                  double samples_per_step) {
  const Milestone* const fault = find(hit, event);
  if (fault == nullptr) fail("no rank was {}", event);
  // From the fault to the line that names the rank, and to the launcher's end.
  if (const Milestone* const noticed = find(hit, "noticed")) {
    row.set("noticed_seconds", between(fault, noticed)).set("note", noticed->note);
  }
  if (hit.host == fault->host) row.set("detection_seconds", hit.end_seconds - fault->seconds);
  // From the new start, and from the fault, to the end of the first new step.
  if (const Milestone* const first_step = find(resumed, "first step ended")) {
    if (resumed.host == first_step->host) {
      row.set("restart_seconds", first_step->seconds - resumed.begin_seconds);
    }
    row.set("down_seconds", between(fault, first_step));
  }
  // Of the work since the checkpoint, or the beginning.
  if (const Milestone* const begins = find(resumed, "begins")) {
    row.set("lost_samples", static_cast<double>(fault->step - begins->step) * samples_per_step);
  }
  // From the launcher's first start to its last end.
  const double straight = undisturbed.end_seconds - undisturbed.begin_seconds;
  const double disturbed = resumed.end_seconds - hit.begin_seconds;
  row.set("overhead_seconds", disturbed - straight);
}

bool same_tensors(const std::filesystem::path& a, const std::filesystem::path& b) {
  const std::string of_a = read_file(a), of_b = read_file(b);
  return tensors_in(of_a, a) == tensors_in(of_b, b);
}

namespace {

namespace fs = std::filesystem;
constexpr std::string_view kRefused = "exit code 2: ";

/// One start of bench_epoch and what it left.
struct Trained {
  TrainingStart start;
  LaunchEnd end;
  ResultRow epoch{epoch_schema()};  // of all ranks; empty cells when there is none
};

/// The newest by name, which holds the epoch; empty without one.
fs::path newest_checkpoint(const fs::path& folder) {
  fs::path newest;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (entry.path().extension() == ".ckpt") newest = std::max(newest, entry.path());
  }
  return newest;
}

class RecoveryRun {
 public:
  RecoveryRun(const RecoveryPlan& plan, const ResultsFolder& folder, Manifest& manifest,
              const std::atomic<bool>& stop, Console& console)
      : plan_(plan), folder_(folder), manifest_(manifest), stop_(stop), console_(console) {}

  ResultRow repetition(int number, bool undisturbed_first) {
    const fs::path straight = scratch("undisturbed"), hit = scratch("disturbed");
    Trained undisturbed, first, second;
    const auto run_undisturbed = [&] { undisturbed = train("undisturbed", straight, {}); };
    if (undisturbed_first) run_undisturbed();
    first = train(plan_.participle(), hit, {"--inject", plan_.injection()});
    if (!stop_) second = train("resumed", hit, way_on(hit));
    if (!undisturbed_first) run_undisturbed();
    ResultRow row = row_of(number, undisturbed, first, second);
    if (row.get("status") == "ok") {
      set_same_bits(row, same_tensors(newest_checkpoint(straight), newest_checkpoint(hit)));
    }
    fs::remove_all(straight);
    fs::remove_all(hit);
    return row;
  }

 private:
  /// Checkpoints are compared and then go: they may be large.
  fs::path scratch(const std::string& name) const {
    return folder_.path() / ("checkpoints-" + name);
  }

  static std::vector<std::string> way_on(const fs::path& checkpoints) {
    if (newest_checkpoint(checkpoints).empty()) return {};  // nothing to go on from: from the start
    return {"--resume", checkpoints.string()};
  }

  Trained train(const std::string& name, const fs::path& checkpoints,
                const std::vector<std::string>& more) {
    if (stop_) return {};
    const int number = static_cast<int>(manifest_.launches.size()) + 1;
    const fs::path out = folder_.make_launch(number, name);
    const fs::path milestones = out / "milestones.csv";
    std::vector<std::string> words{"--checkpoint", checkpoints.string(), "--milestones",
                                   milestones.string()};
    words.insert(words.end(), more.begin(), more.end());
    const PlannedLaunch launch = launch_of(plan_, number, name, words);
    console_.progress(manifest_.launches.size() + 1,
                      3 * static_cast<std::size_t>(plan_.repetitions), name, -1);
    const std::vector<std::string> command = command_of(launch, plan_.settings, out);
    Trained trained;
    trained.start.host = own_host_name();  // as MPI calls it
    trained.start.begin_seconds = local_seconds();
    trained.end =
        run_launch(command, plan_.settings.environment, out, plan_.deadline_seconds, stop_);
    trained.start.end_seconds = trained.start.begin_seconds + trained.end.seconds;
    console_.clear_progress();
    read(out, trained);
    enter(launch, command, trained);
    if (trained.end.why.starts_with(kRefused)) {
      throw UsageError(trained.end.why.substr(kRefused.size()));
    }
    return trained;
  }

  static void read(const fs::path& out, Trained& trained) {
    trained.start.milestones = read_milestones(out / "milestones.csv");
    for (const ResultRow& row : rows_in(out, epoch_schema())) trained.epoch = row;
  }

  void enter(const PlannedLaunch& launch, const std::vector<std::string>& command,
             const Trained& trained) {
    LaunchRecord record = record_of(launch);
    record.command = command;
    record.status = trained.end.interrupted ? "interrupted" : trained.end.ok ? "ok" : "failed";
    record.note = trained.end.why;
    record.seconds = trained.end.seconds;
    manifest_.launches.push_back(std::move(record));
    write_manifest(folder_.path(), manifest_);
    keep_rows(folder_.path(), launch_folder(folder_.path(), launch.number, launch.name, 1));
  }

  ResultRow row_of(int number, const Trained& undisturbed, const Trained& hit,
                   const Trained& resumed) const {
    ResultRow row(recovery_schema());
    row.set("run_id", folder_.run_id());
    row.set("case_id", case_id(fmt::format("recover epoch={} fault={} at={} checkpoint_every={}",
                                           resumed.epoch.get("case_id"), plan_.fault,
                                           plan_.fault_at, plan_.checkpoint_every)));
    const std::string& origin = resumed.epoch.get("origin");
    row.set("origin", origin.empty() ? manifest_.origin : origin);
    for (const std::string_view column : {"model", "gradient_sync"}) {
      row.set(column, resumed.epoch.get(column));
    }
    row.set("ranks", plan_.ranks).set("repetition", number).set("fault", plan_.injection());
    const bool came = std::ranges::any_of(hit.start.milestones, [&](const Milestone& one) {
      return one.event == plan_.participle();
    });
    if (!came || !resumed.end.ok || !undisturbed.end.ok) {
      const Trained& culprit = !undisturbed.end.ok ? undisturbed : !came ? hit : resumed;
      const std::string why = culprit.end.why.empty() ? "the fault never came" : culprit.end.why;
      return row.set("status", "failed").set("note", why);
    }
    const ResultRow& epoch = resumed.epoch;
    const double batch = epoch.get("global_batch").empty() ? number_in(epoch, "batch") * plan_.ranks
                                                           : number_in(epoch, "global_batch");
    set_recovery(row, plan_.participle(), hit.start, resumed.start, undisturbed.start, batch);
    if (row.get("note").empty()) row.set("note", hit.end.why);
    return row.set("status", "ok");
  }

  const RecoveryPlan& plan_;
  const ResultsFolder& folder_;
  Manifest& manifest_;
  const std::atomic<bool>& stop_;
  Console& console_;
};

std::string cells(std::string_view head, const std::vector<std::string>& values) {
  std::string line = fmt::format("{:<10}", head);
  for (const std::string& value : values) line += fmt::format(" {:>13}", value);
  return line + "\n";
}

constexpr std::array<std::string_view, 6> kShown{"noticed_seconds", "detection_seconds",
                                                 "restart_seconds", "down_seconds",
                                                 "lost_samples",    "overhead_seconds"};

/// Whether what is added together depends on when each rank comes, so that two trainings of the
/// same seed differ in their last bits. Two ranks add the same whatever horovod fuses.
bool hangs_on_time(std::string_view gradient_sync, double ranks) {
  return gradient_sync == "ps_async" || (gradient_sync == "horovod" && ranks > 2);
}

}  // namespace

void set_same_bits(ResultRow& row, bool same) {
  row.set("same_parameters", same);
  if (same) return;
  if (hangs_on_time(row.get("gradient_sync"), number_in(row, "ranks"))) {
    row.add_note(fmt::format("other bits, as any two trainings by {}: its sums hang on time",
                             row.get("gradient_sync")));
    return;
  }
  row.set("status", "wrong").add_note("the resumed training ended in another model");
}

PlannedLaunch launch_of(const RecoveryPlan& plan, int number, const std::string& name,
                        const std::vector<std::string>& more) {
  PlannedLaunch launch;
  launch.number = number;
  launch.name = name;
  launch.program = "bench_epoch";
  launch.ranks = plan.ranks;
  launch.nodes = plan.nodes;
  launch.per_node = plan.per_node;
  launch.guess_seconds = plan.deadline_seconds / 5;  // which the launcher takes five times
  launch.arguments = plan.arguments;
  launch.arguments.insert(launch.arguments.end(),
                          {"--epochs", std::to_string(plan.epochs), "--checkpoint-every",
                           std::to_string(plan.checkpoint_every)});
  launch.arguments.insert(launch.arguments.end(), more.begin(), more.end());
  return launch;
}

std::vector<ResultRow> measure_recovery(const RecoveryPlan& plan, const ResultsFolder& folder,
                                        Manifest manifest, const std::atomic<bool>& stop,
                                        Console& console) {
  write_manifest(folder.path(), manifest);
  RecoveryRun run(plan, folder, manifest, stop, console);
  std::mt19937_64 random(plan.seed);
  std::vector<ResultRow> rows;
  for (int i = 1; i <= plan.repetitions && !stop; ++i) {
    ResultRow row = run.repetition(i, random() % 2 == 0);
    if (stop && row.get("status") == "failed") break;  // by whoever interrupted it
    rows.push_back(std::move(row));
    replace_rows(folder.path(), recovery_schema(), rows);
  }
  manifest = updated(std::move(manifest), folder.path(), stop ? "partial" : "complete");
  write_manifest(folder.path(), manifest);
  if (!stop) seal_folder(folder.path(), manifest.files);
  return rows;
}

std::string recovery_table(const std::vector<ResultRow>& rows) {
  std::string table = cells("repetition", {"noticed, s", "ended, s", "restart, s", "down, s",
                                           "lost samples", "overhead, s", "same bits"});
  std::array<std::vector<double>, kShown.size()> values;
  for (const ResultRow& row : rows) {
    if (row.get("status") == "failed") {
      table += fmt::format("{:<10} failed: {}\n", row.get("repetition"), row.get("note"));
      continue;
    }
    std::vector<std::string> shown;
    for (std::size_t k = 0; k < kShown.size(); ++k) {
      const std::string& cell = row.get(kShown[k]);
      shown.push_back(scaled(cell, 1, kShown[k] == "lost_samples" ? 0 : 2));
      if (!cell.empty()) values[k].push_back(number_in(row, kShown[k]));
    }
    const bool same = row.get("same_parameters") == "1";
    shown.emplace_back(same ? "yes" : row.get("status") == "ok" ? "no, by time" : "NO");
    table += cells(row.get("repetition"), shown);
  }
  if (rows.size() == 1) return table;
  std::vector<std::string> medians;
  for (std::size_t k = 0; k < kShown.size(); ++k) {
    medians.push_back(values[k].empty() ? "-"
                                        : fmt::format("{:.{}f}", median_of(values[k]),
                                                      kShown[k] == "lost_samples" ? 0 : 2));
  }
  return table + cells("median", medians);
}

}  // namespace scalebench
