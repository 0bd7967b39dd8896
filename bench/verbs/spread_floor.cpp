// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/spread_floor.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "bench/study/certificate.hpp"
#include "bench/study/compare_cells.hpp"
#include "bench/study/run_difference.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

struct Spread {
  Manifest manifest;
  double spread = 0;
};

bool fits(const Manifest& certificate, const Manifest& run) {
  return certificate.origin == run.origin && same_machine(certificate.environment, run.environment);
}

Spread read_spread(const fs::path& folder) {
  const std::vector<ResultRow> rows = rows_in(folder, certificate_schema());
  return {read_manifest(folder), spread_of(rows)};
}

Spread named(const std::string& folder, const std::vector<Manifest>& runs) {
  const Spread found = read_spread(folder);
  if (std::isnan(found.spread)) {
    fail<UsageError>("--certificate {}: it compares nothing; valid: a run of scalebench certify",
                     folder);
  }
  if (!std::ranges::any_of(runs, [&](const Manifest& run) { return fits(found.manifest, run); })) {
    fail<UsageError>(
        "--certificate {}: of another machine than the runs (see scalebench diff-env); its spread "
        "says nothing about them",
        folder);
  }
  return found;
}

/// Certificates in the folders that hold the runs; what cannot be read is none.
std::vector<Spread> beside(const std::vector<fs::path>& folders) {
  std::set<fs::path> parents;
  std::error_code ignored;
  for (const fs::path& folder : folders) {
    parents.insert(fs::weakly_canonical(folder, ignored).parent_path());
  }
  std::vector<Spread> found;
  for (const fs::path& parent : parents) {
    for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
      if (!fs::exists(entry.path() / certificate_schema().file, ignored)) continue;
      try {
        found.push_back(read_spread(entry.path()));
      } catch (const Error&) {
        continue;
      }
    }
  }
  return found;
}

}  // namespace

SpreadFloor spread_floor(const std::vector<std::string>& certificates,
                         const std::vector<fs::path>& folders, const std::vector<Manifest>& runs) {
  std::vector<Spread> spreads;
  for (const std::string& folder : certificates) spreads.push_back(named(folder, runs));
  if (certificates.empty()) {
    const std::vector<Spread> all = beside(folders);
    for (const Manifest& run : runs) {
      const Spread* newest = nullptr;
      for (const Spread& one : all) {
        if (std::isnan(one.spread) || !fits(one.manifest, run)) continue;
        const bool newer =
            newest == nullptr || one.manifest.started_utc > newest->manifest.started_utc;
        if (newer) newest = &one;
      }
      if (newest != nullptr) spreads.push_back(*newest);
    }
  }
  SpreadFloor result{kFloor, ""};
  for (const Spread& one : spreads) {
    if (one.spread <= result.floor && !result.from.empty()) continue;
    result.floor = std::max(kFloor, one.spread);
    result.from = fmt::format("A/A spread {:.1f} % by {}", 100 * one.spread, one.manifest.run_id);
  }
  return result;
}

}  // namespace scalebench
