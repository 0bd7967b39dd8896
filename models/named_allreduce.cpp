// SPDX-License-Identifier: Apache-2.0
#include "models/named_allreduce.hpp"

#include <array>
#include <span>
#include <vector>

#include "kernels/error.hpp"
#include "kernels/unknown_name.hpp"

namespace scalebench {
namespace {

struct Meaning {
  std::string_view word;
  std::string_view algorithm;
};
constexpr std::array kCrossDevice{
    Meaning{"nccl", "native"},
    Meaning{"ring", "ring"},
    Meaning{"hierarchical_copy", "hierarchical"},
    Meaning{"reduce_to_one", "naive"},
};
constexpr std::array kCollective{
    Meaning{"ring", "ring"},
    Meaning{"nccl", "native"},
    Meaning{"auto", "auto"},
};

std::string_view option_of(std::string_view gradient_sync) {
  return gradient_sync == "mirrored" ? "cross-device" : "collective";
}

}  // namespace

std::string_view word_for_allreduce(std::string_view gradient_sync,
                                    const GradientSyncOptions& options) {
  if (gradient_sync == "mirrored") return options.cross_device;
  if (gradient_sync == "multi_worker") return options.collective;
  return {};
}

const AllreduceAlgorithm* allreduce_meant(std::string_view gradient_sync,
                                          const GradientSyncOptions& options,
                                          const AllreduceAlgorithm* given) {
  const std::string_view word = word_for_allreduce(gradient_sync, options);
  if (word.empty()) return given;
  const std::span<const Meaning> meanings = gradient_sync == "mirrored"
                                                ? std::span<const Meaning>(kCrossDevice)
                                                : std::span<const Meaning>(kCollective);
  std::vector<std::string_view> words;
  for (const Meaning& meaning : meanings) {
    if (meaning.word == word) return &allreduce_named(meaning.algorithm);
    words.push_back(meaning.word);
  }
  throw UsageError(unknown_name(option_of(gradient_sync), word, words));
}

void require_transport(std::string_view gradient_sync, const GradientSyncOptions& options,
                       std::string_view transport) {
  if (word_for_allreduce(gradient_sync, options) != "nccl" || transport == "nccl") return;
  fail<UsageError>(
      "--{0} nccl reduces with NCCL, but gradients travel over {1}; give --transport "
      "nccl, or --{0} ring",
      option_of(gradient_sync), transport);
}

}  // namespace scalebench
