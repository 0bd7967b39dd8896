// SPDX-License-Identifier: Apache-2.0
// The writing half: cells, and one write(2) a row.
#include "bench/record/csv.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "bench/machine/environment.hpp"
#include "bench/record/file.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kFormulaStart = "=+-@\t";

bool is_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto value = read_number<double>(text);
  return value && std::isfinite(*value);
}

/// One line: a spreadsheet, grep and the reader's line numbers all agree on what a row is.
std::string fold_line_breaks(std::string_view text) {
  std::string folded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool pair = text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
    if (pair) continue;
    const bool breaks = text[i] == '\n' || text[i] == '\r' || text[i] == '\0';
    folded += breaks ? ' ' : text[i];
  }
  return folded;
}

/// Whether csv_cell would leave it as it is, as far as one look at each character tells.
bool is_plain(std::string_view text) {
  if (text.empty()) return true;
  if (text.front() == '\'' || kFormulaStart.find(text.front()) != std::string_view::npos)
    return false;
  if (text.front() == ' ' || text.back() == ' ') return false;
  return std::ranges::all_of(text,
                             [](char c) { return c >= ' ' && c < '\x7f' && c != ',' && c != '"'; });
}

}  // namespace

std::string csv_cell(std::string_view text) {
  std::string cell = valid_utf8(fold_line_breaks(text));
  // Leading apostrophes before such a character get one more, so that reading takes exactly one.
  const std::size_t first = cell.find_first_not_of('\'');
  const bool formula =
      first != std::string::npos && kFormulaStart.find(cell[first]) != std::string_view::npos;
  if (formula && !is_number(cell)) cell.insert(0, 1, '\'');
  const bool padded = cell.starts_with(' ') || cell.ends_with(' ');
  if (!padded && cell.find_first_of(",\"") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted.append(c == '"' ? 2U : 1U, c);
  return quoted + '"';
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += ',';
    // Most cells; looking at each character anew is a third of writing a large file.
    if (is_plain(cells[i])) {
      line += cells[i];
    } else {
      line += csv_cell(cells[i]);
    }
  }
  if (line.empty()) line = "\"\"";  // one empty cell; a blank line is no row
  return line + '\n';
}

CsvWriter::CsvWriter(const std::filesystem::path& path, const std::vector<std::string>& columns)
    : path_(path),
      columns_(columns.size()),
      descriptor_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
  if (!descriptor_.is_open() && errno == EEXIST) {
    fail<UsageError>("'{}' is there already; choose another folder with --out", path.string());
  }
  if (!descriptor_.is_open()) refuse_write(fmt::format("cannot make '{}'", path.string()), errno);
  append(columns);
}

void CsvWriter::append(const std::vector<std::string>& cells) {
  if (cells.size() != columns_) {
    fail("'{}' has {} columns, the row has {} cells", path_.string(), columns_, cells.size());
  }
  const std::string line = csv_line(cells);
  const int reason = write_all(descriptor_.number(), line);
  if (reason == 0) return;
  refuse_write(fmt::format("cannot write a row to '{}'", path_.string()), reason, line.size());
}

}  // namespace scalebench

// The reading half. Lines come from fast-cpp-csv-parser (byte order mark, CRLF, length limit); its
// column reader needs the columns at compile time, so records are split here, with the quoted line
// breaks of other programs' files.

#define CSV_IO_NO_THREAD
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-truncation"  // seen after inlining: SYSTEM is no help
#endif
#include <csv.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>

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

struct GzClose {
  void operator()(gzFile_s* file) const { gzclose(file); }
};

/// The bytes of a file, unpacked where its name ends in .gz.
std::string text_of(const std::filesystem::path& path) {
  if (path.extension() != ".gz") return read_file(path);
  const std::unique_ptr<gzFile_s, GzClose> file(gzopen(path.c_str(), "rb"));
  if (!file) fail<UsageError>("cannot open '{}': {}", path.string(), std::strerror(errno));
  std::string text;
  std::string block(std::size_t{1} << 20U, '\0');
  while (true) {
    const int n = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()));
    int code = Z_OK;
    const char* const what = gzerror(file.get(), &code);
    // A file that ends too early gives all its bytes first, and Z_BUF_ERROR with the last of them.
    if (n < 0 || (code != Z_OK && code != Z_STREAM_END)) {
      fail<UsageError>("cannot unpack '{}': damaged after {} bytes: {}", path.string(), text.size(),
                       code == Z_ERRNO ? std::strerror(errno) : what);
    }
    if (n == 0) return text;
    text.append(block, 0, static_cast<std::size_t>(n));
  }
}

/// Takes back the apostrophe of csv_cell.
void remove_apostrophe(std::string& cell) {
  const std::size_t first = cell.find_first_not_of('\'');
  if (first == 0 || first == std::string::npos) return;
  if (std::string_view("=+-@\t\r").find(cell[first]) != std::string_view::npos) cell.erase(0, 1);
}

}  // namespace

std::filesystem::path csv_file(const std::filesystem::path& path) {
  const std::filesystem::path packed = path.string() + ".gz";
  return !std::filesystem::exists(path) && std::filesystem::exists(packed) ? packed : path;
}

CsvTable CsvTable::read(const std::filesystem::path& path, LastLine last) {
  const std::filesystem::path file = csv_file(path);
  const std::string text = text_of(file);
  CsvTable table;
  table.name_ = file.string();
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
  // It may be the file that lacks it, or whoever asks for it that errs.
  const std::vector<std::string_view> there(columns_.begin(), columns_.end());
  const std::string_view nearest = nearest_name(column, there);
  fail<UsageError>("{}: no column '{}'; there are: {}{}", name_, column, fmt::join(there, ", "),
                   nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest));
}

const std::string& CsvTable::text(std::size_t row, std::string_view column) const {
  const std::size_t index = index_of(column);
  if (row >= rows_.size()) fail("{}: row {} of {}", name_, row + 1, rows_.size());
  return rows_[row][index];
}

double CsvTable::number(std::size_t row, std::string_view column) const {
  const std::string& cell = text(row, column);
  if (cell.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto value = read_number<double>(std::string_view(cell).substr(cell.starts_with('+')));
  if (value && std::isfinite(*value)) return *value;
  fail<UsageError>("{}: {}: '{}' is not a number; valid: digits with a decimal point, as 12.5",
                   place(row, column), column, cell);
}

std::string CsvTable::place(std::size_t row, std::string_view column) const {
  const std::string text = text_of(name_);
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
