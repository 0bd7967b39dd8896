// SPDX-License-Identifier: Apache-2.0
// scalebench predict RUN --ranks 16,64,256: steps and epochs on N that were not measured, from the
// run's allreduce curves and one profiled step, after the error on the N that were. Exit: usage:
// the run has no profile or no curve; incomplete: none of these N could be predicted.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/cli/exit.hpp"
#include "bench/cli/quantity.hpp"
#include "bench/record/file.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/study/plan/plan.hpp"
#include "bench/study/prediction/rows.hpp"
#include "bench/study/run/resolved_study.hpp"
#include "bench/study/run/run.hpp"
#include "bench/study/run/setup.hpp"
#include "bench/study/simulation/simulation.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"
#include "models/step/traced_step.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr int kTrustedFactor = 4;  // beyond the largest N that was measured

struct PredictOptions {
  fs::path run;
  std::string ranks;
  std::string link;      // RATE[,LATENCY]
  std::string topology;  // empty: nothing is simulated
  int per_node = 0;
  std::string out;
  bool figures = true;
};

AssumedNetwork network_of(const std::string& link) {
  if (link.empty()) return {};
  const std::size_t comma = link.find(',');
  try {
    AssumedNetwork network;
    network.bytes_per_second = parse_rate(link.substr(0, comma)) / 8;
    if (comma != std::string::npos) {
      network.seconds_a_step = parse_duration(link.substr(comma + 1));
    }
    return network;
  } catch (const UsageError& error) {
    fail<UsageError>("--link {}: {}", link, error.what());
  }
}

PredictionQuestions questions_of(const PredictOptions& options) {
  PredictionQuestions questions;
  questions.ranks = parse_counts("--ranks", options.ranks);
  std::ranges::sort(questions.ranks);
  // Not std::ranges::unique, whose result Clang 14 cannot compile with this standard library.
  questions.ranks.erase(std::unique(questions.ranks.begin(), questions.ranks.end()),
                        questions.ranks.end());
  if (questions.ranks.front() < 2) {
    fail<UsageError>("--ranks {}: one rank is what predictions start from; valid: 2 and more",
                     questions.ranks.front());
  }
  questions.link = network_of(options.link);
  questions.link_text = options.link;
  if (!options.topology.empty()) {
    if (!questions.link.seconds_a_step) {
      fail<UsageError>("--topology {}: of which links? --link says, as 25gbit,10us",
                       options.topology);
    }
    questions.link_text += " in " + options.topology;
  }
  if (options.per_node < 0) fail<UsageError>("--per-node {}: at least 1", options.per_node);
  if (options.per_node > 0) questions.per_node = options.per_node;
  return questions;
}

/// Each launch's own record of its steps.
Profiles profiles_of(const StoredRun& run) {
  Profiles profiles;
  for (const auto& [number, file] : traces_of(run.folder)) {
    profiles[number] = parse_profile(read_file(file), file.string());
  }
  return profiles;
}

/// Throws unless something in the run can be predicted.
std::vector<CaseOfRun> cases_of(const PredictOptions& options, const StoredRun& run) {
  std::vector<CaseOfRun> cases = cases_of_run(run, profiles_of(run));
  const std::string folder = options.run.string();
  if (cases.empty()) {
    fail<UsageError>("{}: no epoch of a gradient sync on 2 or more ranks to begin from", folder);
  }
  const bool none = std::ranges::all_of(cases, [](auto& one) { return !one.missing.empty(); });
  if (none) fail<UsageError>("{}: {}", folder, cases.front().missing);
  return cases;
}

/// Where runs go by default, wherever this one is: it may be somebody else's, and a sealed run is
/// not written into.
fs::path folder_for(const PredictOptions& options, const Manifest& manifest) {
  constexpr std::uintmax_t kBytesNeededToPredict = 2'000'000;
  if (!options.out.empty()) return own_folder(options.out, kBytesNeededToPredict);
  fs::path folder = StartOptions().results / "predictions" / manifest.run_id;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    fail<UsageError>("{}: {}; say where to with --out", folder.string(), error.message());
  }
  require_room(folder, kBytesNeededToPredict);
  fs::remove_all(folder / "figures");  // of an earlier question
  return folder;
}

ExitCode predict(const PredictOptions& options) {
  PredictionQuestions questions = questions_of(options);
  Console console(/*speaks=*/true, /*quiet=*/false);
  std::optional<Interruption> interruption;
  std::optional<SimulatedNetwork> topology;
  if (!options.topology.empty()) {
    interruption.emplace();
    questions.link.topology = &topology.emplace(
        options.topology, programs_folder() / "simulate_allreduce", console, interruption->stop());
  }
  const StoredRun run = read_stored_run(options.run, WithSamples::no);
  if (run.manifest.import) {
    fail<UsageError>(
        "{}: imported ({}), and a prediction begins from epochs, allreduces and a recorded step of "
        "one "
        "run: measure one with scalebench run",
        options.run.string(), run.manifest.import->kind);
  }
  const std::vector<CaseOfRun> cases = cases_of(options, run);
  const std::vector<ResultRow> rows = prediction_rows(cases, questions, run.manifest.run_id);
  if (interruption && interruption->stop()) return interruption->exit_code();
  for (const std::string& torn : run.torn) console.warn(torn, "scalebench verify");
  const int largest = largest_measured(cases);
  if (questions.ranks.back() > kTrustedFactor * largest) {
    console.warn(fmt::format("N = {} is more than {} times the largest measured N, {}: little "
                             "speaks for such a prediction",
                             questions.ranks.back(), kTrustedFactor, largest),
                 "measure more ranks");
  }
  const fs::path folder = folder_for(options, run.manifest);
  // In the place of an earlier question's, as a whole: another may be asked at the same time.
  replace_rows(folder, prediction_schema(), rows);
  console.result(predict_table(rows));
  if (options.figures) draw(folder, "plot", console);
  console.note(fmt::format("prediction: {}", folder.string()));
  const bool any = std::ranges::any_of(rows, [](const ResultRow& row) {
    return row.get("kind") == "forecast" && row.get("status") == "ok";
  });
  return any ? ExitCode::ok : ExitCode::incomplete;
}

}  // namespace

void add_predict(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<PredictOptions>(verb, invocation, predict);
  takes_runs(verb.add_option("run", options.run,
                             "folder of a run with epochs and allreduces on several N"))
      ->required();
  verb.add_option("--ranks", options.ranks, "numbers of ranks to predict, as 16,64,256")
      ->required();
  verb.add_option("--link", options.link,
                  "another network than the measured one: RATE[,LATENCY] of a node's link, as "
                  "25gbit or 25gbit,10us");
  verb.add_option(
      "--topology", options.topology,
      "switches between the nodes, simulated by SimGrid with --link RATE,LATENCY: flat, "
      "or fat_tree:NODES_OF_A_SWITCH:OVERSUBSCRIPTION as fat_tree:16:4");
  verb.add_option("--per-node", options.per_node,
                  "ranks of a node (default: as in the run; with --link on one host: 1)");
  verb.add_option("--out", options.out,
                  "a new folder for prediction.csv and figures (default: results/predictions/RUN "
                  "here)")
      ->type_name("DIR");
  verb.add_flag("!--no-figures", options.figures, "only the table and prediction.csv");
}

}  // namespace scalebench
