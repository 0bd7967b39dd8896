// SPDX-License-Identifier: Apache-2.0
// The text of nccl-tests and its kin, of OSU's and of Intel's benchmarks: where a run begins and
// ends, and who took part. Lines are known by words anywhere in them, so that nothing depends on
// what launchers, terminals and people have put before them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "bench/study/import/collectives/collective_run.hpp"
#include "bench/study/import/collectives/printed_table.hpp"
#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

using Words = std::vector<std::string_view>;

bool holds(std::string_view text, std::string_view words) {
  return text.find(words) != std::string_view::npos;
}

/// The word behind `name`; empty where there is none.
std::string_view after(const Words& words, std::string_view name) {
  const auto found = std::ranges::find(words, name);
  return found == words.end() || found + 1 == words.end() ? "" : *(found + 1);
}

/// As a run names itself since 2.17, or as it is typed: "./build/all_reduce_perf -b 8".
std::string_view program_in(const Words& words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "starting:") return words[i + 1];
    if (words[i].ends_with("_perf") && words[i + 1].starts_with('-')) return words[i];
  }
  return "";
}

std::string dtype_named_by_mpi(std::string_view name) {
  static const std::map<std::string_view, std::string_view> kNames{
      {"MPI_FLOAT", "float"}, {"MPI_DOUBLE", "double"}, {"MPI_INT", "int32"}, {"MPI_CHAR", "char"}};
  while (name.ends_with('.')) name.remove_suffix(1);
  const auto found = kNames.find(name);
  return std::string(found == kNames.end() ? name : found->second);
}

/// osu_allreduce of the OSU Micro-Benchmarks (3 to 7.5, with or without -f) and Allreduce of the
/// Intel MPI Benchmarks. A time is each rank's mean over iterations, then the mean over ranks. No
/// bandwidth stands beside it, so the title has to say what it is.
class LatencyTable {
 public:
  LatencyTable(const std::string& file, const Settings& settings, ImportedFile& result)
      : file_(file), settings_(settings), result_(result) {}

  /// Whether a table of another benchmark, or of this once more, begins with the line.
  bool begins(const ForeignLine& line) {
    // Intel's has its name alone in its line, as prose has not.
    static const LinePattern kOsu("a title", "(OSU .*Test.*)");
    static const LinePattern kIntel("a title", R"((?:^|[^\w ]) *(Benchmarking +[A-Z]\w+)[ |]*$)");
    const auto osu = kOsu.first_group(line.text), intel = kIntel.first_group(line.text);
    if (!osu && !intel) return false;
    end();
    is_open_ = true;
    is_osu_ = osu.has_value();
    const std::string_view title = is_osu_ ? *osu : *intel;
    const Words words = cells_of(title);
    is_other_ =
        !holds(title, "Allreduce") || holds(title, "Non-blocking") || holds(title, "Persistent");
    program_ = is_osu_ ? "osu_allreduce" : "Allreduce of the Intel MPI Benchmarks";
    if (is_other_) find(line, fmt::format("'{}' is left out: no {}", title, program_));
    // "OSU MPI-CUDA Allreduce Latency Test v7.0", "OSU NCCL-CUDA Allreduce Latency Test v7.5"
    const bool has_library = is_osu_ && words.size() > 1;
    if (has_library && holds(words[1], "-")) memory_ = "device";
    if (has_library && holds(words[1], "CCL")) transport_ = "nccl";
    return true;
  }

