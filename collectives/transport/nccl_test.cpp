// SPDX-License-Identifier: Apache-2.0
// Which NCCL takes two ranks on one device and which registration, by its version; that nobody is
// told to by accident; and what its log says.
#include "collectives/transport/nccl.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "collectives/transport/nccl_log.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// What NCCL answers is made up: a real one needs cards.
TEST(NcclWait, AbortsAndSaysWhatWentWrongBesideTheStream) {
  int asked = 0, aborted = 0;
  const auto never_done = [] { return false; };
  const auto fails_later = [&] {
    return ++asked < 4 ? std::string() : std::string("remote process exited (rank 1)");
  };
  try {
    wait_beside_errors(never_done, fails_later, [&] { ++aborted; });
    FAIL() << "waited for a stream that is stuck for ever";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "nccl: remote process exited (rank 1)");
  }
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(aborted, 1) << "else what is enqueued would hold up the end of the process";
}

TEST(NcclWait, EndsWithTheStream) {
  int looked = 0, aborted = 0;
  wait_beside_errors([&] { return ++looked == 3; }, [] { return std::string(); },
                     [&] { ++aborted; });
  EXPECT_EQ(looked, 3);
  EXPECT_EQ(aborted, 0);
}

TEST(NcclSharing, IsRefusedBefore2303) {
  EXPECT_THAT(why_nccl_cannot_share(22803), AllOf(HasSubstr("NCCL 2.28.3"), HasSubstr("2.30.3")));
  EXPECT_NE(why_nccl_cannot_share(23002), "");
  EXPECT_EQ(why_nccl_cannot_share(23003), "");
  EXPECT_EQ(why_nccl_cannot_share(23104), "");
  EXPECT_THAT(why_nccl_cannot_share(0), HasSubstr("no NCCL"));
}

TEST(NcclSharing, IsAllowedOnlyWhenItWasAskedForAndNcclCan) {
  unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
  EXPECT_FALSE(nccl_shares_devices());
  if (why_nccl_cannot_share(nccl_version_code()).empty()) {
    let_nccl_share_devices();
    EXPECT_TRUE(nccl_shares_devices());
    unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
  } else {
    EXPECT_THROW(let_nccl_share_devices(), UsageError);
    EXPECT_EQ(std::getenv("NCCL_MULTI_RANK_GPU_ENABLE"), nullptr);
    setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
    EXPECT_FALSE(nccl_shares_devices()) << "this NCCL does not know the variable";
    unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
  }
}

TEST(NcclRegistration, NeedsAVersionThatHasIt) {
  EXPECT_EQ(why_nccl_cannot_register(Registration::none, 21405), "");
  EXPECT_EQ(why_nccl_cannot_register(Registration::local, 21900), "");
  EXPECT_THAT(why_nccl_cannot_register(Registration::local, 21805),
              AllOf(HasSubstr("NCCL 2.18.5"), HasSubstr("ncclCommRegister"), HasSubstr("2.19.0")));
  EXPECT_EQ(why_nccl_cannot_register(Registration::symmetric, 22703), "");
  EXPECT_THAT(why_nccl_cannot_register(Registration::symmetric, 22602),
              AllOf(HasSubstr("NCCL 2.26.2"), HasSubstr("symmetric windows"), HasSubstr("2.27.0")));
  for (const Registration any : kRegistrations) {
    EXPECT_THAT(why_nccl_cannot_register(any, 0), HasSubstr("no NCCL"));
  }
}

TEST(NcclSharing, VersionsReadAsPeopleWriteThem) {
  EXPECT_EQ(nccl_version_text(22803), "2.28.3");
  EXPECT_EQ(nccl_version_text(0), "");
  EXPECT_EQ(nccl_version_text(nccl_version_code()), nccl_version());
}

// What its log says of its choices: lines in the forms of NCCL 2.19 to 2.28; hosts and numbers are
// made up where none was published.

constexpr const char* kNew =
    "node1:71:71 [0] NCCL INFO AllReduce: 4096 Bytes -> Algo TREE proto LL "
    "channel{Lo..Hi}={0..3}\n"
    "node1:71:71 [0] NCCL INFO AllReduce: 268435456 Bytes -> Algo NVLS proto SIMPLE "
    "channel{Lo..Hi}={0..15}\n"
    "node1:71:71 [0] NCCL INFO Broadcast: 8192 Bytes -> Algo RING proto SIMPLE "
    "channel{Lo..Hi}={0..0}\n"
    "node1:71:71 [0] NCCL INFO AllReduce [Symmetric]: 65536 Bytes -> Kernel AllReduce_AGxLL_R "
    "nchannels 4 nthreads 512 nWorks 1\n";

