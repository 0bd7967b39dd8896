// SPDX-License-Identifier: Apache-2.0
#include "bench/study/comparison/instance_pair.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "bench/cli/quantity.hpp"
#include "bench/study/analysis/pairs.hpp"
#include "bench/study/comparison/cost.hpp"

namespace scalebench {
namespace {

/// From so many launches a side on an interval of a ratio holds it in 95 % and more (simulated: 97;
/// 90 and 67 of three and two).
constexpr double kLaunchesThatTell = 4;

/// Measured in a single launch, which says nothing of another.
bool once(const ResultRow& row) {
  return row.get("origin") == "measured" && !(number_in(row, "launches") > 1);
}

bool tells_how_it_varies(const ResultRow& row) {
  return !row.get("seconds_ci_low").empty() && !(number_in(row, "launches") < kLaunchesThatTell);
}

Ratio ratio_of(const ResultRow& a, const ResultRow& b, std::string_view column,
               const std::string& stem) {
  const auto end = [&](const ResultRow& row, const char* which) {
    const double at = number_in(row, fmt::format("{}_ci_{}", stem, which));
    return std::isnan(at) ? number_in(row, column) : at;
  };
  Ratio ratio{number_in(b, column) / number_in(a, column)};
  ratio.once = once(a) || once(b);
  if (a.get(stem + "_ci_low").empty() && b.get(stem + "_ci_low").empty()) return ratio;
  ratio.low = end(b, "low") / end(a, "high");
  ratio.high = end(b, "high") / end(a, "low");
  return ratio;
}

}  // namespace

double seconds_of(const ResultRow& cost) { return number_in(cost, "seconds_median"); }
double usd_of(const ResultRow& cost) { return number_in(cost, "usd_per_epoch"); }
double instance_seconds(const ResultRow& cost) {
  return number_in(cost, "nodes") * seconds_of(cost);
}

std::string_view Ratio::verdict() const {
  if (std::isnan(value)) return "";
  if (once) return "open";
  const double least = std::isnan(low) ? value : low, most = std::isnan(high) ? value : high;
  if (least > 1 + kFloor) return "a";
  if (most < 1 / (1 + kFloor)) return "b";
  return least >= 1 / (1 + kFloor) && most <= 1 + kFloor ? "equal" : "open";
}

InstancePair::InstancePair(const InstanceType& with_a, const InstanceType& with_b,
                           const ResultRow& row_a, const ResultRow& row_b)
    : type_a(with_a),
      type_b(with_b),
      a(row_a),
      b(row_b),
      time(ratio_of(a, b, "seconds_median", "seconds")),
      usd(ratio_of(a, b, "usd_per_epoch", "usd_per_epoch")) {}

std::string InstancePair::name(std::string_view side) const {
  const std::string& nodes = row(side).get("nodes");
  return nodes == "1" ? type(side).name : fmt::format("{} x {}", nodes, type(side).name);
}

double InstancePair::equal_price(std::string_view side) const {
  return usd_of(row(other_side(side))) / instance_seconds(row(side)) * kSecondsAnHour;
}

namespace {

/// "31x", "6.4x", "1.25x"
std::string times(double factor) {
  return fmt::format("{:.{}f}x", factor, factor >= 9.95 ? 0 : factor >= 2 ? 1 : 2);
}

/// By how much the cheaper one is: "39 %".
std::string less(double factor) {
  const double share = 100 * (1 - 1 / factor);
  return fmt::format("{:.{}f} %", share, share >= 99 ? 2 : 0);
}

// Where the numbers are from.

std::string origin_words(const InstancePair& pair) {
  const std::string &a = pair.a.get("origin"), &b = pair.b.get("origin");
  return a == b ? a : fmt::format("{} {}, {} {}", pair.type_a.name, a, pair.type_b.name, b);
}

/// Of what is not predicted.
std::string launch_words(const InstancePair& pair) {
  std::vector<std::string> counts;
  bool bare = false;
  for (const ResultRow* const row : {&pair.a, &pair.b}) {
    if (row->get("origin") == "predicted") continue;
    const std::string& launches = row->get("launches");
    counts.push_back(launches.empty() ? "?" : launches);
    bare |= row->get("seconds_ci_low").empty();
  }
  if (counts.empty()) return "";
  if (counts.size() == 2 && counts[0] == counts[1]) counts.pop_back();
  const std::string text =
      fmt::format(", {} launch{}", fmt::join(counts, " and "), counts.back() == "1" ? "" : "es");
  return text + (bare ? " without an interval" : "");
}

std::string price_words(const ResultRow& row) {
  if (row.get("usd_per_hour").empty()) return "";
  if (row.get("price_source") == kUsersPrice) return kUsersPrice;
  const std::string& date = row.get("price_date");
  return date.starts_with("undated") ? date : "of " + date;
}

std::string price_words(const InstancePair& pair) {
  const std::string a = price_words(pair.a), b = price_words(pair.b);
  if (a.empty() && b.empty()) return "";
  if (a == b) return ", prices " + a;
  std::vector<std::string> each;
  if (!a.empty()) each.push_back(fmt::format("{}'s {}", pair.type_a.name, a));
  if (!b.empty()) each.push_back(fmt::format("{}'s {}", pair.type_b.name, b));
  return fmt::format(", price: {}", fmt::join(each, ", "));
}

std::string device_words(const InstancePair& pair) {
  std::string text;
  for (const char* const side : {"a", "b"}) {
    if (pair.row(side).get("own_device") != "0") continue;
    text +=
        fmt::format(", {} measured on '{}'", pair.type(side).name, pair.row(side).get("device"));
  }
  return text;
}

/// "(measured, 4 launches, prices of 2026-07-20)"
std::string basis_of(const InstancePair& pair) {
  return fmt::format("({}{}{}{})", origin_words(pair), launch_words(pair), device_words(pair),
                     price_words(pair));
}

// What came out.

/// Of costs that are no ratio: why.
std::string no_price(const InstancePair& pair) {
  const bool a = pair.a.get("usd_per_hour").empty(), b = pair.b.get("usd_per_hour").empty();
  return a && b ? "neither has a price" : pair.type(a ? "a" : "b").name + " has no price";
}

/// "998 s at 3.39 usd"
std::string seen(const ResultRow& row) {
  const std::string time = show_time(seconds_of(row));
  return row.get("usd_per_hour").empty() ? time
                                         : fmt::format("{} at {} usd", time, show_usd(usd_of(row)));
}

/// About time or cost where no side is better.
std::string no_difference(const Ratio& ratio, const char* equal, const char* in) {
  return ratio.verdict() == "equal" ? equal : fmt::format("no difference in {} can be told", in);
}

std::string outcome_of(const InstancePair& pair) {
  if (pair.time.once) {
    return fmt::format("{} or {}: a single launch does not decide; an epoch took {} against {}",
                       pair.name("a"), pair.name("b"), seen(pair.a), seen(pair.b));
  }
  const std::string_view time = pair.time.verdict(), usd = pair.usd.verdict();
  const std::string faster = times(pair.time.factor()) + " faster";
  const std::string cheaper = less(pair.usd.factor()) + " cheaper";
  if (pair.time.told() && pair.usd.told()) {
    return time == usd ? fmt::format("{}: {} and {} an epoch", pair.name(time), faster, cheaper)
                       : fmt::format("{}: {} an epoch, but {} is {}", pair.name(time), faster,
                                     pair.name(usd), cheaper);
  }
  const std::string speed = no_difference(pair.time, "an epoch takes the same time", "time");
  const std::string cost = usd.empty() ? "which one is cheaper is not known: " + no_price(pair)
                                       : no_difference(pair.usd, "it costs the same", "cost");
  if (pair.time.told()) return fmt::format("{}: {} an epoch; {}", pair.name(time), faster, cost);
  if (pair.usd.told()) return fmt::format("{}: {} an epoch; {}", pair.name(usd), cheaper, speed);
  return fmt::format("{} and {}: {}; {}", pair.name("a"), pair.name("b"), speed, cost);
}

// What stays open.

/// On how many instances the slower type, which is not known to be dearer, might be as fast.
std::string more_instances(const InstancePair& pair) {
  const std::string_view fast = pair.time.verdict();
  // A dearer one does not get cheaper by scaling that is ideal at best.
  if (!pair.time.told() || pair.usd.verdict() == fast) return "";
  const std::string_view slow = other_side(fast);
  const double limit = seconds_of(pair.row(fast));
  double least = std::numeric_limits<double>::infinity();
  for (const ResultRow* const row : pair.type(slow).rows) {
    if (seconds_of(*row) <= limit) return "";
    least = std::min(least, instance_seconds(*row));
  }
  const double needed = std::ceil(least / limit);
  return fmt::format(
      "whether {} reaches {} an epoch (ideal scaling takes {} of them: measure N = {} or more)",
      pair.type(slow).name, show_time(limit), needed,
      needed * number_in(pair.row(slow), "ranks_per_node"));
}

std::string missing_price(const InstancePair& pair, const char* side) {
  const double equal = pair.equal_price(side);
  const std::string below =
      std::isnan(equal)
          ? ""
          : fmt::format("; below {} usd an hour it is the cheaper one", show_usd(equal));
  return fmt::format("what an hour of {} costs (--price {}=USD{})", pair.type(side).name,
                     pair.row(side).get("instance"), below);
}

/// What is missing about the row of one side.
void add_missing(std::vector<std::string>& parts, const InstancePair& pair, const char* side) {
  const ResultRow& row = pair.row(side);
  const std::string& name = pair.type(side).name;
  if (row.get("usd_per_hour").empty()) parts.push_back(missing_price(pair, side));
  if (row.get("origin") == "predicted") {
    const bool counted = row.get("note").find(kMemoryCounted) != std::string::npos;
    parts.push_back(fmt::format(
        "how long {} really takes, which TFLOPS alone foretell{} (measure "
        "it on N = {})",
        name, counted ? "" : ", and whether its memory holds the training", row.get("ranks")));
  } else if (!tells_how_it_varies(row)) {
    parts.push_back(fmt::format("how much the times of {} vary (start it {} times or more)", name,
                                kLaunchesThatTell));
  }
  if (row.get("own_device") == "0") {
    parts.push_back(fmt::format("how fast {} is with its own GPU (measure on it)", name));
  }
}

std::string end_of(const Ratio& ratio, const InstancePair& pair, const std::string& better) {
  const std::string_view verdict = ratio.verdict();
  if (verdict == "equal") return fmt::format("no more than {:.0f} % apart", 100 * kFloor);
  if (verdict == "open") return "no difference can be told";
  return fmt::format("{} is {}", pair.type(verdict).name, better);
}

}  // namespace

std::string best_sentence(const InstancePair& best) {
  std::string text = fmt::format("{} {}", outcome_of(best), basis_of(best));
  if (!best.usd.told()) return text;
  const std::string_view dear = other_side(best.usd.verdict());
  return text + fmt::format("; {} would have to cost {} usd an hour to be equal in cost",
                            best.type(dear).name, show_usd(best.equal_price(dear)));
}

std::string unknown_after(const InstancePair& best) {
  std::vector<std::string> parts;
  const bool time = best.time.verdict() == "open", usd = best.usd.verdict() == "open";
  if ((time || usd) && !best.time.once) {
    parts.push_back(
        fmt::format("which one is {}: their intervals meet, or lie within {:.0f} % (more launches "
                    "of both)",
                    time && usd ? "better"
                    : time      ? "faster"
                                : "cheaper",
                    100 * kFloor));
  }
  if (const std::string more = more_instances(best); !more.empty()) parts.push_back(more);
  add_missing(parts, best, "a");
  add_missing(parts, best, "b");
  const bool reached =
      !best.a.get("seconds_to_target").empty() && !best.b.get("seconds_to_target").empty();
  if (!reached || best.a.get("target_accuracy") != best.b.get("target_accuracy")) {
    parts.emplace_back("what an accuracy costs (train both to one target_accuracy)");
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string budget_sentence(const InstancePair& fastest, double usd) {
  return fmt::format("For {} usd an epoch: {} takes {}, {} {}; {}", show_usd(usd),
                     fastest.name("a"), show_time(seconds_of(fastest.a)), fastest.name("b"),
                     show_time(seconds_of(fastest.b)),
                     end_of(fastest.time, fastest, times(fastest.time.factor()) + " faster"));
}

std::string deadline_sentence(const InstancePair& cheapest, double seconds) {
  return fmt::format("Within {} an epoch: {} costs {} usd, {} {} usd; {}", show_time(seconds),
                     cheapest.name("a"), show_usd(usd_of(cheapest.a)), cheapest.name("b"),
                     show_usd(usd_of(cheapest.b)),
                     end_of(cheapest.usd, cheapest, less(cheapest.usd.factor()) + " cheaper"));
}

}  // namespace scalebench
