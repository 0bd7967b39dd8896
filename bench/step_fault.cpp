// SPDX-License-Identifier: Apache-2.0
#include "bench/step_fault.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <csignal>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

template <class Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

StepFault fault_in(std::string_view option, const std::string& text, StepFaultKind kind,
                   int ranks) {
  StepFault fault{kind};
  const std::size_t at = text.find('@');
  const std::string_view words = text;
  if (at == std::string::npos || !parse(words.substr(0, at), fault.rank) ||
      !parse(words.substr(at + 1), fault.step) || fault.step < 0) {
    fail<UsageError>("{} {}: valid: RANK@STEP, as 1@50; steps count from 0 over the training",
                     option, text);
  }
  if (fault.rank < 0 || fault.rank >= ranks) {
    fail<UsageError>("{} {}: there are {} rank(s), from 0 on", option, text, ranks);
  }
  return fault;
}

}  // namespace

void add_step_fault_options(CLI::App& app, StepFaultWords& words) {
  app.add_option("--kill-rank", words.kill_rank,
                 "inject a fault: RANK@STEP, this rank ends by SIGKILL at the begin of the step, "
                 "counted from 0 over the training; not in a training that resumes")
      ->group("Faults");
  app.add_option("--stop-rank", words.stop_rank,
                 "inject a fault: as --kill-rank, but the rank stops by SIGSTOP and stays")
      ->group("Faults");
}

StepFault step_fault_of(const StepFaultWords& words, int ranks) {
  if (!words.kill_rank.empty() && !words.stop_rank.empty()) {
    fail<UsageError>("--kill-rank and --stop-rank: give one");
  }
  if (!words.kill_rank.empty()) {
    return fault_in("--kill-rank", words.kill_rank, StepFaultKind::kill, ranks);
  }
  if (!words.stop_rank.empty()) {
    return fault_in("--stop-rank", words.stop_rank, StepFaultKind::stop, ranks);
  }
  return {};
}

void inject(StepFaultKind kind) { std::raise(kind == StepFaultKind::kill ? SIGKILL : SIGSTOP); }

}  // namespace scalebench
