// SPDX-License-Identifier: Apache-2.0
// Machines that lack one thing each, made of shell scripts on a PATH of their own.
#include "bench/launch/doctor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <optional>

#include "bench/launch/launcher.hpp"
#include "bench/launch/process.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// A folder of programs that is the whole PATH while it lives.
class ProgramFolder {
 public:
  ProgramFolder() : before_(::getenv("PATH")) { ::setenv("PATH", folder_.path().c_str(), 1); }
  ~ProgramFolder() { ::setenv("PATH", before_.c_str(), 1); }
  ProgramFolder(const ProgramFolder&) = delete;
  ProgramFolder& operator=(const ProgramFolder&) = delete;

  fs::path add(std::string_view name, std::string_view lines) {
    const fs::path file = folder_.write(name, fmt::format("#!/bin/sh\n{}\n", lines));
    fs::permissions(file, fs::perms::owner_all);
    return file;
  }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
  std::string before_;
};

class DoctorTest : public testing::Test {
 protected:
  DoctorTest() {
    programs_.add("mpirun", "echo 'mpirun (Open MPI) 4.1.4'");
    programs_.add("scripts/python", "echo 3.6.3");
    inputs_.environment.treatment["mpi"] = Fact::of("Open MPI v4.1.4, package: Debian Open MPI");
    inputs_.scripts = programs_.folder() / "scripts";
    inputs_.results = programs_.folder() / "results/not/yet";
    inputs_.results_bytes = 1;
  }

  Finding about(std::string_view subject) {
    for (const Finding& finding : diagnose(inputs_)) {
      if (finding.subject == subject) return finding;
    }
    return {Finding::missing, "", "no such subject", ""};
  }

  ProgramFolder programs_;
  DoctorInputs inputs_;
};

TEST_F(DoctorTest, FindsNothingMissingOnAPlainMachine) {
  const std::vector<Finding> findings = diagnose(inputs_);
  EXPECT_EQ(doctor_exit_code(findings), 0) << render(findings);
  EXPECT_EQ(about("mpirun").level, Finding::ok);
  EXPECT_THAT(about("mpirun").text, HasSubstr("Open MPI 4.1.4, as the library is"));
  EXPECT_THAT(about("python").text, HasSubstr("matplotlib 3.6.3"));
  EXPECT_EQ(about("results").level, Finding::ok);
  EXPECT_FALSE(fs::exists(programs_.folder() / "results"));
}

TEST_F(DoctorTest, SaysWhichDescriptionOfAClusterItTook) {
  EXPECT_THAT(about("cluster").text, HasSubstr("this host alone"));
  inputs_.variables = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "2"}};
  EXPECT_THAT(about("cluster").text,
              AllOf(StartsWith("RANK, WORLD_SIZE: localhost:2; "), HasSubstr("rank 1 ends here")));
  inputs_.variables = {{"SLURM_NTASKS", "abc"}};
  EXPECT_EQ(about("cluster").level, Finding::missing);
  EXPECT_THAT(about("cluster").text, StartsWith("SLURM_NTASKS: 'abc'"));
}

TEST_F(DoctorTest, CannotMeasureWithoutALauncher) {
  inputs_.mpirun = "no-such-launcher";
  EXPECT_EQ(about("mpirun").level, Finding::missing);
  EXPECT_NE(about("mpirun").remedy, "");
  EXPECT_EQ(doctor_exit_code(diagnose(inputs_)), 4);
  inputs_.mpirun = programs_.add("broken", "echo 'lib not found' >&2; exit 1").string();
  EXPECT_THAT(about("mpirun").text, HasSubstr("does not run: lib not found"));
}

TEST_F(DoctorTest, ComparesTheLauncherWithTheLibrary) {
  programs_.add("mpirun", "echo 'HYDRA build details:'; echo '  Version:   4.0.2'");
  EXPECT_EQ(about("mpirun").level, Finding::missing);
  EXPECT_THAT(about("mpirun").text, AllOf(HasSubstr("MPICH 4.0.2"), HasSubstr("Open MPI 4.1.4")));
  programs_.add("mpirun", "echo 'mpirun (Open MPI) 5.0.3'");
  EXPECT_EQ(about("mpirun").level, Finding::warning);
  inputs_.environment.treatment["mpi"] = Fact::absent("not asked");
  EXPECT_EQ(about("mpirun").level, Finding::ok);
}

