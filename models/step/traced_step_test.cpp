// SPDX-License-Identifier: Apache-2.0
// What is written is what is read; what cannot be a step is refused with its place.
#include "models/step/traced_step.hpp"

#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "kernels/testing.hpp"
#include "models/testing.hpp"

namespace scalebench {
namespace {

StepProfile example() {
  StepProfile trace;
  trace.batch = 4;
  trace.layers = {{"flatten", 0.25, 0, {}}, {"dense1", 0.5, 1.0 / 3, {12, 3}}};
  trace.load_seconds = 0.125;
  trace.update_seconds = 1e-9;
  trace.host_seconds = 0;
  trace.step_seconds = {1.5, 1.25, 0.1};
  return trace;
}

/// The example with one piece of its text replaced by another.
std::string with(const std::string& old, const std::string& now) {
  std::string text = json_of(example());
  const std::size_t at = text.find(old);
  EXPECT_NE(at, text.npos) << old;
  return text.replace(at, old.size(), now);
}

void expect_refused(const std::string& text, std::initializer_list<std::string_view> parts) {
  expect_error([&] { parse_profile(text, "t.json"); }, parts);
}

TEST(StepProfile, ReadsWhatItWrote) {
  const StepProfile wrote = example();
  const StepProfile read = parse_profile(json_of(wrote), "t.json");
  EXPECT_EQ(json_of(read), json_of(wrote));
  EXPECT_EQ(read.batch, 4);
  ASSERT_EQ(read.layers.size(), 2U);
  EXPECT_TRUE(read.layers[0].gradients.empty());
  EXPECT_EQ(read.layers[1].name, "dense1");
  EXPECT_EQ(read.layers[1].backward_seconds, 1.0 / 3);
  EXPECT_EQ(read.layers[1].gradients, (std::vector<std::int64_t>{12, 3}));
  EXPECT_EQ(read.step_seconds, wrote.step_seconds);
}

TEST(StepProfile, SumsItsIntervals) {
  EXPECT_DOUBLE_EQ(example().forward_seconds(), 0.75);
  EXPECT_DOUBLE_EQ(example().backward_seconds(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(example().seconds(), 0.75 + 1.0 / 3 + 0.125 + 1e-9);
  EXPECT_EQ(example().gradients(), 15);
}

TEST(StepProfile, LeavesOtherKeysUnread) {
  const StepProfile read = parse_profile(with("{", "{\"schema_version\": 1,"), "t.json");
  EXPECT_EQ(json_of(read), json_of(example()));
}

TEST(StepProfile, NamesLineAndColumnOfWhatIsNotJson) {
  expect_refused("{\n  \"batch\": ,\n}", {"t.json:2:12: not JSON", "--record-trace"});
  expect_refused("", {"t.json:1:1: not JSON"});
  const std::string text = json_of(example());
  expect_refused(text.substr(0, text.size() - 3), {"t.json:", "not JSON"});
  expect_refused(with("0.25", "1e999"),
                 {"t.json:", "number overflow parsing '1e999'", "--record-trace"});
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  expect_refused(with("0.125", deep), {"t.json: ", "nested more than 100 deep"});
}

TEST(StepProfile, NamesTheFileOfAValueOfAnotherKind) {
  expect_refused("[]", {"t.json: ", "--record-trace"});
  expect_refused(with("\"batch\"", "\"bacth\""), {"t.json: ", "batch"});
  expect_refused(with("0.125", "\"fast\""), {"t.json: ", "must be number"});
  expect_refused(with("\"dense1\"", "4"), {"t.json: ", "must be string"});
}

TEST(StepProfile, RefusesWhatNoStepCanBe) {
  for (const auto& [old, now] : std::to_array<std::pair<std::string, std::string>>(
           {{"\"batch\": 4", "\"batch\": 0"},
            {"\"batch\": 4", "\"batch\": 18446744073709551615"},
            {"\"batch\": 4", "\"batch\": 4.5"},
            {"12,", "12.5,"},
            {"0.25", "-0.25"},
            {"0.125", "-1"},
            {"12,", "0,"}})) {
    expect_refused(with(old, now), {"t.json: no step", "--record-trace"});
  }
  StepProfile none = example();
  none.step_seconds.clear();
  expect_refused(json_of(none), {"t.json: no step"});
  none = example();
  none.layers.clear();
  expect_refused(json_of(none), {"t.json: no step"});
}

}  // namespace
}  // namespace scalebench
