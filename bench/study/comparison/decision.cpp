// SPDX-License-Identifier: Apache-2.0
#include "bench/study/comparison/decision.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/cli/console.hpp"
#include "bench/cli/quantity.hpp"
#include "bench/measure/statistics.hpp"

namespace scalebench {
namespace {

constexpr double kSameWork = 0.01;  // epochs whose images differ by more are other work

/// One of the types that are compared.
struct InstanceType {
  std::string name;
  const std::vector<Cost>& costs;
};

double instance_seconds(const Cost& cost) { return cost.nodes * cost.time().value; }

bool may_meet(const Cost& a, const Cost& b) {
  return a.origin == b.origin && a.workload == b.workload &&
         std::abs(a.images / b.images - 1) <= kSameWork;
}

std::string work_of(const Cost& cost) {
  return std::isnan(cost.images) ? cost.workload + ", unknown images"
                                 : fmt::format("{}, {} images", cost.workload, cost.images);
}

/// Whether a number says something of another start: a measured one does not, without others.
bool is_testable(const Cost& cost) { return cost.origin == "measured" || cost.seconds.size() > 1; }

// What came out, in words.

int digits_of(double ratio) { return ratio >= 9.95 ? 0 : ratio >= 2 ? 1 : 2; }

/// The same with A and B exchanged where B is the better one.
CellComparison of_better(const CellComparison& found) {
  if (found.ratio >= 1) return found;
  CellComparison exchanged = found;
  exchanged.ratio = 1 / found.ratio;
  exchanged.ratio_low = 1 / found.ratio_high;
  exchanged.ratio_high = 1 / found.ratio_low;
  return exchanged;
}

std::string with_ends(const CellComparison& found, const auto& text, const char* unit) {
  std::string said = text(found.ratio) + unit;
  if (!std::isnan(found.ratio_low)) {
    said += fmt::format(" [{}, {}]", text(found.ratio_low), text(found.ratio_high));
  }
  return said;
}

/// "31x [29, 33] faster", "1.25x faster"
std::string faster_by(const CellComparison& time) {
  const CellComparison found = of_better(time);
  const int digits = digits_of(found.ratio);
  const auto text = [&](double ratio) { return fmt::format("{:.{}f}", ratio, digits); };
  return with_ends(found, text, "x") + " faster";
}

/// "39 % [37, 41] cheaper"
std::string cheaper_by(const CellComparison& usd) {
  const CellComparison found = of_better(usd);
  const int digits = found.ratio >= 100 ? 2 : 0;
  const auto text = [&](double ratio) {
    return fmt::format("{:.{}f}", 100 * (1 - 1 / ratio), digits);
  };
  return with_ends(found, text, " %") + " cheaper";
}

bool is_a_better(const CellComparison& found) { return found.verdict == Verdict::slower; }

/// "2 x p3.8xlarge"
std::string side_name(const Decision& decision, bool of_a) {
  const double nodes = (of_a ? decision.a : decision.b)->nodes;
  const std::string& type = of_a ? decision.name_a : decision.name_b;
  return nodes == 1 ? type : fmt::format("{} x {}", nodes, type);
}

/// "p3 and g2: p3 6.4x [6.3, 6.5] faster an epoch; g2 66 % [65, 67] cheaper"
std::string outcome_of(const Decision& decision) {
  const CellComparison &time = decision.time, &usd = decision.usd;
  const std::string faster = faster_by(time), cheaper = cheaper_by(usd);
  const std::string fast = side_name(decision, is_a_better(time));
  if (time.differs() && time.verdict == usd.verdict) {
    return fmt::format("{}: {} and {} an epoch", fast, faster, cheaper);
  }
  const std::string speed = time.differs() ? fmt::format("{} {} an epoch", fast, faster)
                            : time.verdict == Verdict::same ? "an epoch takes the same time"
                                                            : "no difference in time can be told";
  const std::string cost = usd.differs() ? side_name(decision, is_a_better(usd)) + " " + cheaper
                           : usd.verdict == Verdict::same    ? "it costs the same"
                           : usd.verdict == Verdict::missing ? "which one is cheaper is not known"
                                                             : "no difference in cost can be told";
  return fmt::format("{} and {}: {}; {}", side_name(decision, true), side_name(decision, false),
                     speed, cost);
}

/// "measured, 4 launches, price of 2026-07-20"
std::string basis_of(const Cost& cost) {
  const std::size_t launches = cost.seconds.size();
  const std::string count = fmt::format(", {} launch{}", launches, launches == 1 ? "" : "es");
  const std::string& date = cost.instance.price_date;
  const std::string price = std::isnan(cost.instance.usd_per_hour) ? "unknown price"
                            : cost.instance.price_source == kUsersPrice
                                ? std::string("price ") + kUsersPrice
                            : date.starts_with("undated") ? "price " + date
                                                          : "price of " + date;
  return fmt::format("{}{}, {}", cost.origin, count, price);
}

/// The answer with its reasons.
std::string sentence_of(const Decision& decision) {
  const std::string &a = decision.name_a, &b = decision.name_b;
  if (!decision.a) return fmt::format("{} or {} cannot be decided: {}", a, b, decision.note);
  const std::string of_a = basis_of(*decision.a), of_b = basis_of(*decision.b);
  std::string text =
      fmt::format("{} ({}{})", outcome_of(decision), decision.tested ? "" : "not tested: ",
                  of_a == of_b ? of_a : fmt::format("{} {}; {} {}", a, of_a, b, of_b));
  if (!decision.usd.differs()) return text;
  const bool a_wins = is_a_better(decision.usd);
  text += fmt::format("; {} would have to cost {} {} an hour to be equal in cost", a_wins ? b : a,
                      show_usd(decision.equal_usd_per_hour), decision.a->instance.currency);
  if (std::isnan(decision.break_even_epochs)) return text;
  return text + fmt::format("; with start-up {} is the cheaper one from epoch {} on",
                            a_wins ? a : b, decision.break_even_epochs);
}

// What stays open.

/// "which one is faster (24 launches a side would tell); what an hour of g2 costs (--price ...)"
std::string unknown_after(const Decision& decision) {
  std::vector<std::string> parts;
  const bool time = decision.time.verdict == Verdict::undecided,
             usd = decision.usd.verdict == Verdict::undecided;
  if (time || usd) {
    const std::size_t needed = std::max(decision.time.rounds_needed, decision.usd.rounds_needed);
    parts.push_back(fmt::format("which one is {} ({}{} launches a side would tell)",
                                time && usd ? "better"
                                : time      ? "faster"
                                            : "cheaper",
                                needed, needed < kTooManyRounds ? "" : " or more"));
  }
  for (const auto& [cost, other] :
       {std::pair(&*decision.a, &*decision.b), std::pair(&*decision.b, &*decision.a)}) {
    if (!std::isnan(cost->instance.usd_per_hour)) continue;
    const double equal = other->usd() / instance_seconds(*cost) * 3600;
    const std::string below =
        std::isnan(equal) ? "" : fmt::format("; below {} it is the cheaper one", show_usd(equal));
    parts.push_back(fmt::format("what an hour of {0} costs (--price {0}=PRICE{1})",
                                cost->instance.name, below));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// Why the type has no whole instance that was timed; empty when it has one.
std::string why_none(const InstanceType& type) {
  std::set<int> parts;
  std::string why;
  for (const Cost& cost : type.costs) {
    if (cost.is_timed() && cost.whole) return "";
    if (cost.is_timed()) parts.insert(cost.ranks);
    if (cost.is_timed() || !why.empty()) continue;
    why = fmt::format("{} on N = {} is {}: {}", type.name, cost.ranks, cost.status, cost.note);
  }
  if (!why.empty()) return why;
  return fmt::format("of {} only N = {} was timed, no whole instance: measure one", type.name,
                     fmt::join(parts, ", "));
}

Decision undecided(const InstanceType& a, const InstanceType& b) {
  Decision decision{a.name, b.name, work_of(a.costs.front()), {}, {}, why_none(a)};
  if (decision.note.empty()) decision.note = why_none(b);
  if (decision.note.empty()) {
    decision.note = fmt::format(
        "{} timed {} ({}), {} {} ({}): time both on one model, data set, scaling and number of "
        "images "
        "(of an import: --set samples=IMAGES)",
        a.name, work_of(a.costs.front()), a.costs.front().origin, b.name, work_of(b.costs.front()),
        b.costs.front().origin);
  }
  return decision;
}

// The questions, asked of the engine.

using Question = CellComparison Decision::*;

/// Of each decision that has both sides; Holm's correction is over all of them.
void ask(std::vector<Decision>& decisions, Question question, double (*price)(const Cost&)) {
  std::vector<CellSamples> samples;
  std::vector<CellComparison*> asked;
  for (Decision& decision : decisions) {
    if (!decision.a) continue;
    CellComparison& found = decision.*question;
    CellSamples each;
    for (const auto& [cost, values] :
         {std::pair(&*decision.a, &each.a), std::pair(&*decision.b, &each.b)}) {
      for (const double seconds : cost->seconds) values->push_back(seconds * price(*cost));
    }
    found.ratio = median_of(each.b) / median_of(each.a);
    if (std::isnan(found.ratio)) continue;
    if (!decision.tested) {
      found.verdict = found.ratio > 1 + kFloor         ? Verdict::slower
                      : found.ratio < 1 / (1 + kFloor) ? Verdict::faster
                                                       : Verdict::same;
      continue;
    }
    samples.push_back(std::move(each));
    asked.push_back(&found);
  }
  const std::vector<CellComparison> answers = compare_cells(samples);
  for (std::size_t i = 0; i < answers.size(); ++i) *asked[i] = answers[i];
}

/// What follows from the answers.
void conclude(Decision& decision, double startup_seconds) {
  if (!decision.a) return;
  decision.unknown = unknown_after(decision);
  if (!decision.usd.differs()) return;
  const bool a_wins = is_a_better(decision.usd);
  const Cost &cheap = a_wins ? *decision.a : *decision.b,
             &dear = a_wins ? *decision.b : *decision.a;
  decision.equal_usd_per_hour = cheap.usd() / instance_seconds(dear) * 3600;
  if (startup_seconds <= 0) return;
  const double more = (cheap.usd_per_second() - dear.usd_per_second()) * startup_seconds;
  decision.break_even_epochs = std::max(1.0, std::ceil(more / (dear.usd() - cheap.usd()) - 1e-9));
}

void pair_up(const InstanceType& a, const InstanceType& b, std::vector<Decision>& decisions) {
  const std::size_t before = decisions.size();
  std::set<const Cost*> done;
  for (const Cost& first : a.costs) {
    const auto best_of = [&](const InstanceType& type) {
      const Cost* best = nullptr;
      for (const Cost& cost : type.costs) {
        if (!cost.is_timed() || !cost.whole || !may_meet(first, cost)) continue;
        if (&type == &a) done.insert(&cost);
        if (best == nullptr || instance_seconds(cost) < instance_seconds(*best)) best = &cost;
      }
      return best;
    };
    if (!first.is_timed() || !first.whole || done.contains(&first)) continue;
    const Cost *const of_a = best_of(a), *const of_b = best_of(b);
    if (of_a == nullptr || of_b == nullptr) continue;
    decisions.push_back({a.name, b.name, work_of(*of_a), *of_a, *of_b, "",
                         is_testable(*of_a) && is_testable(*of_b)});
  }
  if (decisions.size() == before) decisions.push_back(undecided(a, b));
}

}  // namespace

std::vector<Decision> decisions_of(const std::vector<std::vector<Cost>>& types,
                                   double startup_seconds) {
  std::vector<InstanceType> all;
  for (const std::vector<Cost>& costs : types) {
    if (costs.empty()) continue;
    const auto is_of = [&](const std::vector<Cost>& other) {
      return !other.empty() && other.front().instance.name == costs.front().instance.name;
    };
    const std::string& name = costs.front().instance.name;
    const bool several = std::ranges::count_if(types, is_of) > 1;
    all.push_back({several ? fmt::format("{} ({})", name, costs.front().run_id) : name, costs});
  }
  std::vector<Decision> decisions;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = i + 1; k < all.size(); ++k) pair_up(all[i], all[k], decisions);
  }
  ask(decisions, &Decision::time, [](const Cost&) { return 1.0; });
  ask(decisions, &Decision::usd, [](const Cost& cost) { return cost.usd_per_second(); });
  for (Decision& decision : decisions) conclude(decision, startup_seconds);
  return decisions;
}

bool all_decided(const std::vector<Decision>& decisions) {
  return !decisions.empty() && std::ranges::all_of(decisions, [](const Decision& decision) {
    const CellComparison &time = decision.time, &usd = decision.usd;
    if (usd.verdict == Verdict::missing) return false;
    return time.differs() || usd.differs() || (time.decided() && usd.decided());
  });
}

namespace {

std::set<std::string> types_of(const std::vector<Decision>& decisions) {
  std::set<std::string> types;
  for (const Decision& decision : decisions) types.insert({decision.name_a, decision.name_b});
  return types;
}

/// Of decisions on one workload, the type that is better in this in each of its pairs, and than the
/// next one by how much, "g2 is the cheapest of 3 types, 39 % [37, 41] cheaper than p3"; empty
/// where no type is.
std::pair<std::string, std::string> winner_of(const std::vector<Decision>& decisions,
                                              Question question,
                                              std::string (*by)(const CellComparison&)) {
  const std::set<std::string> types = types_of(decisions);
  for (const std::string& type : types) {
    std::size_t won = 0;
    const Decision* nearest = nullptr;
    for (const Decision& decision : decisions) {
      const CellComparison& found = decision.*question;
      const std::string& better = is_a_better(found) ? decision.name_a : decision.name_b;
      if (!found.differs() || better != type) continue;
      ++won;
      const auto ratio = [&](const Decision* one) { return of_better(one->*question).ratio; };
      if (nearest == nullptr || ratio(&decision) < ratio(nearest)) nearest = &decision;
    }
    if (won + 1 != types.size()) continue;
    const std::string& next = nearest->name_a == type ? nearest->name_b : nearest->name_a;
    return {type, fmt::format("{} than {}", by(nearest->*question), next)};
  }
  return {};
}

/// "g2 is the cheapest of 3 types, 39 % [37, 41] cheaper than p3; p3 is the fastest, 2.1x ..."
std::string winner_sentence(const std::vector<Decision>& decisions) {
  const auto [cheapest, cheaper] = winner_of(decisions, &Decision::usd, cheaper_by);
  const auto [fastest, faster] = winner_of(decisions, &Decision::time, faster_by);
  const std::size_t types = types_of(decisions).size();
  const std::string cost =
      cheapest.empty()
          ? fmt::format("no type is told to be the cheapest of {}", types)
          : fmt::format("{} is the cheapest of {} types, {}", cheapest, types, cheaper);
  if (fastest.empty()) return cost + "; none is told to be the fastest";
  return fastest == cheapest ? fmt::format("{}, and the fastest, {}", cost, faster)
                             : fmt::format("{}; {} is the fastest, {}", cost, fastest, faster);
}

/// "1.25 [1.20, 1.30]", and behind it the verdict where that is SAME or UNDECIDED.
std::string ratio_text(const CellComparison& found) {
  if (std::isnan(found.ratio)) return "-";
  const auto text = [](double ratio) { return fmt::format("{:.2f}", ratio); };
  const std::string said = with_ends(found, text, "");
  return found.differs() ? said : fmt::format("{} {}", said, name_of(found.verdict));
}

}  // namespace

std::vector<std::string> sentences_of(const std::vector<Decision>& decisions) {
  std::map<std::string, std::vector<Decision>> by_workload;
  for (const Decision& decision : decisions) by_workload[decision.workload].push_back(decision);
  std::vector<std::string> sentences, answers;
  for (const auto& [workload, its] : by_workload) {
    const std::string before = by_workload.size() > 1 ? workload + ": " : "";
    if (types_of(its).size() > 2) {
      answers.push_back(before + winner_sentence(its) + ".");
      continue;
    }
    for (const Decision& decision : its) {
      answers.push_back(before + sentence_of(decision) + ".");
      if (decision.unknown.empty()) continue;
      sentences.push_back(fmt::format("{}Not known: {}.", before, decision.unknown));
    }
  }
  sentences.insert(sentences.end(), answers.begin(), answers.end());
  return sentences;
}

std::string table_of_pairs(const std::vector<Decision>& decisions) {
  if (types_of(decisions).size() < 3) return "";
  std::string table = fmt::format("{:<24} {:<24} {:<26} {:<26} {}\n", "A", "B", "time, B over A",
                                  "cost, B over A", "workload");
  for (const Decision& decision : decisions) {
    table += fmt::format("{:<24} {:<24} ", printable(decision.name_a), printable(decision.name_b));
    table += decision.a ? fmt::format("{:<26} {:<26} {}\n", ratio_text(decision.time),
                                      ratio_text(decision.usd), printable(decision.workload))
                        : printable(decision.note) + "\n";
  }
  return table;
}

nlohmann::json json_of(const Decision& decision) {
  nlohmann::json json{{"workload", decision.workload},
                      {"instance_a", decision.name_a},
                      {"instance_b", decision.name_b},
                      {"sentence", sentence_of(decision)}};
  for (const auto& [name, question] :
       {std::pair("time", &Decision::time), std::pair("usd", &Decision::usd)}) {
    const CellComparison& found = decision.*question;
    if (!decision.a) break;
    json[name] = {{"ratio", found.ratio},
                  {"ratio_low", found.ratio_low},
                  {"ratio_high", found.ratio_high},
                  {"verdict", name_of(found.verdict)}};
  }
  return json;
}

}  // namespace scalebench
