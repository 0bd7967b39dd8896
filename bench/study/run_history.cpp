// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run_history.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

struct Candidate {
  fs::path folder;
  Manifest manifest;
};

[[noreturn]] void refuse(const fs::path& folder, const std::string& what) {
  fail<UsageError>(
      "{}: a damaged run is no history: repair or remove the folder, or leave it out: scalebench "
      "annotate exclude {} --reason TEXT",
      what, folder.filename().string());
}

/// Every run of the folder, oldest first. What has no manifest and was never finished is no run.
std::vector<Candidate> runs_in(const fs::path& results, const Annotations& annotations) {
  std::vector<Candidate> runs;
  if (!fs::exists(results)) return runs;
  for (const fs::directory_entry& entry : fs::directory_iterator(results)) {
    const std::string name = entry.path().filename().string();
    const bool is_run = entry.is_directory() && (fs::exists(entry.path() / "manifest.json") ||
                                                 fs::exists(entry.path() / "COMPLETE"));
    if (!is_run || name.starts_with('.') || annotations.excluded_run(name) != nullptr) continue;
    try {
      runs.push_back({entry.path(), read_manifest(entry.path())});
    } catch (const UsageError& error) {
      refuse(entry.path(), error.what());
    }
  }
  std::ranges::sort(runs, {}, [](const Candidate& run) {
    return std::pair(run.manifest.started_utc, run.manifest.run_id);
  });
  return runs;
}

/// Fields of the key that differ, as "cores: 2, tonight 4"; empty: the same kind of machine.
std::string key_difference(const Facts& before, const Facts& tonight) {
  std::vector<std::string> differences;
  std::set<std::string, std::less<>> names;
  for (const Facts* const facts : {&before, &tonight}) {
    for (const auto& [name, fact] : *facts) names.insert(name);
  }
  const auto text = [](const Facts& facts, const std::string& name) {
    const auto found = facts.find(name);
    return found == facts.end() ? std::string("null") : found->second.value.dump();
  };
  for (const std::string& name : names) {
    const std::string a = text(before, name);
    const std::string b = text(tonight, name);
    if (a != b) differences.push_back(fmt::format("{}: {}, tonight {}", name, a, b));
  }
  return fmt::format("{}", fmt::join(differences, "; "));
}

/// Why a run of this study is no baseline; empty when it may be one.
std::string why_not(const Candidate& run, const Manifest& tonight) {
  const Manifest& manifest = run.manifest;
  if (!is_complete(run.folder, manifest)) return fmt::format("its status is {}", manifest.status);
  if (manifest.origin != tonight.origin) {
    return fmt::format("its numbers are {}, tonight's {}", manifest.origin, tonight.origin);
  }
  if (!manifest.tool.optimized || manifest.tool.sanitized) {
    return "degraded: built without optimisation or with a sanitizer";
  }
  const std::string key = key_difference(manifest.environment.key, tonight.environment.key);
  return key.empty() ? "" : fmt::format("another machine: {}", key);
}

Night night_in(const fs::path& folder) {
  try {
    return night_of(read_stored_run(folder, WithSamples::no));
  } catch (const std::exception& error) {
    refuse(folder, error.what());
  }
}

}  // namespace

bool is_complete(const fs::path& folder, const Manifest& manifest) {
  // A run that never got its COMPLETE ended in the middle, whatever its manifest says; runs of
  // before there was that file have no SHA256SUMS either.
  const bool committed = fs::exists(folder / "COMPLETE") || !fs::exists(folder / "SHA256SUMS");
  return manifest.status == "complete" && committed;
}

std::string rerun_name(const std::string& run_id) { return run_id + "-rerun"; }

RunHistory read_history(const fs::path& results, const Manifest& tonight,
                        const Annotations& annotations, std::size_t most) {
  RunHistory history;
  std::vector<const Candidate*> usable;
  const std::vector<Candidate> runs = runs_in(results, annotations);
  for (const Candidate& run : runs) {
    const std::string name = run.folder.filename().string();
    history.started[name] = run.manifest.started_utc;
    const bool before =
        std::pair(run.manifest.started_utc, name) < std::pair(tonight.started_utc, tonight.run_id);
    if (run.manifest.study != tonight.study || name == tonight.run_id || !before) continue;
    const std::string why = why_not(run, tonight);
    if (why.empty()) {
      usable.push_back(&run);
    } else {
      history.left_out.push_back({name, why});
    }
  }
  for (const Annotation& excluded : annotations.excluded) {
    history.left_out.push_back({excluded.run, "excluded: " + excluded.reason});
  }
  if (usable.size() > most)
    usable.erase(usable.begin(), usable.end() - static_cast<std::ptrdiff_t>(most));
  std::set<std::string> with_reruns{tonight.run_id};
  for (const Candidate* const run : usable) {
    history.nights.push_back(night_in(run->folder));
    history.nights.back().run_id = run->folder.filename().string();
    with_reruns.insert(history.nights.back().run_id);
  }
  if (!usable.empty()) history.previous = usable.back()->manifest;
  for (const Candidate& run : runs) {
    const std::string name = run.folder.filename().string();
    for (const std::string& of : with_reruns) {
      const bool its = name == rerun_name(of) && is_complete(run.folder, run.manifest);
      if (its) history.reruns.emplace(of, night_in(run.folder));
    }
    if (annotations.pinned && name == annotations.pinned->run) {
      const std::string why = why_not(run, tonight);
      if (why.empty()) {
        history.pinned = night_in(run.folder);
        history.pinned->run_id = name;
      } else {
        history.left_out.push_back({name, "pinned, but " + why});
      }
    }
  }
  return history;
}

}  // namespace scalebench
