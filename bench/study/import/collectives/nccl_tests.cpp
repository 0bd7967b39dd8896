// SPDX-License-Identifier: Apache-2.0
// One start of all_reduce_perf as either its text or its JSON tells it; then a reader of each.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>

#include "bench/record/columns.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kProgram = "all_reduce_perf";

/// A busbw to two or three digits, from a time to four: how far apart both may be.
bool agrees(const PrintedNumber& printed, double follows, const PrintedNumber& time_us) {
  const double of_time = follows * time_us.half_unit / time_us.value;
  return std::abs(printed.value - follows) <= 1.01 * (printed.half_unit + of_time) + 1e-9;
}

// One start of all_reduce_perf, whether its text or its JSON is read: who took part, how it
// measured, and what becomes of one printed result.

class NcclTestsRun {
 public:
  NcclTestsRun(const Settings& settings, std::string file)
      : settings_(&settings), file_(std::move(file)) {}

  /// Launches of a graph; 0 without one.
  void set_graph(std::string_view graph) { graph_ = decimal_of(graph).value_or(0) > 0; }
  /// One device of the list. False: this rank of its group was there already.
  bool add_rank(int rank, int group, std::string_view host, std::string_view device) {
    if (seen_.empty()) first_group_ = group;
    if (!seen_.emplace(group, rank).second) return false;
    if (!host.empty() && group == first_group_) hosts_.emplace(host);
    devices_.emplace_back(device);
    return true;
  }
  /// Instead of counting the listed ones.
  void set_ranks(int ranks) { ranks_ = ranks; }
  void set_program(std::string_view program) { program_ = program; }

  /// Why its results cannot be used; empty when they can.
  std::string unusable() const {
    if (program_.empty() || program_.find(kProgram) != std::string::npos) return "";
    return fmt::format("results of {} are left out: allreduce.csv holds those of {}", program_,
                       kProgram);
  }

  /// What the line of a table says before its times.
  struct Size {
    std::string bytes, type, redop;
  };
  /// Time in us, bus bandwidth, wrong elements as printed ("N/A": not checked), single times in us.
  struct Measured {
    std::string time, busbw, wrong;
    std::vector<double> times_us;
  };
  /// Adds the case to the launch; what speaks against it goes to `findings`.
  void add(const Size& size, const Measured& measured, std::string_view placement, std::size_t line,
           std::vector<Remark>& findings) {
    ImportedCase one{described(size, placement), {}, {}};
    ResultRow& row = one.row;
    const auto find = [&](const std::string& what) {
      findings.push_back({line, fmt::format("{}: {}", placement, what)});
    };
    const std::optional<double> wrong = decimal_of(measured.wrong);
    const std::optional<PrintedNumber> time = printed_number(measured.time);
    if (!time || time->value <= 0) {
      row.set("status", "failed").set("note", no_number("time", measured.time));
      find(row.get("note"));
    } else if (wrong && *wrong > 0) {
      row.set("status", "wrong").set("note", fmt::format("{} wrong elements", measured.wrong));
      find(fmt::format("{}: the time counts for nothing", row.get("note")));
    } else if (!wrong && measured.wrong != "N/A" && !measured.wrong.empty()) {
      row.set("status", "failed").set("note", no_number("#wrong", measured.wrong));
      find(row.get("note"));
    } else {
      row.set("note", "mean of its operations, as nccl-tests prints it");
      one.seconds = {time->value / 1e6};
      if (!measured.times_us.empty()) {
        one.seconds.clear();
        for (const double us : measured.times_us) one.seconds.push_back(us / 1e6);
        row.set("note", "single operations, as nccl-tests -I writes them");
      }
      const double follows = busbw_gb_per_s(number_in(row, "size_bytes"), time->value / 1e6,
                                            static_cast<int>(number_in(row, "ranks")));
      const std::optional<PrintedNumber> busbw = printed_number(measured.busbw);
      if (!busbw) {
        find(no_number("busbw", measured.busbw));
      } else if (!agrees(*busbw, follows, *time)) {
        const std::string what =
            fmt::format("busbw {} is printed, but {:.2f} GB/s follow from {} us, {} B and {} ranks",
                        measured.busbw, follows, measured.time, size.bytes, row.get("ranks"));
        row.set("note", what);
        find(what);
      }
    }
    launch_.cases.push_back(one);
  }

  void void_all(const std::string& why, std::size_t line, std::vector<Remark>& findings) {
    for (ImportedCase& one : launch_.cases) {
      one.seconds.clear();
      one.row.set("status", "wrong").set("note", why);
    }
    findings.push_back({line, why});
  }

