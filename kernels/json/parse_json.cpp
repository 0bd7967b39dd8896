// SPDX-License-Identifier: Apache-2.0
#include "kernels/json/parse_json.hpp"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr int kDeepest = 100;

/// What nlohmann's message says behind its name of the error and its own line and column.
std::string_view behind(std::string_view mark, std::string_view message) {
  const std::size_t at = message.find(mark);
  return at == message.npos ? message : message.substr(at + mark.size());
}

}  // namespace

template <class Json>
Json parse_json(std::string_view text, const std::string& name, std::string_view valid) {
  using Event = typename Json::parse_event_t;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const auto refuse = [&](const std::string& place, std::string_view what) {
    fail<UsageError>("{}{}: {}{}{}", name, place, what, valid.empty() ? "" : "; ", valid);
  };
  std::vector<std::set<std::string>> keys;  // of the objects around the place that is read
  const auto look = [&](int depth, Event event, Json& value) {
    const bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && depth >= kDeepest) refuse("", fmt::format("nested more than {} deep", kDeepest));
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key) {
      const auto& key = value.template get_ref<const std::string&>();
      if (!keys.back().insert(key).second) {
        refuse("", fmt::format("key '{}' stands twice in one object", key));
      }
    }
    return true;
  };
  try {
    return Json::parse(text, look);
  } catch (const typename Json::parse_error& error) {
    // Its byte counts from 1, and is that of the character that does not fit.
    const std::string_view before = text.substr(0, error.byte > 0 ? error.byte - 1 : 0);
    const auto line = 1 + std::ranges::count(before, '\n');
    const std::size_t column = 1 + before.size() - (before.rfind('\n') + 1);  // npos + 1 is 0
    refuse(fmt::format(":{}:{}", line, column),
           fmt::format("not JSON: {}", behind(": ", error.what())));
  } catch (const typename Json::out_of_range& error) {  // "...: number overflow parsing '1e999'"
    refuse("", behind("] ", error.what()));
  }
  return {};
}

template nlohmann::json parse_json(std::string_view, const std::string&, std::string_view);
template nlohmann::ordered_json parse_json(std::string_view, const std::string&, std::string_view);

nlohmann::json json_or_null(std::string_view text) {
  try {
    return parse_json(text, "");
  } catch (const UsageError&) {
    return nullptr;
  }
}

std::string text_in(const nlohmann::json& object, const char* member) {
  if (!object.is_object()) return "";
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace scalebench
