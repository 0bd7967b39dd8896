// SPDX-License-Identifier: Apache-2.0
// scalebench bisect --good COMMIT CONFIG: which commit made it slower? Each commit that git bisect
// takes is built in a work tree of its own and measured in turns with the good build; one that does
// not build, or of which nothing can be told, is skipped (125). What was built and measured stays
// in the folder. Exit: regression: found; incomplete: not to be told; ok: bad is not slower.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/launch/process.hpp"
#include "bench/record/file.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/study/run/end.hpp"
#include "bench/study/run/resolved_study.hpp"
#include "bench/study/run/setup.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

struct BisectOptions : StartOptions {
  fs::path config;
  std::string good, bad = "HEAD";
  std::string cell;
  fs::path source = ".";
  int launches = 10;
  std::vector<std::string> more;  // for cmake, as typed after --
};

constexpr int kPatienceSeconds = 60;
constexpr double kBuildSeconds = 3 * 3600, kBisectSeconds = 7 * 24 * 3600;
constexpr std::uintmax_t kBytesNeeded = 2'000'000'000;

/// What git says, without the end of its line. Throws UsageError with its complaint.
std::string git(const fs::path& tree, std::vector<std::string> words) {
  std::vector<std::string> command{"git", "-C", tree.string()};
  command.insert(command.end(), words.begin(), words.end());
  CommandAnswer answer = ask(command, kPatienceSeconds);
  answer.output.erase(answer.output.find_last_not_of('\n') + 1);
  if (answer.answered) return answer.output;
  fail<UsageError>("git {}: {}", fmt::join(words, " "),
                   printable(answer.output.substr(0, answer.output.find('\n'))));
}

class Bisection {
 public:
  Bisection(const BisectOptions& options, Console& console) : options_(options), console_(console) {
    root_ = git(options.source, {"rev-parse", "--show-toplevel"});
    good_ = git(root_, {"rev-parse", "--verify", options.good + "^{commit}"});
    bad_ = git(root_, {"rev-parse", "--verify", options.bad + "^{commit}"});
    if (git(root_, {"merge-base", good_, bad_}) != good_ || good_ == bad_) {
      fail<UsageError>("--good {} --bad {}: the good commit must come before the bad one",
                       options.good, options.bad);
    }
    if (!fs::exists(options.config))
      fail<UsageError>("{}: no such config", options.config.string());
    const ResultsFolder folder =
        options.out.empty() ? ResultsFolder::create(options.results, "bisect", kBytesNeeded)
                            : ResultsFolder::at(options.out, kBytesNeeded);
    folder_ = fs::absolute(folder.path());
    write_step();
    if (!options.out.empty()) folder.release();
  }
  Bisection(const Bisection&) = delete;
  Bisection& operator=(const Bisection&) = delete;
  ~Bisection() {
    for (const char* const name : {"good", "tree"}) {
      ask({"git", "-C", root_, "worktree", "remove", "--force", (folder_ / name).string()},
          kPatienceSeconds);
    }
  }

  ExitCode run(const Interruption& interruption) {
    make("good", good_, interruption);
    if (!interruption.stop()) make("tree", bad_, interruption);
    if (interruption.stop()) return interruption.exit_code();
    console_.note("measuring the bad commit beside the good one ...");
    const int code = step("bad", interruption);
    if (interruption.stop()) return interruption.exit_code();
    if (code != kBad) {
      const bool fine = code == 0;
      console_.result(fmt::format(
          "{}: {} {} {}\n", fine ? "NOT SLOWER" : "NOT TOLD", bad_.substr(0, kDigits),
          fine ? "is not slower than" : "cannot be told from", good_.substr(0, kDigits)));
      return fine ? ExitCode::ok : ExitCode::incomplete;
    }
    git(tree(), {"bisect", "start", bad_, good_});
    const fs::path logs = logs_of("bisect");
    run_launch({"git", "-C", tree().string(), "bisect", "run", (folder_ / "step").string()}, {},
               logs, kBisectSeconds, interruption.stop());
    if (interruption.stop()) return interruption.exit_code();
    const std::string said = read_file(logs / "stdout.log");
    const std::string first = git(tree(), {"rev-parse", "refs/bisect/bad"});
    const bool found = said.find("is the first bad commit") != std::string::npos;
    console_.result(fmt::format(
        "{}: {}\n", found ? "FIRST SLOWER COMMIT" : "NOT TOLD: one of several, at the latest",
        git(root_, {"log", "-1", "--format=%h %as %an: %s", first})));
    console_.note(fmt::format("measured: {}", (folder_ / "measured").string()));
    return found ? ExitCode::regression : ExitCode::incomplete;
  }

  /// The runs of all comparisons.
  std::vector<fs::path> runs() const {
    std::vector<fs::path> runs;
    for (const auto& measured : fs::directory_iterator(folder_ / "measured")) {
      for (const char* const side : {"a", "b"}) runs.push_back(measured.path() / side);
    }
    return runs;
  }

 private:
  static constexpr int kBad = 1, kNotTold = 125;  // as git bisect run takes them
  static constexpr std::size_t kDigits = 12;

  fs::path tree() const { return folder_ / "tree"; }
  fs::path logs_of(const std::string& name) const {
    fs::path logs = folder_ / "logs" / name;
    fs::create_directories(logs);
    return logs;
  }

