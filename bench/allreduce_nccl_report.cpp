// SPDX-License-Identifier: Apache-2.0
// The lines of nccl-tests, for eyes and parsers that know them: out of place and in place side by
// side, comments behind #. Differs where theirs misleads: time is the slowest rank's median batch,
// and the average bus bandwidth names the sizes that it covers.
#include <fmt/format.h>

#include <limits>
#include <optional>

#include "bench/allreduce_report.hpp"
#include "bench/cli/size.hpp"

namespace scalebench {
namespace {

/// A positive number in `width` characters, with as many decimals as fit, at most two.
std::string fitted(double value, int width) {
  for (const int decimals : {2, 1}) {
    const std::string text = fmt::format("{:.{}f}", value, decimals);
    if (static_cast<int>(text.size()) < width) return text;
  }
  const std::string whole = fmt::format("{:.0f}", value);
  if (static_cast<int>(whole.size()) <= width) return whole;
  return fmt::format("{:.{}e}", value, width >= 7 ? 1 : 0);
}

/// Time, both bandwidths and the wrong elements of one placement.
std::string body(const ResultRow* row) {
  std::string time = "N/A", algbw = "N/A", busbw = "N/A";
  if (row != nullptr && row->get("status") == "ok") {
    time = fitted(std::stod(row->get("seconds_median")) * 1e6, 7);
    algbw = fitted(std::stod(row->get("algbw_gb_per_s")), 6);
    busbw = fitted(std::stod(row->get("busbw_gb_per_s")), 6);
  }
  const std::string wrong = row == nullptr || row->get("wrong").empty() ? "N/A" : row->get("wrong");
  return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", time, algbw, busbw, wrong);
}

class NcclReport final : public AllreduceReport {
 public:
  using AllreduceReport::AllreduceReport;

  void head() override {
    const AllreduceMethod& method = context().rows.method;
    print(fmt::format(
        "# scalebench allreduce in the columns of nccl-tests; validation: {}; time: the slowest "
        "rank's, median of the batches\n#\n{}#\n",
        method.check ? 1 : 0, who_takes_part()));
    print(fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:^31}  {:^31}\n", "", "", "", "", "",
                      "out-of-place", "in-place"));
    const auto heads = [&](std::string_view a, std::string_view b, std::string_view c) {
      return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", a, b, b == "algbw" ? "busbw" : b, c);
    };
    print(fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", "size", "count", "type",
                      "redop", "root", heads("time", "algbw", "#wrong"),
                      heads("time", "algbw", "#wrong")));
    print(fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", "(B)", "(elements)", "", "",
                      "", heads("(us)", "(GB/s)", ""), heads("(us)", "(GB/s)", "")));
  }

  void line(const AllreduceLine& line) override {
    const ResultRow& row = line.row;
    const bool in_place = row.get("placement") == "in_place";
    if (row.get("status") == "skipped") skip(row);
    count(row);
    if (context().both_placements && !in_place) {
      out_of_place_ = row;
      return;
    }
    const ResultRow* out = out_of_place_ ? &*out_of_place_ : (in_place ? nullptr : &row);
    const bool measured =
        row.get("status") != "skipped" || (out != nullptr && out->get("status") != "skipped");
    if (measured) {
      print(fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", row.get("size_bytes"),
                        row.get("count"), row.get("dtype"), row.get("op"), -1, body(out),
                        body(in_place ? &row : nullptr)));
    }
    out_of_place_.reset();
  }

  void foot() override {
    print(fmt::format("# Out of bounds values : {} {}\n", wrong_, wrong_ == 0 ? "OK" : "FAILED"));
    if (measured_ == 0) return print("# Avg bus bandwidth    : nothing was measured\n");
    print(fmt::format("# Avg bus bandwidth    : {:g} (over {} result(s), {} to {}{}{})\n#\n",
                      busbw_ / static_cast<double>(measured_), measured_, show_size(smallest_),
                      show_size(largest_), out_ ? ", out of place" : "", in_ ? ", in place" : ""));
  }

 private:
  void count(const ResultRow& row) {
    if (row.get("status") == "wrong") ++wrong_;
    if (row.get("status") != "ok") return;
    const auto bytes = static_cast<std::size_t>(std::stoull(row.get("size_bytes")));
    ++measured_;
    busbw_ += std::stod(row.get("busbw_gb_per_s"));
    smallest_ = std::min(smallest_, bytes);
    largest_ = std::max(largest_, bytes);
    (row.get("placement") == "in_place" ? in_ : out_) = true;
  }

  std::optional<ResultRow> out_of_place_;
  std::size_t wrong_ = 0;
  std::size_t measured_ = 0;
  double busbw_ = 0;
  std::size_t smallest_ = std::numeric_limits<std::size_t>::max();
  std::size_t largest_ = 0;
  bool in_ = false;
  bool out_ = false;
};

}  // namespace

std::unique_ptr<AllreduceReport> make_nccl_report(AllreduceReportContext context) {
  return std::make_unique<NcclReport>(std::move(context));
}

}  // namespace scalebench
