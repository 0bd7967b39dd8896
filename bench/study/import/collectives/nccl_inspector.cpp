// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

#include "bench/record/columns.hpp"
#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"

namespace scalebench {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "v4.";  // of inspector_output_format_version
// Its event trace has two entries for each channel.
constexpr std::size_t kLongestRecord = std::size_t{1} << 20U;
constexpr double kSameRate = 0.01;  // how far busbw may be from what follows

/// What the records do not say: columns, and what they then are.
constexpr std::pair<std::string_view, std::string_view> kUnsaid[]{
    {"algorithm", "native"}, {"transport", "nccl"},     {"memory", "device"}, {"dtype", "float"},
    {"op", "sum"},           {"placement", "in_place"}, {"mode", "isolated"}, {"graph", "0"}};

class InspectorReader {
 public:
  InspectorReader(const std::string& file, const Settings& settings, ImportedFile& result)
      : file_(file), settings_(settings), result_(result) {}

  void line(const ForeignLine& line) {
    if (words_of(line.text).empty()) return;
    const json record = json_or_null(line.text);
    if (!record.is_object()) return find(line.number, "no record of the inspector: it is left out");
    const std::string version =
        member_text(member(record, "metadata"), "inspector_output_format_version");
    if (!version.starts_with(kFormat)) {
      fail<UsageError>("{}:{}: inspector_output_format_version '{}'; valid: {}x", file_,
                       line.number, version, kFormat);
    }
    const json& collective = member(record, "coll_perf");
    const std::string name = member_text(collective, "coll");
    if (name != "AllReduce") return static_cast<void>(++others_[name]);
    const ImportedCase one = case_of(member(record, "header"), collective);
    if (!one.row.get("status").empty()) find(line.number, one.row.get("note"));
    launch_.cases.push_back(one);
  }

  void finish() {
    for (const auto& [name, times] : others_) {
      result_.remarks.push_back(fmt::format("{} record(s) of '{}' are left out: no allreduce",
                                            times, name.empty() ? "no collective" : name));
    }
    if (!launch_.cases.empty()) result_.launches.push_back(std::move(launch_));
  }

 private:
  ImportedCase case_of(const json& header, const json& collective) const {
    ImportedCase one{ResultRow(allreduce_schema()), {}, {}};
    ResultRow& row = one.row;
    row.set("ranks", member_text(header, "n_ranks")).set("nodes", member_text(header, "nnodes"));
    row.set("size_bytes", member_text(collective, "coll_msg_size_bytes"));
    apply(settings_, row, file_);
    for (const auto& [column, value] : kUnsaid) set_where_empty(row, column, value);
    row.set("sync", "barrier").set("operations", "1");
    const json& microseconds = member(collective, "coll_exec_time_us");
    const double seconds =
        microseconds.is_number() ? microseconds.get<double>() / 1e6 : std::nan("");
    if (!is_count(row.get("size_bytes")) || !is_count(row.get("ranks"))) {
      row.set("status", "failed").set("note", "no size, or no number of ranks");
    } else if (!(seconds > 0)) {
      row.set("status", "failed")
          .set("note",
               no_number("coll_exec_time_us", member_text(collective, "coll_exec_time_us")));
    } else if (const std::string wrong = contradiction(row, collective, seconds); !wrong.empty()) {
      row.set("status", "failed").set("note", wrong);
    } else {
      one.seconds = {seconds};
      row.set("note", fmt::format("each rank's own time, to the microsecond, timed by {}",
                                  member_text(collective, "coll_timing_source")));
    }
    return one;
  }

  /// Between its busbw and what follows from time, size and ranks.
  static std::string contradiction(const ResultRow& row, const json& collective, double seconds) {
    const json& printed = member(collective, "coll_busbw_gbs");
    if (!printed.is_number()) return "";
    const double follows = busbw_gb_per_s(number_in(row, "size_bytes"), seconds,
                                          static_cast<int>(number_in(row, "ranks")));
    const double busbw = printed.get<double>();
    if (std::abs(busbw - follows) <= kSameRate * follows + 1e-6) return "";
    return fmt::format("busbw {:g} GB/s, and {:g} follows from time, size and ranks", busbw,
                       follows);
  }

  void find(std::size_t number, const std::string& what) {
    result_.findings.push_back({number, what});
  }

  const std::string& file_;
  const Settings& settings_;
  ImportedFile& result_;
  ImportedLaunch launch_;
  std::map<std::string, std::size_t> others_;  // records of other collectives
};

}  // namespace

ImportedFile read_nccl_inspector(std::string_view text, const std::string& file,
                                 const Settings& settings) {
  ImportedFile result;
  InspectorReader reader(file, settings, result);
  for (const ForeignLine& line : lines_of(text, file, result.findings, kLongestRecord)) {
    reader.line(line);
  }
  reader.finish();
  return result;
}

}  // namespace scalebench
