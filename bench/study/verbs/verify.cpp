// SPDX-License-Identifier: Apache-2.0
// scalebench verify RUN: are the files those that were sealed, and does every published number
// follow from samples.csv? Once by the code that publishes, which a mistake of its own would
// pass, and those of a study or an import once more by scripts/recompute.py, which shares nothing
// with it.
// A line for each difference, then the counts. Exit: ok: none differs; incomplete: some do;
// nothing_measured: nothing to verify.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <system_error>

#include "bench/cli/console.hpp"
#include "bench/launch/process.hpp"
#include "bench/record/seal.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/analysis/verification.hpp"
#include "bench/study/run/run.hpp"
#include "bench/study/run/setup.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// 45678 -> "45 678".
std::string grouped(std::size_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ' ');
  return digits;
}

Verification rows_of(const std::filesystem::path& folder) {
  try {
    return verify_rows(read_stored_run(folder, WithSamples::yes), allreduce_fit_model());
  } catch (const UsageError& error) {
    // A file that cannot even be read is not what was published.
    Verification verification;
    verification.differences.push_back({error.what(), "", "", "", ""});
    return verification;
  }
}

struct RemovedAtEnd {
  std::filesystem::path folder;
  ~RemovedAtEnd() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
};

/// What recompute.py says: a line for each difference, and the last for all.
struct SecondPath {
  std::vector<std::string> lines;
  bool differs = false;
};

SecondPath recomputed(const std::filesystem::path& folder) {
  const std::filesystem::path scripts = scripts_folder();
  std::error_code error;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(error);
  if (error) fail("no folder for temporary files ({}); TMPDIR names one", error.message());
  // New, and of a name that nobody can know ahead: links in it would be followed.
  std::string logs_name = (temporary / "scalebench-verify-XXXXXX").string();
  if (::mkdtemp(logs_name.data()) == nullptr) {
    fail("cannot make '{}': {}; TMPDIR names another place", logs_name, std::strerror(errno));
  }
  const RemovedAtEnd logs{logs_name};
  constexpr double kMostSeconds = 600;
  const std::atomic<bool> never = false;
  const LaunchEnd end = run_launch(
      {(scripts / "python").string(), (scripts / "recompute.py").string(), folder.string()}, {},
      logs.folder, kMostSeconds, never);
  SecondPath said;
  std::ifstream output(logs.folder / "stdout.log");
  for (std::string line; std::getline(output, line);) said.lines.push_back(line);
  said.differs = !end.ok && !said.lines.empty();
  if (said.lines.empty()) fail("{}", end.why);
  return said;
}

/// One that cannot be gone says nothing of the run.
SecondPath second_path(const std::filesystem::path& folder, const Manifest& manifest) {
  const bool is_study = std::filesystem::exists(folder / "plan.json");
  if (!manifest.import && (!is_study || manifest.finished_utc.empty())) return {};
  try {
    return recomputed(folder);
  } catch (const std::exception& error) {
    return {{fmt::format("note: not made again by scripts/recompute.py: {}", error.what())}, false};
  }
}

ExitCode verify(const std::filesystem::path& folder) {
  const Console console(/*speaks=*/true, /*quiet=*/false);
  const Manifest manifest = read_manifest(folder);
  const HashCheck hashes = check_hashes(folder, manifest);
  const Verification rows = rows_of(folder);
  for (const std::string& line : hashes.differences) console.result(line + "\n");
  for (const Difference& difference : rows.differences) console.result(line_of(difference) + "\n");
  for (const auto* notes : {&hashes.notes, &rows.notes}) {
    for (const std::string& note : *notes) console.result("note: " + note + "\n");
  }
  console.result(
      fmt::format("{} numbers recomputed from {} samples, {} differ; {} files hashed, {} differ\n",
                  grouped(rows.numbers), grouped(rows.samples), grouped(rows.differences.size()),
                  grouped(hashes.files), grouped(hashes.differences.size())));
  const SecondPath again = second_path(folder, manifest);
  for (const std::string& line : again.lines) console.result(line + "\n");
  console.result(fmt::format("SHA-256 of manifest.json: {}\n", hashes.manifest_sha256));
  const bool differs = !hashes.differences.empty() || !rows.differences.empty() || again.differs;
  if (differs) return ExitCode::incomplete;
  return rows.numbers > 0 ? ExitCode::ok : ExitCode::nothing_measured;
}

}  // namespace

void add_verify(CLI::App& verb, Invocation& invocation) {
  auto& folder = options_of<std::filesystem::path>(verb, invocation, verify);
  takes_runs(verb.add_option("run", folder,
                             "folder of a run, or of one benchmark's --out (not bench_kernels)"))
      ->required();
}

}  // namespace scalebench
