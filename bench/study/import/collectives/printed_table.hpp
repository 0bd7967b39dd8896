// SPDX-License-Identifier: Apache-2.0
// A table of sizes, times and bandwidths, told by its numbers: which of them are times, in which
// unit, and of which collective on how many ranks they are; the names in its head do not count.
// Values in, answers out.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/study/import/foreign_text.hpp"

namespace scalebench {

/// A row as it was printed: size and count, words that say what they are of, and the rest.
struct PrintedRow {
  std::size_t line = 0;
  std::string bytes, count, type, redop;  // the last two: empty where they are not said
  std::vector<std::string> cells;         // numbers, and what stands where one should
};

/// What blanks and the bars of Markdown divide.
std::vector<std::string_view> cells_of(std::string_view line);

/// Whether it is a number, or stands where one belongs: "N/A", "-nan", "1,5".
bool is_cell(std::string_view word);

/// The size that a word is, or ends with, as "[1,0]<stdout>:8388608"; empty where it is none.
std::string_view size_in(std::string_view word);

/// The row at the end of a line, whatever stands before it; nothing where there is none.
std::optional<PrintedRow> row_in(const ForeignLine& line);

/// The time and bandwidth of one row in one placement, whose numbers agree.
struct PrintedResult {
  const PrintedRow* row = nullptr;
  std::string_view placement;
  double seconds = 0;
  std::string wrong;         // as printed; empty where nothing was checked
  bool counts_wrong = true;  // else it is the largest rounding error
};

/// What is known of a table beside its rows.
struct TableHints {
  bool in_place_first = false;  // of those that the head names
  std::size_t places = 0;       // of which its head has bandwidths; 0: it does not say
  std::optional<int> ranks;     // by a list of devices in which none is missing, or by the user
  bool is_allreduce = false;    // by its name, or as the user says of how many ranks it is
};

struct ReadTable {
  int ranks = 0;
  std::vector<PrintedResult> results;  // of an allreduce
  std::vector<Remark> findings;        // rows and tables that are left out, and why
  std::vector<Remark> questions;       // of a table that could be of several numbers of ranks
};

/// `rows`: at least one; they outlive the answer.
ReadTable read_table(const std::vector<PrintedRow>& rows, const TableHints& hints);

}  // namespace scalebench
