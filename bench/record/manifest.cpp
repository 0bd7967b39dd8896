// SPDX-License-Identifier: Apache-2.0
#include "bench/record/manifest.hpp"

#include <utility>

#include "bench/record/file.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/seal.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

using nlohmann::json;

constexpr const char* kManifestFile = "manifest.json";

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
          {"seconds", nullable(launch.seconds)},
          {"name", launch.name},
          {"attempt", launch.attempt}};
}

json json_of(const Resumption& resumption) {
  return {
      {"utc", resumption.utc}, {"command", resumption.command}, {"changed", resumption.changed}};
}

template <class Part>
json json_of(const std::vector<Part>& parts) {
  json array = json::array();
  for (const Part& part : parts) array.push_back(json_of(part));
  return array;
}

json json_of(const ImportRecord& record) {
  json files = json::array();
  for (const ImportRecord::File& file : record.files) {
    files.push_back({{"name", file.name},
                     {"sha256", file.sha256},
                     {"bytes", file.bytes},
                     {"launches", file.launches},
                     {"findings", file.findings}});
  }
  return {{"kind", record.kind},
          {"files", std::move(files)},
          {"source", nullable(record.source)},
          {"date", nullable(record.date)},
          {"conditions", nullable(record.conditions)}};
}

std::optional<ImportRecord> import_of(const json& object) {
  const auto found = object.find("import");
  if (found == object.end() || found->is_null()) return std::nullopt;
  ImportRecord record;
  found->at("kind").get_to(record.kind);
  for (const json& one : found->at("files")) {
    ImportRecord::File& file = record.files.emplace_back();
    one.at("name").get_to(file.name);
    one.at("sha256").get_to(file.sha256);
    one.at("bytes").get_to(file.bytes);
    one.at("launches").get_to(file.launches);
    one.at("findings").get_to(file.findings);
  }
  record.source = maybe<std::string>(*found, "source").value_or("");
  record.date = maybe<std::string>(*found, "date").value_or("");
  record.conditions = maybe<std::string>(*found, "conditions").value_or("");
  return record;
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
  launch.name = object.value("name", "");
  launch.attempt = object.value("attempt", 1);
  return launch;
}

Resumption resumption_of(const json& object) {
  Resumption resumption;
  object.at("utc").get_to(resumption.utc);
  object.at("command").get_to(resumption.command);
  object.at("changed").get_to(resumption.changed);
  return resumption;
}

/// The members that runs of earlier versions do not have.
void read_resumptions(const json& object, Manifest& manifest) {
  for (const json& launch : object.value("superseded", json::array())) {
    manifest.superseded.push_back(launch_of(launch));
  }
  for (const json& one : object.value("resumptions", json::array())) {
    manifest.resumptions.push_back(resumption_of(one));
  }
  manifest.inputs = object.value("inputs", std::map<std::string, std::string>());
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
  manifest.import = import_of(object);
  read_resumptions(object, manifest);
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
          {"import", manifest.import ? json_of(*manifest.import) : json(nullptr)},
          {"job", manifest.job},
          {"launches", json_of(manifest.launches)},
          {"superseded", json_of(manifest.superseded)},
          {"resumptions", json_of(manifest.resumptions)},
          {"inputs", manifest.inputs},
          {"files", manifest.files}};
}

double training_seconds(const std::vector<LaunchRecord>& launches) {
  double sum = 0;
  for (const LaunchRecord& launch : launches) {
    const bool trains = launch.program == "bench_epoch" || launch.program == "bench_throughput";
    if (trains && launch.status == "ok") sum += launch.seconds.value_or(0);
  }
  return sum;
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
  write_file_atomically(folder / kManifestFile, text + "\n");
}

Manifest read_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kManifestFile;
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
