// SPDX-License-Identifier: Apache-2.0
// scalebench diff-env A B: in what two runs differ beside their numbers. Exit: ok whenever both
// could be read, whether they differ or not.
#include <fmt/format.h>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/record/result_row.hpp"
#include "bench/study/comparison/run_difference.hpp"
#include "bench/study/verbs/verb.hpp"

namespace scalebench {
namespace {

struct DiffEnvOptions {
  std::filesystem::path a, b;
  bool all = false;
  std::string format = "table";
};

std::string table_of(const std::vector<FieldDifference>& fields,
                     const std::vector<std::string>& config) {
  std::string table = difference_table(fields);
  if (!config.empty()) table += "config\n";
  for (const std::string& line : config) table += fmt::format("  {}\n", printable(line));
  return table.empty() ? "no difference\n" : table;
}

ExitCode show_differences(const DiffEnvOptions& options) {
  require_known("--format", options.format, std::vector<std::string_view>{"table", "json"});
  const Manifest a = read_manifest(options.a), b = read_manifest(options.b);
  std::vector<FieldDifference> fields = fields_of(a, b);
  if (!options.all) fields = differing(fields);
  const std::vector<std::string> config = line_differences(a.config, b.config);
  const Console console(/*speaks=*/true, /*quiet=*/true);
  if (options.format == "table") {
    console.result(table_of(fields, config));
    return ExitCode::ok;
  }
  const nlohmann::json json{{"schema_version", kSchemaVersion},
                            {"a", a.run_id},
                            {"b", b.run_id},
                            {"fields", json_of(fields)},
                            {"config", config}};
  console.result(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  return ExitCode::ok;
}

}  // namespace

void add_diff_env(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<DiffEnvOptions>(verb, invocation, show_differences);
  takes_runs(verb.add_option("A", options.a, "folder of a run"))->required();
  takes_runs(verb.add_option("B", options.b, "folder of another"))->required();
  verb.add_flag("--all", options.all, "also the fields in which they are equal");
  add_shown(verb, "--format", options.format, "table or json");
}

}  // namespace scalebench
