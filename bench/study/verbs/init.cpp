// SPDX-License-Identifier: Apache-2.0
// scalebench init cpu|gpu|cluster|nightly: a commented config to begin with, here.
#include <fmt/format.h>

#include <array>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/record/file.hpp"
#include "bench/study/run/setup.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

/// In the order of kSources: the file of configs/ that is written.
constexpr std::array<std::string_view, 4> kWhere{"cpu", "gpu", "cluster", "nightly"};
constexpr std::array<const char*, 4> kSources{"quick.toml", "gpu.toml", "cluster.toml",
                                              "nightly/nightly.toml"};

struct InitOptions {
  std::string where;
  std::string out;  // empty: here, by the name of `where`
};

ExitCode write_config(const InitOptions& options) {
  require_known("kind", options.where, kWhere);
  const auto place = std::ranges::find(kWhere, options.where) - kWhere.begin();
  const fs::path source = configs_folder() / kSources.at(static_cast<std::size_t>(place));
  const fs::path out = options.out.empty() ? options.where + ".toml" : options.out;
  if (fs::exists(out)) fail<UsageError>("{} is there already; name another: --out", out.string());
  if (!fs::exists(source)) fail<UsageError>("{} is not there", source.string());
  write_file_atomically(out, read_file(source));
  const char* const verb = options.where == "nightly" ? "nightly" : "run";
  const Console console(/*speaks=*/true, /*quiet=*/false);
  console.result(
      fmt::format("{0}: every key is in docs/config.md; next: scalebench {1} {0} --dry-run, then "
                  "scalebench {1} {0}\n",
                  out.string(), verb));
  return ExitCode::ok;
}

}  // namespace

void add_init(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<InitOptions>(verb, invocation, write_config);
  offer(verb.add_option("where", options.where, "cpu, gpu, cluster or nightly")->required(),
        kWhere);
  verb.add_option("--out", options.out, "the new file; default: cpu.toml and so on, here")
      ->type_name("FILE");
}

}  // namespace scalebench
