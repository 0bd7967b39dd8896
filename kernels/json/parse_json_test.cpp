// SPDX-License-Identifier: Apache-2.0
#include "kernels/json/parse_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::StartsWith;

std::string refusal(const std::string& text, std::string_view valid = "") {
  return message_of<UsageError>([&] { parse_json(text, "a.json", valid); });
}

TEST(ParseJson, ReadsValuesInTheOrderThatIsAskedFor) {
  const std::string text = R"({"b": [1, 2.5, null], "a": {"b": "x"}})";
  EXPECT_EQ(parse_json(text, "a.json").dump(), R"({"a":{"b":"x"},"b":[1,2.5,null]})");
  EXPECT_EQ(parse_json<nlohmann::ordered_json>(text, "a.json").dump(),
            R"({"b":[1,2.5,null],"a":{"b":"x"}})");
}

TEST(ParseJson, SaysWhereItIsNoJson) {
  EXPECT_THAT(refusal("{\n \"a\": ,\n}"), StartsWith("a.json:2:7: not JSON: syntax error"));
  EXPECT_THAT(refusal(""), StartsWith("a.json:1:1: not JSON: "));
  EXPECT_THAT(refusal("[1,\n"), StartsWith("a.json:2:1: not JSON: "));
  EXPECT_THAT(refusal("[1] 2"), StartsWith("a.json:1:5: not JSON: "));
}

TEST(ParseJson, SaysWhatIsValid) {
  EXPECT_EQ(refusal("[1e999]", "valid: 3"), "a.json: number overflow parsing '1e999'; valid: 3");
}

TEST(ParseJson, NamesAKeyThatStandsTwice) {
  EXPECT_EQ(refusal("{\"a\": 1,\n  \"b\": {\"a\": 2}, \"a\" : 3}"),
            "a.json: key 'a' stands twice in one object");
  EXPECT_EQ(refusal(R"([{"\"\\": 1, "\"\\": 2}])"),
            R"(a.json: key '"\' stands twice in one object)");
  EXPECT_EQ(refusal(R"({"": 1, "": 2})"), "a.json: key '' stands twice in one object");
  EXPECT_EQ(parse_json(R"([{"a": 1}, {"a": 2}])", "a.json").size(), 2U);
}

TEST(ParseJson, NamesANumberThatIsTooLarge) {
  EXPECT_EQ(refusal("{\"a\": [1,\n  -1e999 ]}"), "a.json: number overflow parsing '-1e999'");
  EXPECT_EQ(refusal("1e999"), "a.json: number overflow parsing '1e999'");
}

TEST(ParseJson, StopsAtTheHundredAndFirstLevel) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_json(nested(100), "a.json").is_array());
  EXPECT_EQ(refusal(nested(101)), "a.json: nested more than 100 deep");
  EXPECT_EQ(refusal(std::string(5'000'000, '[')), "a.json: nested more than 100 deep");
  EXPECT_EQ(refusal("[\n" + nested(100) + "]"), "a.json: nested more than 100 deep");
  EXPECT_TRUE(parse_json("\"" + nested(200) + "\"", "a.json").is_string());
}

TEST(ParseJson, PassesOverAByteOrderMark) {
  EXPECT_EQ(parse_json("\xef\xbb\xbf[1]", "a.json").size(), 1U);
  EXPECT_THAT(refusal("\xef\xbb\xbf[1,,]"), StartsWith("a.json:1:4: not JSON: "));
}

TEST(JsonOrNull, IsNullWhereParseJsonRefuses) {
  EXPECT_EQ(json_or_null("[1]").size(), 1U);
  for (const char* const text : {"", "no", "{\"a\": 1, \"a\": 2}", "1e999", "null"}) {
    EXPECT_TRUE(json_or_null(text).is_null()) << text;
  }
  EXPECT_TRUE(json_or_null(std::string(200, '[') + std::string(200, ']')).is_null());
}

}  // namespace
}  // namespace scalebench
