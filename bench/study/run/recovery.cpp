// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/recovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "bench/machine/identity.hpp"
#include "bench/measure/clock.hpp"
#include "bench/record/csv.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/seal.hpp"
#include "bench/study/analysis/rows.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/run/run.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRefused = "exit code 2: ";

/// The first of these, nullptr without one.
const Milestone* find(const TrainingStart& start, std::string_view event) {
  const auto found = std::ranges::find(start.milestones, event, &Milestone::event);
  return found == start.milestones.end() ? nullptr : &*found;
}

/// From `a` to `b`, where they have the same clock.
nlohmann::json between(const Milestone* a, const Milestone* b) {
  if (a == nullptr || b == nullptr || a->host != b->host) return nullptr;
  return b->seconds - a->seconds;
}

}  // namespace

std::vector<Milestone> read_milestones(const fs::path& path) {
  std::vector<Milestone> milestones;
  if (!fs::exists(path)) return milestones;
  const CsvTable table = CsvTable::read(path);
  for (std::size_t i = 0; i < table.size(); ++i) {
    milestones.push_back({table.number(i, "seconds"), table.text(i, "host"),
                          static_cast<int>(table.number(i, "rank")), table.text(i, "event"),
                          static_cast<std::int64_t>(table.number(i, "step")),
                          table.text(i, "note")});
  }
  return milestones;
}

nlohmann::json recovery_of(std::string_view event, const TrainingStart& hit,
                           const TrainingStart& resumed, double samples_per_step) {
  const Milestone* const fault = find(hit, event);
  if (fault == nullptr) fail("no rank was {}", event);
  const Milestone *const noticed = find(hit, "noticed"), *const begins = find(resumed, "begins"),
                         *const first_step = find(resumed, "first step ended");
  nlohmann::json found{{"noticed_seconds", between(fault, noticed)},
                       {"ended_seconds", nullptr},
                       {"restart_seconds", nullptr},
                       {"down_seconds", between(fault, first_step)},
                       {"lost_samples", nullptr},
                       {"note", noticed == nullptr ? "" : noticed->note}};
  if (hit.host == fault->host) found["ended_seconds"] = hit.end_seconds - fault->seconds;
  if (first_step != nullptr && resumed.host == first_step->host) {
    found["restart_seconds"] = first_step->seconds - resumed.begin_seconds;
  }
  // Of the work since the checkpoint, or the beginning.
  if (begins != nullptr) {
    found["lost_samples"] = static_cast<double>(fault->step - begins->step) * samples_per_step;
  }
  return found;
}

