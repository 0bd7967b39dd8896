// SPDX-License-Identifier: Apache-2.0
// scalebench version: what this program was built from and with. What is not in the build, or not
// known, is null.
#include <fmt/format.h>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/machine/environment.hpp"
#include "bench/record/json_members.hpp"
#include "bench/record/manifest.hpp"
#include "bench/study/verbs/verb.hpp"
#include "collectives/mpi_session.hpp"
#include "collectives/transport/nccl.hpp"

namespace scalebench {
namespace {

using nlohmann::json;

json build_document() {
  const std::string mpi = MpiSession::library_version();
  json build = build_info();
  build.update({{"mpi", nullable(mpi.substr(0, mpi.find('\n')))},
                {"cuda", nullable(SCALEBENCH_CUDA_VERSION)},
                {"nccl", nullable(nccl_version())},
                {"libtorch", nullable(SCALEBENCH_TORCH_VERSION)}});
  return build;
}

std::string as_text(const json& build) {
  std::string text;
  for (const char* name : {"version", "commit", "dirty", "compiler", "flags", "build_type", "mpi",
                           "cuda", "nccl", "libtorch"}) {
    const json& value = build.at(name);
    const std::string shown = value.is_null()     ? "none"
                              : value.is_string() ? value.get<std::string>()
                                                  : value.dump();
    text += fmt::format("{:<10} {}\n", name, shown);
  }
  return text;
}

ExitCode show_version(bool as_json) {
  const Console console(/*speaks=*/true, /*quiet=*/true);
  console.result(as_json ? document(build_document()) : as_text(build_document()));
  return ExitCode::ok;
}

}  // namespace

void add_version(CLI::App& verb, Invocation& invocation) {
  add_format_option(verb, options_of<bool>(verb, invocation, show_version));
}

}  // namespace scalebench
