// SPDX-License-Identifier: Apache-2.0
// scalebench index: makes results/index.jsonl anew from the complete runs that are there.
// Exit: ok; incomplete: a run that has COMPLETE could not be read and is left out.
#include <fmt/format.h>

#include "bench/cli/console.hpp"
#include "bench/record/seal.hpp"
#include "bench/study/verbs/verb.hpp"

namespace scalebench {
namespace {

ExitCode index(const std::filesystem::path& results) {
  Console console(/*speaks=*/true, /*quiet=*/false);
  const RunIndex index = rebuild_index(results);
  for (const IndexEntry& entry : index.entries) {
    console.result(fmt::format("{}  {}  {}  {}\n", entry.started_utc, entry.run_id, entry.study,
                               entry.origin));
  }
  for (const std::string& note : index.notes) console.warn(note);
  console.note(
      fmt::format("{}: {} complete runs", (results / kIndexFile).string(), index.entries.size()));
  return index.notes.empty() ? ExitCode::ok : ExitCode::incomplete;
}

}  // namespace

void add_index(CLI::App& verb, Invocation& invocation) {
  auto& results = options_of<std::filesystem::path>(verb, invocation, index);
  results = "results";
  add_shown(verb, "--results", results, "folder of runs");
}

}  // namespace scalebench
