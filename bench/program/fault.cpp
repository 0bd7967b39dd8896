// SPDX-License-Identifier: Apache-2.0
#include "bench/program/fault.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <tuple>

#include "bench/program/program.hpp"
#include "bench/program/words.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::array<std::string_view, 4> kKinds{"none", "hang", "die", "wrong"};

struct StepFaultForm {
  StepFaultKind kind;
  std::string StepFaultWords::*word;
  const char* option;
  int signal;
  std::string_view participle;
  const char* what;
};
constexpr std::array<StepFaultForm, 2> kStepFaults{
    {{StepFaultKind::kill, &StepFaultWords::kill_rank, "--kill-rank", SIGKILL, "killed",
      "inject a fault: RANK@STEP, this rank ends by SIGKILL at the begin of the step, counted from "
      "0 over the training; not in a training that resumes"},
     {StepFaultKind::stop, &StepFaultWords::stop_rank, "--stop-rank", SIGSTOP, "stopped",
      "inject a fault: as --kill-rank, but the rank stops by SIGSTOP and stays"}}};

const StepFaultForm& form_of(StepFaultKind kind) {
  return kStepFaults.at(static_cast<std::size_t>(kind));
}

}  // namespace

AllreduceFault AllreduceFault::parse(const std::string& text, int ranks) {
  AllreduceFault fault;
  if (text.empty()) return fault;
  const std::size_t colon = text.find(':');
  const auto kind = std::ranges::find(kKinds, text.substr(0, colon)) - kKinds.begin();
  std::string place = colon == std::string::npos ? "" : text.substr(colon + 1);
  std::optional<std::size_t> every = fault.every;
  if (const std::size_t slash = place.find('/'); slash != std::string::npos) {
    every = read_number<std::size_t>(place.substr(slash + 1));
    place.resize(slash);
  }
  if (place.find('@') == std::string::npos) place += fmt::format("@{}", fault.case_number);
  const auto numbers = read_pair<int, std::size_t>(place, '@');
  const bool known = kind > 0 && kind < std::ssize(kKinds);
  const bool opening = numbers && numbers->second == 0;
  if (!known || !numbers || numbers->first < 0 || every.value_or(0) == 0 ||
      (opening && static_cast<Kind>(kind) == Kind::wrong)) {
    fail<UsageError>("--fault '{}': write {}", text, kFaultForm);
  }
  fault.kind = static_cast<Kind>(kind);
  std::tie(fault.rank, fault.case_number) = *numbers;
  fault.every = *every;
  if (fault.rank >= ranks) {
    fail<UsageError>("--fault {}: there are only {} rank(s)", text, ranks);
  }
  return fault;
}

void AllreduceFault::require_reached(std::size_t cases) const {
  if (kind == Kind::none || case_number <= cases) return;
  fail<JointRefusal>("--fault {}:{}@{}: would never come, there are {} case(s); @CASE names one",
                     kKinds.at(static_cast<std::size_t>(kind)), rank, case_number, cases);
}

void AllreduceFault::strike(Span out) const {
  if (++operations_ % every != 0) return;
  if (kind == Kind::die) std::raise(SIGKILL);
  while (kind == Kind::hang) pause();
  if (out.empty()) return;
  const Span first = out.part(0, 1);
  const Buffer element(1, out.dtype);
  copy(first, element.span());
  for (std::byte& byte : std::span(element.span().data, first.bytes())) byte = ~byte;
  copy(element.span(), first);
}

std::string_view StepFault::participle() const { return form_of(kind).participle; }

void add_step_fault_options(CLI::App& app, StepFaultWords& words) {
  for (const StepFaultForm& form : kStepFaults) {
    app.add_option(form.option, words.*form.word, form.what)->group(kFaults);
  }
}

StepFault step_fault_of(const StepFaultWords& words, int ranks) {
  if (!words.kill_rank.empty() && !words.stop_rank.empty()) {
    fail<UsageError>("--kill-rank and --stop-rank: give one");
  }
  for (const StepFaultForm& form : kStepFaults) {
    const std::string& text = words.*form.word;
    if (text.empty()) continue;
    const auto numbers = read_pair<int, std::int64_t>(text, '@');
    if (!numbers || numbers->second < 0) {
      fail<UsageError>("{} {}: valid: RANK@STEP, as 1@50; steps count from 0 over the training",
                       form.option, text);
    }
    if (numbers->first < 0 || numbers->first >= ranks) {
      fail<UsageError>("{} {}: there are {} rank(s), from 0 on", form.option, text, ranks);
    }
    return {form.kind, numbers->first, numbers->second};
  }
  return {};
}

std::string ClockFault::text() const {
  std::string text;
  if (drift_rank >= 0) text = fmt::format("drift_clock={}:{}", drift_rank, drift_ppm);
  if (jump_rank >= 0) {
    text += fmt::format("{}jump_clock={}:{}", text.empty() ? "" : " ", jump_rank, jump_seconds);
  }
  return text;
}

void add_clock_fault_options(CLI::App& app, int ranks, ClockFault& fault) {
  const auto add = [&app, ranks](const std::string& name, const std::string& unit, double most,
                                 int& rank, double& value, const char* what) {
    const auto take = [=, &rank, &value](const std::string& text) {
      const auto numbers = read_pair<int, double>(text, ':');
      if (!numbers || !(std::abs(numbers->second) <= most)) {
        fail<UsageError>("{} {}: valid: RANK:{}, which is at most {} either way", name, text, unit,
                         most);
      }
      if (numbers->first < 0 || numbers->first >= ranks) {
        fail<UsageError>("{} {}: there are {} rank(s), from 0 on", name, text, ranks);
      }
      std::tie(rank, value) = *numbers;
    };
    app.add_option_function<std::string>(name, take, what)->group(kFaults);
  };
  add("--drift-clock", "PPM", 1e5, fault.drift_rank, fault.drift_ppm,
      "inject a fault: RANK:PPM, the clock of this rank's host goes so many parts per million too "
      "fast");
  add("--jump-clock", "SECONDS", 1e6, fault.jump_rank, fault.jump_seconds,
      "inject a fault: RANK:SECONDS, the clock of this rank's host jumps by so much in the second "
      "step");
}

void inject(StepFaultKind kind) { std::raise(form_of(kind).signal); }

}  // namespace scalebench
