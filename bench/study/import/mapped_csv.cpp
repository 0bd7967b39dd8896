// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "bench/record/csv.hpp"
#include "bench/record/file.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/import/kinds.hpp"
#include "bench/study/plan/toml_reader.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kLaunch = "launch";

constexpr std::string_view kBenches[]{"allreduce", "throughput", "epoch"};

/// ours = "theirs" or ours = { column = "theirs", unit = "us", names = { "theirs" = "ours" } }.
void read_column(TomlReader& reader, const toml::table& columns, std::string_view ours,
                 const toml::node& node, CsvMap& map) {
  MappedColumn& column = map.columns.emplace_back();
  column.ours = ours;
  if (!node.is_table()) return reader.text(columns, ours, column.theirs);
  const toml::table& more = *node.as_table();
  reader.text(more, "column", column.theirs);
  reader.required(more, "column");
  std::string unit;
  reader.text(more, "unit", unit);
  try {
    column.factor = unit_factor("unit", ours, unit);
  } catch (const UsageError& error) {
    reader.complain(*more.get("unit"), error.what());
  }
  if (const toml::table* names = reader.table(more, "names")) {
    for (const auto& [theirs, value] : *names) {
      reader.text(*names, theirs.str(), column.names[std::string(theirs.str())]);
    }
  }
  reader.no_other_keys(more);
}

void read_columns(TomlReader& reader, const toml::table& columns, CsvMap& map) {
  const std::vector<std::string_view> values = value_columns(*map.schema);
  std::vector<std::string_view> valid = values;
  std::ranges::copy(describing_columns(*map.schema), std::back_inserter(valid));
  valid.push_back(kLaunch);
  int carriers = 0;
  for (const auto& [key, node] : columns) {
    if (std::ranges::find(valid, key.str()) == valid.end()) {
      reader.complain(node, unknown_name("column", key.str(), valid));
      continue;
    }
    carriers += carries_values(*map.schema, key.str()) ? 1 : 0;
    read_column(reader, columns, key.str(), node, map);
  }
  if (carriers != 1) {
    reader.complain(columns, fmt::format("exactly one column holds the values; valid: {}",
                                         fmt::join(values, ", ")));
  }
}

void read_filter(TomlReader& reader, const toml::table& filter, CsvMap& map) {
  for (const auto& [key, node] : filter) {
    auto& [column, texts] = map.filter.emplace_back(key.str(), std::vector<std::string>());
    if (node.is_array()) {
      reader.texts(filter, key.str(), texts);
    } else {
      reader.text(filter, key.str(), texts.emplace_back());
    }
  }
}

}  // namespace

CsvMap read_csv_map(const std::filesystem::path& path) {
  CsvMap map;
  TomlReader reader(path.string());
  const toml::table root = reader.parsed(read_file(path));
  std::string bench = "allreduce";
  reader.choice(root, "bench", bench, {std::begin(kBenches), std::end(kBenches)});
  reader.required(root, "bench");
  const toml::table* columns = reader.table(root, "columns");
  const toml::table* filter = reader.table(root, "filter");
  reader.required(root, "columns");
  reader.no_other_keys(root);
  reader.throw_complaints();
  map.schema = row_named(case_schemas(), &Schema::bench, "bench", bench);
  read_columns(reader, *columns, map);
  if (filter != nullptr) read_filter(reader, *filter, map);
  reader.throw_complaints();
  return map;
}

namespace {

void require_known_name(const CsvTable& table, const std::string& name) {
  std::vector<std::string_view> known;
  for (std::size_t row = 0; row < table.size(); ++row) known.push_back(table.text(row, "name"));
  if (std::ranges::find(known, name) != known.end()) return;
  const std::string_view near = nearest_name(name, known);
  fail<UsageError>("unknown published result '{}'{}; `scalebench list published` shows them", name,
                   near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
}

}  // namespace

void require_published(const std::filesystem::path& catalog, const std::string& name) {
  require_known_name(CsvTable::read(catalog), name);
}

CsvMap published_map(const std::filesystem::path& catalog, const std::string& name) {
  // In the order in which they are preferred.
  static const std::pair<const Schema*, MappedColumn> kNumbers[]{
      {&epoch_schema(), {"seconds", "seconds_per_epoch"}},
      {&throughput_schema(), {"images_per_s", "images_per_s"}},
      {&throughput_schema(), {"images_per_s", "images_per_s_per_gpu", 1, /*each=*/true}},
      {&allreduce_schema(), {"busbw_gb_per_s", "busbw_gb_per_s"}}};
  static const std::vector<MappedColumn> kDescribing{
      {"ranks", "gpus"},      {"nodes", "nodes"},
      {"model", "model"},     {"device", "device"},
      {"dtype", "precision"}, {"dataset", "dataset"},
      {"batch", "batch"},     {"size_bytes", "size_bytes"},
      {"note", "kind"},       {"note", "source"},
      {"note", "date"},       {"note", "conditions"},
      {"note", "note"}};
  const CsvTable table = CsvTable::read(catalog);
  require_known_name(table, name);
  for (const auto& [schema, number] : kNumbers) {
    std::vector<std::string> printed;
    for (std::size_t row = 0; row < table.size(); ++row) {
      const std::string& text = table.text(row, number.theirs);
      if (table.text(row, "name") == name && !text.empty()) printed.push_back(text);
    }
    if (printed.empty()) continue;
    CsvMap map{schema, {number}, {{"name", {name}}, {number.theirs, printed}}};
    for (const MappedColumn& column : kDescribing) {
      if (schema->has(column.ours)) map.columns.push_back(column);
    }
    return map;
  }
  fail<UsageError>("{}: nothing is published of it that could be a time", name);
}

namespace {

/// How suites write that there is nothing to say.
bool says_none(std::string_view text) {
  constexpr std::array<std::string_view, 12> kNone{"",    "N/A",  "n/a",  "NA",   "-",   "nan",
                                                   "NaN", "-nan", "null", "None", "inf", "-inf"};
  return std::ranges::find(kNone, text) != kNone.end();
}

class MappedCsv {
 public:
  MappedCsv(const std::filesystem::path& path, const CsvMap& map, const Settings& settings)
      : file_(path.string()),
        table_(CsvTable::read(path, LastLine::may_lack_its_end)),
        map_(map),
        settings_(settings) {
    for (const MappedColumn& column : map.columns) require(column.theirs);
    for (const auto& [column, texts] : map.filter) require(column);
  }

