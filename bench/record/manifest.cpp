// SPDX-License-Identifier: Apache-2.0
#include "bench/record/manifest.hpp"

#include <utility>

#include "bench/record/file.hpp"
#include "bench/record/file_hashes.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/utc_time.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

using nlohmann::json;

constexpr const char* kFile = "manifest.json";

template <class T>
json nullable(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json nullable(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

/// The member `name`; absent and null are both nothing.
template <class T>
std::optional<T> maybe(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return std::nullopt;
  return found->get<T>();
}

json json_of(const BuildInfo& tool) {
  return {{"version", tool.version},       {"commit", nullable(tool.commit)},
          {"dirty", nullable(tool.dirty)}, {"compiler", tool.compiler},
          {"flags", tool.flags},           {"build_type", tool.build_type},
          {"optimized", tool.optimized},   {"sanitized", tool.sanitized}};
}

json json_of(const LaunchRecord& launch) {
  return {{"number", launch.number},
          {"program", launch.program},
          {"ranks", launch.ranks},
          {"command", launch.command},
          {"status", launch.status},
          {"note", launch.note},
          {"seconds", nullable(launch.seconds)}};
}

BuildInfo tool_of(const json& object) {
  BuildInfo tool;
  tool.version = object.at("version").get<std::string>();
  tool.commit = maybe<std::string>(object, "commit");
  tool.dirty = maybe<bool>(object, "dirty");
  tool.compiler = object.value("compiler", "");
  tool.flags = object.value("flags", "");
  tool.build_type = object.value("build_type", "");
  tool.optimized = object.value("optimized", false);
  tool.sanitized = object.value("sanitized", false);
  return tool;
}

LaunchRecord launch_of(const json& object) {
  LaunchRecord launch;
  object.at("number").get_to(launch.number);
  object.at("program").get_to(launch.program);
  object.at("ranks").get_to(launch.ranks);
  object.at("command").get_to(launch.command);
  object.at("status").get_to(launch.status);
  object.at("note").get_to(launch.note);
  launch.seconds = maybe<double>(object, "seconds");
  return launch;
}

Manifest manifest_of(const json& object) {
  const int version = object.at("schema_version").get<int>();
  if (version > kSchemaVersion) {
    fail<UsageError>(
        "schema version {} is later than {}, which this program reads; use a later one", version,
        kSchemaVersion);
  }
  Manifest manifest;
  object.at("run_id").get_to(manifest.run_id);
  object.at("study").get_to(manifest.study);
  object.at("origin").get_to(manifest.origin);
  object.at("started_utc").get_to(manifest.started_utc);
  manifest.finished_utc = maybe<std::string>(object, "finished_utc").value_or("");
  object.at("status").get_to(manifest.status);
  object.at("command").get_to(manifest.command);
  manifest.seed = maybe<std::uint64_t>(object, "seed");
  object.at("config").get_to(manifest.config);
  manifest.tool = tool_of(object.at("tool"));
  object.at("tool").at("binaries").get_to(manifest.binaries);
  manifest.environment = environment_of(object.at("environment"));
  for (const json& warning : object.at("warnings")) {
    manifest.warnings.push_back(
        {warning.at("text").get<std::string>(), warning.at("remedy").get<std::string>()});
  }
  for (const json& launch : object.at("launches")) manifest.launches.push_back(launch_of(launch));
  if (const auto job = object.find("job"); job != object.end()) manifest.job = *job;
  object.at("files").get_to(manifest.files);
  return manifest;
}

}  // namespace

json json_of(const Manifest& manifest) {
  json warnings = json::array();
  for (const Warning& warning : manifest.warnings) {
    warnings.push_back({{"text", warning.text}, {"remedy", warning.remedy}});
  }
  json launches = json::array();
  for (const LaunchRecord& launch : manifest.launches) launches.push_back(json_of(launch));
  json tool = json_of(manifest.tool);
  tool["binaries"] = manifest.binaries;
  return {{"schema_version", kSchemaVersion},
          {"run_id", manifest.run_id},
          {"study", manifest.study},
          {"origin", manifest.origin},
          {"started_utc", manifest.started_utc},
          {"finished_utc", nullable(manifest.finished_utc)},
          {"status", manifest.status},
          {"command", manifest.command},
          {"seed", nullable(manifest.seed)},
          {"config", manifest.config},
          {"tool", std::move(tool)},
          {"environment", json_of(manifest.environment)},
          {"warnings", std::move(warnings)},
          {"launches", std::move(launches)},
          {"job", manifest.job},
          {"files", manifest.files}};
}

Manifest updated(Manifest manifest, const std::filesystem::path& folder, std::string status) {
  manifest.files = file_hashes(folder);
  manifest.finished_utc = utc_label();
  manifest.status = std::move(status);
  return manifest;
}

void write_manifest(const std::filesystem::path& folder, const Manifest& manifest) {
  // Text from outside may be no UTF-8; it is replaced rather than losing the run's manifest.
  const std::string text = json_of(manifest).dump(2, ' ', false, json::error_handler_t::replace);
  write_file_atomically(folder / kFile, text + "\n");
}

Manifest read_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kFile;
  const std::string text = read_file(path);
  try {
    return manifest_of(json::parse(text));
  } catch (const json::exception& error) {
    fail<UsageError>("{}: not a manifest: {}", path.string(), error.what());
  } catch (const UsageError& error) {
    fail<UsageError>("{}: {}", path.string(), error.what());
  }
}

}  // namespace scalebench
