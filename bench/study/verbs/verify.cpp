// SPDX-License-Identifier: Apache-2.0
// scalebench verify RUN: are the files those that were sealed, and does every published number
// follow from samples.csv? The numbers are made again by the second path of scripts/scalebench,
// which shares nothing with the code that publishes them: that would pass a mistake of its own. A
// line for each difference, then the counts. Exit: ok: none differs; incomplete: some do;
// nothing_measured: nothing to verify.
#include <fmt/format.h>

#include "bench/cli/console.hpp"
#include "bench/launch/process.hpp"
#include "bench/record/seal.hpp"
#include "bench/study/run/setup.hpp"
#include "bench/study/verbs/verb.hpp"

namespace scalebench {
namespace {

/// The exit codes of recompute.
constexpr int kAllEqual = 0, kSomeDiffer = 1, kNothingMadeAgain = 2;

CommandAnswer recomputed(const std::filesystem::path& folder) {
  constexpr int kPatienceSeconds = 600;
  CommandAnswer said = ask(
      {(scripts_folder() / "python").string(), "-m", "scalebench", "recompute", folder.string()},
      kPatienceSeconds);
  if (said.code < kAllEqual || said.code > kNothingMadeAgain) {
    said.output = "note: scalebench recompute could not be run: " + said.output;
  }
  if (!said.output.ends_with('\n')) said.output += '\n';
  return said;
}

ExitCode verify(const std::filesystem::path& folder) {
  const Console console(/*speaks=*/true, /*quiet=*/false);
  const HashCheck hashes = check_hashes(folder, read_manifest(folder));
  for (const std::string& line : hashes.differences) console.result(line + "\n");
  for (const std::string& note : hashes.notes) console.result("note: " + note + "\n");
  const CommandAnswer again = recomputed(folder);
  console.result(again.output);
  console.result(fmt::format("{} files hashed; {} differ\nSHA-256 of manifest.json: {}\n",
                             hashes.files, hashes.differences.size(), hashes.manifest_sha256));
  if (!hashes.differences.empty() || again.code == kSomeDiffer) return ExitCode::incomplete;
  return again.code == kAllEqual ? ExitCode::ok : ExitCode::nothing_measured;
}

}  // namespace

void add_verify(CLI::App& verb, Invocation& invocation) {
  auto& folder = options_of<std::filesystem::path>(verb, invocation, verify);
  takes_runs(verb.add_option("run", folder,
                             "folder of a run, or of one benchmark's --out (not bench_kernels)"))
      ->required();
}

}  // namespace scalebench