TEST(NcclChoice, IsReadFromEveryFormOfItsLines) {
  EXPECT_EQ(nccl_choice_in(kNew, 4096), "TREE/LL/4");
  EXPECT_EQ(nccl_choice_in(kNew, 268435456), "NVLS/SIMPLE/16");
  EXPECT_EQ(nccl_choice_in(kNew, 65536), "symmetric AllReduce_AGxLL_R");
  EXPECT_EQ(nccl_choice_in(kNew, 8192), "") << "a broadcast's";
  EXPECT_EQ(nccl_choice_in(kNew, 2048), "");
  EXPECT_EQ(
      nccl_choice_in("h:1:1 [0] NCCL INFO 262144 Bytes -> Algo 0 proto 1 time 54.707825\n", 262144),
      "TREE/LL128");
  EXPECT_EQ(
      nccl_choice_in("h:1:1 [0] NCCL INFO AllReduce: 64 Bytes -> Algo 5 proto 2 time 9.5", 64),
      "NVLS_TREE/SIMPLE");
}

TEST(NcclChoice, IsTheLastOfThatSizeAndNothingOfTornLines) {
  const std::string twice =
      "NCCL INFO AllReduce: 64 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}\n"
      "NCCL INFO AllReduce: 64 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={2..5}\n";
  EXPECT_EQ(nccl_choice_in(twice, 64), "RING/LL128/4");
  for (std::size_t length = 0; length < twice.size() / 2; ++length) {
    const std::string choice = nccl_choice_in(twice.substr(0, length), 64);
    EXPECT_TRUE(choice.empty() || choice.starts_with("TREE/L")) << choice;
  }
  EXPECT_EQ(nccl_choice_in("AllReduce: 64 Bytes -> Algo 77 proto x channel{Lo..Hi}={9..1}", 64),
            "77/x");
  EXPECT_EQ(nccl_choice_in("Bytes -> Algo RING proto LL\n-> 64 Bytes\n", 64), "");
}

/// Variables of NCCL while it lives.
class Variables {
 public:
  Variables(const char* level, const char* systems, const char* file) {
    set("NCCL_DEBUG", level);
    set("NCCL_DEBUG_SUBSYS", systems);
    set("NCCL_DEBUG_FILE", file);
  }
  ~Variables() {
    for (const char* name : {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"}) unsetenv(name);
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  static void set(const char* name, const char* value) {
    if (value == nullptr) {
      unsetenv(name);
    } else {
      setenv(name, value, 1);
    }
  }
};

TEST(NcclChoice, IsLoggedWhereTheEnvironmentAsksForIt) {
  const auto log = [](const char* level, const char* systems, const char* file) {
    const Variables variables(level, systems, file);
    return nccl_choice_log().string();
  };
  EXPECT_EQ(log("INFO", "TUNING", "a.log"), "a.log");
  EXPECT_EQ(log("trace", "INIT,tuning", "b"), "b");
  EXPECT_EQ(log("INFO", "ALL", "c"), "c");
  EXPECT_EQ(log("INFO", "^INIT", "d"), "d");
  EXPECT_EQ(log("INFO", "^TUNING", "a"), "");
  EXPECT_EQ(log("INFO", "INIT", "a"), "");
  EXPECT_EQ(log("INFO", nullptr, "a"), "") << "by default it logs other things";
  EXPECT_EQ(log("WARN", "TUNING", "a"), "");
  EXPECT_EQ(log(nullptr, "TUNING", "a"), "");
  EXPECT_EQ(log("INFO", "TUNING", nullptr), "");
  EXPECT_EQ(log("INFO", "TUNING", "x.%p.100%%%"), "x." + std::to_string(getpid()) + ".100%%");
  const std::string host = log("INFO", "TUNING", "%h");
  EXPECT_FALSE(host.empty());
  EXPECT_EQ(host.find_first_of("%."), std::string::npos);
}

TEST(NcclLog, GivesWhatHasComeSinceItWasAsked) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "nccl.log";
  NcclLog log(file);
  EXPECT_EQ(log.choice_since(4096), "") << "there is no file yet";
  std::ofstream(file) << kNew;
  EXPECT_EQ(log.choice_since(4096), "TREE/LL/4");
  EXPECT_EQ(log.choice_since(4096), "");
  std::ofstream(file, std::ios::app) << "AllReduce: 4096 Bytes -> Algo RING proto LL\n";
  EXPECT_EQ(log.choice_since(4096), "RING/LL");
  EXPECT_EQ(NcclLog({}).choice_since(4096), "");
}

}  // namespace
}  // namespace scalebench
