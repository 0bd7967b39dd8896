// SPDX-License-Identifier: Apache-2.0
#include "bench/record/manifest.hpp"

#include <utility>

#include "bench/record/file.hpp"
#include "bench/record/json_members.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/seal.hpp"
#include "bench/record/suspects.hpp"

namespace scalebench {

constexpr const char* kManifestFile = "manifest.json";
constexpr const char* kPlacementFile = "placement.json";

using nlohmann::json;

// What nlohmann/json is to find by the type stands in this namespace itself.

static void to_json(json& object, const Environment& environment) { object = json_of(environment); }
static void from_json(const json& object, Environment& environment) {
  environment = environment_of(object);
}

static void members(auto& visit, BuildInfo& tool) {
  visit("version", tool.version);
  visit.maybe("commit", tool.commit);
  visit.maybe("dirty", tool.dirty);
  visit("compiler", tool.compiler);
  visit("flags", tool.flags);
  visit("build_type", tool.build_type);
  visit("optimized", tool.optimized);
  visit("sanitized", tool.sanitized);
}

static void members(auto& visit, Warning& warning) {
  visit("text", warning.text);
  visit("remedy", warning.remedy);
}

static void members(auto& visit, RankPlace& place) {
  visit("host", place.host);
  visit("cpus", place.cpus);
  visit("gpus", place.gpus);
}

static void members(auto& visit, LaunchRecord& launch) {
  visit("number", launch.number);
  visit("program", launch.program);
  visit("ranks", launch.ranks);
  visit("command", launch.command);
  visit("status", launch.status);
  visit("note", launch.note);
  visit.maybe("seconds", launch.seconds);
  visit("name", launch.name);
  visit("attempt", launch.attempt);
  visit("placement", launch.placement);
}

static void members(auto& visit, FoundHost& host) {
  visit("host", host.host);
  visit("slots", host.slots);
  visit("found", host.found);
  visit("note", host.note);
  visit("name", host.name);
  visit("boot_id", host.boot_id);
  visit("cores", host.cores);
  visit("gpus", host.gpus);
  visit("binaries", host.binaries);
  visit("libraries", host.libraries);
}

static void members(auto& visit, Suspect& suspect) {
  visit("host", suspect.host);
  visit("verdict", suspect.verdict);
  visit("why", suspect.why);
}

static void members(auto& visit, Resumption& resumption) {
  visit("utc", resumption.utc);
  visit("command", resumption.command);
}

static void members(auto& visit, ImportRecord::File& file) {
  visit("name", file.name);
  visit("sha256", file.sha256);
  visit("bytes", file.bytes);
  visit("launches", file.launches);
  visit.maybe("round", file.round);
  visit("findings", file.findings);
}

static void members(auto& visit, ImportRecord& record) {
  visit("kind", record.kind);
  visit("files", record.files);
}

static void members(auto& visit, Manifest& manifest) {
  visit("run_id", manifest.run_id);
  visit("study", manifest.study);
  visit("origin", manifest.origin);
  visit("started_utc", manifest.started_utc);
  visit.maybe("finished_utc", manifest.finished_utc);
  visit("status", manifest.status);
  visit("command", manifest.command);
  visit.maybe("seed", manifest.seed);
  visit("config", manifest.config);
  auto tool = visit.part("tool");
  members(tool, manifest.tool);
  tool("binaries", manifest.binaries);
  visit("environment", manifest.environment);
  visit("warnings", manifest.warnings);
  visit("launches", manifest.launches);
  visit.maybe("import", manifest.import);
  visit.maybe("hosts", manifest.hosts);
  visit("superseded", manifest.superseded);
  visit("resumptions", manifest.resumptions);
  visit("pair", manifest.pair);
  visit("inputs", manifest.inputs);
  visit("suspects", manifest.suspects);
  visit("suspect_line", manifest.suspect_line);
  visit("job", manifest.job);
  visit("files", manifest.files);
}

std::vector<Suspect> lost_hosts(const Manifest& run) {
  std::vector<Suspect> lost;
  for (const FoundHost& host : run.hosts.value_or(std::vector<FoundHost>())) {
    if (host.found == "ok") continue;
    lost.push_back({host.host, host.found,
                    host.note.substr(std::min(host.note.find("left out"), host.note.size()))});
  }
  std::map<std::string, int> launches;
  for (const LaunchRecord& launch : run.launches) {
    const std::string host = lost_host_in(launch.note);
    if (!host.empty()) ++launches[host];
  }
  for (const auto& [host, times] : launches) {
    lost.push_back(
        {host, "lost",
         fmt::format("stopped, down or cut off in {} launch{}", times, times == 1 ? "" : "es")});
  }
  return lost;
}

void name_hosts(Manifest& manifest, const std::vector<ResultRow>& hosts) {
  manifest.suspects = lost_hosts(manifest);
  manifest.suspect_line = suspect_line(manifest.suspects, hosts);
  for (const ResultRow& row : named_hosts(hosts)) {
    manifest.suspects.push_back({row.get("host"), row.get("verdict"), row.get("note")});
  }
}

nlohmann::ordered_json suspects_json(const std::vector<ResultRow>& hosts) {
  Manifest manifest;
  name_hosts(manifest, hosts);
  const json object = manifest;
  return {{"suspects", object.at("suspects")}, {"suspect_line", manifest.suspect_line}};
}

void to_json(json& object, const BuildInfo& build) {
  BuildInfo copy = build;
  object = json::object();
  JsonWriter visit(object);
  members(visit, copy);
}
void from_json(const json& object, BuildInfo& build) {
  JsonReader visit(object);
  members(visit, build);
}

json json_of(const Manifest& manifest) {
  json object = manifest;
  object["schema_version"] = kSchemaVersion;
  return object;
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
  write_file_atomically(folder / kManifestFile, document(manifest));
}

void write_placement(const std::filesystem::path& folder, const std::vector<RankPlace>& places) {
  write_file_atomically(folder / kPlacementFile, document({{"placement", places}}));
}

std::vector<RankPlace> read_placement(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / kPlacementFile)) return {};
  return read_document(folder / kPlacementFile, "a placement", [](const json& object) {
    return object.at("placement").get<std::vector<RankPlace>>();
  });
}

Manifest read_manifest(const std::filesystem::path& folder) {
  return read_document(folder / kManifestFile, "a manifest",
                       [](const json& object) { return object.get<Manifest>(); });
}

}  // namespace scalebench
