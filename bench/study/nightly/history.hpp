// SPDX-License-Identifier: Apache-2.0
// history.csv of a study on this hardware: the accepted programs' cells, a row for each night and
// cell, and where their nights begin anew. It is all that nights remember.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/nightly/rules.hpp"

namespace scalebench {

inline constexpr const char* kTogether = "*";         // the key of all cells together
inline constexpr const char* kAccepted = "ACCEPTED";  // the cell's nights begin with this one
inline constexpr const char* kDropped = "DROPPED";    // the study no longer asks for the cell

/// The rows; none where there is no file. Throws UsageError `file:line: what` for a damaged one.
std::vector<ResultRow> read_history(const std::filesystem::path& file);

/// The file with these rows at its end, at once.
void append_history(const std::filesystem::path& file, const std::vector<ResultRow>& rows);

/// What the machine is judged by. Nights of another origin are of another machine.
MachineNights machine_nights(std::span<const ResultRow> history, const std::string& origin);

/// Apache Otava's CSV form: a row a night, and a column for each cell that all nights have
/// measured; `left_out` counts the others.
std::string otava_text(std::span<const ResultRow> history, std::size_t& left_out);

}  // namespace scalebench
