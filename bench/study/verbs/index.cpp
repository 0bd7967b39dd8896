// SPDX-License-Identifier: Apache-2.0
// scalebench index: makes results/index.jsonl anew from the complete runs that are there.
// Exit: ok; incomplete: a run that has COMPLETE could not be read and is left out.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

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
  const auto results = std::make_shared<std::filesystem::path>("results");
  verb.add_option("--results", *results, "folder of runs")->capture_default_str();
  verb.callback(
      [results, &invocation] { invocation.chosen = [results] { return index(*results); }; });
}

}  // namespace scalebench
