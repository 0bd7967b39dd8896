// SPDX-License-Identifier: Apache-2.0
#include "bench/study/comparison/cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "bench/cli/quantity.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

bool is_cpu(const ResultRow& row) { return text_in(row, "device") == "cpu"; }

/// Whether the cell is a training of all ranks together, which is what one would pay for. Ranks
/// that share a core or a device are on no instance that one could rent.
bool is_epoch(const Cell& cell) {
  const std::string share = text_in(cell.row, "share_of"),
                    sync = text_in(cell.row, "gradient_sync");
  const bool alone = cell.row.get("ranks") == "1";
  return cell.family == CellFamily::epoch && cell.row.get("origin") != "emulated" &&
         (share.empty() || share == "1") && sync != "barrier_only" && (sync != "none" || alone);
}

/// How many ranks an instance holds. Throws where it holds none.
int room_of(const Instance& instance, const std::string& run_id, const ResultRow& row) {
  if (!is_cpu(row)) {
    if (instance.gpus > 0) return instance.gpus;
    fail<UsageError>("--instance {}: it has no GPU, and {} was measured on '{}'", instance.name,
                     run_id, text_in(row, "device"));
  }
  const double threads = std::max(1.0, number_in(row, "threads"));
  const int ranks = static_cast<int>(instance.vcpus / threads);
  if (ranks > 0) return ranks;
  fail<UsageError>("--instance {}: its {} vCPUs do not hold one rank of {} threads", instance.name,
                   instance.vcpus, threads);
}

/// Names of devices are all that is known of them, and imports need not have any.
void require_possible(const Cost& cost, const ResultRow& row, int each) {
  const Instance& instance = cost.instance;
  const std::string device = text_in(row, "device");
  if (!is_cpu(row) && !device.empty() && !has_gpu(instance, device)) {
    fail<UsageError>("--instance {}: {} was measured on '{}', and the type has {}", instance.name,
                     cost.run_id, device, instance.gpu_model);
  }
  const double nodes = number_in(row, "nodes");
  if (cost.ranks > nodes * each) {
    fail<UsageError>("--instance {}: {} has N = {} on {} node{}, and one has room for {}",
                     instance.name, cost.run_id, cost.ranks, nodes, nodes == 1 ? "" : "s", each);
  }
}

void add_note(Cost& cost, const std::string& text) {
  cost.note += (cost.note.empty() ? "" : "; ") + text;
}

Cost cost_of(const std::string& run_id, const Cell& cell, const Instance& instance) {
  const ResultRow& row = cell.row;
  Cost cost{instance, run_id, row.get("case_id"), row.get("origin"), cell.status, cell.note};
  cost.ranks = static_cast<int>(number_in(row, "ranks"));
  cost.workload = row.get("model");
  for (const char* const column : {"dataset", "scaling"}) {
    if (!text_in(row, column).empty()) cost.workload += " " + text_in(row, column);
  }
  const int each = room_of(instance, run_id, row);
  require_possible(cost, row, each);
  const double needed = std::ceil(static_cast<double>(cost.ranks) / each);
  const double used = number_in(row, "nodes");
  if (cell.measured() && text_in(row, "device").empty()) {
    add_note(cost, fmt::format("taken to be on the instance's {}: the rows name no device",
                               instance.gpu_model));
  }
  if (used > needed) {
    add_note(cost, fmt::format("{} nodes would do, {} were used and are charged", needed, used));
  }
  cost.nodes = used > needed ? used : needed;
  cost.whole = cost.ranks == cost.nodes * each;
  cost.images = number_in(row, "samples");
  if (cell.measured()) cost.seconds = cell.seconds;
  return cost;
}

}  // namespace

std::vector<Cost> costs_of(const std::string& run_id, const std::vector<Cell>& cells,
                           const Instance& instance) {
  std::vector<Cell> epochs;
  std::ranges::copy_if(cells, std::back_inserter(epochs), is_epoch);
  const std::vector<std::string> labels = labels_of(epochs);
  std::vector<Cost> costs;
  for (const Cell& cell : epochs) {
    costs.push_back(cost_of(run_id, cell, instance));
    costs.back().label = labels[costs.size() - 1];
  }
  return costs;
}

void mark_efficient(std::vector<Cost>& costs) {
  const auto counts = [](const Cost& cost) {
    return cost.whole && cost.is_timed() && !std::isnan(cost.usd() + cost.images);
  };
  for (Cost& cost : costs) {
    if (!counts(cost)) continue;
    // For an image each, as epochs of other images are beside it.
    const double seconds = cost.time().value / cost.images, usd = cost.usd() / cost.images;
    cost.efficient = std::ranges::none_of(costs, [&](const Cost& other) {
      if (!counts(other) || other.workload != cost.workload) return false;
      if (other.origin != cost.origin) return false;
      const double s = other.time().value / other.images, u = other.usd() / other.images;
      return s <= seconds && u <= usd && (s < seconds || u < usd);
    });
  }
}

nlohmann::json json_of(const Cost& cost) {
  nlohmann::json json{{"run_id", cost.run_id},
                      {"case_id", cost.case_id},
                      {"origin", cost.origin},
                      {"status", cost.status},
                      {"note", cost.note},
                      {"instance", cost.instance.name},
                      {"workload", cost.workload},
                      {"label", cost.label},
                      {"ranks", cost.ranks},
                      {"nodes", static_cast<int>(cost.nodes)},
                      {"images", cost.images},
                      {"launches", cost.seconds.size()},
                      {"best", !cost.whole      ? "part"
                               : cost.efficient ? "yes"
                                                : "no"}};
  // NaN is null.
  const LaunchInterval time = cost.is_timed() ? cost.time() : across_launches({});
  json["seconds"] = time.value;
  json["seconds_ci_low"] = time.low;
  json["seconds_ci_high"] = time.high;
  json["usd"] = cost.usd_per_second() * time.value;
  return json;
}

}  // namespace scalebench
