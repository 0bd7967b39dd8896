// SPDX-License-Identifier: Apache-2.0
#include "bench/study/published.hpp"

#include <algorithm>
#include <array>

#include "bench/record/csv.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::array<std::string_view, 13> kNumbers{"nodes",
                                                    "gpus",
                                                    "batch",
                                                    "images_per_s",
                                                    "images_per_s_per_gpu",
                                                    "seconds",
                                                    "epochs",
                                                    "seconds_per_epoch",
                                                    "speedup",
                                                    "efficiency",
                                                    "accuracy",
                                                    "size_bytes",
                                                    "busbw_gb_per_s"};

class PublishedFile {
 public:
  explicit PublishedFile(const std::filesystem::path& path)
      : name_(path.string()), table_(CsvTable::read(path)) {
    if (table_.columns() != published_schema().columns) {
      fail<UsageError>("{}:1:1: these are not the columns of published.csv, in their order", name_);
    }
  }

  std::vector<ResultRow> rows() const {
    std::vector<ResultRow> rows;
    for (std::size_t i = 0; i < table_.size(); ++i) {
      ResultRow& row = rows.emplace_back(published_schema());
      for (const std::string& column : table_.columns()) row.set(column, table_.text(i, column));
      check(i);
    }
    return rows;
  }

 private:
  void check(std::size_t row) const {
    for (const std::string_view column : {"name", "system", "source"}) require(row, column);
    const std::string& kind = table_.text(row, "kind");
    if (kind != "quoted" && kind != "derived") {
      refuse(row, "kind", fmt::format("kind is '{}'; valid: quoted, derived", kind));
    }
    require(row, kind == "quoted" ? "printed" : "base");
    for (const std::string_view column : kNumbers) {
      if (table_.text(row, column).empty()) continue;
      const double value = table_.number(row, column);
      if (!(value > 0)) refuse(row, column, fmt::format("{} is {}, not positive", column, value));
    }
    const bool share = table_.text(row, "accuracy").empty() || table_.number(row, "accuracy") <= 1;
    if (!share) refuse(row, "accuracy", "accuracy is above 1, and a share is from 0 to 1");
  }

  void require(std::size_t row, std::string_view column) const {
    if (table_.text(row, column).empty()) refuse(row, column, fmt::format("{} is empty", column));
  }

  [[noreturn]] void refuse(std::size_t row, std::string_view column,
                           const std::string& what) const {
    fail<UsageError>("{}: {}", table_.place(row, column), what);
  }

  std::string name_;
  CsvTable table_;
};

}  // namespace

const Schema& published_schema() {
  static const Schema schema{"published.csv", {"name",         "system",
                                               "model",        "dataset",
                                               "device",       "instance",
                                               "nodes",        "gpus",
                                               "batch",        "precision",
                                               "images_per_s", "images_per_s_per_gpu",
                                               "seconds",      "seconds_per_epoch",
                                               "epochs",       "speedup",
                                               "efficiency",   "busbw_gb_per_s",
                                               "size_bytes",   "accuracy",
                                               "base",         "kind",
                                               "printed",      "conditions",
                                               "source",       "date",
                                               "note"}};
  return schema;
}

std::vector<ResultRow> read_published(const std::filesystem::path& path) {
  return PublishedFile(path).rows();
}

std::vector<std::string> names_of(const std::vector<ResultRow>& published) {
  std::vector<std::string> names;
  for (const ResultRow& row : published) {
    if (std::ranges::find(names, row.get("name")) == names.end()) names.push_back(row.get("name"));
  }
  return names;
}

}  // namespace scalebench
