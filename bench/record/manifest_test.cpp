// SPDX-License-Identifier: Apache-2.0
// A manifest is the same after a round trip, and notices what happened to the run's files.
#include "bench/record/manifest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/machine/digest.hpp"
#include "bench/record/seal.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Manifest example() {
  Manifest manifest;
  manifest.run_id = "20260301T040506Z-smoke-0a1b2c";
  manifest.study = "smoke";
  manifest.started_utc = "2026-03-01T04:05:06Z";
  manifest.command = {"scalebench", "run", "a b"};
  manifest.seed = 18446744073709551615U;
  manifest.config = "[study]\nname = \"smoke\"\n";
  manifest.tool = build_info();
  manifest.binaries = {{"bench_epoch", sha256_of("x")}};
  manifest.environment = capture_environment({});
  manifest.warnings = {{"turbo is on", "turn it off"}};
  manifest.launches = {{1, "bench_epoch", 2, {"mpirun", "-np", "2"}, "ok", "", 1.5},
                       {2, "bench_epoch", 4, {"mpirun", "-np", "4"}, "failed", "killed", {}}};
  manifest.hosts.emplace().push_back({.host = "h1", .slots = 2, .note = "", .name = "n1"});
  manifest.suspects = {{"host3", "link", "its link is slow"}};
  manifest.suspect_line = "suspect: host3, its link is slow";
  return manifest;
}

TEST(Manifest, IsTheSameAfterARoundTrip) {
  const TemporaryFolder folder;
  const Manifest written = updated(example(), folder.path(), "complete");
  write_manifest(folder.path(), written);
  const Manifest read = read_manifest(folder.path());
  EXPECT_EQ(json_of(read), json_of(written));
  EXPECT_EQ(read.seed, written.seed);
  EXPECT_EQ(read.status, "complete");
}

TEST(Manifest, WritesNullForWhatIsUnknown) {
  Manifest manifest = example();
  manifest.tool.commit.reset();
  manifest.tool.dirty.reset();
  manifest.seed.reset();
  const nlohmann::json json = json_of(manifest);
  EXPECT_EQ(json["status"], "partial");
  for (const nlohmann::json& unknown : {json["tool"]["commit"], json["tool"]["dirty"], json["seed"],
                                        json["finished_utc"], json["launches"][1]["seconds"]}) {
    EXPECT_TRUE(unknown.is_null());
  }
}

TEST(Manifest, SurvivesTextThatIsNoUtf8) {
  const TemporaryFolder folder;
  Manifest manifest = example();
  manifest.command = {"a\xff"};
  write_manifest(folder.path(), manifest);
  EXPECT_EQ(read_manifest(folder.path()).command.front(), "a\xef\xbf\xbd");
}

TEST(Manifest, HashesEveryFileButItselfAndWhatIsDrawn) {
  const TemporaryFolder folder;
  for (const char* name : {"samples.csv", "launches/001-x/stdout.log", "manifest.json",
                           "report.html", "figures/a.png", ".manifest.json.tmp-01234567"}) {
    folder.write(name, "abc");
  }
  fs::create_symlink("/etc/passwd", folder / "link");
  const Manifest manifest = updated(example(), folder.path(), "partial");
  EXPECT_THAT(manifest.files, ElementsAre(Pair("launches/001-x/stdout.log", sha256_of("abc")),
                                          Pair("samples.csv", sha256_of("abc"))));
  EXPECT_NE(manifest.finished_utc, "");
}

TEST(Manifest, RefusesWhatItCannotRead) {
  const TemporaryFolder folder;
  const auto refusal = [&] {
    return message_of<UsageError>([&] { read_manifest(folder.path()); });
  };
  EXPECT_THAT(refusal(), HasSubstr("manifest.json"));
  for (const char* text : {"[]", "{\"schema_version\": 1}", "{\"schema_version\": \"1\"}"}) {
    folder.write("manifest.json", text);
    EXPECT_THAT(refusal(), AllOf(HasSubstr("manifest.json"), HasSubstr("not a manifest"))) << text;
  }
  folder.write("manifest.json", "{");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("manifest.json:1:"), HasSubstr("expected a manifest")));
  folder.write("manifest.json", R"({"schema_version": 1, "run_id": "a", "run_id": "b"})");
  EXPECT_THAT(refusal(), HasSubstr("manifest.json: key 'run_id' stands twice"));
  // Numbers that an int would cut off, and what copying and printing could not come back from.
  for (const char* text : {"{\"schema_version\": 4294967297}", "{\"schema_version\": 1e300}"}) {
    folder.write("manifest.json", text);
    EXPECT_THAT(refusal(), HasSubstr("where a whole number belongs")) << text;
  }
  constexpr std::size_t kDeep = 100'000;
  folder.write("manifest.json", "{\"schema_version\": 1, \"job\": " + std::string(kDeep, '[') +
                                    std::string(kDeep, ']') + "}");
  EXPECT_THAT(refusal(), HasSubstr("nested more than 100 deep"));
  folder.write("manifest.json", R"({"schema_version": 99})");
  EXPECT_THAT(refusal(), HasSubstr("schema version 99"));
}

TEST(Manifest, TrainingSecondsAreThoseOfMeasuredTrainings) {
  const auto launch = [](std::string program, std::string status, std::optional<double> seconds) {
    LaunchRecord record;
    record.program = std::move(program);
    record.status = std::move(status);
    record.seconds = seconds;
    return record;
  };
  EXPECT_DOUBLE_EQ(
      training_seconds({launch("bench_epoch", "ok", 10), launch("bench_throughput", "ok", 5),
                        launch("bench_epoch", "failed", 100), launch("bench_epoch", "skipped", {}),
                        launch("bench_allreduce", "ok", 1000)}),
      15);
}

}  // namespace
}  // namespace scalebench
