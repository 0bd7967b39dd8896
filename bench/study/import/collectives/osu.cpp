// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kAverage = "Avg Latency(us)";

/// The columns of "# Size       Avg Latency(us)   Min Latency(us)": more than one blank divides
/// them.
std::vector<std::string> columns_of(std::string_view head) {
  std::vector<std::string> columns;
  while (true) {
    const std::size_t begin = head.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return columns;
    head.remove_prefix(begin);
    const std::size_t end = std::min({head.find("  "), head.find('\t'), head.size()});
    columns.emplace_back(head.substr(0, end));
    head.remove_prefix(end);
  }
}

std::string dtype_named_by_mpi(std::string_view name) {
  static const std::map<std::string_view, std::string> kNames{
      {"MPI_FLOAT", "float"}, {"MPI_DOUBLE", "double"}, {"MPI_INT", "int32"}, {"MPI_CHAR", "char"}};
  const auto found = kNames.find(name);
  return found == kNames.end() ? std::string(name) : found->second;
}

class OsuReader {
 public:
  OsuReader(const std::string& file, const Settings& settings, ImportedFile& result)
      : file_(file), settings_(settings), result_(result) {}

  void line(const ForeignLine& line) {
    std::string_view text = line.text;
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return;
    text.remove_prefix(begin);
    if (text.starts_with('#')) {
      comment(text.substr(1), line.number);
    } else if (is_result(line)) {
      result(words_of(text), line.number);
    }
  }

  /// Whether it is a line of numbers, in a table.
  bool is_result(const ForeignLine& line) const {
    const std::vector<std::string_view> words = words_of(line.text);
    return in_table_ && !words.empty() &&
           words[0].find_first_not_of("0123456789") == std::string_view::npos;
  }

  void end() {
    if (!launch_.cases.empty()) result_.launches.push_back(std::move(launch_));
    launch_ = {};
    in_table_ = other_ = false;
    memory_.clear();
    dtype_.clear();
    transport_.clear();
  }

 private:
  void comment(std::string_view text, std::size_t number) {
    const std::vector<std::string_view> words = words_of(text);
    if (words.empty()) return;
    if (words[0] == "OSU") {
      end();
      const bool allreduce = text.find("Allreduce") != std::string_view::npos &&
                             text.find("Non-blocking") == std::string_view::npos &&
                             text.find("Persistent") == std::string_view::npos;
      other_ = !allreduce;
      const std::string_view title = text.substr(text.find("OSU"));
      if (other_) find(number, fmt::format("'{}' is left out: no osu_allreduce", title));
      // "OSU MPI-CUDA Allreduce Latency Test v7.0", "OSU NCCL-CUDA Allreduce Latency Test v7.5"
      const std::string_view over = words.size() > 1 ? words[1] : "MPI";
      const std::size_t dash = over.find('-');
      if (dash != std::string_view::npos) memory_ = "device";
      transport_.clear();
      for (const char letter : over.substr(0, dash)) {
        transport_ += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
      }
    } else if (words[0] == "Datatype:" && words.size() > 1) {
      std::string_view name = words[1];
      if (name.ends_with('.')) name.remove_suffix(1);
      dtype_ = dtype_named_by_mpi(name);
    } else if (words[0] == "Size") {
      columns_ = columns_of(text);
      in_table_ = !other_ && std::ranges::find(columns_, kAverage) != columns_.end();
    }
  }

  std::string_view cell(const std::vector<std::string_view>& words, std::string_view column) const {
    const auto found = std::ranges::find(columns_, column);
    return found == columns_.end() ? "" : words[static_cast<std::size_t>(found - columns_.begin())];
  }

  void result(const std::vector<std::string_view>& words, std::size_t number) {
    if (words.size() != columns_.size()) {
      return find(number, fmt::format("{} words where the table's head has {}", words.size(),
                                      columns_.size()));
    }
    if (!is_count(words[0])) return find(number, "size 0: nothing is moved");
    ImportedCase one{described(words), {}, {}};
    ResultRow& row = one.row;
    const std::optional<double> average = decimal_of(cell(words, kAverage));
    const std::optional<double> low = decimal_of(cell(words, "Min Latency(us)"));
    const std::optional<double> high = decimal_of(cell(words, "Max Latency(us)"));
    const bool valid = cell(words, "Validation").empty() || cell(words, "Validation") == "Pass";
    if (!average || *average <= 0) {
      row.set("status", "failed").set("note", no_number(kAverage, cell(words, kAverage)));
    } else if (!valid) {
      row.set("status", "wrong").set("note", "osu_allreduce: validation failed");
    } else if (low && high && (*average < *low || *average > *high)) {
      row.set("status", "failed").set("note", "the average is not between the least and the most");
    } else {
      one.seconds = {*average / 1e6};
      row.set("note", "mean over iterations and ranks, as osu_allreduce prints it");
      if (low && high) row.set("skew_seconds", (*high - *low) / 1e6);
    }
    if (row.get("status") != "") find(number, row.get("note"));
    launch_.cases.push_back(one);
  }

  ResultRow described(const std::vector<std::string_view>& words) const {
    ResultRow row(allreduce_schema());
    row.set("memory", memory_).set("dtype", dtype_).set("size_bytes", words[0]);
    apply(settings_, row, file_);
    set_where_empty(row, "algorithm", "native");
    set_where_empty(row, "transport", transport_.empty() ? "mpi" : transport_);
    set_where_empty(row, "memory", "host");
    set_where_empty(row, "dtype", "float");
    set_where_empty(row, "op", "sum");
    set_where_empty(row, "placement", "out_of_place");
    set_where_empty(row, "mode", "isolated");
    if (row.get("ranks").empty()) {
      fail<UsageError>("{}: osu_allreduce does not print the number of ranks; add --set ranks=N",
                       file_);
    }
    return row;
  }

  void find(std::size_t number, const std::string& what) {
    result_.findings.push_back({number, what});
  }

  const std::string& file_;
  const Settings& settings_;
  ImportedFile& result_;
  ImportedLaunch launch_;
  std::vector<std::string> columns_;
  std::string memory_, dtype_, transport_;  // empty: not said
  bool in_table_ = false;
  bool other_ = false;  // a table of another benchmark
};

}  // namespace

ImportedFile read_osu(std::string_view text, const std::string& file, const Settings& settings) {
  ImportedFile result;
  OsuReader reader(file, settings, result);
  // What a copy or a full disk cut off within its last number is another number.
  const std::size_t whole = text.rfind('\n') == std::string_view::npos ? 0 : text.rfind('\n') + 1;
  for (const ForeignLine& line : lines_of(text, file, result.findings)) {
    const bool is_cut = whole < text.size() && line.text.data() >= text.data() + whole;
    if (is_cut && reader.is_result(line)) {
      result.findings.push_back({line.number, "the output ends within this line: it is left out"});
    } else {
      reader.line(line);
    }
  }
  reader.end();
  return result;
}

}  // namespace scalebench