  ImportedFile read() && {
    for (std::size_t row = 0; row < table_.size(); ++row) {
      if (taken(row)) add(row);
    }
    if (result_.launches.empty() && result_.findings.empty() && table_.size() > 0) {
      result_.findings.push_back({0, fmt::format("[filter] takes none of {} rows", table_.size())});
    }
    return std::move(result_);
  }

 private:
  void require(const std::string& column) const {
    if (table_.has(column)) return;
    if (table_.columns().size() == 1 && table_.columns()[0].find(';') != std::string::npos) {
      fail<UsageError>("{}:1:1: columns are divided by ';' here; write the file with commas",
                       file_);
    }
    table_.text(0, column);  // throws, with the columns that there are
  }

  bool taken(std::size_t row) const {
    return std::ranges::all_of(map_.filter, [&](const auto& entry) {
      return std::ranges::find(entry.second, table_.text(row, entry.first)) != entry.second.end();
    });
  }

  /// Their text in our words and units; empty where it says that there is none.
  std::string cell(const std::string& place, std::size_t row, const MappedColumn& column) const {
    const std::string& text = table_.text(row, column.theirs);
    const auto named = column.names.find(text);
    if (named != column.names.end()) return named->second;
    if (says_none(text) || column.factor == 1) return says_none(text) ? "" : text;
    const std::optional<double> number = decimal_of(text);
    if (!number) fail<UsageError>("{}: {}", place, no_number(column.theirs, text));
    return fmt::format("{}", *number * column.factor);
  }

  void add(std::size_t row) {
    const std::string place = fmt::format("{}:{}", file_, table_.line(row));
    ImportedCase one{ResultRow(*map_.schema), {}, {}};
    const MappedColumn* carrier = nullptr;
    std::string launch;
    for (const MappedColumn& column : map_.columns) {
      const bool carries = carries_values(*map_.schema, column.ours);
      if (carries) carrier = &column;
      const std::string text = carries ? "" : cell(place, row, column);
      if (text.empty()) continue;
      if (column.ours == kLaunch) {
        launch = text;
      } else if (column.ours == "note") {
        one.row.add_note(text);
      } else {
        require_value(place, column.ours, text);
        one.row.set(column.ours, text);
      }
    }
    apply(settings_, one.row, file_);
    complete_training(one.row);
    const std::string& text = table_.text(row, carrier->theirs);
    const std::optional<double> number = decimal_of(text);
    const double value = number.value_or(0) * carrier->factor;
    if (!(value > 0) || std::isinf(value)) {
      const std::string why = number ? fmt::format("{} is '{}'", carrier->theirs, text)
                                     : no_number(carrier->theirs, text);
      return result_.findings.push_back({table_.line(row), why});
    }
    const double ranks = carrier->each ? number_in(one.row, "ranks") : 1;
    one.seconds = {seconds_behind(place, one.row, carrier->ours, value * ranks)};
    require_possible(one, place);
    launch_of(launch).cases.push_back(one);
  }

  ImportedLaunch& launch_of(const std::string& launch) {
    const auto [found, is_new] = place_of_.emplace(launch, result_.launches.size());
    if (is_new) result_.launches.emplace_back();
    return result_.launches[found->second];
  }

  std::string file_;
  CsvTable table_;
  const CsvMap& map_;
  const Settings& settings_;
  std::map<std::string, std::size_t> place_of_;
  ImportedFile result_;
};

}  // namespace

ImportedFile read_mapped_csv(const std::filesystem::path& path, const CsvMap& map,
                             const Settings& settings) {
  return MappedCsv(path, map, settings).read();
}

}  // namespace scalebench
