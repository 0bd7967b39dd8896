// SPDX-License-Identifier: Apache-2.0
// Formats: NVIDIA/nccl src/transport/net.cc ("via NET/%s/%d%s%s"), src/transport/p2p.cc, shm.cc,
// src/misc/param.cc ("set by environment to").
#include "bench/study/normal/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/study/import/foreign_text.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

struct Pattern {
  LinePattern expression;
  const char* cause;
};

constexpr std::size_t kLongestSeen = 120;

}  // namespace

Evidence evidence_in(std::string_view log) {
  static const Pattern kPatterns[]{
      {{"sockets", R"((via NET/Socket|Using network Socket))"},
       "NCCL's sockets carry it between hosts: no InfiniBand, RoCE or EFA was found, or it is off"},
      {{"memory", R"((Channel \d+.* via SHM))"},
       "GPUs of a host talk through its memory: peer-to-peer is off or impossible"},
      {{"NVLS", R"((NVLS multicast support is not available))"}, "NVLink SHARP is not available"},
  };
  static const LinePattern kSet(
      "settings",
      R"(NCCL_((?:P2P_DISABLE|P2P_LEVEL|IB_DISABLE|SHM_DISABLE|NVLS_ENABLE|ALGO|PROTO|NET_GDR_LEVEL|MAX_NCHANNELS)) set by environment)");
  static const LinePattern kValue("settings", R"(set by environment to (\S+))");
  static const LinePattern kRail("networks", R"(via NET/[^/]+/(\d{1,6}))");
  Evidence evidence;
  std::vector<Remark> none;
  const auto add = [&](const ForeignLine& line, std::string cause) {
    if (std::ranges::find(evidence.signs, cause, &Sign::cause) != evidence.signs.end()) return;
    evidence.signs.push_back(
        {line.number, std::string(line.text.substr(0, kLongestSeen)), std::move(cause)});
  };
  std::optional<ForeignLine> without_gpu_direct;
  bool gpu_direct = false;
  for (const ForeignLine& line : lines_of(log, "log", none)) {
    for (const Pattern& pattern : kPatterns) {
      if (pattern.expression.first_group(line.text)) add(line, pattern.cause);
    }
    if (const auto name = kSet.first_group(line.text)) {
      add(line, fmt::format("NCCL_{}={} was set", *name,
                            kValue.first_group(line.text).value_or("nothing")));
    }
    const auto rail = kRail.first_group(line.text);
    if (!rail) continue;
    evidence.rails.insert(read_number<int>(*rail).value_or(0));
    const bool direct = line.text.find("/GDRDMA") != std::string_view::npos;
    const bool sockets = line.text.find("NET/Socket") != std::string_view::npos;
    gpu_direct |= direct;
    if (!direct && !sockets && !without_gpu_direct) without_gpu_direct = line;
  }
  if (without_gpu_direct && !gpu_direct) {
    add(*without_gpu_direct,
        "GPU-direct is off: what goes to another host takes the way over this one's memory");
  }
  return evidence;
}

}  // namespace scalebench
