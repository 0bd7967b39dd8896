// SPDX-License-Identifier: Apache-2.0
// Formats: NVIDIA/nccl src/transport/net.cc ("via NET/%s/%d%s%s"), src/transport/p2p.cc, shm.cc,
// src/misc/param.cc ("set by environment to").
#include "bench/study/normal/evidence.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>

#include "bench/study/import/foreign_text.hpp"

namespace scalebench {
namespace {

struct Pattern {
  const char* expression;
  const char* cause;
};

constexpr Pattern kPatterns[]{
    {R"((?:via NET/Socket|Using network Socket))",
     "NCCL's sockets carry it between hosts: no InfiniBand, RoCE or EFA was found, or it is off"},
    {R"(Channel \d+.* via SHM)",
     "GPUs of a host talk through its memory: peer-to-peer is off or impossible"},
    {R"(NVLS multicast support is not available)", "NVLink SHARP is not available"},
};
constexpr std::size_t kLongestSeen = 120;

}  // namespace

Evidence evidence_in(std::string_view log) {
  static const re2::RE2 kSet(
      R"((NCCL_(?:P2P_DISABLE|P2P_LEVEL|IB_DISABLE|SHM_DISABLE|NVLS_ENABLE|ALGO|PROTO|NET_GDR_LEVEL|MAX_NCHANNELS)) set by environment to (\S+))");
  static const re2::RE2 kNetwork(R"(via NET/[^/]+/(\d+)(/GDRDMA)?)");
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
      if (re2::RE2::PartialMatch(line.text, pattern.expression)) add(line, pattern.cause);
    }
    std::string name, value, direct;
    if (re2::RE2::PartialMatch(line.text, kSet, &name, &value)) {
      add(line, fmt::format("{}={} was set", name, value));
    }
    int rail = 0;
    if (re2::RE2::PartialMatch(line.text, kNetwork, &rail, &direct)) {
      evidence.rails.insert(rail);
      gpu_direct |= !direct.empty();
      const bool sockets = line.text.find("NET/Socket") != std::string_view::npos;
      if (direct.empty() && !sockets && !without_gpu_direct) without_gpu_direct = line;
    }
  }
  if (without_gpu_direct && !gpu_direct) {
    add(*without_gpu_direct,
        "GPU-direct is off: what goes to another host takes the way over this one's memory");
  }
  return evidence;
}

}  // namespace scalebench
