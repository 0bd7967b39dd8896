// SPDX-License-Identifier: Apache-2.0
// Writing a new CSV file row by row, so that a crash loses none that was written: RFC 4180, one
// write(2) a row. And reading one back, by column name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/machine/descriptor.hpp"

namespace scalebench {

/// One cell, quoted where RFC 4180 asks for it; text that a spreadsheet would run as a formula
/// (leading = + - @ TAB CR, and not a number) gets a leading apostrophe.
std::string csv_cell(std::string_view text);

/// One row with its newline; a single empty cell as "", since a blank line is no row.
std::string csv_line(const std::vector<std::string>& cells);

class CsvWriter {
 public:
  /// Makes `path` with its header. Throws UsageError when it is there already, since of two
  /// programs with one folder one gets it; Error (path and reason) when it cannot be made, DiskFull
  /// when it is that.
  CsvWriter(const std::filesystem::path& path, const std::vector<std::string>& columns);

  /// Writes one row with one write(2). `cells` has one entry per column. Throws Error with the path
  /// when that fails, DiskFull when it is that; the file then ends after the last whole row.
  void append(const std::vector<std::string>& cells);

 private:
  std::filesystem::path path_;
  std::size_t columns_;
  Descriptor descriptor_;
};

/// Our own files end each line; a last one without its end was cut short by a crash. Other programs
/// may leave that end away.
enum class LastLine { must_end, may_lack_its_end };

/// Where a CSV file is to be read: `path`, or `path`.gz where only that is there.
std::filesystem::path csv_file(const std::filesystem::path& path);

/// A CSV file in memory. Every row has as many cells as the header.
class CsvTable {
 public:
  /// Reads csv_file(path). Throws UsageError `file:line: what` for a ragged row or an unterminated
  /// quote, and for a damaged .gz; a last line that was cut short (no newline at its end) is
  /// dropped and `torn()` says so.
  static CsvTable read(const std::filesystem::path& path, LastLine last = LastLine::must_end);

  const std::vector<std::string>& columns() const { return columns_; }
  std::size_t size() const { return rows_.size(); }
  bool torn() const { return torn_; }
  bool has(std::string_view column) const;
  /// Throws UsageError, with the nearest name that is there, unless the file has this column.
  void require(std::string_view column) const { index_of(column); }
  /// The row's cells in the order of columns().
  const std::vector<std::string>& cells(std::size_t row) const { return rows_.at(row); }
  /// The cell as text, with the apostrophe of csv_cell removed. Throws Error for unknown columns.
  const std::string& text(std::size_t row, std::string_view column) const;
  /// The cell as a number; NaN when it is empty. Throws UsageError `file:line:column: what` when it
  /// is not a number.
  double number(std::size_t row, std::string_view column) const;
  /// Gives back the memory of a row that has been read; its cells are gone.
  void release(std::size_t row) { rows_.at(row) = {}; }
  /// The line, from 1, in which the row begins.
  std::size_t line(std::size_t row) const { return lines_.at(row); }
  /// "file:line:column" of a cell, for what is wrong with it; reads the file again to know.
  std::string place(std::size_t row, std::string_view column) const;

 private:
  std::size_t index_of(std::string_view column) const;
  std::string name_;
  std::vector<std::string> columns_;
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<unsigned> lines_;  // of the beginnings of rows_
  bool torn_ = false;
};

}  // namespace scalebench
