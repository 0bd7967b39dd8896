// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/mapped_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "bench/record/csv.hpp"
#include "bench/study/import/settings.hpp"
#include "bench/study/import/value_column.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kLaunch = "launch";

/// How suites write that there is no number. Anything else that is none is a damaged file.
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
        settings_(settings),
        values_(value_columns(*map.schema)) {
    for (const MappedColumn& column : map.columns) require(column.theirs);
    for (const auto& [column, texts] : map.filter) require(column);
  }

  ImportedFile read() && {
    for (std::size_t row = 0; row < table_.size(); ++row) {
      if (taken(row)) add(row);
    }
    if (result_.launches.empty() && table_.size() > 0) {
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

  /// Their text in our words and units; nothing where it says that there is none.
  std::optional<std::string> cell(std::size_t row, const MappedColumn& column) const {
    const std::string& text = table_.text(row, column.theirs);
    const auto named = column.names.find(text);
    if (named != column.names.end()) return named->second;
    if (column.factor == 1 || says_none(text)) return text;
    const std::optional<double> number = decimal_of(text);
    if (!number) refuse(row, column, no_number(column.theirs, text));
    return fmt::format("{}", *number * column.factor);
  }

  [[noreturn]] void refuse(std::size_t row, const MappedColumn& column,
                           const std::string& what) const {
    fail<UsageError>("{}: {}", table_.place(row, column.theirs), what);
  }

  void describe(std::size_t row, const MappedColumn& column, ResultRow& described) const {
    const std::string text = cell(row, column).value_or("");
    if (says_none(text)) return;
    try {
      require_value("", column.ours, text);
    } catch (const UsageError& error) {
      // ": column: what"
      refuse(row, column, std::string(error.what()).substr(2));
    }
    described.set(column.ours, text);
  }

  void add(std::size_t row) {
    ImportedCase one{ResultRow(*map_.schema), {}, {}};
    const MappedColumn* carrier = nullptr;
    std::string launch;
    for (const MappedColumn& column : map_.columns) {
      const bool value = std::ranges::find(values_, column.ours) != values_.end();
      if (value) {
        carrier = &column;
      } else if (column.ours == kLaunch) {
        launch = table_.text(row, column.theirs);
      } else {
        describe(row, column, one.row);
      }
    }
    apply(map_.constants, one.row, file_);
    apply(settings_, one.row, file_);
    set_value(row, *carrier, one);
    launch_of(launch).cases.push_back(std::move(one));
  }

  void set_value(std::size_t row, const MappedColumn& carrier, ImportedCase& one) {
    if (map_.schema->file == epoch_schema().file || map_.schema->file == throughput_schema().file) {
      set_where_empty(one.row, "rank", "all");
    }
    const std::string& text = table_.text(row, carrier.theirs);
    const std::optional<double> number = decimal_of(text);
    if (!number && !says_none(text)) refuse(row, carrier, no_number(carrier.theirs, text));
    const std::optional<double> seconds =
        number && *number > 0 ? seconds_behind(one.row, carrier.ours, *number * carrier.factor)
                              : std::nullopt;
    if (seconds) {
      one.seconds = {*seconds};
      return;
    }
    if (number && *number > 0) {
      fail<UsageError>("{}: {} gives no time without {}; map it, or add --set",
                       table_.place(row, carrier.theirs), carrier.ours,
                       needed_for_seconds(*map_.schema));
    }
    one.row.set("status", "failed");
    one.row.set("note", fmt::format("{} is '{}'", carrier.theirs, text));
    result_.findings.push_back({table_.line(row), one.row.get("note")});
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
  std::vector<std::string_view> values_;
  std::map<std::string, std::size_t> place_of_;
  ImportedFile result_;
};

}  // namespace

ImportedFile read_mapped_csv(const std::filesystem::path& path, const CsvMap& map,
                             const Settings& settings) {
  return MappedCsv(path, map, settings).read();
}

}  // namespace scalebench
