// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/document.hpp"

#include "bench/record/result_row.hpp"

namespace scalebench {

void add_json_option(CLI::App& verb, bool& as_json) {
  verb.add_flag("--json", as_json, "one JSON document on stdout instead of text");
}

std::string document(nlohmann::json body) {
  body["schema_version"] = kSchemaVersion;
  return body.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace scalebench
