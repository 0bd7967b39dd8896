// SPDX-License-Identifier: Apache-2.0
// Structs in our JSON files, their members named once for both ways: a function
// `members(visit, value)` in the struct's namespace hands each to `visit` with its name, and
// nlohmann/json then writes and reads the struct, and lists of it, as it does numbers.
#pragma once

#include <concepts>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/file.hpp"
#include "bench/record/result_row.hpp"
#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {

/// Null where nothing is known.
template <class T>
nlohmann::json nullable(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}
inline nlohmann::json nullable(const std::string& text) {
  return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

/// What `members` visits with to make an object.
class JsonWriter {
 public:
  explicit JsonWriter(nlohmann::json& object) : object_(object) {}

  /// A member that every file has.
  void operator()(const char* name, const auto& value) { object_[name] = value; }
  /// A text or an optional: missing and null, too, say that nothing is known.
  void maybe(const char* name, const auto& value) { object_[name] = nullable(value); }
  /// An object within this one.
  JsonWriter part(const char* name) { return JsonWriter(object_[name]); }

 private:
  nlohmann::json& object_;
};

/// A value in a message: structures by their kind alone.
inline std::string shown_value(const nlohmann::json& value) {
  return value.is_structured() ? value.type_name() : value.dump();
}

template <class T>
concept WholeNumber = std::integral<T> && !std::same_as<T, bool>;

/// No whole number, or none that fits: json itself would cut off what does not.
class WrongValue : public UsageError {
 public:
  using UsageError::UsageError;
};

/// What `from` holds, into `value`. Throws json::exception for another type, and WrongValue.
template <class T>
void read_value(const nlohmann::json& from, T& value) {
  from.get_to(value);
}
template <WholeNumber T>
void read_value(const nlohmann::json& from, T& value) {
  const std::optional<T> whole = whole_number<T>(from);
  if (!whole) fail<WrongValue>("{} where a whole number belongs", shown_value(from));
  value = *whole;
}
template <WholeNumber T>
void read_value(const nlohmann::json& from, std::vector<T>& value) {
  if (!from.is_array()) fail<WrongValue>("{} where a list belongs", shown_value(from));
  value.clear();
  for (const nlohmann::json& one : from) read_value(one, value.emplace_back());
}

/// The same as JsonWriter to fill a value from an object; throws as read_value, and json::exception
/// for what is missing.
class JsonReader {
 public:
  explicit JsonReader(const nlohmann::json& object) : object_(object) {}

  void operator()(const char* name, auto& value) { read_value(object_.at(name), value); }
  template <class T>
  void maybe(const char* name, std::optional<T>& value) {
    const auto found = object_.find(name);
    if (found != object_.end() && !found->is_null()) read_value(*found, value.emplace());
  }
  void maybe(const char* name, std::string& text) {
    std::optional<std::string> value;
    maybe(name, value);
    text = value.value_or("");
  }
  JsonReader part(const char* name) { return JsonReader(object_.at(name)); }

 private:
  const nlohmann::json& object_;
};

template <class T>
concept HasMembers = requires(T& value, JsonWriter& visit) {
  members(visit, value);
};

template <HasMembers T>
void to_json(nlohmann::json& object, T value) {  // a copy: members are shown to readers, too
  object = nlohmann::json::object();
  JsonWriter visit(object);
  members(visit, value);
}

template <HasMembers T>
void from_json(const nlohmann::json& object, T& value) {
  JsonReader visit(object);
  members(visit, value);
}

/// What `read` makes of the object in a file that document() wrote. Throws UsageError `file: what`
/// when it is missing, of a later schema version, not `kind` ("a manifest") or refused by `read`.
template <class Read>
auto read_document(const std::filesystem::path& path, std::string_view kind, Read read) {
  const nlohmann::json object =
      parse_json(read_file(path), path.string(), fmt::format("expected {}", kind));
  try {
    int version = 0;
    read_value(object.at("schema_version"), version);
    if (version > kSchemaVersion) {
      fail<UsageError>(
          "schema version {} is later than {}, which this program reads; use a later one", version,
          kSchemaVersion);
    }
    return read(object);
  } catch (const nlohmann::json::exception& error) {
    fail<UsageError>("{}: not {}: {}", path.string(), kind, error.what());
  } catch (const WrongValue& error) {
    fail<UsageError>("{}: not {}: {}", path.string(), kind, error.what());
  } catch (const UsageError& error) {
    fail<UsageError>("{}: {}", path.string(), error.what());
  }
}

}  // namespace scalebench