  /// A line of the table that has begun; `is_cut`: within which the file ends. Whether it is one.
  bool line(const ForeignLine& line, const Words& words, bool is_cut) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "Datatype:") dtype_ = dtype_named_by_mpi(words[i + 1]);
      const bool counts = words[i].ends_with("#processes") || words[i] == "processes";
      if (counts && words[i + 1] == "=" && i + 2 < words.size()) {
        ranks_ = read_number<int>(words[i + 2]);
      }
    }
    return row(line, words, is_cut) || words.front().starts_with('#');
  }

  /// What was read becomes a launch.
  void end() {
    if (!launch_.cases.empty()) result_.launches.push_back(std::move(launch_));
    launch_ = {};
    memory_ = dtype_ = "";
    transport_ = "mpi";
    ranks_.reset();
    numbers_ = 0;
    is_open_ = is_other_ = false;
  }
  bool is_open() const { return is_open_; }

 private:
  /// True: the line is one of the table, even if of no use.
  bool find(const ForeignLine& line, const std::string& what) {
    result_.findings.push_back({line.number, what});
    return true;
  }

  bool row(const ForeignLine& line, Words words, bool is_cut) {
    const bool failed = words.back() == "Fail";
    if (failed || words.back() == "Pass") words.pop_back();
    auto begin = words.end();
    for (auto word = words.end(); word != words.begin(); --word) {
      if (!size_in(*(word - 1)).empty()) begin = word - 1;
      if (!is_cell(*(word - 1))) break;
    }
    if (words.end() - begin < 2 || is_other_) return false;
    if (is_cut) return find(line, "the output ends within this line: it is left out");
    const std::string_view bytes = size_in(*begin);
    if (!is_count(bytes)) return true;  // size 0: nothing is moved
    const Words cells(begin + 1, words.end());
    // OSU prints the average alone; with -f minimum, maximum and iterations; and three percentiles
    // behind either. Intel's benchmarks print repetitions, minimum, maximum and average.
    const std::size_t count = cells.size();
    const bool is_known = count == 4 || (is_osu_ && (count == 1 || count == 7));
    if (numbers_ == 0 && is_known) numbers_ = count;
    if (count != numbers_) {
      return find(line, fmt::format("{} numbers, as no row of this table has", count + 1));
    }
    const std::string_view printed = is_osu_ ? cells.front() : cells.back();
    const auto average = decimal_of(printed);
    if (!average || *average <= 0) return find(line, no_number("average", printed));
    const bool has_range = !is_osu_ || (count > 1 && is_count(cells[3]));
    const auto low = has_range ? decimal_of(cells[1]) : average;
    const auto high = has_range ? decimal_of(cells[2]) : average;
    if (low.value_or(*average) > *average || high.value_or(*average) < *average) {
      return find(line,
                  fmt::format("average {} is not between {} and {}", printed, cells[1], cells[2]));
    }
    ImportedCase one{described(bytes), {*average / 1e6}, {}};
    one.row.set("note", fmt::format("mean over iterations and ranks, as {} prints it", program_));
    if (failed) {
      one.seconds.clear();
      one.row.set("status", "wrong").set("note", program_ + ": validation failed");
      find(line, one.row.get("note"));
    }
    launch_.cases.push_back(std::move(one));
    return true;
  }

  ResultRow described(std::string_view bytes) const {
    ResultRow row(allreduce_schema());
    row.set("memory", memory_).set("dtype", dtype_).set("size_bytes", bytes);
    if (ranks_) row.set("ranks", *ranks_);
    apply(settings_, row, file_);
    set_where_empty(row, "algorithm", "native");
    set_where_empty(row, "transport", transport_);
    set_where_empty(row, "memory", "host");
    set_where_empty(row, "dtype", "float");
    set_where_empty(row, "op", "sum");
    set_where_empty(row, "placement", "out_of_place");
    set_where_empty(row, "mode", "isolated");
    if (row.get("ranks").empty()) {
      fail<UsageError>("{}: the number of ranks of {} is not in it; add --set ranks=N", file_,
                       program_);
    }
    return row;
  }

  const std::string& file_;
  const Settings& settings_;
  ImportedFile& result_;
  ImportedLaunch launch_;
  std::string program_;         // "osu_allreduce", "Allreduce of the Intel MPI Benchmarks"
  std::string memory_, dtype_;  // empty: not said
  std::string_view transport_ = "mpi";
  std::optional<int> ranks_;
  std::size_t numbers_ = 0;  // behind the size, in each row; 0: none so far
  bool is_osu_ = false;      // else Intel's
  bool is_open_ = false;
  bool is_other_ = false;  // of another collective
};

class Reader {
 public:
  Reader(const std::string& file, const Settings& settings, ImportedFile& result)
      : file_(file), settings_(settings), result_(result), latency_(file, settings, result) {}

  void line(const ForeignLine& line, bool is_cut) {
    const Words words = cells_of(line.text);
    if (words.empty()) return;
    if (latency_.begins(line)) {
      end_run();
      understood(line.number, "a title of OSU or of Intel's benchmarks");
    } else if (begins_run(line, words) || is_device(words, line.number) || is_head(words, line)) {
      latency_.end();
    } else if (latency_.is_open()) {
      if (!latency_.line(line, words, is_cut)) note_behind(line);
    } else if (holds(line.text, "Out of bounds values") || holds(line.text, "Avg bus bandwidth")) {
      run_.ended = true;
      if (holds(line.text, "FAILED")) run_.fails_at = line.number;
    } else if (std::optional<PrintedRow> row = row_in(line)) {
      run_.rows.push_back(std::move(*row));
    } else if (run_.has_head && words.size() > 2 && is_count(words[0]) && is_count(words[1])) {
      result_.findings.push_back(
          {line.number, fmt::format("{} words are no row of the table above", words.size())});
    } else {
      note_behind(line);
    }
  }

  void end() {
    end_run();
    latency_.end();
    if (!gpus_.empty()) result_.key["gpus"] = Fact::of(gpus_);
    const bool is_of_use = !result_.launches.empty() || !result_.findings.empty();
    if (is_of_use || !result_.questions.empty()) return;
    if (nearest_.line == 0) {
      result_.findings.push_back(
          {0,
           "no line has the size, count and times of nccl-tests or its kin, or a title of OSU's "
           "or Intel's benchmarks"});
    } else {
      const std::string first =
          behind_.line == 0
              ? "nothing follows it"
              : fmt::format("the first line behind it that is none: '{}'", behind_.what);
      result_.findings.push_back(
          {nearest_.line,
           fmt::format("{} is followed by no row of numbers; {}", nearest_.what, first)});
    }
  }