  /// The launch, and what is known of its environment.
  ImportedLaunch take() { return std::move(launch_); }
  bool empty() const { return launch_.cases.empty(); }
  const std::vector<std::string>& devices() const { return devices_; }
  void set_command(std::vector<std::string> command) { launch_.command = std::move(command); }

 private:
  ResultRow described(const Size& size, std::string_view placement) const {
    ResultRow row(allreduce_schema());
    row.set("dtype", size.type).set("op", size.redop).set("placement", placement);
    row.set("size_bytes", size.bytes).set("ranks", ranks());
    if (!hosts_.empty()) row.set("nodes", hosts_.size());
    apply(*settings_, row, file_);
    set_where_empty(row, "algorithm", "native");
    set_where_empty(row, "transport", "nccl");
    set_where_empty(row, "memory", "device");
    set_where_empty(row, "mode", graph_ ? "pipelined_graph" : "pipelined");
    return row;
  }
  std::string ranks() const {
    if (ranks_) return std::to_string(*ranks_);
    const auto listed = std::ranges::count(seen_, first_group_, &std::pair<int, int>::first);
    if (listed > 0) return std::to_string(listed);
    std::string given = setting(*settings_, "ranks");
    if (given.empty()) {
      fail<UsageError>(
          "{}: no list of devices, so the number of ranks is unknown; add --set ranks=N", file_);
    }
    return given;
  }

  const Settings* settings_;
  std::string file_;
  std::string program_;  // empty: not said, as before 2.17
  bool graph_ = false;
  std::optional<int> ranks_;
  std::set<std::pair<int, int>> seen_;  // group, rank
  int first_group_ = 0;
  std::set<std::string> hosts_;
  std::vector<std::string> devices_;
  ImportedLaunch launch_;
};

// The JSON of -J. Its `env`, a dump of the whole environment, is never kept: it holds secrets.

using nlohmann::json;

constexpr int kLatestVersion = 3;

int whole(const json& object, const char* name, int otherwise) {
  const json& value = member(object, name);
  return whole_number<int>(value).value_or(otherwise);
}

/// Of all groups. Versions differ in whether each rank of a process is listed or only its first.
int ranks_of(const json& config, const std::vector<int>& listed) {
  constexpr std::int64_t kMost = 1 << 24;  // more than anybody has
  const std::int64_t threads = std::clamp<std::int64_t>(whole(config, "nthreads", 1), 1, kMost);
  const std::int64_t gpus = std::clamp<std::int64_t>(whole(config, "ngpus", 1), 1, kMost);
  const std::int64_t last = std::clamp<std::int64_t>(std::ranges::max(listed), 0, kMost);
  const std::int64_t ranks = last % (threads * gpus) == 0 ? last + threads * gpus : last + 1;
  return static_cast<int>(std::min(ranks, kMost));
}

void read_config(const json& config, NcclTestsRun& run) {
  run.set_graph(member_text(config, "graph"));
  std::vector<int> listed, groups;
  for (const json& device : member(config, "devices")) {
    listed.push_back(whole(device, "rank", 0));
    groups.push_back(whole(device, "group", 0));
    run.add_rank(listed.back(), groups.back(), member_text(device, "hostname"),
                 member_text(device, "device_info"));
  }
  if (listed.empty()) return;
  const double share = static_cast<double>(std::ranges::count(groups, groups.front())) /
                       static_cast<double>(groups.size());
  run.set_ranks(static_cast<int>(std::lround(ranks_of(config, listed) * share)));
}

NcclTestsRun::Measured measured_of(const json& result, const char* placement) {
  const json& body = member(result, placement);
  NcclTestsRun::Measured measured;
  measured.time = member_text(body, "time") + member_text(body, "cpu_time");
  measured.busbw = member_text(body, "bus_bw");
  measured.wrong = member(body, "nwrong").is_null() ? "N/A" : member_text(body, "nwrong");
  const std::string single = fmt::format("{}_per_iter", placement);
  for (const json& time : member(member(result, single.c_str()), "times_us")) {
    if (time.is_number() && time.get<double>() > 0) measured.times_us.push_back(time.get<double>());
  }
  return measured;
}

/// The number of the result stands for its line: the file is one line as nccl-tests writes it.
void read_result(const json& result, std::size_t number, NcclTestsRun& run,
                 std::vector<Remark>& findings) {
  const NcclTestsRun::Size size{member_text(result, "size"), member_text(result, "type"),
                                member_text(result, "redop")};
  if (!is_count(size.bytes) || size.redop == "none" || size.redop.empty()) {
    findings.push_back({0, fmt::format("results[{}]: size '{}', redop '{}': no allreduce", number,
                                       size.bytes, size.redop)});
    return;
  }
  for (const char* placement : {"out_of_place", "in_place"}) {
    if (member(result, placement).is_null()) continue;  // of a replayed trace
    const std::size_t before = findings.size();
    run.add(size, measured_of(result, placement), placement, 0, findings);
    for (std::size_t i = before; i < findings.size(); ++i) {
      findings[i].what.insert(0, fmt::format("results[{}]: ", number));
    }
  }
}

