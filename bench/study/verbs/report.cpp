// SPDX-License-Identifier: Apache-2.0
// scalebench report FOLDER: figures and report.html of a run or of a comparison again, or the five
// files of a night's report. Nothing is measured and no number is changed.
#include <fmt/format.h>

#include "bench/cli/command_line.hpp"
#include "bench/study/import/kinds.hpp"
#include "bench/study/run/setup.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

struct ReportOptions {
  std::filesystem::path folder;
  std::string published;  // series of configs/published.csv
  bool quiet = false;
};

ExitCode report(const ReportOptions& options) {
  const std::filesystem::path& folder = options.folder;
  const bool night = std::filesystem::exists(folder / "nightly.json");
  const bool run = std::filesystem::exists(folder / "manifest.json");
  if (!night && !run && !std::filesystem::exists(folder / "compare.json")) {
    fail<UsageError>(
        "{}: neither a run (with manifest.json, as results/RUN) nor a night (with nightly.json, as "
        "results/nightly/RUN) nor a comparison (with compare.json)",
        folder.string());
  }
  Console console(/*speaks=*/true, options.quiet);
  if ((night || !run) && !options.published.empty()) {
    fail<UsageError>("--published: only for a run");
  }
  if (!options.published.empty()) {
    for (const std::string& name : split_list("--published", options.published)) {
      require_published(configs_folder() / "published.csv", name);
    }
  }
  std::vector<std::string> more;
  if (!options.published.empty()) more = {"--published", options.published};
  const bool done = night ? draw(folder, "report", console)
                    : run ? draw_run(folder, console, more)
                          : draw_comparison(folder, console);
  if (!done) return ExitCode::incomplete;
  console.result(fmt::format("{}\n", (folder / "report.html").string()));
  return ExitCode::ok;
}

}  // namespace

void add_report(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<ReportOptions>(verb, invocation, report);
  takes_runs(verb.add_option("folder", options.folder,
                             "results/RUN, results/nightly/RUN for a night, or a comparison's "
                             "folder"))
      ->required();
  verb.add_option("--published", options.published,
                  "published series to lay the run over, as scalebench list published has them");
  verb.add_flag("-q,--quiet", options.quiet, "warnings only");
}

}  // namespace scalebench