 private:
  void end_run() {
    run_.end(file_, settings_, result_);
    run_ = {};
  }

  void understood(std::size_t line, std::string what) {
    nearest_ = {line, std::move(what)};
    behind_ = {};
  }

  void note_behind(const ForeignLine& line) {
    constexpr std::size_t kQuoted = 80;
    static const LinePattern kUnits("units", R"(^([#\s|>]*(?:\([\w/]+\)[\s|]*)*)$)");
    const bool says_nothing = kUnits.first_group(line.text).has_value();
    if (nearest_.line == 0 || behind_.line > 0 || says_nothing) return;
    behind_ = {line.number, std::string(line.text.substr(0, kQuoted))};
  }

  bool begins_run(const ForeignLine& line, const Words& words) {
    const std::string_view program = program_in(words);
    const bool has_method = holds(line.text, "nThread");
    if (program.empty() && !has_method && !holds(line.text, "nccl-tests version")) return false;
    if (!run_.rows.empty() || (has_method && !run_.devices.empty())) end_run();
    if (!program.empty()) run_.program = program;
    if (has_method) {
      run_.graph = decimal_of(after(words, "graph:")).value_or(0) > 0;
      run_.of_a_process = read_number<int>(after(words, "nThread")).value_or(1);
      run_.of_a_process *= read_number<int>(after(words, "nGpus")).value_or(1);
    }
    understood(line.number, "the beginning of a run of nccl-tests");
    return true;
  }

  /// "Rank  0 Group  0 Pid 123 on host device  0 [0x07] NVIDIA A100", older ones without a group,
  /// and the oldest "Device  0 ->  0 [0x0a] GeForce GTX TITAN X".
  bool is_device(const Words& words, std::size_t number) {
    const bool is_old = !after(words, "->").empty();
    const auto rank = read_number<int>(after(words, is_old ? "Device" : "Rank"));
    if (!rank || *rank < 0 || (!is_old && after(words, "device").empty())) return false;
    if (!run_.rows.empty()) end_run();
    const int group = read_number<int>(after(words, "Group")).value_or(0);
    auto name = words.end();  // behind the address of its bus
    for (auto word = words.begin(); word != words.end(); ++word) {
      if (word->ends_with(']')) name = word + 1;
    }
    const std::string_view address = name == words.end() ? "" : *(name - 1);
    if (!run_.add_device(*rank, group, after(words, "on"), address) && !run_.are_several) {
      run_.are_several = true;
      result_.findings.push_back(
          {number,
           fmt::format("rank {} is listed twice: these are several runs of their own, as of "
                       "a program built without MPI; their results are left out",
                       *rank)});
    }
    if (name != words.end()) gpus_.insert(fmt::format("{}", fmt::join(name, words.end(), " ")));
    understood(number, "a list of devices");
    return true;
  }

  bool is_head(const Words& words, const ForeignLine& line) {
    const std::size_t in = line.text.find("in-place"), out = line.text.find("out-of-place");
    const bool names_places = in != std::string_view::npos || out != std::string_view::npos;
    if (names_places) {
      if (!run_.rows.empty() && run_.ended) end_run();
      run_.hints.in_place_first = in < out;
    }
    const auto places = std::ranges::count(words, "busbw");
    if (places == 0) return names_places;
    run_.hints.places = static_cast<std::size_t>(places);
    run_.has_head = true;
    understood(line.number, "the head of a table");
    return true;
  }

  const std::string& file_;
  const Settings& settings_;
  ImportedFile& result_;
  LatencyTable latency_;
  CollectiveRun run_;
  std::set<std::string> gpus_;
  Remark nearest_;  // the last line that was understood
  Remark behind_;   // and the first behind it that was not
};

ImportedFile read_text(std::string_view text, const std::string& file, const Settings& settings) {
  ImportedFile result;
  Reader reader(file, settings, result);
  // What a copy or a full disk cut off within its last number is another number.
  const std::size_t whole = text.rfind('\n') == std::string_view::npos ? 0 : text.rfind('\n') + 1;
  for (const ForeignLine& line : lines_of(text, file, result.findings)) {
    reader.line(line, whole < text.size() && line.text.data() >= text.data() + whole);
  }
  reader.end();
  return result;
}

}  // namespace

ImportedFile read_collectives(std::string_view text, const std::string& file,
                              const Settings& settings) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  const bool is_json = begin != std::string_view::npos && text[begin] == '{';
  ImportedFile result =
      is_json ? read_nccl_json(text, file, settings) : read_text(text, file, settings);
  for (const Remark& question : result.questions) {
    if (result.launches.empty()) fail<UsageError>("{}", text_of(file, question));
    result.findings.push_back(question);
  }
  return result;
}

}  // namespace scalebench