TEST_F(DoctorTest, CannotMeasureWithoutAPlaceForResults) {
  inputs_.results = "/proc/self/results";
  EXPECT_EQ(about("results").level, Finding::missing);
  EXPECT_EQ(doctor_exit_code(diagnose(inputs_)), 4);
  inputs_.results = programs_.folder().path();
  inputs_.results_bytes = std::uintmax_t{1} << 62U;
  EXPECT_THAT(about("results").text, HasSubstr("free"));
}

TEST_F(DoctorTest, SaysWhatAMissingPartCosts) {
  inputs_.environment.treatment["torch"] = Fact::absent("this build has no LibTorch");
  EXPECT_EQ(about("LibTorch").level, Finding::warning);
  EXPECT_THAT(about("LibTorch").text, HasSubstr("bench_epoch"));
  inputs_.environment.key["gpus"] = Fact::absent("no driver");
  EXPECT_THAT(about("GPUs").text, HasSubstr("no driver"));
  inputs_.environment.key["gpus"] = Fact::of(nlohmann::json{"Card A", "Card B"});
  EXPECT_EQ(about("GPUs").text, "2: Card A, Card B");
}

TEST_F(DoctorTest, RepeatsTheEnvironmentsWarnings) {
  inputs_.environment.treatment["governor"] = Fact::of("powersave");
  EXPECT_THAT(about("numbers").text, HasSubstr("powersave"));
  EXPECT_NE(about("numbers").remedy, "");
}

TEST(DoctorTable, HasAWordARemedyAndAVerdict) {
  const std::string table = render({{Finding::ok, "cores", "8", ""},
                                    {Finding::warning, "turbo", "on\x1b[31m", "turn it off"},
                                    {Finding::missing, "mpirun", "none", "install it"}});
  EXPECT_EQ(table,
            "ok       cores   8\n"
            "warning  turbo   on [31m\n"
            "                 -> turn it off\n"
            "missing  mpirun  none\n"
            "                 -> install it\n"
            "\n1 ok, 1 warning(s), 1 missing: nothing can be measured\n");
}

TEST(MpiVersion, IsReadFromLaunchersAndLibraries) {
  const auto read = [](std::string_view text) { return mpi_version_in(text).text(); };
  EXPECT_EQ(read("mpirun (Open MPI) 4.1.4\n\nReport bugs to"), "Open MPI 4.1.4");
  EXPECT_EQ(read("Open MPI v5.0.3, package: x, ident: 5.0.3"), "Open MPI 5.0.3");
  EXPECT_EQ(read("mpiexec (OpenRTE) 4.1.4"), "Open MPI 4.1.4");
  EXPECT_EQ(read("HYDRA build details:\n    Version:       4.0.2\n"), "MPICH 4.0.2");
  EXPECT_EQ(read("MPICH Version:\t4.0.2\nMPICH Release date:"), "MPICH 4.0.2");
  EXPECT_EQ(read("Intel(R) MPI Library for Linux* OS, Version 2021.9 Build"), "Intel MPI 2021.9");
  EXPECT_EQ(read("srun: error"), "an unknown MPI");
}

TEST(Ask, DoesNotHang) {
  EXPECT_EQ(ask({"/bin/echo", "a b", "$HOME"}, 10).output, "a b $HOME\n");
  EXPECT_FALSE(ask({"/bin/sh", "-c", "exit 3"}, 10).answered);
  const CommandAnswer missing = ask({"/nonexistent/program"}, 10);
  EXPECT_FALSE(missing.answered);
  EXPECT_EQ(missing.output, "/nonexistent/program: No such file or directory\n");
  const CommandAnswer hung = ask({"/bin/sh", "-c", "echo begin; sleep 60 & sleep 60"}, 1);
  EXPECT_FALSE(hung.answered);
  EXPECT_THAT(hung.output, AllOf(StartsWith("begin"), HasSubstr("no answer")));
}

TEST(FindProgram, TakesOnlyWhatCanRun) {
  ProgramFolder programs;
  programs.folder().write("text", "no program");
  programs.add("tool", "true");
  EXPECT_EQ(find_program("tool"), programs.folder() / "tool");
  EXPECT_EQ(find_program((programs.folder() / "tool").string()), programs.folder() / "tool");
  EXPECT_FALSE(find_program("text"));
  EXPECT_FALSE(find_program("none"));
  EXPECT_FALSE(find_program(programs.folder().path().string()));
}

}  // namespace
}  // namespace scalebench
