// SPDX-License-Identifier: Apache-2.0
// The kinds of files that can be imported, and the reader of each. Another kind is a file with its
// reader, and a name in kinds.cpp.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/study/import/imported_case.hpp"
#include "bench/study/import/presets.hpp"

namespace scalebench {

/// What a user says of how files are to be read, beside --set.
struct ImportGuide {
  std::string map;                   // csv
  std::string bench;                 // log; empty: epoch
  std::vector<std::string> metrics;  // log
  std::string preset;                // log, instead of metrics
  std::filesystem::path presets;     // the file of these
  std::filesystem::path catalog;     // published: the file of the published numbers
  std::string name;                  // published: which of them
};

/// The text of a file in UTF-8, without the colours of a terminal, which some write into files as
/// well. Throws UsageError for damaged UTF-16.
std::string read_foreign(const std::filesystem::path& path);

std::vector<std::string_view> import_kinds();

/// How the files of a kind are read: what rows they become, and the reader of one file.
struct ImportReader {
  const Schema* schema = nullptr;  // of the case file
  std::function<ImportedFile(const std::string& path, const Settings& settings)> read;
};

/// Throws UsageError for an unknown kind, for what it lacks, for what belongs to another one, and
/// for a guide that cannot be followed.
ImportReader import_reader(std::string_view kind, const ImportGuide& guide);

// Results of collectives: nccl-tests (all_reduce_perf, 1.x to 2.19), RCCL's and others' that print
// the same, mscclpp-test, osu_allreduce (3 to 7.5), Allreduce of the Intel MPI Benchmarks; as text,
// or nccl-tests' as the JSON of -J (versions 1 to 3). A time is the mean of the operations of one
// loop, so a row is one repetition. Sources: NVIDIA/nccl-tests src/util.cu, src/common.cu,
// doc/PERFORMANCE.md.

/// Reads what `text` holds, several runs one after the other included; each is a launch. `file` is
/// its name in messages. Cases are rows of allreduce.csv whose size, time and bandwidths agree;
/// what does not, and what is of another collective, becomes a finding and no row.
/// Throws UsageError when the number of ranks is neither in the file nor among `settings`, for
/// damaged JSON (`file:line:column: what`) and for a later version of its format.
ImportedFile read_collectives(std::string_view text, const std::string& file,
                              const Settings& settings);

// Logs by regular expressions: a user's own, or those of a well-known program. Matches of what
// carries the values are epochs or steps in their order.

struct LogGuide {
  const Schema* schema = nullptr;  // of epoch.csv or throughput.csv
  std::vector<Preset> presets;     // all that are known, or what --metric makes
  std::string preset;              // which of them; empty: that of --metric
};

/// One launch with one case. A number that is none, a metric that is nowhere, and an epoch that the
/// log cuts short count for nothing and are findings. Throws UsageError for an unknown preset, for
/// a log that holds nothing of it (and is of another one), and where nobody set what it lacks.
ImportedFile read_log(std::string_view text, const std::string& file, const LogGuide& guide,
                      const Settings& settings);

// Another suite's CSV file, by a map of its columns: a row is one value of a case. The map is a
// TOML file that names, for our columns, theirs with their units, and which rows to take.
// docs/import.md shows one. What is the same in every row is --set.

struct MappedColumn {
  std::string ours;    // a column of the case file, a value column, or "launch"
  std::string theirs;  // the foreign header's
  double factor = 1;   // from their unit to ours
  bool each = false;   // a rate of one rank
  std::map<std::string, std::string> names = {};  // their texts: ours; empty: as they are
};

struct CsvMap {
  const Schema* schema = nullptr;  // of the case file that the rows become
  std::vector<MappedColumn> columns;
  std::vector<std::pair<std::string, std::vector<std::string>>> filter;  // their column: its texts
};

/// Throws UsageError with all complaints, `file:line:column: what`, one a line.
CsvMap read_csv_map(const std::filesystem::path& path);

/// configs/published.csv as such a file: the rows of that name which have an epoch, else images a
/// second, else the bandwidth of an allreduce. What was measured, by whom and when is in each note.
/// Throws UsageError for an unknown name, and where it has none of these.
CsvMap published_map(const std::filesystem::path& catalog, const std::string& name);

/// Throws UsageError for a name that the catalog does not have.
void require_published(const std::filesystem::path& catalog, const std::string& name);

/// Rows with equal `launch` cells are one launch; without such a column all are. A row whose value
/// is no positive number is a finding and no case. Throws UsageError `file:line: what` for a
/// damaged file and for any other text where a number belongs.
ImportedFile read_mapped_csv(const std::filesystem::path& path, const CsvMap& map,
                             const Settings& settings);

}  // namespace scalebench