ImportedFile read_nccl_tests_json(std::string_view text, const std::string& file,
                                  const Settings& settings) {
  const json document = parse_json(text, file);
  const int version = whole(document, "version", 0);
  if (version > kLatestVersion) {
    fail<UsageError>("{}: version {} of the JSON of nccl-tests; this program knows 1 to {}", file,
                     version, kLatestVersion);
  }
  ImportedFile result;
  NcclTestsRun run(settings, file);
  std::vector<std::string> command;
  for (const json& word : member(document, "args")) {
    if (word.is_string()) command.push_back(word.get<std::string>());
  }
  if (!command.empty()) run.set_program(command.front());
  run.set_command(std::move(command));
  read_config(member(document, "config"), run);
  const json& results = member(document, "results");
  if (const std::string why = run.unusable(); !why.empty()) {
    result.findings.push_back({0, why});
  } else if (results.is_array()) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      read_result(results[i], i, run, result.findings);
    }
  }
  const std::set<std::string> gpus(run.devices().begin(), run.devices().end());
  if (!gpus.empty()) result.key["gpus"] = Fact::of(gpus);
  if (const int nccl = whole(document, "nccl_version", 0); nccl > 0) {
    result.treatment["nccl"] =
        Fact::of(fmt::format("{}.{}.{}", nccl / 10000, nccl / 100 % 100, nccl % 100));
  }
  if (!run.empty()) result.launches.push_back(run.take());
  return result;
}

// The text of all_reduce_perf. Its table's head says which columns there are, since versions differ
// in them (error or #wrong, root, cputime, what -I and -S add); lines of NCCL_DEBUG and of
// launchers stand between and are passed over. A line that begins as a result and is none is a
// finding.

/// The word that follows `name` ("iters:") among `words`; empty when there is none.
std::string_view after(const std::vector<std::string_view>& words, std::string_view name,
                       std::string_view before = "") {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const bool is_it = words[i] == name && (before.empty() || (i > 0 && words[i - 1] == before));
    if (is_it) return words[i + 1];
  }
  return "";
}

/// Which words of a result line mean what.
struct Table {
  std::size_t words = 0;  // of a line; more may follow (a timestamp is two words)
  std::size_t size = 0, count = 0, type = 0, redop = 0;
  struct Place {
    std::size_t time = 0, busbw = 0, wrong = 0;
  };
  std::vector<Place> places;  // out-of-place, in-place
  bool counts_wrong = true;   // before 2.13 `error` is the largest rounding error

  /// False: not the head of a table.
  bool read(const std::vector<std::string_view>& head) {
    for (std::size_t i = 0; i < head.size(); ++i) {
      const std::string_view name = head[i];
      if (name == "timestamp") continue;
      ++words;
      if (name == "size" || name == "bytes") size = i;
      if (name == "count" || name == "N") count = i;
      if (name == "type") type = i;
      if (name == "redop" || name == "op") redop = i;
      if (name == "time" || name == "cputime") places.push_back({i, 0, 0});
      if (places.empty()) continue;
      if (name == "busbw") places.back().busbw = i;
      if (name == "#wrong" || name == "error" || name == "res" || name == "wrong") {
        places.back().wrong = i;
        counts_wrong = name == "#wrong" || name == "wrong";
      }
    }
    const bool whole = std::ranges::all_of(
        places, [](const Place& place) { return place.busbw > 0 && place.wrong > 0; });
    return head.size() > 4 && (head[0] == "size" || head[0] == "bytes") && places.size() == 2 &&
           whole && type > 0;
  }
};

class TextReader {
 public:
  TextReader(const std::string& file, const Settings& settings, ImportedFile& result)
      : file_(file), settings_(settings), result_(result), run_(settings, file) {}

  void line(const ForeignLine& line) {
    std::vector<std::string_view> words = words_of(line.text);
    if (words.empty()) return;
    if (words[0] == "#") {
      words.erase(words.begin());
      comment(words, line.number);
    } else if (in_table_ && words[0].find_first_not_of("0123456789") == std::string_view::npos) {
      result(words, line.number);
    }
  }

  void end() {
    if (!run_.empty() && !ended_) {
      find(last_line_,
           "the output ends here, without 'Out of bounds values' and 'Avg bus bandwidth': "
           "it is cut, and more sizes may have followed");
    }
    ended_ = false;
    if (!run_.empty()) result_.launches.push_back(run_.take());
    for (const std::string& device : run_.devices()) devices_.insert(device);
    run_ = NcclTestsRun(settings_, file_);
    in_table_ = singletons_ = false;
    unusable_said_ = false;
  }

