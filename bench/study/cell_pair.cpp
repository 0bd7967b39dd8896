// SPDX-License-Identifier: Apache-2.0
#include "bench/study/cell_pair.hpp"

#include <string_view>
#include <unordered_map>

namespace scalebench {

const Cell* CellPair::broken() const {
  for (const Cell* const side : {a, b}) {
    if (side != nullptr && side->status != "ok" && side->status != "skipped") return side;
  }
  return nullptr;
}

CellSamples CellPair::samples() const {
  CellSamples both;
  if (broken() != nullptr) return both;
  if (a != nullptr) both.a = a->seconds;
  if (b != nullptr) both.b = b->seconds;
  return both;
}

std::vector<CellPair> pairs_of(const std::vector<Cell>& a, const std::vector<Cell>& b) {
  std::vector<CellPair> pairs;
  std::unordered_map<std::string_view, std::size_t> place_of;
  for (const Cell& cell : a) {
    place_of.emplace(cell.key, pairs.size());
    pairs.push_back({&cell, nullptr});
  }
  for (const Cell& cell : b) {
    const auto [found, is_new] = place_of.emplace(cell.key, pairs.size());
    if (is_new) pairs.emplace_back();
    pairs[found->second].b = &cell;
  }
  return pairs;
}

}  // namespace scalebench
