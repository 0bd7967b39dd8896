// SPDX-License-Identifier: Apache-2.0
#include "bench/study/annotations.hpp"

#include <fnmatch.h>
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "bench/record/file.hpp"
#include "bench/study/toml_reader.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

Annotation annotation_of(TomlReader& reader, const toml::table& table, bool has_cells) {
  Annotation annotation;
  reader.text(table, "run", annotation.run);
  if (has_cells) reader.text(table, "cells", annotation.cells);
  reader.text(table, "reason", annotation.reason);
  reader.required(table, "run");
  reader.required(table, "reason");
  // A run is a folder of the results: a name, never a path.
  const bool path =
      annotation.run.find('/') != std::string::npos || annotation.run.starts_with('.');
  if (path) reader.complain(*table.get("run"), "run: expected the name of a run, not a path");
  for (const auto& [key, text] :
       {std::pair("run", annotation.run), std::pair("cells", annotation.cells),
        std::pair("reason", annotation.reason)}) {
    const bool blank = text.find_first_not_of(" \t\n") == std::string::npos;
    if (blank && table.contains(key)) {
      reader.complain(*table.get(key), fmt::format("{}: must not be empty", key));
    }
  }
  reader.no_other_keys(table);
  return annotation;
}

Annotations annotations_of(const std::string& text, const std::string& name) {
  toml::table root;
  try {
    root = toml::parse(text);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    fail<UsageError>("{}:{}:{}: {}", name, at.line, at.column, error.description());
  }
  TomlReader reader(name);
  Annotations annotations;
  for (const toml::table* const table : reader.tables(root, "accepted")) {
    annotations.accepted.push_back(annotation_of(reader, *table, true));
  }
  for (const toml::table* const table : reader.tables(root, "excluded")) {
    annotations.excluded.push_back(annotation_of(reader, *table, false));
  }
  if (const toml::table* const table = reader.table(root, "pinned")) {
    annotations.pinned = annotation_of(reader, *table, false);
  }
  reader.no_other_keys(root);
  reader.throw_complaints();
  return annotations;
}

std::string quoted(const std::string& text) {
  std::ostringstream out;
  out << toml::value<std::string>(text);
  return out.str();
}

/// Without the table [pinned], comments and all else kept: only one run can be pinned.
std::string without_pin(const std::string& text) {
  std::istringstream lines(text);
  std::string kept;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string::npos && line[first] == '[') {
      inside = line.compare(first, 8, "[pinned]") == 0;
    }
    if (!inside) kept += line + "\n";
  }
  return kept;
}

}  // namespace

const Annotation* Annotations::excluded_run(const std::string& run) const {
  const auto found = std::ranges::find(excluded, run, &Annotation::run);
  return found == excluded.end() ? nullptr : &*found;
}

Annotations read_annotations(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return {};
  return annotations_of(read_file(file), file.string());
}

std::string annotated(const std::string& text, const std::string& kind,
                      const Annotation& annotation, const std::string& name) {
  annotations_of(text, name);
  const bool pins = kind == "pin";
  std::string out = pins ? without_pin(text) : text;
  if (!out.empty() && !out.ends_with('\n')) out += '\n';
  if (!out.empty()) out += '\n';
  out += pins ? "[pinned]\n" : kind == "accept" ? "[[accepted]]\n" : "[[excluded]]\n";
  out += fmt::format("run = {}\n", quoted(annotation.run));
  if (kind == "accept") out += fmt::format("cells = {}\n", quoted(annotation.cells));
  out += fmt::format("reason = {}\n", quoted(annotation.reason));
  annotations_of(out, name);
  return out;
}

bool matches(const std::string& pattern, const std::string& label, const std::string& key) {
  return fnmatch(pattern.c_str(), label.c_str(), 0) == 0 ||
         fnmatch(pattern.c_str(), key.c_str(), 0) == 0;
}

}  // namespace scalebench