  const std::set<std::string>& devices() const { return devices_; }

 private:
  void comment(const std::vector<std::string_view>& words, std::size_t number) {
    if (words.empty()) return;
    if (after(words, "starting:", "test") != "") {
      end();
      named_ = true;
      run_.set_program(after(words, "starting:", "test"));
    } else if (words[0] == "nccl-tests") {
      end();
      named_ = true;
    } else if (words[0].starts_with("nThread")) {
      if (!named_) end();
      named_ = false;
      method(words);
    } else if (words[0] == "Rank") {
      rank(words, number);
    } else if (Table table; table.read(words)) {
      table_ = table;
      in_table_ = true;
    } else if (words[0] == "Out" || words[0] == "Avg") {
      in_table_ = false;
      ended_ = true;
      // Which of the sizes it was, only a count of wrong elements tells.
      if (words.back() == "FAILED" && !table_.counts_wrong) {
        run_.void_all(
            "nccl-tests found values out of bounds, and does not say at which of the sizes", number,
            result_.findings);
      }
    }
  }

  void method(const std::vector<std::string_view>& words) {
    run_.set_graph(after(words, "graph:"));
  }

  /// "Rank  0 Group  0 Pid 123 on host device  0 [0x07] NVIDIA A100"; older ones without a group.
  void rank(const std::vector<std::string_view>& words, std::size_t number) {
    const auto whole = [&](std::string_view name) {
      return read_number<int>(after(words, name)).value_or(0);
    };
    const auto bus = std::ranges::find_if(words, [](auto word) { return word.starts_with('['); });
    const std::vector<std::string_view> name(bus == words.end() ? bus : bus + 1, words.end());
    const std::string device = fmt::format("{}", fmt::join(name, " "));
    const bool is_new = run_.add_rank(whole("Rank"), whole("Group"), after(words, "on"), device);
    if (is_new || singletons_) return;
    singletons_ = true;
    result_.findings.push_back(
        {number, fmt::format("rank {} is listed twice: these are several runs of their own, as of "
                             "a program built without MPI; their results are left out",
                             whole("Rank"))});
  }

  void result(const std::vector<std::string_view>& words, std::size_t number) {
    last_line_ = number;
    if (singletons_) return;
    const std::string why = run_.unusable();
    if (!why.empty()) {
      if (!unusable_said_) result_.findings.push_back({number, why});
      unusable_said_ = true;
      return;
    }
    const bool fits = words.size() >= table_.words && words.size() <= table_.words + 2;
    const std::string redop(fits && table_.redop > 0 ? words[table_.redop] : "sum");
    if (!fits) {
      return find(number, fmt::format("{} words where the table's head has {}", words.size(),
                                      table_.words));
    }
    const std::string bytes(words[table_.size]), count(words[table_.count]);
    if (!is_count(bytes) || !is_count(count)) {
      return find(number, fmt::format("size {} of {} elements: nothing is moved", bytes, count));
    }
    if (redop == "none") {
      return find(number, "no reduction: a collective other than allreduce");
    }
    const NcclTestsRun::Size size{bytes, std::string(words[table_.type]), redop};
    for (std::size_t i = 0; i < table_.places.size(); ++i) {
      const Table::Place& place = table_.places[i];
      const bool is_error = !table_.counts_wrong && decimal_of(words[place.wrong]);
      run_.add(size,
               {std::string(words[place.time]),
                std::string(words[place.busbw]),
                is_error ? std::string() : std::string(words[place.wrong]),
                {}},
               i == 0 ? "out_of_place" : "in_place", number, result_.findings);
    }
  }

  void find(std::size_t number, const std::string& what) {
    result_.findings.push_back({number, what});
  }

  const std::string& file_;
  const Settings& settings_;
  ImportedFile& result_;
  NcclTestsRun run_;
  Table table_;
  std::set<std::string> devices_;
  bool named_ = false;  // a start has begun with its name or version, "nThread" is to come
  bool in_table_ = false;
  bool ended_ = false;  // by the lines that stand below a whole table
  std::size_t last_line_ = 0;
  bool singletons_ = false;
  bool unusable_said_ = false;
};

}  // namespace

ImportedFile read_nccl_tests(std::string_view text, const std::string& file,
                             const Settings& settings) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (begin != std::string_view::npos && text[begin] == '{') {
    return read_nccl_tests_json(text, file, settings);
  }
  ImportedFile result;
  TextReader reader(file, settings, result);
  for (const ForeignLine& line : lines_of(text, file, result.findings)) reader.line(line);
  reader.end();
  if (!reader.devices().empty()) result.key["gpus"] = Fact::of(reader.devices());
  return result;
}

}  // namespace scalebench