  /// A work tree of the commit, built in NAME-build, unless that is interrupted.
  void make(const std::string& name, const std::string& commit, const Interruption& interruption) {
    console_.note(fmt::format("building {} ...", commit.substr(0, kDigits)));
    git(root_, {"worktree", "add", "--detach", (folder_ / name).string(), commit});
    const std::string build = (folder_ / (name + "-build")).string();
    std::vector<std::string> configure{"cmake", "-S",  (folder_ / name).string(),
                                       "-B",    build, "-DCMAKE_BUILD_TYPE=Release"};
    configure.insert(configure.end(), options_.more.begin(), options_.more.end());
    for (const auto& [what, command] : {std::pair("configure", configure),
                                        {"build", {"cmake", "--build", build, "--parallel"}}}) {
      const LaunchEnd end = run_launch(command, {}, logs_of(fmt::format("{}-{}", name, what)),
                                       kBuildSeconds, interruption.stop());
      if (interruption.stop()) return;
      if (end.ok) continue;
      fail<UsageError>("{} cannot be built: {} (see {})", commit.substr(0, kDigits), end.why,
                       logs_of(fmt::format("{}-{}", name, what)).string());
    }
  }

  /// What git bisect runs: builds what is checked out and compares it with the good build.
  void write_step() const {
    std::vector<std::string> compare{(programs() / "scalebench").string(),
                                     "compare",
                                     "--build",
                                     (folder_ / "good-build" / "bin").string(),
                                     "--build",
                                     (folder_ / "tree-build" / "bin").string(),
                                     fs::absolute(options_.config).string(),
                                     "--launches",
                                     std::to_string(options_.launches)};
    if (!options_.cell.empty()) compare.insert(compare.end(), {"--cell", options_.cell});
    // The step runs in another folder.
    std::error_code ignored;
    const std::string hosts = fs::is_regular_file(options_.hosts, ignored)
                                  ? fs::absolute(options_.hosts).string()
                                  : options_.hosts;
    const bool is_path = options_.mpirun.find('/') != std::string::npos;
    const std::string mpirun = is_path ? fs::absolute(options_.mpirun).string() : options_.mpirun;
    for (const auto& [name, value] : {std::pair("--hosts", &hosts), {"--mpirun", &mpirun}}) {
      if (!value->empty()) compare.insert(compare.end(), {name, *value});
    }
    if (options_.oversubscribe) compare.emplace_back("--oversubscribe");
    const std::string text = fmt::format(
        "#!/bin/sh\n"
        "# Exit: 0 not slower, 1 slower, 125 not built or not to be told.\n"
        "cd {0} && cmake --build {0}/tree-build --parallel >>{0}/logs/builds.log 2>&1 || exit 125\n"
        "commit=${{1:-$(git -C {0}/tree rev-parse --short=12 HEAD)}}\n"
        "{1} --out {0}/measured/$commit >{0}/logs/$commit.log 2>&1\n"
        "cells={0}/measured/$commit/compare.csv\n"
        "code=0\n"
        "grep -q -e ',SAME,' -e ',FASTER,' \"$cells\" || code=125\n"
        "grep -q -e ',AMBIGUOUS,' -e ',MISSING,' \"$cells\" && code=125\n"
        "grep -q ',SLOWER,' \"$cells\" && code=1\n"
        "echo $code >{0}/verdict\n"
        "exit $code\n",
        shell_line({folder_.string()}), shell_line(compare));
    fs::create_directories(folder_ / "measured");
    fs::create_directories(folder_ / "logs");
    write_file_atomically(folder_ / "step", text);
    fs::permissions(folder_ / "step", fs::perms::owner_exec, fs::perm_options::add);
  }

  /// What the step says of the commit that is checked out.
  int step(const std::string& name, const Interruption& interruption) const {
    run_launch({(folder_ / "step").string(), name}, {}, logs_of("step"), kBisectSeconds,
               interruption.stop());
    if (interruption.stop()) return kNotTold;
    if (!fs::exists(folder_ / "measured" / name / comparison_schema().file)) {
      fail<UsageError>("nothing was measured: see {}",
                       (folder_ / "logs" / (name + ".log")).string());
    }
    const std::string verdict = read_file(folder_ / "verdict");
    return read_number<int>(verdict.substr(0, verdict.find('\n'))).value_or(kNotTold);
  }

  static fs::path programs() { return fs::absolute(programs_folder()); }

  const BisectOptions& options_;
  Console& console_;
  std::string root_, good_, bad_;
  fs::path folder_;
};

ExitCode bisect(const BisectOptions& options) {
  Console console(/*speaks=*/true, options.quiet);
  const Interruption interruption;
  Bisection bisection(options, console);
  const ExitCode code = bisection.run(interruption);
  // 1 says that a commit was found.
  return name_suspects(bisection.runs(), "table", /*fail_on_suspect=*/false, console, code);
}

}  // namespace

void add_bisect(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<BisectOptions>(verb, invocation, bisect);
  verb.add_option("config", options.config,
                  "TOML file of a study that shows it, as small as can be")
      ->required()
      ->type_name("FILE");
  verb.add_option("--good", options.good, "a commit that is as fast as it should be")->required();
  add_shown(verb, "--bad", options.bad, "a later one that is slower");
  verb.add_option("--cell", options.cell,
                  "the cell that is slower, as 'allreduce ring*64 KiB*': only the launches that "
                  "hold it are measured");
  add_shown(verb, "--launches", options.launches, "rounds of each comparison");
  add_shown(verb, "--source", options.source, "the repository");
  verb.add_option("--out", options.out, "the new folder itself")->type_name("DIR");
  add_launcher_options(verb, options);
  verb.footer("After -- come more options for cmake, as -DSCALEBENCH_CUDA=OFF.");
}

}  // namespace scalebench
