// SPDX-License-Identifier: Apache-2.0
// The writing half: cells, the header check, and one write(2) a row.
// A write that the disk cuts short is taken back, so that every line of the file is a whole row.
#include "bench/record/csv.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "bench/record/file.hpp"
#include "bench/record/utf8.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kFormulaStart = "=+-@\t";

bool is_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && std::isfinite(value);
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

/// Writes all of `text` or nothing. Returns 0 or the errno of the failure.
int write_whole(int descriptor, std::string_view text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = ::write(descriptor, text.data() + written, text.size() - written);
    if (n >= 0) {
      written += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      const int reason = errno;
      struct stat now {};
      if (written > 0 && ::fstat(descriptor, &now) == 0 && S_ISREG(now.st_mode)) {
        // Nothing better can be done when this fails too: readers drop a torn last line.
        [[maybe_unused]] const int ignored =
            ::ftruncate(descriptor, now.st_size - static_cast<off_t>(written));
      }
      return reason;
    }
  }
  return 0;
}

std::string read_at(int descriptor, off_t offset, std::size_t size) {
  std::string text(size, '\0');
  const ssize_t n = ::pread(descriptor, text.data(), size, offset);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

/// Where the last whole line ends, in bytes from the start.
off_t end_of_whole_lines(int descriptor, off_t size) {
  constexpr off_t kBlock = 65536;
  for (off_t end = size; end > 0;) {
    const off_t begin = end > kBlock ? end - kBlock : 0;
    const std::string block = read_at(descriptor, begin, static_cast<std::size_t>(end - begin));
    const std::size_t newline = block.rfind('\n');
    if (newline != std::string::npos) return begin + static_cast<off_t>(newline) + 1;
    end = begin;
  }
  return 0;
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
    line += csv_cell(cells[i]);
  }
  if (line.empty()) line = "\"\"";  // one empty cell; a blank line is no row
  return line + '\n';
}

CsvWriter::CsvWriter(const std::filesystem::path& path, const std::vector<std::string>& columns)
    : path_(path), columns_(columns.size()) {
  const std::string header = csv_line(columns);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) fail("cannot open '{}' for writing: {}", path.string(), std::strerror(errno));
  const auto refuse = [&](std::string_view what) {
    ::close(descriptor);
    fail("cannot append to '{}': {}", path.string(), what);
  };
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) refuse(std::strerror(errno));
  const off_t size = S_ISREG(status.st_mode) ? status.st_size : 0;
  const std::string found = read_at(descriptor, 0, size > 0 ? header.size() : 0);
  // A crash may have cut the header itself; any other beginning is somebody else's file.
  if (!header.starts_with(found)) refuse("it has another header; choose another folder");
  const off_t whole = end_of_whole_lines(descriptor, size);
  if (whole != size && ::ftruncate(descriptor, whole) != 0) refuse(std::strerror(errno));
  if (whole == 0) {
    const int reason = write_whole(descriptor, header);
    if (reason != 0) refuse(std::strerror(reason));
  }
  descriptor_ = descriptor;
}

CsvWriter::~CsvWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

CsvWriter::CsvWriter(CsvWriter&& other) noexcept
    : path_(std::move(other.path_)),
      columns_(other.columns_),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

void CsvWriter::append(const std::vector<std::string>& cells) {
  if (cells.size() != columns_) {
    fail("'{}' has {} columns, the row has {} cells", path_.string(), columns_, cells.size());
  }
  const std::string line = csv_line(cells);
  const int reason = write_whole(descriptor_, line);
  if (means_disk_full(reason)) {
    fail<DiskFull>("cannot write a row to '{}': {} ({} bytes are needed)", path_.string(),
                   std::strerror(reason), line.size());
  }
  if (reason != 0) fail("cannot write a row to '{}': {}", path_.string(), std::strerror(reason));
}

void CsvWriter::sync() {
  if (::fsync(descriptor_) == 0 || errno == EINVAL) return;  // EINVAL: no file that could
  if (means_disk_full(errno)) fail<DiskFull>("'{}': {}", path_.string(), std::strerror(errno));
  fail("cannot sync '{}': {}", path_.string(), std::strerror(errno));
}

std::string csv_text(const std::vector<std::string>& columns,
                     const std::vector<const std::vector<std::string>*>& rows) {
  std::string text = csv_line(columns);
  for (const std::vector<std::string>* const row : rows) text += csv_line(*row);
  return text;
}

}  // namespace scalebench
