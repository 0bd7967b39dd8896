// SPDX-License-Identifier: Apache-2.0
#include "bench/study/normal/fabrics.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <cmath>

#include "bench/record/catalog_row.hpp"

namespace scalebench {
namespace {

constexpr double kMostLinks = 1e4, kMostRate = 1e6;

Fabric fabric_in(const CatalogRow& row) {
  Fabric fabric;
  fabric.name = row.required("name", "a word, as nvlink4-h100");
  fabric.matches = row.required("matches", "an RE2 expression");
  fabric.link = row.required("link", "what people call it, as NVLink 4");
  fabric.links = row.positive("links", kMostLinks);
  fabric.mesh = row.text("mesh") == "yes";
  if (!fabric.mesh && !row.text("mesh").empty()) row.refuse("mesh", "yes, or nothing");
  fabric.gb_per_s = row.positive("gb_per_s", kMostRate);
  fabric.nvls_gb_per_s = row.positive_or(std::nan(""), "nvls_gb_per_s", kMostRate);
  fabric.pcie_gb_per_s = row.positive("pcie_gb_per_s", kMostRate);
  fabric.domain = row.positive_or(1, "domain", kMostLinks);
  fabric.source = row.required("source", "where that is said");
  const re2::RE2 pattern(fabric.matches, re2::RE2::Quiet);
  if (!pattern.ok()) row.refuse("matches", "an RE2 expression; " + pattern.error());
  return fabric;
}

}  // namespace

std::vector<Fabric> read_fabrics(const std::filesystem::path& path) {
  const CsvTable table = CsvTable::read(path);
  std::vector<Fabric> fabrics;
  for (std::size_t row = 0; row < table.size(); ++row) {
    fabrics.push_back(fabric_in(CatalogRow(table, row)));
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

}  // namespace scalebench
