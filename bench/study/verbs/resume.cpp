// SPDX-License-Identifier: Apache-2.0
// scalebench resume RUN: goes on with a run that was killed, interrupted, or ran out of disk, and
// starts failed launches again. What has ended well stays as it is; a launch that had not is
// started again as a whole. --accept leaves failed launches out, and seals the run without them.
// Exit: as run; ok when the run is complete already; incomplete when that was without some
// launches.
#include <fmt/format.h>

#include <algorithm>

#include "bench/cli/console.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/seal.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/run/end.hpp"
#include "bench/study/run/run.hpp"
#include "bench/study/verbs/verb.hpp"

namespace scalebench {
namespace {

struct ResumeOptions {
  std::filesystem::path run;
  EndOptions end;
  bool quiet = false;
  std::vector<std::string> command;  // argv as typed
};

/// A seal is for good: launches that it was accepted without stay out.
ExitCode say_sealed(const std::filesystem::path& folder, const Console& console) {
  const std::string run = folder.string();
  const Manifest manifest = read_manifest(folder);
  const auto failed = std::ranges::count(manifest.launches, "failed", &LaunchRecord::status);
  if (failed == 0 || manifest.import) {
    console.result(fmt::format("{} is complete: nothing to resume\n", run));
    return ExitCode::ok;
  }
  console.result(fmt::format(
      "{} is sealed without {} launch{} that failed: nothing can be started again in it; measure "
      "anew: scalebench run {}/config.toml\n",
      run, failed, failed == 1 ? "" : "es", run));
  return ExitCode::incomplete;
}

ExitCode resume(const ResumeOptions& options) {
  Console console(/*speaks=*/true, options.quiet);
  if (is_sealed(options.run)) return say_sealed(options.run, console);
  StudyRun run = reopen_study(options.run, options.end.accept_failed, options.command, console);
  return measure_to_end(run, options.end, console);
}

}  // namespace

void add_resume(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<ResumeOptions>(verb, invocation, resume,
                                            [](const ResumeOptions&) { return true; });
  takes_runs(verb.add_option("run", options.run, "folder of an unfinished run"))->required();
  verb.add_flag("--accept", options.end.accept_failed,
                "do not start failed launches again: seal the run without them");
  verb.add_flag("!--no-figures", options.end.figures, "no figures, no report.html");
  verb.add_flag("-q,--quiet", options.quiet, "no progress");
  add_fail_on_option(verb, options.end.fail_on_host);
}

}  // namespace scalebench
