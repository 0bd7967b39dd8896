// SPDX-License-Identifier: Apache-2.0
// What is written is what is read; what cannot be a step is refused with its place.
#include "models/step/traced_step.hpp"

#include <gtest/gtest.h>

#include "kernels/testing.hpp"
#include "models/testing.hpp"

namespace scalebench {
namespace {

TracedStep example() {
  TracedStep trace;
  trace.model = "tiny";
  trace.parameters = 15;
  trace.batch = 4;
  trace.device = "cpu";
  trace.dtype = "float";
  trace.threads = 2;
  trace.steps = 3;
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
  expect_error([&] { parse_traced_step(text, "t.json"); }, parts);
}

TEST(TracedStep, ReadsWhatItWrote) {
  const TemporaryFolder folder;
  const TracedStep wrote = example();
  const TracedStep read = read_traced_step(folder.write("t.json", json_of(wrote)));
  EXPECT_EQ(json_of(read), json_of(wrote));
  EXPECT_EQ(read.model, "tiny");
  EXPECT_EQ(read.batch, 4);
  ASSERT_EQ(read.layers.size(), 2U);
  EXPECT_TRUE(read.layers[0].gradients.empty());
  EXPECT_EQ(read.layers[1].name, "dense1");
  EXPECT_EQ(read.layers[1].backward_seconds, 1.0 / 3);
  EXPECT_EQ(read.layers[1].gradients, (std::vector<std::int64_t>{12, 3}));
  EXPECT_EQ(read.step_seconds, wrote.step_seconds);
}

TEST(TracedStep, SumsItsIntervals) {
  EXPECT_DOUBLE_EQ(example().forward_seconds(), 0.75);
  EXPECT_DOUBLE_EQ(example().backward_seconds(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(example().seconds(), 0.75 + 1.0 / 3 + 0.125 + 1e-9);
  EXPECT_EQ(example().gradients(), 15);
}

TEST(TracedStep, NamesLineAndColumnOfWhatIsNotJson) {
  expect_refused("{\n  \"model\": ,\n}", {"t.json:2:12: not JSON", "--record-trace"});
  expect_refused("", {"t.json:1:1: not JSON"});
  const std::string text = json_of(example());
  expect_refused(text.substr(0, text.size() - 3), {"t.json:", "not JSON"});
  expect_refused(with("0.25", "1e999"),
                 {"t.json:", "number overflow parsing '1e999'", "--record-trace"});
}

TEST(TracedStep, NamesTheKeyOfAWrongValue) {
  expect_refused("[]", {"t.json: the file: []; expected a JSON object"});
  expect_refused(with("\"batch\"", "\"bacth\""), {"bacth: unknown key; valid: ", "batch"});
  expect_refused(with("  \"batch\": 4,\n", ""), {"t.json: batch: missing"});
  expect_refused(with("\"batch\": 4", "\"batch\": 0"), {"batch: 0; expected a whole number"});
  expect_refused(with("\"batch\": 4", "\"batch\": 4.5"), {"batch: 4.5; expected a whole number"});
  expect_refused(with("\"batch\": 4", "\"batch\": 18446744073709551615"), {"batch: ", "whole"});
  expect_refused(with("\"threads\": 2", "\"threads\": 3000000000"), {"threads: ", "31 bits"});
  expect_refused(with("version\": 1", "version\": 2"), {"schema_version: 2; expected 1"});
  expect_refused(with("\"tiny\"", "\"\""), {"model: \"\"; expected a text"});
  expect_refused(with("0.25", "-0.25"),
                 {"layers[0].forward_seconds: -0.25; expected seconds, 0 or more"});
  expect_refused(with("[12,3]", "[12,0]"), {"layers[1].gradients[1]: 0; expected"});
  expect_refused(with("[12,3]", "12"), {"layers[1].gradients: 12; expected a list"});
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  expect_refused(with("\"tiny\"", deep), {"t.json: ", "nested more than 100 deep"});
  expect_refused(with("\"batch\": 4", "\"batch\": 4, \"batch\": 7"),
                 {"t.json: key 'batch' stands twice in one object"});
  expect_refused(with("\"tiny\"", "[[4]]"), {"model: a list; expected a text"});
  expect_refused(with("0.125", "\"fast\""), {"load_seconds: \"fast\"; expected seconds"});
  expect_refused(with("[1.5,1.25,0.1]", "[]"), {"step_seconds: []; expected a list, not empty"});
}

TEST(TracedStep, ChecksWhatMustAgree) {
  expect_refused(with("[12,3]", "[9223372036854775807,9223372036854775807]"), {"parameters: "});
  expect_refused(with("\"parameters\": 15", "\"parameters\": 16"),
                 {"parameters: 16; expected 15, the sum of the layers' gradients"});
  expect_refused(with("\"steps\": 3", "\"steps\": 4"), {"steps: 4; expected 3"});
}

TEST(TracedStep, NamesAFileThatCannotBeRead) {
  const TemporaryFolder folder;
  expect_error([&] { read_traced_step(folder / "none.json"); },
               {"none.json: cannot read", "No such"});
  expect_error([&] { read_traced_step(folder.path()); }, {"cannot read this file"});
}

}  // namespace
}  // namespace scalebench
