// SPDX-License-Identifier: Apache-2.0
#include "bench/study/normal/fabrics.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>

#include "bench/record/csv.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// `may_lack`: NaN stands for an empty cell.
double positive(const CsvTable& table, std::size_t row, std::string_view column, bool may_lack) {
  const double value = table.number(row, column);
  const bool valid = std::isnan(value) ? may_lack : value > 0 && std::isfinite(value);
  if (!valid) {
    fail<UsageError>("{}: {}: '{}'; valid: a number above 0{}", table.place(row, column), column,
                     table.text(row, column), may_lack ? ", or nothing" : "");
  }
  return value;
}

std::string text(const CsvTable& table, std::size_t row, std::string_view column) {
  const std::string& cell = table.text(row, column);
  if (cell.empty()) fail<UsageError>("{}: {} is empty", table.place(row, column), column);
  return cell;
}

}  // namespace

std::vector<Fabric> read_fabrics(const std::filesystem::path& path) {
  const CsvTable table = CsvTable::read(path);
  std::vector<Fabric> fabrics;
  for (std::size_t row = 0; row < table.size(); ++row) {
    Fabric& fabric = fabrics.emplace_back();
    fabric.name = text(table, row, "name");
    fabric.matches = text(table, row, "matches");
    fabric.link = text(table, row, "link");
    fabric.links = positive(table, row, "links", false);
    fabric.mesh = table.text(row, "mesh") == "yes";
    if (!fabric.mesh && !table.text(row, "mesh").empty()) {
      fail<UsageError>("{}: mesh: valid: yes, or nothing", table.place(row, "mesh"));
    }
    fabric.gb_per_s = positive(table, row, "gb_per_s", false);
    fabric.nvls_gb_per_s = positive(table, row, "nvls_gb_per_s", true);
    fabric.pcie_gb_per_s = positive(table, row, "pcie_gb_per_s", false);
    const double domain = positive(table, row, "domain", true);
    fabric.domain = std::isnan(domain) ? 1 : domain;
    fabric.source = text(table, row, "source");
    const re2::RE2 pattern(fabric.matches, re2::RE2::Quiet);
    if (!pattern.ok()) {
      fail<UsageError>("{}: matches: {}; valid: an RE2 expression", table.place(row, "matches"),
                       pattern.error());
    }
  }
  return fabrics;
}

const Fabric* fabric_of(const std::vector<Fabric>& fabrics, const std::vector<std::string>& gpus) {
  const Fabric* all = nullptr;
  for (const std::string& gpu : gpus) {
    const auto found = std::ranges::find_if(
        fabrics, [&](const Fabric& fabric) { return re2::RE2::PartialMatch(gpu, fabric.matches); });
    if (found == fabrics.end() || (all != nullptr && all != &*found)) return nullptr;
    all = &*found;
  }
  return all;
}

const Fabric& fabric_named(const std::vector<Fabric>& fabrics, std::string_view name) {
  return row_named(fabrics, &Fabric::name, "fabric", name);
}

}  // namespace scalebench
