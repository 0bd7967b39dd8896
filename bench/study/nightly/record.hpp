// SPDX-License-Identifier: Apache-2.0
// What nights leave: results/nightly/RUN, all that is known of a night, for the reports, and for
// whoever accepts it; and history.csv, a row for each night and cell. That of a study on this
// hardware has all nights, and where a cell's begin anew; it is all that nights remember. A night's
// own has its rows alone, what needs a look first.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "bench/record/manifest.hpp"
#include "bench/study/nightly/accepted.hpp"
#include "bench/study/nightly/night.hpp"

namespace scalebench {

inline constexpr const char* kTogether = "*";         // the key of all cells together
inline constexpr const char* kAccepted = "ACCEPTED";  // the cell's nights begin with this one
inline constexpr const char* kDropped = "DROPPED";    // the study no longer asks for the cell

/// The folder's history.csv with these rows at its end, at once.
void append_history(const std::filesystem::path& folder, const std::vector<ResultRow>& rows);

/// Of each cell the answer that is the night's, and what the machine's next nights need; then all
/// cells together.
std::vector<ResultRow> history_rows(const Night& night, const Manifest& run);

/// Rows with which the nights of those cells of a night begin anew that needed a look in it.
/// `seconds`: of the night's programs by key; a cell without any is dropped.
std::vector<ResultRow> accepted_rows(std::span<const ResultRow> night,
                                     const std::map<std::string, double>& seconds);

/// What the machine is judged by. Nights of another origin are of another machine.
MachineNights machine_nights(std::span<const ResultRow> history, const std::string& origin);

inline constexpr const char* kNightRecord = "nightly.json";

struct NightRecord {
  Manifest run;  // tonight's; of a night that measured nothing what is known without
  Night night;
  int exit_code = 0;
  std::string rehearsal;      // what was put in on purpose; empty: a night like others
  nlohmann::json accepted{};  // build, before tonight
};

/// Writes history.csv and nightly.json; of a night that is no rehearsal its rows go to the end of
/// the study's history.csv, too. Returns the night's folder.
std::filesystem::path write_night(const std::filesystem::path& results, const NightRecord& record);

/// The end of a night, once it has been published: last_success.json, where it is one, or the exit
/// code that it came to after all.
void settle_night(const std::filesystem::path& results, const NightRecord& record);

/// Copies what reports and dashboards read into another folder, each file atomically. Throws Error
/// when one cannot be written, UsageError when another study's night is there.
void publish(const std::filesystem::path& folder, const std::filesystem::path& to);

/// Accepts the programs that measured a night, and begins anew the nights of the cells that were
/// not the same in it; those that the study no longer asks for are dropped. Returns what that comes
/// to, in lines. Throws UsageError as accept_build does, and for a rehearsal.
std::string accept_night(const std::filesystem::path& results, const std::string& run_id,
                         const std::string& reason);

}  // namespace scalebench
