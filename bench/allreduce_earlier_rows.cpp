// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "bench/allreduce_tuning.hpp"
#include "bench/record/csv.hpp"
#include "bench/record/result_row.hpp"
#include "collectives/control.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kProblem = "problem ";
constexpr std::array<std::string_view, 7> kWords{"transport", "memory",     "dtype",         "op",
                                                 "algorithm", "size_bytes", "seconds_median"};
constexpr std::array<std::string_view, 3> kFilters{"status", "mode", "ranks"};

/// The rows that count as words, six a row, or kProblem and what is wrong with the file.
std::string read_rows(const std::string& path, int ranks) {
  std::string words;
  try {
    const CsvTable table = CsvTable::read(path);
    for (const std::string_view column : kFilters) table.require(column);
    for (const std::string_view column : kWords) table.require(column);
    for (std::size_t row = 0; row < table.size(); ++row) {
      const bool counts = table.text(row, "status") == "ok" &&
                          table.text(row, "mode") == "isolated" &&
                          table.text(row, "ranks") == std::to_string(ranks);
      if (!counts) continue;
      for (const std::string_view column : kWords) {
        words += table.text(row, column) + " ";
      }
    }
  } catch (const Error& error) {
    return fmt::format("{}--choices {}: {}", kProblem, path, error.what());
  }
  return words;
}

}  // namespace

EarlierRows::EarlierRows(Communicator& host, const std::string& path) : path_(path) {
  const std::string mine = host.rank() == 0 ? read_rows(path, host.size()) : std::string();
  const std::string words = all_gather(host, mine).front();
  if (words.starts_with(kProblem)) throw UsageError(words.substr(kProblem.size()));
  std::istringstream stream(words);
  std::string transport, memory, dtype, op;
  MeasuredAllreduce measured;
  while (stream >> transport >> memory >> dtype >> op >> measured.algorithm >> measured.bytes >>
         measured.seconds) {
    const auto dtype_known = dtype_named(dtype);
    const auto op_known = reduce_op_named(op);
    if (!dtype_known || !op_known) continue;
    rows_.push_back(
        {{transport, memory == "host" ? Memory::host : Memory::device, *dtype_known, *op_known},
         measured});
  }
}

SharedChoices EarlierRows::choices(const AllreduceSetting& setting) const {
  std::vector<MeasuredAllreduce> measured;
  for (const Row& row : rows_) {
    if (row.setting == setting) measured.push_back(row.measured);
  }
  if (measured.empty()) {
    fail<Unavailable>("algorithm auto: {} has no row of {} {} {} on this many ranks", path_,
                      setting.transport, name_of(setting.dtype), name_of(setting.op));
  }
  return std::make_shared<const AllreduceChoices>(measured);
}

}  // namespace scalebench
