// SPDX-License-Identifier: Apache-2.0
// The reading half. Lines come from fast-cpp-csv-parser (byte order mark, CRLF, length limit); its
// column reader needs the columns at compile time, so records are split here, with the quoted line
// breaks of other programs' files.
#define CSV_IO_NO_THREAD
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-truncation"  // seen after inlining: SYSTEM is no help
#endif
#include <csv.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "bench/record/csv.hpp"
#include "bench/record/file.hpp"
#include "kernels/error.hpp"
#include "kernels/unknown_name.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kLargestCell = std::size_t{1} << 24U;

struct Place {
  unsigned line = 0;
  std::ptrdiff_t column = 0;  // in bytes, from 1
};

class RecordReader {
 public:
  RecordReader(std::string name, std::string_view text)
      : name_(std::move(name)), lines_(name_, text.data(), text.data() + text.size()) {}

  /// The next record's cells; empty at the end. Blank lines are passed over. `places` gets where
  /// each begins.
  std::vector<std::string> next(std::vector<Place>* places = nullptr) {
    const char* line = next_line();
    while (line != nullptr && *line == '\0') line = next_line();
    std::vector<std::string> cells;
    if (line == nullptr) return cells;
    first_line_ = lines_.get_file_line();
    cells.reserve(width_);
    while (true) {
      if (places != nullptr) places->push_back({lines_.get_file_line(), 1 + (line - line_begin_)});
      cells.push_back(*line == '"' ? quoted_cell(line) : plain_cell(line));
      if (*line == '\0') break;
      ++line;
    }
    width_ = cells.size();
    return cells;
  }

  /// Where the record that was read last begins.
  unsigned line() const { return first_line_; }

  /// Throws UsageError with the place of the record that was read last.
  [[noreturn]] void refuse(std::string_view what) const {
    fail<UsageError>("{}:{}: {}", name_, first_line_, what);
  }

 private:
  const char* next_line() {
    try {
      return line_begin_ = lines_.next_line();
    } catch (const io::error::line_length_limit_exceeded&) {
      fail<UsageError>("{}:{}: line longer than 16 MiB", name_, lines_.get_file_line());
    }
  }

  static std::string plain_cell(const char*& at) {
    const char* begin = at;
    while (*at != ',' && *at != '\0') ++at;
    return {begin, at};
  }

  std::string quoted_cell(const char*& at) {
    std::string cell;
    for (++at;; ++at) {
      if (*at == '\0') {
        at = next_line();
        if (at == nullptr) refuse("a quote is opened and never closed");
        cell += '\n';
        if (cell.size() > kLargestCell) refuse("a cell larger than 16 MiB: is a quote not closed?");
        --at;
      } else if (*at != '"') {
        cell += *at;
      } else if (at[1] == '"') {
        cell += *at++;
      } else {
        ++at;
        if (*at != ',' && *at != '\0') refuse("text between a closing quote and the next comma");
        return cell;
      }
    }
  }

  std::string name_;
  io::LineReader lines_;
  const char* line_begin_ = nullptr;
  unsigned first_line_ = 0;
  std::size_t width_ = 0;  // of the record before: the next one has as many cells
};

/// Takes back the apostrophe of csv_cell.
void remove_apostrophe(std::string& cell) {
  const std::size_t first = cell.find_first_not_of('\'');
  if (first == 0 || first == std::string::npos) return;
  if (std::string_view("=+-@\t\r").find(cell[first]) != std::string_view::npos) cell.erase(0, 1);
}

}  // namespace

CsvTable CsvTable::read(const std::filesystem::path& path, LastLine last) {
  const std::string text = read_file(path);
  CsvTable table;
  table.name_ = path.string();
  const std::size_t nul = text.find('\0');
  if (nul != std::string::npos) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(nul);
    fail<UsageError>("{}:{}: a NUL byte: this is not a CSV file", table.name_,
                     1 + std::count(text.begin(), end, '\n'));
  }
  const bool all = last == LastLine::may_lack_its_end;
  const std::size_t whole = all ? text.size() : text.rfind('\n') + 1;  // npos + 1 is 0
  table.torn_ = whole != text.size();
  RecordReader reader(table.name_, std::string_view(text).substr(0, whole));
  table.columns_ = reader.next();
  if (table.columns_.empty()) fail<UsageError>("{}:1: there is no header line", table.name_);
  for (std::size_t i = 0; i < table.columns_.size(); ++i) {
    if (!table.index_.emplace(table.columns_[i], i).second) {
      reader.refuse(fmt::format("column '{}' appears twice", table.columns_[i]));
    }
  }
  while (true) {
    std::vector<std::string> cells = reader.next();
    if (cells.empty()) return table;
    if (cells.size() != table.columns_.size()) {
      reader.refuse(
          fmt::format("{} cells in a file of {} columns", cells.size(), table.columns_.size()));
    }
    for (std::string& cell : cells) remove_apostrophe(cell);
    table.rows_.push_back(std::move(cells));
    table.lines_.push_back(reader.line());
  }
}

bool CsvTable::has(std::string_view column) const { return index_.contains(std::string(column)); }

std::size_t CsvTable::index_of(std::string_view column) const {
  const auto found = index_.find(std::string(column));
  if (found != index_.end()) return found->second;
  const std::vector<std::string_view> valid(columns_.begin(), columns_.end());
  fail<UsageError>("{}: {}", name_, unknown_name("column", column, valid));
}

const std::string& CsvTable::text(std::size_t row, std::string_view column) const {
  const std::size_t index = index_of(column);
  if (row >= rows_.size()) fail("{}: row {} of {}", name_, row + 1, rows_.size());
  return rows_[row][index];
}

double CsvTable::number(std::size_t row, std::string_view column) const {
  const std::string& cell = text(row, column);
  if (cell.empty()) return std::numeric_limits<double>::quiet_NaN();
  double value = 0;
  const char* begin = cell.data() + (cell.starts_with('+') ? 1 : 0);
  const char* end = cell.data() + cell.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc() && stop == end && std::isfinite(value)) return value;
  fail<UsageError>("{}: {}: '{}' is not a number; valid: digits with a decimal point, as 12.5",
                   place(row, column), column, cell);
}

std::string CsvTable::place(std::size_t row, std::string_view column) const {
  const std::string text = read_file(name_);
  RecordReader reader(name_, text);
  std::vector<Place> places;
  for (std::size_t record = 0; record <= row + 1; ++record) {
    places.clear();
    reader.next(&places);
  }
  const Place at = places.at(index_of(column));
  return fmt::format("{}:{}:{}", name_, at.line, at.column);
}

}  // namespace scalebench
