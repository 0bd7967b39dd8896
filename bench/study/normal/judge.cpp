// SPDX-License-Identifier: Apache-2.0
#include "bench/study/normal/judge.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <array>
#include <optional>

#include "bench/cli/quantity.hpp"
#include "bench/record/columns.hpp"
#include "bench/record/csv.hpp"
#include "bench/study/import/foreign_text.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
std::vector<Fabric> read_fabrics(const std::filesystem::path& path) {
  const CsvTable table = CsvTable::read(path);
  std::vector<Fabric> fabrics;
  for (std::size_t row = 0; row < table.size(); ++row) {
    Fabric& fabric = fabrics.emplace_back();
    fabric.name = table.text(row, "name");
    fabric.matches = table.text(row, "matches");
    fabric.link = table.text(row, "link");
    fabric.links = table.number(row, "links");
    fabric.mesh = table.text(row, "mesh") == "yes";
    fabric.gb_per_s = table.number(row, "gb_per_s");
    fabric.nvls_gb_per_s = table.number(row, "nvls_gb_per_s");
    fabric.pcie_gb_per_s = table.number(row, "pcie_gb_per_s");
    const double domain = table.number(row, "domain");
    fabric.domain = std::isnan(domain) ? 1 : domain;
    fabric.source = table.text(row, "source");
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

// The lines are those of NVIDIA/nccl: src/transport/net.cc ("via NET/%s/%d%s%s"), p2p.cc,
// shm.cc, src/misc/param.cc ("set by environment to").
Evidence evidence_in(std::string_view log) {
  constexpr std::size_t kLongestSeen = 120;
  struct Pattern {
    LinePattern expression;
    const char* cause;
  };
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

namespace {

/// Of a network device's line rate, what NCCL's rings reach with GPU-direct: 24 GB/s of 200 Gbit/s,
/// 12 of 100 (https://github.com/NVIDIA/nccl-tests/issues/119, NET_BW of its src/graph/topo.h).
constexpr double kOfLineRate = 0.96;
/// Between two hosts a tree, and NVLink SHARP within them, sends each byte once where busbw counts
/// it nearly twice (https://github.com/NVIDIA/nccl-tests/issues/153).
constexpr double kOnTwoNodes = 2;
constexpr double kTooGood = 1.15;
/// Shorter ones are decided by latency, not by rates.
constexpr double kLeastSeconds = 1e-3;
constexpr double kAlike = 0.15;  // what one number of rails, or a ring, explains

Expectation unknown(std::string why) {
  Expectation expectation;
  expectation.why_unknown = std::move(why);
  return expectation;
}

/// The links that carry it: none for host memory, unless a person says so of a log that does not.
const Fabric* links_of(const MeasuredLine& line, const Place& place) {
  return line.in_host_memory && !place.fabric_is_said ? nullptr : place.fabric;
}

Expectation within_a_host(const MeasuredLine& line, const Place& place) {
  if (links_of(line, place) == nullptr) {
    return unknown(line.in_host_memory           ? "in host memory: see bound% of bench_allreduce"
                   : place.why_no_fabric.empty() ? "nothing is known of what joins these ranks"
                                                 : place.why_no_fabric);
  }
  const Fabric& fabric = *place.fabric;
  if (line.ranks == 2 && fabric.link.starts_with("PCIe") && !place.fabric_is_said) {
    return unknown("a pair of these GPUs may have an NVLink bridge; say --fabric");
  }
  Expectation expectation;
  expectation.busbw = expectation.most = fabric.ring(line.ranks);
  expectation.factors = fmt::format("a ring over {:g} x {:g} GB/s of {}", fabric.used(line.ranks),
                                    fabric.gb_per_s, fabric.link);
  expectation.source = fabric.source;
  // NVLink SHARP is taken by default where it is, and its figure is for 8 GPUs.
  if (!std::isnan(fabric.nvls_gb_per_s)) {
    expectation.most = fabric.best(line.ranks);
    if (line.ranks == 8) {
      expectation.busbw = fabric.nvls_gb_per_s;
      expectation.factors = fmt::format("NVLink SHARP; {} = {:.0f} GB/s", expectation.factors,
                                        fabric.ring(line.ranks));
    }
  }
  return expectation;
}

Expectation between_hosts(const MeasuredLine& line, const Place& place) {
  if (!(place.rail_gb_per_s > 0)) {
    return unknown("over several hosts the network decides; say it with --network or --instance");
  }
  Expectation network;
  network.busbw = kOfLineRate * place.rail_gb_per_s * place.rails;
  network.factors = fmt::format("{} rail{} x {:g} GB/s x {:g}", place.rails,
                                place.rails == 1 ? "" : "s", place.rail_gb_per_s, kOfLineRate);
  network.source = "https://github.com/NVIDIA/nccl-tests/issues/119";
  const Fabric* const fabric = links_of(line, place);
  const int of_host = std::max(1, line.ranks / std::max(1, line.nodes));
  if (fabric != nullptr && of_host * fabric->pcie_gb_per_s < network.busbw) {
    network.busbw = of_host * fabric->pcie_gb_per_s;
    network.factors = fmt::format("{} GPU{} of a host x {:g} GB/s of PCIe, less than its network",
                                  of_host, of_host == 1 ? "" : "s", fabric->pcie_gb_per_s);
    network.source = fabric->source;
  }
  if (fabric != nullptr && of_host > 1 && fabric->best(of_host) < network.busbw) {
    network.busbw = fabric->best(of_host);
    network.factors = fmt::format("{:g} x {:g} GB/s of {} within a host, less than its network",
                                  fabric->used(of_host), fabric->gb_per_s, fabric->link);
    network.source = fabric->source;
  }
  network.most = network.busbw * (line.nodes == 2 ? kOnTwoNodes : 1);
  return network;
}

JudgedLine judged(const MeasuredLine& line, const Place& place) {
  JudgedLine one{line, expected(line, place), Normality::unknown, ""};
  const Expectation& expectation = one.expectation;
  if (line.ranks < 2) {
    one.why = "one rank moves nothing";
  } else if (!(line.seconds > 0)) {
    one.why = "it has no time";
  } else if (!(expectation.busbw > 0)) {
    one.why = expectation.why_unknown;
  } else {
    const double share = one.share();
    const double least = line.seconds * share;
    if (line.busbw() > kTooGood * expectation.most) {
      one.verdict = Normality::fast;
    } else if (least < kLeastSeconds) {
      one.why = fmt::format("too small: {} at the full rate, so latency decides", show_time(least));
    } else {
      one.verdict = share < expectation.low_share ? Normality::slow : Normality::normal;
    }
  }
  return one;
}

bool alike(double value, double other) { return std::abs(value / other - 1) <= kAlike; }

/// What the number itself points to.
std::vector<std::string> causes_of(const JudgedLine& best, const Place& place,
                                   const Evidence& evidence) {
  std::vector<std::string> causes;
  if (best.verdict == Normality::fast) {
    causes.emplace_back(
        "more than the hardware moves: a unit, a wrong number of ranks, or bytes "
        "that were never sent");
    return causes;
  }
  if (best.verdict != Normality::slow) return causes;
  const double busbw = best.line.busbw();
  const Fabric* const fabric = links_of(best.line, place);
  const bool one_host = best.line.nodes == 1;
  if (one_host && fabric != nullptr && best.expectation.busbw > fabric->ring(best.line.ranks) &&
      alike(busbw, fabric->ring(best.line.ranks))) {
    causes.push_back(fmt::format("a ring instead of NVLink SHARP: {:.0f} GB/s is what a ring has",
                                 fabric->ring(best.line.ranks)));
  }
  for (int rails = 1; !one_host && rails < place.rails; ++rails) {
    if (!alike(busbw, kOfLineRate * place.rail_gb_per_s * rails)) continue;
    causes.push_back(fmt::format("as over {} of {} rails", rails, place.rails));
  }
  const auto used = static_cast<int>(evidence.rails.size());
  if (!one_host && used > 0 && used < place.rails) {
    causes.push_back(fmt::format("the log shows {} of {} rails in use", used, place.rails));
  }
  for (const Sign& sign : evidence.signs) {
    causes.push_back(fmt::format("{} (line {}: {})", sign.cause, sign.line, sign.seen));
  }
  return causes;
}

std::string sentence_of(const JudgedLine& best) {
  if (best.verdict == Normality::unknown) return fmt::format("UNKNOWN: {}", best.why);
  return fmt::format("{}: {:.4g} GB/s at {}, {:.0f} % of the {:.4g} GB/s that is expected: {}",
                     name_of(best.verdict), best.line.busbw(),
                     show_size(static_cast<std::size_t>(best.line.bytes)), 100 * best.share(),
                     best.expectation.busbw, best.expectation.factors);
}

}  // namespace

std::string_view name_of(Normality normality) {
  constexpr std::array<std::string_view, 4> kNames{"NORMAL", "SLOW", "FAST", "UNKNOWN"};
  return kNames.at(static_cast<std::size_t>(normality));
}

double MeasuredLine::busbw() const {
  const bool known = ranks > 1 && seconds > 0;
  return known ? busbw_gb_per_s(static_cast<double>(bytes), seconds, ranks) : std::nan("");
}

double JudgedLine::share() const {
  return expectation.busbw > 0 ? line.busbw() / expectation.busbw : std::nan("");
}

Expectation expected(const MeasuredLine& line, const Place& place) {
  if (line.nodes == 0 && !line.in_host_memory) {
    return unknown("on how many hosts it was is not in it; say it with --set nodes=N");
  }
  const Fabric* const fabric = links_of(line, place);
  const bool one_domain = fabric != nullptr && fabric->domain >= line.ranks;
  Expectation expectation =
      line.nodes > 1 && !one_domain ? between_hosts(line, place) : within_a_host(line, place);
  const AllreduceCheck& check = place.check;
  expectation.checked = !line.in_host_memory && line.nodes == check.nodes &&
                        line.ranks == check.nodes * place.gpus_of_host &&
                        static_cast<double>(line.bytes) >= check.bytes && expectation.busbw > 0;
  if (!expectation.checked) return expectation;
  expectation.low_share = check.busbw / expectation.busbw;
  expectation.factors += fmt::format("; its provider asks for {:g} GB/s", check.busbw);
  expectation.source = check.source;
  return expectation;
}

Judgement judge(const std::vector<MeasuredLine>& lines, const Place& place,
                const Evidence& evidence) {
  Judgement judgement;
  for (const MeasuredLine& line : lines) judgement.lines.push_back(judged(line, place));
  const JudgedLine* best = nullptr;
  const auto better = [](const JudgedLine& one, const JudgedLine& other) {
    const bool fast = one.verdict == Normality::fast, other_fast = other.verdict == Normality::fast;
    if (fast != other_fast) return fast;
    const bool known = one.verdict != Normality::unknown;
    const bool other_known = other.verdict != Normality::unknown;
    if (known != other_known) return known;
    const bool checked = one.expectation.checked;
    if (checked != other.expectation.checked) return checked;
    return known && one.share() > other.share();
  };
  for (const JudgedLine& line : judgement.lines) {
    if (best == nullptr || better(line, *best)) best = &line;
  }
  if (best == nullptr) {
    judgement.sentence = "UNKNOWN: no allreduce in it";
    return judgement;
  }
  judgement.verdict = best->verdict;
  judgement.sentence = sentence_of(*best);
  judgement.source = best->expectation.source;
  judgement.causes = causes_of(*best, place, evidence);
  return judgement;
}

}  // namespace scalebench
