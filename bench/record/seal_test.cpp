// SPDX-License-Identifier: Apache-2.0
// A sealed run: what was changed, removed or added is found, and nothing outside is looked at.
#include "bench/record/seal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/machine/digest.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A run of one file in `folder`/name.
fs::path run_in(const TemporaryFolder& folder, const std::string& name,
                const std::string& started = "2026-03-01T04:05:06Z") {
  folder.write(name + "/samples.csv", "a\n1\n");
  folder.write(name + "/launches/001-x/command.txt", "x\n");
  Manifest manifest;
  manifest.run_id = name;
  manifest.study = "tiny";
  manifest.started_utc = started;
  manifest.environment = capture_environment({});
  manifest = updated(manifest, folder / name, "complete");
  write_manifest(folder / name, manifest);
  seal_folder(folder / name, manifest.files);
  return folder / name;
}

std::vector<std::string> differences(const fs::path& run) {
  return check_hashes(run, read_manifest(run)).differences;
}

TEST(Seal, IsWholeAsLongAsNothingChanges) {
  const TemporaryFolder folder;
  const fs::path run = run_in(folder, "run");
  EXPECT_TRUE(is_sealed(run));
  const HashCheck check = check_hashes(run, read_manifest(run));
  EXPECT_THAT(check.differences, IsEmpty());
  EXPECT_THAT(check.notes, IsEmpty());
  EXPECT_EQ(check.files, 3U);
  EXPECT_EQ(check.manifest_sha256, sha256_of_file(run / "manifest.json"));
  folder.write("run/report.html", "drawn later");
  folder.write("run/figures/x.png", "drawn later");
  folder.write("run/.lock", "process 7 on node0\n");
  EXPECT_THAT(differences(run), IsEmpty());
  EXPECT_THAT(message_of<UsageError>([&] { require_not_sealed(run); }), HasSubstr("is complete"));
}

TEST(Seal, FindsWhatIsMissingChangedOrExtra) {
  const TemporaryFolder folder;
  const fs::path run = run_in(folder, "run");
  folder.write("run/launches/001-x/command.txt", "y\n");
  folder.write("run/launches/002-y/stdout.log", "");
  fs::remove(run / "samples.csv");
  EXPECT_THAT(differences(run),
              ElementsAre("launches/001-x/command.txt: changed", "samples.csv: missing",
                          "launches/002-y/stdout.log: not part of the run"));
}

TEST(Seal, FindsAnotherManifestOrList) {
  const TemporaryFolder folder;
  const fs::path run = run_in(folder, "run");
  const std::string sums = folder.read("run/SHA256SUMS");
  folder.write("run/SHA256SUMS", sums + sha256_of("x") + "  more\n");
  EXPECT_THAT(differences(run), Contains("SHA256SUMS: changed"));
  folder.write("run/SHA256SUMS", sums);
  fs::remove(run / "SHA256SUMS");
  EXPECT_THAT(differences(run), ElementsAre("SHA256SUMS: changed"));
  folder.write("run/SHA256SUMS", sums);
  EXPECT_THAT(differences(run), IsEmpty());
  folder.write("run/manifest.json", folder.read("run/manifest.json") + " ");
  EXPECT_THAT(differences(run), ElementsAre("manifest.json: changed"));
}

TEST(Seal, IsNotMissedWhereThereWasNone) {
  const TemporaryFolder folder;
  const fs::path run = run_in(folder, "run");
  fs::remove(run / "COMPLETE");
  EXPECT_THAT(differences(run), ElementsAre("the seal COMPLETE is missing"));
  fs::remove(run / "SHA256SUMS");
  folder.write("run/notes.txt", "of whoever looks at it meanwhile");
  folder.write("run/samples.csv", "a\n2\n");
  const HashCheck check = check_hashes(run, read_manifest(run));
  EXPECT_THAT(check.notes, ElementsAre(HasSubstr("COMPLETE is not there: the run has not ended")));
  EXPECT_THAT(check.differences, ElementsAre("samples.csv: changed"));
}

TEST(Seal, StaysInsideTheRun) {
  const TemporaryFolder folder;
  const fs::path run = run_in(folder, "run");
  const fs::path outside = folder.write("outside.csv", "a\n1\n");  // what samples.csv holds
  fs::remove(run / "samples.csv");
  fs::create_symlink(outside, run / "samples.csv");
  EXPECT_THAT(differences(run), ElementsAre("samples.csv: missing"));
  Manifest manifest = read_manifest(run);
  for (const std::string path : {"../outside.csv", "/etc/passwd", "launches/../../outside.csv"}) {
    manifest.files = {{path, sha256_of("a\n1\n")}};
    EXPECT_THAT(check_hashes(run, manifest).differences, Contains(path + ": missing"));
  }
}

}  // namespace
}  // namespace scalebench
