// SPDX-License-Identifier: Apache-2.0
// history.csv: the cells of nights, a row for each cell and question. That of a study on this
// hardware has all nights, and where a cell's begin anew; it is all that nights remember. A night's
// own has its rows alone, what needs a look first.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "bench/record/manifest.hpp"
#include "bench/study/nightly/night.hpp"

namespace scalebench {

inline constexpr const char* kTogether = "*";         // the key of all cells together
inline constexpr const char* kAccepted = "ACCEPTED";  // the cell's nights begin with this one
inline constexpr const char* kDropped = "DROPPED";    // the study no longer asks for the cell

/// The rows; none where there is no file. Throws UsageError `file:line: what` for a damaged one.
std::vector<ResultRow> read_history(const std::filesystem::path& file);

/// The file with these rows at its end, at once.
void append_history(const std::filesystem::path& file, const std::vector<ResultRow>& rows);

/// Of each cell first the question whose answer is the cell's word, then the other one, where that
/// was asked too; then all cells together.
std::vector<ResultRow> history_rows(const Night& night, const Manifest& run);

/// Rows with which the nights of those cells of a night begin anew that needed a look in it.
/// `seconds`: of the night's programs by key; a cell without any is dropped.
std::vector<ResultRow> accepted_rows(std::span<const ResultRow> night,
                                     const std::map<std::string, double>& seconds);

/// What the machine is judged by. Nights of another origin are of another machine.
MachineNights machine_nights(std::span<const ResultRow> history, const std::string& origin);

/// Apache Otava's CSV form: a row a night, and a column for each cell that all nights have
/// measured; `left_out` counts the others.
std::string otava_text(std::span<const ResultRow> history, std::size_t& left_out);

}  // namespace scalebench
