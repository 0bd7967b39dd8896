// SPDX-License-Identifier: Apache-2.0
// How long an allreduce of any size takes on any number of ranks, from a measured curve: monotone
// between measured sizes where that N was measured; elsewhere the cost model of fit.hpp with what
// the algorithm's own line says, times how far the measured curves lie off it at that size.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/study/analysis/fit.hpp"

namespace scalebench {

struct RankLayout {
  int ranks = 1;
  int nodes = 1;

  double per_node() const { return static_cast<double>(ranks) / nodes; }
  auto operator<=>(const RankLayout&) const = default;
};

/// The measured network, or what it might be instead.
struct AssumedNetwork {
  double faster = 1;                         // times as many bytes a second
  std::optional<double> bytes_per_second{};  // of a link, instead of the measured rate
  std::optional<double> seconds_a_step{};    // instead of the measured alpha

  bool is_measured() const { return faster == 1 && !bytes_per_second && !seconds_a_step; }
};

struct CurvePoint {
  RankLayout at;
  double size_bytes = 0;
  double seconds = 0;
};

class AllreduceCurve {
 public:
  /// Bytes and steps of the busiest rank.
  using WorkOf = std::function<AllreduceWork(double size_bytes, const RankLayout& at)>;

  /// `points` of one algorithm over one transport. Ranks of one node and of several have a model
  /// each.
  AllreduceCurve(std::string algorithm, const std::vector<CurvePoint>& points, WorkOf work_of);

  /// Throws Unavailable, with the reason, where nothing measured says it.
  double seconds(double size_bytes, const RankLayout& at, const AssumedNetwork& network = {}) const;

  /// The model for ranks of one node or of several; nothing: too few points of that kind.
  const std::optional<AllreduceFit>& fit(bool one_node) const { return side(one_node).fit; }
  const std::string& algorithm() const { return algorithm_; }
  bool is_measured(const RankLayout& at) const;

 private:
  /// What was measured on one layout, by size.
  struct Shape {
    RankLayout at;
    std::vector<double> log_size{};
    std::vector<double> seconds{};  // never falls
    std::vector<double> log_off{};  // of seconds over the model's; over 1 s without a model
  };
  struct Side {
    std::optional<AllreduceFit> fit{};
    std::vector<Shape> shapes{};
  };

  const Side& side(bool one_node) const { return one_node ? one_node_ : nodes_; }
  Side side_of(const std::vector<CurvePoint>& points) const;
  double modelled(const Side& side, double size_bytes, const RankLayout& at) const;
  double measured_seconds(const Side& side, const Shape& shape, double size_bytes) const;
  double network_seconds(double size_bytes, const RankLayout& at,
                         const AssumedNetwork& network) const;
  double off(const Side& side, double size_bytes) const;

  std::string algorithm_;
  WorkOf work_of_;
  Side one_node_;
  Side nodes_;
};

}  // namespace scalebench
