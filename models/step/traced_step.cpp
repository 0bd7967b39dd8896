// SPDX-License-Identifier: Apache-2.0
#include "models/step/traced_step.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"

namespace scalebench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

/// A value in a message; what holds others by its kind alone.
std::string shown(const Json& value) {
  if (!value.is_structured() || value.empty()) return value.dump();
  return value.is_array() ? "a list" : "an object";
}

/// An object of the file, whose values are asked for by their keys.
class Fields {
 public:
  /// `path`: of the object in the file, such as `layers[2]`; empty for the whole.
  Fields(const Json& object, std::string file, std::string path,
         std::initializer_list<std::string_view> known)
      : object_(object), file_(std::move(file)), path_(std::move(path)) {
    if (!object_.is_object()) refuse(path_, shown(object_), "a JSON object");
    for (const auto& [key, value] : object_.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        fail<UsageError>("{}: {}: unknown key; valid: {}", file_, name_of(key),
                         fmt::join(known, ", "));
      }
    }
  }

  const Json& list(std::string_view key) const {
    const Json& value = at(key);
    if (!value.is_array() || value.empty()) refuse(name_of(key), shown(value), "a list, not empty");
    return value;
  }

  std::string text(std::string_view key) const {
    const Json& value = at(key);
    if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
      refuse(name_of(key), shown(value), "a text, not empty");
    }
    return value;
  }

  double seconds(std::string_view key) const { return seconds_in(at(key), name_of(key)); }
  std::int64_t count(std::string_view key) const { return count_in(at(key), name_of(key)); }
  int small_count(std::string_view key) const {
    const std::int64_t value = count(key);
    if (value > std::numeric_limits<int>::max()) {
      refuse(name_of(key), std::to_string(value), "a whole number that fits in 31 bits");
    }
    return static_cast<int>(value);
  }

  std::vector<double> all_seconds(std::string_view key) const {
    std::vector<double> values;
    for (const Json& value : list(key)) {
      values.push_back(seconds_in(value, fmt::format("{}[{}]", name_of(key), values.size())));
    }
    return values;
  }

  /// May be empty.
  std::vector<std::int64_t> counts(std::string_view key) const {
    const Json& all = at(key);
    if (!all.is_array()) refuse(name_of(key), shown(all), "a list");
    std::vector<std::int64_t> values;
    for (const Json& value : all) {
      values.push_back(count_in(value, fmt::format("{}[{}]", name_of(key), values.size())));
    }
    return values;
  }

  [[noreturn]] void refuse(const std::string& name, const std::string& found,
                           std::string_view valid) const {
    constexpr std::size_t kMost = 60;
    fail<UsageError>("{}: {}: {}; expected {}", file_, name.empty() ? "the file" : name,
                     found.size() > kMost ? found.substr(0, kMost) + "..." : found, valid);
  }

 private:
  std::string name_of(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  }

  const Json& at(std::string_view key) const {
    const auto found = object_.find(std::string(key));
    if (found == object_.end()) fail<UsageError>("{}: {}: missing", file_, name_of(key));
    return *found;
  }

  double seconds_in(const Json& value, const std::string& name) const {
    const double seconds = value.is_number() ? value.get<double>() : -1;
    if (!std::isfinite(seconds) || seconds < 0) refuse(name, shown(value), "seconds, 0 or more");
    return seconds;
  }

  std::int64_t count_in(const Json& value, const std::string& name) const {
    if (!value.is_number_integer() || value.get<std::int64_t>() < 1) {
      refuse(name, shown(value), "a whole number of at least 1");
    }
    return value;
  }

  const Json& object_;
  const std::string file_;
  const std::string path_;
};

TracedLayer layer_in(const Json& object, const std::string& file, const std::string& path) {
  const Fields fields(object, file, path,
                      {"name", "forward_seconds", "backward_seconds", "gradients"});
  return {fields.text("name"), fields.seconds("forward_seconds"),
          fields.seconds("backward_seconds"), fields.counts("gradients")};
}

std::int64_t gradients_of(const TracedStep& trace) {
  std::int64_t sum = 0;
  for (const TracedLayer& layer : trace.layers) {
    for (const std::int64_t gradients : layer.gradients) {
      if (__builtin_add_overflow(sum, gradients, &sum)) {
        return std::numeric_limits<std::int64_t>::max();
      }
    }
  }
  return sum;
}

}  // namespace

