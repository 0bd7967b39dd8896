// SPDX-License-Identifier: Apache-2.0
// The text of all_reduce_perf. Its table's head says which columns there are, since versions differ
// in them (error or #wrong, root, cputime, what -I and -S add); lines of NCCL_DEBUG and of
// launchers stand between and are passed over. A line that begins as a result and is none is a
// finding.
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "bench/study/import/nccl_tests.hpp"
#include "bench/study/import/nccl_tests_json.hpp"
#include "bench/study/import/nccl_tests_run.hpp"

namespace scalebench {
namespace {

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
    }
  }

  void method(const std::vector<std::string_view>& words) {
    run_.set_method(after(words, "iters:", after(words, "iters:", "warmup")),
                    after(words, "iters:", "agg"), after(words, "graph:"));
  }

  /// "Rank  0 Group  0 Pid 123 on host device  0 [0x07] NVIDIA A100"; older ones without a group.
  void rank(const std::vector<std::string_view>& words, std::size_t number) {
    const auto whole = [&](std::string_view name) {
      return static_cast<int>(decimal_of(after(words, name)).value_or(0));
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
    const NcclTestsRun::Size size{bytes, count, std::string(words[table_.type]), redop};
    for (std::size_t i = 0; i < table_.places.size(); ++i) {
      const Table::Place& place = table_.places[i];
      run_.add(size,
               {std::string(words[place.time]),
                std::string(words[place.busbw]),
                std::string(words[place.wrong]),
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
