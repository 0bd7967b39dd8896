// SPDX-License-Identifier: Apache-2.0
// The command line of bench_allreduce, and the plan that follows from it.
#include "bench/allreduce/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <array>

#include "bench/cli/help.hpp"
#include "bench/cli/testing.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using Words = std::vector<std::string>;

AllreduceOptions parsed(const Words& words) {
  return scalebench::parsed(&parse_allreduce_options, words, 2);
}

std::string refusal_of(const Words& words) {
  try {
    parsed(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "was accepted";
}

TEST(AllreducePlan, KeepsWhatIsComparedTogether) {
  for (const char* order : {"ascending", "shuffled"}) {
    const auto plan =
        plan_of(parsed({"-b", "8", "-e", "1K", "-f", "2", "--order", order, "--algorithm",
                        "ring,naive", "-d", "float,half", "-o", "sum,avg", "--placement", "both"}),
                2);
    constexpr std::size_t kCompared = 4;  // algorithms by transports
    ASSERT_EQ(plan.size(), kCompared * 8 * 2 * 2 * 2);
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const AllreduceCase& first = plan[i / kCompared * kCompared];
      EXPECT_EQ(plan[i].count, first.count);
      EXPECT_EQ(plan[i].dtype, first.dtype);
      EXPECT_EQ(plan[i].op, first.op);
      EXPECT_EQ(plan[i].in_place, first.in_place);
    }
  }
}

TEST(AllreducePlan, HasEachCaseOnce) {
  // 1, 2 and 4 bytes are no double; what is named twice is measured once.
  const auto plan = plan_of(parsed({"-b", "1", "-e", "8", "-f", "2", "-d", "double,double",
                                    "--algorithm", "ring,naive,ring", "--transport", "mpi,mpi"}),
                            1);
  EXPECT_EQ(plan.size(), 2U * 2U);
  EXPECT_THAT(parsed({"--transport", "mpi,mpi"}).transports, ElementsAre("mpi"));
  EXPECT_THAT(refusal_of({"-b", "0", "-e", "64M"}), HasSubstr("-b 0"));
  EXPECT_EQ(sizes_of(parsed({"-b", "0", "-e", "0"})).size(), 1U);
}

TEST(AllreducePlan, ReachesTheLastSizeWithoutOverflow) {
  const auto sizes = sizes_of(parsed({"-b", "1K", "-e", "4503599627370496", "-f", "4"}));
  EXPECT_EQ(sizes.back(), std::size_t{1} << 52U);
  EXPECT_THAT(sizes_of(parsed({"-b", "0", "-e", "0"})), ElementsAre(0));
}

TEST(AllreducePlan, LetsASweepTakeMinutesAtMost) {
  const auto cap = [](const Words& words) {
    const AllreduceOptions options = parsed(words);
    return stop_seconds_of(options, plan_of(options, 2));
  };
  EXPECT_EQ(cap({"-b", "8", "-e", "64K", "-f", "2"}), 5);
  EXPECT_EQ(cap({"-b", "8", "-e", "64M", "-f", "2", "--max-seconds", "7"}), 7);
  EXPECT_LT(cap({"-b", "8", "-e", "64M", "-f", "2"}), 2);
}

TEST(AllreduceOptions, ANumberOfRepetitionsIsCappedOnlyWhereThatIsAskedFor) {
  EXPECT_FALSE(parsed({"-n", "9"}).method.capped);
  EXPECT_TRUE(parsed({"-n", "9", "--max-seconds", "2"}).method.capped);
}

TEST(AllreduceOptions, DevicesAndMemoryMustAgree) {
  EXPECT_THAT(refusal_of({"--device", "cpu", "--memory", "device"}), HasSubstr("--device cpu"));
  EXPECT_THAT(refusal_of({"--device", "cuda", "--memory", "host"}), HasSubstr("--memory host"));
  EXPECT_THAT(refusal_of({"--devices", "0", "--device", "cpu"}), HasSubstr("--devices 0"));
  EXPECT_THAT(refusal_of({"--device", "cdua"}), HasSubstr("did you mean 'cuda'?"));
  EXPECT_THAT(refusal_of({"--devices", "0,0"}), HasSubstr("named twice"));
  EXPECT_TRUE(parsed({"--share-devices"}).devices.share);
}

TEST(AllreduceOptions, RefuseWhatIsNotValid) {
  const std::array<Words, 22> wrong{{{"-b", "2M", "-e", "1M"},
                                     {"-f", "1"},
                                     {"-n", "-3"},
                                     {"-c", "-1"},
                                     {"-d", "flaot"},
                                     {"-o", "mean"},
                                     {"--algorithm", "rnig"},
                                     {"--transport", "ucx"},
                                     {"--transport", "mpi,auto"},
                                     {"--memory", "gpu"},
                                     {"-R", "3"},
                                     {"--register", "2", "--transport", "mpi"},
                                     {"--placement", "inplace"},
                                     {"--mode", "streaming"},
                                     {"--max-seconds", "0"},
                                     {"-T", "-1"},
                                     {"-G", "1", "--cache", "cold"},
                                     {"--inject", "hang:2"},
                                     {"--inject", "slower=-1"},
                                     {"--inject", "slower=0.05", "-G", "1"},
                                     {"--format", "xml"},
                                     {"--inject", "wrong=0:1@1"}}};
  for (const auto& words : wrong) EXPECT_THROW(parsed(words), UsageError) << words[0];
}

TEST(AllreduceOptions, TakeLists) {
  const AllreduceOptions options = parsed({"-o", "all", "-d", "half,double", "--transport",
                                           "nccl,mpi", "--mode", "both", "--placement", "both"});
  EXPECT_EQ(options.ops.size(), kReduceOps.size());
  EXPECT_THAT(options.dtypes, ElementsAre(DType::float16, DType::float64));
  EXPECT_THAT(options.transports, ElementsAre("nccl", "mpi"));
  EXPECT_THAT(options.pipelined, ElementsAre(false, true));
  EXPECT_THAT(options.in_place, ElementsAre(false, true));
}

TEST(AllreduceCase, KeepsTheNameOfItsPages) {
  AllreduceCase one;
  one.algorithm = &allreduce_named("ring");
  const auto name = [&](const AllreducePlace& place) { return canonical(one, place, {}); };
  EXPECT_THAT(name({"mpi", Memory::host}), HasSubstr(" memory=host pages=default dtype="));
  const std::string on_device = name({"nccl", Memory::device});
  EXPECT_EQ(on_device.find("pages"), std::string::npos) << "a device's memory has none to choose";
}

TEST(AllreduceCase, IsNamedByItsRegistrationUnlessThatIsTheUsualOne) {
  AllreduceCase one;
  one.algorithm = &allreduce_named("native");
  AllreducePlace place{"nccl", Memory::device};
  const std::string unnamed = canonical(one, place, {});
  EXPECT_EQ(unnamed.find("register"), std::string::npos) << "as before there was a choice";
  EXPECT_EQ(place.described(), "nccl");
  place.registration = Registration::local;
  EXPECT_EQ(canonical(one, place, {}), unnamed);
  place.registration = Registration::symmetric;
  EXPECT_THAT(canonical(one, place, {}), HasSubstr(" memory=device register=2 dtype="));
  EXPECT_EQ(place.described(), "nccl --register 2");
  place.registration = Registration::none;
  EXPECT_THAT(canonical(one, place, {}), HasSubstr(" register=0 "));
}

TEST(AllreduceOptions, RegisterWithNcclAsNcclTestsDoes) {
  EXPECT_TRUE(parsed({}).registrations.empty());
  const std::vector<Registration> two{Registration::symmetric};
  EXPECT_EQ(parsed({"-R", "2"}).registrations, two);
  EXPECT_EQ(parsed({"--local_register", "2", "--transport", "nccl"}).registrations, two);
  EXPECT_THAT(parsed({"--register", "0,2", "--transport", "nccl,cuda_ipc"}).registrations,
              ElementsAre(Registration::none, Registration::symmetric));
  EXPECT_EQ(parsed({"--register", "all"}).registrations.size(), 3U);
  EXPECT_THAT(refusal_of({"--register", "0,2", "--transport", "mpi,cuda_ipc"}),
              AllOf(HasSubstr("--register 0,2"), HasSubstr("mpi, cuda_ipc"),
                    HasSubstr("--transport nccl")));
}

TEST(AllreduceOptions, WhatHelpOffersIsAcceptedAndNothingElse) {
  CLI::App app;
  AllreduceOptions options;
  describe(app, 2, options);
  int offering = 0;
  for (const CLI::Option* const option : shown_options(app)) {
    std::istringstream choices(option->get_type_name());
    const std::string name = option->get_name();
    if (choices.str().find('|') == std::string::npos) continue;
    for (std::string choice; std::getline(choices, choice, '|');) {
      EXPECT_EQ(refusal_of({name.c_str(), choice.c_str()}), "was accepted") << name << choice;
    }
    EXPECT_THAT(refusal_of({name.c_str(), "nonsense"}), HasSubstr("'nonsense'")) << name;
    ++offering;
  }
  EXPECT_GE(offering, 4);
}

}  // namespace
}  // namespace scalebench