double StepProfile::forward_seconds() const {
  double sum = 0;
  for (const TracedLayer& layer : layers) sum += layer.forward_seconds;
  return sum;
}

double StepProfile::backward_seconds() const {
  double sum = 0;
  for (const TracedLayer& layer : layers) sum += layer.backward_seconds;
  return sum;
}

double StepProfile::seconds() const {
  return load_seconds + forward_seconds() + backward_seconds() + update_seconds + host_seconds;
}

double StepProfile::gradients() const {
  double sum = 0;
  for (const TracedLayer& layer : layers) {
    for (const std::int64_t count : layer.gradients) sum += static_cast<double>(count);
  }
  return sum;
}

TracedStep parse_traced_step(std::string_view text, const std::string& file) {
  const Json json =
      parse_json<Json>(text, file, "expected a trace that bench_epoch --record-trace writes");
  const Fields fields(
      json, file, "",
      {"schema_version", "model", "parameters", "batch", "device", "dtype", "threads", "steps",
       "layers", "load_seconds", "update_seconds", "host_seconds", "step_seconds"});
  if (const auto version = fields.count("schema_version"); version != kVersion) {
    fields.refuse("schema_version", std::to_string(version), std::to_string(kVersion));
  }
  TracedStep trace;
  trace.model = fields.text("model");
  trace.parameters = fields.count("parameters");
  trace.batch = fields.count("batch");
  trace.device = fields.text("device");
  trace.dtype = fields.text("dtype");
  trace.threads = fields.small_count("threads");
  trace.steps = fields.small_count("steps");
  for (const Json& layer : fields.list("layers")) {
    trace.layers.push_back(layer_in(layer, file, fmt::format("layers[{}]", trace.layers.size())));
  }
  trace.load_seconds = fields.seconds("load_seconds");
  trace.update_seconds = fields.seconds("update_seconds");
  trace.host_seconds = fields.seconds("host_seconds");
  trace.step_seconds = fields.all_seconds("step_seconds");
  if (const std::int64_t gradients = gradients_of(trace); gradients != trace.parameters) {
    fields.refuse("parameters", std::to_string(trace.parameters),
                  fmt::format("{}, the sum of the layers' gradients", gradients));
  }
  if (trace.step_seconds.size() != static_cast<std::size_t>(trace.steps)) {
    fields.refuse("steps", std::to_string(trace.steps),
                  fmt::format("{}, as step_seconds has", trace.step_seconds.size()));
  }
  return trace;
}

TracedStep read_traced_step(const std::filesystem::path& file) {
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::error_code ignored;
  if (!stream || !std::filesystem::is_regular_file(file, ignored)) {
    fail<UsageError>(
        "{}: cannot read this file: {}; expected a trace that bench_epoch --record-trace writes",
        file.string(), errno != 0 ? std::strerror(errno) : "not a regular file");
  }
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  return parse_traced_step(text, file.string());
}

std::string json_of(const TracedStep& trace) {
  std::string layers;
  for (const TracedLayer& layer : trace.layers) {
    layers += layers.empty() ? "\n    " : ",\n    ";
    layers += Json{{"name", layer.name},
                   {"forward_seconds", layer.forward_seconds},
                   {"backward_seconds", layer.backward_seconds},
                   {"gradients", layer.gradients}}
                  .dump();
  }
  const auto line = [](std::string_view key, const Json& value) {
    return fmt::format("  \"{}\": {},\n", key, value.dump());
  };
  return "{\n" + line("schema_version", kVersion) + line("model", trace.model) +
         line("parameters", trace.parameters) + line("batch", trace.batch) +
         line("device", trace.device) + line("dtype", trace.dtype) +
         line("threads", trace.threads) + line("steps", trace.steps) +
         fmt::format("  \"layers\": [{}\n  ],\n", layers) +
         line("load_seconds", trace.load_seconds) + line("update_seconds", trace.update_seconds) +
         line("host_seconds", trace.host_seconds) +
         fmt::format("  \"step_seconds\": {}\n}}\n", Json(trace.step_seconds).dump());
}

}  // namespace scalebench
