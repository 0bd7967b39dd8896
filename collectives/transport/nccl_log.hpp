// SPDX-License-Identifier: Apache-2.0
// What NCCL says it chose for an allreduce. No function of it tells; its log does, in the file of
// NCCL_DEBUG_FILE, where NCCL_DEBUG is INFO and NCCL_DEBUG_SUBSYS has TUNING.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace scalebench {

/// Algorithm, protocol and number of channels of the last allreduce of `bytes` bytes in lines of
/// NCCL's log: "RING/SIMPLE/16". Older versions say no channels, and numbers, which are names here.
/// Of a kernel for symmetric memory it is that word and its name. Empty: no line says it.
std::string nccl_choice_in(std::string_view lines, std::size_t bytes);

/// The file in which this process' NCCL logs its choices, by the variables of its environment;
/// empty: it does not.
std::filesystem::path nccl_choice_log();

/// A log that grows.
class NcclLog {
 public:
  explicit NcclLog(std::filesystem::path file) : file_(std::move(file)) {}

  /// nccl_choice_in() what has come since the last call; empty without a file.
  std::string choice_since(std::size_t bytes);

 private:
  std::filesystem::path file_;
  std::uintmax_t read_ = 0;
};

}  // namespace scalebench
