// SPDX-License-Identifier: Apache-2.0
#include "bench/study/recovery.hpp"

#include <algorithm>

#include "bench/record/csv.hpp"
#include "bench/record/file.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// The first of these, nullptr without one.
const Milestone* find(const TrainingStart& start, std::string_view event) {
  const auto found = std::ranges::find(start.milestones, event, &Milestone::event);
  return found == start.milestones.end() ? nullptr : &*found;
}

/// From `a` to `b`, where they have the same clock.
double between(const Milestone* a, const Milestone* b) {
  return a != nullptr && b != nullptr && a->host == b->host ? b->seconds - a->seconds
                                                            : Recovery::kUnknown;
}

/// What is lost counts from here: the last checkpoint, or the beginning.
const Milestone* last_safe(const TrainingStart& start) {
  const Milestone* safe = find(start, "begins");
  for (const Milestone& one : start.milestones) {
    if (one.event == "checkpoint") safe = &one;
  }
  return safe;
}

// "SCBCKPT1", the length of the header in 8 bytes, the header, tensors, SHA-256
// (models/checkpoint.hpp).
std::string_view tensors_in(std::string_view bytes, const std::filesystem::path& path) {
  constexpr std::string_view kMagic = "SCBCKPT1";
  constexpr std::size_t kPrefix = 16, kHash = 32;
  std::uint64_t header = 0;
  if (bytes.starts_with(kMagic) && bytes.size() >= kPrefix + kHash) {
    for (std::size_t i = kPrefix; i-- > kMagic.size();) {
      header = header << 8U | static_cast<unsigned char>(bytes[i]);
    }
  }
  if (header == 0 || header > bytes.size() - kPrefix - kHash) {
    fail<UsageError>("{}: is no whole checkpoint", path.string());
  }
  bytes.remove_prefix(kPrefix + header);
  bytes.remove_suffix(kHash);
  return bytes;
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

Recovery recovery_of(std::string_view event, const TrainingStart& hit, const TrainingStart& resumed,
                     const TrainingStart& undisturbed) {
  const Milestone* const fault = find(hit, event);
  if (fault == nullptr) fail("no rank was {}", event);
  const Milestone* const begins = find(resumed, "begins");
  const Milestone* const first_step = find(resumed, "first step ended");
  Recovery recovery;
  if (const Milestone* const noticed = find(hit, "noticed")) {
    recovery.noticed_seconds = between(fault, noticed);
    recovery.noticed = noticed->note;
  }
  if (hit.host == fault->host) {
    recovery.detection_seconds = hit.end_seconds - fault->seconds;
  }
  if (first_step != nullptr) {
    if (resumed.host == first_step->host) {
      recovery.restart_seconds = first_step->seconds - resumed.begin_seconds;
    }
    recovery.down_seconds = between(fault, first_step);
  }
  recovery.lost_seconds = between(last_safe(hit), fault);
  if (begins != nullptr) {
    recovery.resumed_step = begins->step;
    recovery.lost_steps = static_cast<double>(fault->step - begins->step);
  }
  recovery.undisturbed_seconds = undisturbed.end_seconds - undisturbed.begin_seconds;
  recovery.disturbed_seconds = resumed.end_seconds - hit.begin_seconds;
  return recovery;
}

void set_recovery(ResultRow& row, const Recovery& recovery, double samples_per_step) {
  row.set("resumed_step", recovery.resumed_step);
  row.set("noticed_seconds", recovery.noticed_seconds);
  row.set("detection_seconds", recovery.detection_seconds);
  row.set("restart_seconds", recovery.restart_seconds);
  row.set("down_seconds", recovery.down_seconds);
  row.set("lost_seconds", recovery.lost_seconds).set("lost_steps", recovery.lost_steps);
  row.set("lost_samples", recovery.lost_steps * samples_per_step);
  row.set("undisturbed_seconds", recovery.undisturbed_seconds);
  row.set("disturbed_seconds", recovery.disturbed_seconds);
  row.set("overhead_seconds", recovery.overhead_seconds()).set("noticed", recovery.noticed);
}

bool same_tensors(const std::filesystem::path& a, const std::filesystem::path& b) {
  const std::string of_a = read_file(a), of_b = read_file(b);
  return tensors_in(of_a, a) == tensors_in(of_b, b);
}

}  // namespace scalebench