std::string recovery_text(const nlohmann::json& recovery) {
  if (!recovery.contains("status")) return "interrupted before there was anything to tell\n";
  if (recovery.at("status") == "failed") {
    return fmt::format("failed: {}\n", printable(recovery.at("note").get<std::string>()));
  }
  constexpr std::array<std::pair<const char*, const char*>, 4> kSeconds{
      {{"noticed_seconds", "from the fault until the rank was named"},
       {"ended_seconds", "from the fault until the launcher had ended"},
       {"restart_seconds", "from the new start to the end of its first step"},
       {"down_seconds", "in all, from the fault to there"}}};
  std::string text;
  for (const auto& [key, words] : kSeconds) {
    const nlohmann::json& value = recovery.at(key);
    text += fmt::format("{:<48} {:>9}\n", words,
                        value.is_null() ? "-" : fmt::format("{:.2f} s", value.get<double>()));
  }
  const nlohmann::json& lost = recovery.at("lost_samples");
  text += fmt::format("{:<48} {:>9}\n", "samples of lost work",
                      lost.is_null() ? "-" : fmt::format("{:.0f}", lost.get<double>()));
  const auto note = recovery.at("note").get<std::string>();
  return note.empty() ? text : text + printable(note) + "\n";
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

namespace {

/// One start of bench_epoch and what it left.
struct Trained {
  TrainingStart start;
  LaunchEnd end;
  ResultRow epoch{epoch_schema()};  // of all ranks; empty cells when there is none
};

/// Runs it and enters it in the manifest, with its milestones in its folder.
Trained train(const RecoveryPlan& plan, const PlannedLaunch& launch, const ResultsFolder& folder,
              Manifest& manifest, const std::atomic<bool>& stop, Console& console) {
  const fs::path out = folder.make_launch(launch.number, launch.name);
  PlannedLaunch followed = launch;
  followed.arguments.insert(followed.arguments.end(),
                            {"--milestones", (out / "milestones.csv").string()});
  console.progress(static_cast<std::size_t>(launch.number), 2, launch.name, -1);
  LaunchRecord record = record_of(launch);
  record.command = command_of(followed, plan.settings, out);
  Trained trained;
  trained.start.host = own_host_name();  // as MPI calls it
  trained.start.begin_seconds = local_seconds();
  trained.end =
      run_launch(record.command, plan.settings.environment, out, plan.deadline_seconds, stop);
  trained.start.end_seconds = trained.start.begin_seconds + trained.end.seconds;
  console.clear_progress();
  trained.start.milestones = read_milestones(out / "milestones.csv");
  for (const ResultRow& row : rows_in(out, epoch_schema())) trained.epoch = row;
  record.status = trained.end.interrupted ? "interrupted" : trained.end.ok ? "ok" : "failed";
  record.note = trained.end.why;
  record.seconds = trained.end.seconds;
  manifest.launches.push_back(std::move(record));
  write_manifest(folder.path(), manifest);
  keep_rows(folder.path(), out);
  if (trained.end.why.starts_with(kRefused)) {
    throw UsageError(trained.end.why.substr(kRefused.size()));
  }
  return trained;
}

bool has_checkpoint(const fs::path& folder) {
  std::error_code none;
  return std::ranges::any_of(fs::directory_iterator(folder, none),
                             [](const auto& entry) { return entry.path().extension() == ".ckpt"; });
}

nlohmann::json outcome_of(const RecoveryPlan& plan, const Trained& hit, const Trained& resumed) {
  const bool came = find(hit.start, plan.participle()) != nullptr;
  if (!came || !resumed.end.ok) {
    const std::string& why = (came ? resumed : hit).end.why;
    return {{"status", "failed"}, {"note", why.empty() ? "the fault never came" : why}};
  }
  const ResultRow& epoch = resumed.epoch;
  const double batch = epoch.get("global_batch").empty() ? number_in(epoch, "batch") * plan.ranks
                                                         : number_in(epoch, "global_batch");
  nlohmann::json found = recovery_of(plan.participle(), hit.start, resumed.start, batch);
  if (found["note"] == "") found["note"] = hit.end.why;
  found["status"] = "ok";
  return found;
}

}  // namespace

Manifest measure_recovery(const RecoveryPlan& plan, const ResultsFolder& folder, Manifest manifest,
                          const std::atomic<bool>& stop, Console& console) {
  manifest.recovery = nlohmann::json{{"fault", plan.injection()}};
  write_manifest(folder.path(), manifest);
  const fs::path checkpoints = folder.path() / "checkpoints";
  const auto start = [&](const std::string& name, std::vector<std::string> more) {
    more.insert(more.end(), {"--checkpoint", checkpoints.string()});
    const int number = static_cast<int>(manifest.launches.size()) + 1;
    return train(plan, launch_of(plan, number, name, more), folder, manifest, stop, console);
  };
  const Trained hit = start(plan.participle(), {"--inject", plan.injection()});
  Trained resumed;
  if (!stop) {
    // Without a checkpoint there is nothing to go on from: from the start.
    const bool kept = has_checkpoint(checkpoints);
    resumed = start("resumed", kept ? std::vector<std::string>{"--resume", checkpoints.string()}
                                    : std::vector<std::string>());
  }
  fs::remove_all(checkpoints);  // they may be large
  if (!stop) manifest.recovery->update(outcome_of(plan, hit, resumed));
  manifest = updated(std::move(manifest), folder.path(), stop ? "partial" : "complete");
  write_manifest(folder.path(), manifest);
  if (!stop) seal_folder(folder.path(), manifest.files);
  return manifest;
}

}  // namespace scalebench
