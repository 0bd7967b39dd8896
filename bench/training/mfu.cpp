// SPDX-License-Identifier: Apache-2.0
#include "bench/training/mfu.hpp"

#include <array>

namespace scalebench {

// Numbers are of one device and without sparsity, which data sheets like to count twice for.

namespace {

struct Card {
  std::string_view name;                  // the first words of CUDA's name, or all of it
  std::array<double, 4> tera_per_second;  // by Precision; 0: has none, or none is published
  std::string_view source;
};

// Of two names that fit, the longer one counts: it comes first.
constexpr std::array kCards{
    Card{"NVIDIA B200", {75, 1125, 2250, 2250}, "NVIDIA HGX B200 data sheet, an eighth"},
    Card{"NVIDIA GH200", {67, 494, 990, 990}, "NVIDIA GH200 data sheet, half of sparse"},
    Card{"NVIDIA H200 NVL", {60, 417.5, 835.5, 835.5}, "NVIDIA H200 data sheet, half of sparse"},
    Card{"NVIDIA H200", {67, 494.5, 989.5, 989.5}, "NVIDIA H200 data sheet, half of sparse"},
    Card{"NVIDIA H100 NVL", {60, 417.5, 835.5, 835.5}, "NVIDIA H100 data sheet, half of sparse"},
    Card{"NVIDIA H100 PCIe", {51, 378, 756, 756}, "NVIDIA H100 data sheet (2022), half of sparse"},
    Card{"NVIDIA H100 80GB HBM3", {67, 494.5, 989.5, 989.5}, "NVIDIA H100 data sheet, half"},
    Card{"NVIDIA A100", {19.5, 156, 312, 312}, "NVIDIA A100 data sheet"},
    Card{"A100", {19.5, 156, 312, 312}, "NVIDIA A100 data sheet"},
    Card{"NVIDIA L40S", {91.6, 183, 362, 362}, "NVIDIA L40S data sheet"},
    Card{"NVIDIA L4", {30.3, 60, 121, 121}, "NVIDIA L4 data sheet, half of sparse"},
    Card{"Tesla T4", {8.1, 0, 0, 65}, "NVIDIA T4 data sheet"},
    Card{"Tesla V100-PCIE", {14, 0, 0, 112}, "NVIDIA V100 data sheet"},
    Card{"Tesla V100-SXM2", {15.7, 0, 0, 125}, "NVIDIA V100 data sheet"},
    Card{"Tesla P100-SXM2", {10.6, 0, 0, 21.2}, "NVIDIA P100 data sheet"},
    Card{"Tesla P100-PCIE", {9.3, 0, 0, 18.7}, "NVIDIA P100 data sheet"},
    Card{"Tesla K80", {4.37, 0, 0, 0}, "NVIDIA K80 data sheet: 8.74 of a board of two devices"},
};

/// An L40 is no L4.
bool begins_with_words(std::string_view name, std::string_view words) {
  if (!name.starts_with(words)) return false;
  const std::string_view rest = name.substr(words.size());
  return rest.empty() || rest.front() == ' ' || rest.front() == '-';
}

}  // namespace

std::optional<double> published_flops(std::string_view device, Precision precision) {
  // "NVIDIA A100-SXM4-40GB MIG 1g.5gb": a slice has a part of the card's.
  if (device.find(" MIG ") != std::string_view::npos) return std::nullopt;
  for (const Card& card : kCards) {
    if (!begins_with_words(device, card.name)) continue;
    const double tera = card.tera_per_second.at(static_cast<std::size_t>(precision));
    if (tera > 0) return tera * 1e12;
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace scalebench
