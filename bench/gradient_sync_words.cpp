// SPDX-License-Identifier: Apache-2.0
#include "bench/gradient_sync_words.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <span>

#include "bench/cli/choices.hpp"
#include "bench/cli/command_line.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr std::array<std::string_view, 3> kProgress{"thread", "hook", "end"};
constexpr std::array<std::string_view, 3> kCompressions{"none", "fp16", "bf16"};
constexpr std::array<std::string_view, 5> kCrossDevice{"", "nccl", "ring", "hierarchical_copy",
                                                       "reduce_to_one"};
constexpr std::array<std::string_view, 4> kCollectives{"", "ring", "nccl", "auto"};

std::size_t bytes_of(std::string_view option, double mib) {
  if (!std::isfinite(mib) || mib <= 0) {
    fail<UsageError>("--{} {}: must be a positive number of MiB", option, mib);
  }
  return static_cast<std::size_t>(std::max(1.0, mib * kMiB));
}

}  // namespace

void add_gradient_sync_options(CLI::App& app, GradientSyncWords& words,
                               GradientSyncOptions& options) {
  app.add_option("--bucket-mb", words.bucket_mb,
                 "bucketed_overlap: MiB of gradients that are reduced at once")
      ->capture_default_str();
  offer(app.add_option(
               "--progress", words.progress,
               "bucketed_overlap: who reduces a full bucket: a thread beside the backward pass, "
               "the backward pass itself (hook), or nobody before its end")
            ->capture_default_str(),
        kProgress);
  offer(app.add_option("--compression", words.compression,
                       "type in which gradients travel: none, fp16 or bf16")
            ->capture_default_str(),
        kCompressions);
  app.add_option("--fusion-mb", words.fusion_mb, "horovod: MiB of one fused message")
      ->capture_default_str();
  app.add_option("--cycle-ms", words.cycle_ms, "horovod: time between rounds of negotiation")
      ->capture_default_str();
  app.add_option("--servers", options.servers, "ps_sync, ps_async: ranks that hold the variables")
      ->capture_default_str();
  app.add_option("--micro-batches", options.micro_batches, "model_split: parts of a step's images")
      ->capture_default_str();
  offer(app.add_option(
            "--cross-device", options.cross_device,
            "mirrored: nccl, ring, hierarchical_copy or reduce_to_one instead of --allreduce"),
        std::span(kCrossDevice).subspan(1));
  offer(app.add_option("--collective", options.collective,
                       "multi_worker: ring, nccl or auto instead of --allreduce"),
        std::span(kCollectives).subspan(1));
}

void apply(const GradientSyncWords& words, GradientSyncOptions& options) {
  require_known("progress", words.progress, kProgress);
  require_known("compression", words.compression, kCompressions);
  require_known("cross-device", options.cross_device, kCrossDevice);
  require_known("collective", options.collective, kCollectives);
  options.bucket_bytes = bytes_of("bucket-mb", words.bucket_mb);
  options.fusion_bytes = bytes_of("fusion-mb", words.fusion_mb);
  options.progress = words.progress == "thread" ? Progress::thread
                     : words.progress == "hook" ? Progress::hook
                                                : Progress::end;
  if (words.compression == "fp16") options.wire = DType::float16;
  if (words.compression == "bf16") options.wire = DType::bfloat16;
  if (!std::isfinite(words.cycle_ms) || words.cycle_ms < 0) {
    fail<UsageError>("--cycle-ms {}: must be 0 or more", words.cycle_ms);
  }
  options.cycle_seconds = words.cycle_ms / 1000;
  if (options.servers < 1) fail<UsageError>("--servers {}: must be at least 1", options.servers);
  if (options.micro_batches < 1) {
    fail<UsageError>("--micro-batches {}: must be at least 1", options.micro_batches);
  }
}

std::string text_of(std::string_view gradient_sync, const GradientSyncOptions& options) {
  constexpr std::array<std::string_view, 3> kProgressNames{"thread", "hook", "end"};
  std::string text;
  const auto add = [&](std::string_view name, const auto& value) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  };
  if (gradient_sync == "bucketed_overlap") {
    add("bucket_mb", static_cast<double>(options.bucket_bytes) / kMiB);
    add("progress", kProgressNames.at(static_cast<std::size_t>(options.progress)));
  } else if (gradient_sync == "horovod") {
    add("fusion_mb", static_cast<double>(options.fusion_bytes) / kMiB);
    add("cycle_ms", options.cycle_seconds * 1000);
  } else if (gradient_sync.starts_with("ps_")) {
    add("servers", options.servers);
  } else if (gradient_sync == "model_split") {
    add("micro_batches", options.micro_batches);
  } else if (gradient_sync == "mirrored" && !options.cross_device.empty()) {
    add("cross_device", options.cross_device);
  } else if (gradient_sync == "multi_worker" && !options.collective.empty()) {
    add("collective", options.collective);
  }
  if (options.wire != DType::float32) add("wire", name_of(options.wire));
  return text;
}

}  // namespace scalebench
