// SPDX-License-Identifier: Apache-2.0
#include "bench/program/fault.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <csignal>

#include "kernels/buffer.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// Reads a whole number and moves `text` behind it; false when there is none.
template <class Integer>
bool take_number(std::string_view& text, Integer& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

AllreduceFault AllreduceFault::parse(const std::string& text, int ranks) {
  AllreduceFault fault;
  if (text.empty()) return fault;
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  if (kind == "hang") fault.kind = Kind::hang;
  if (kind == "die") fault.kind = Kind::die;
  if (kind == "wrong") fault.kind = Kind::wrong;
  std::string_view rest(text);
  rest.remove_prefix(colon == std::string::npos ? rest.size() : colon + 1);
  bool good = fault.kind != Kind::none && take_number(rest, fault.rank);
  if (good && rest.starts_with('@')) {
    rest.remove_prefix(1);
    good = take_number(rest, fault.case_number);
  }
  if (!good || !rest.empty() || fault.rank < 0 || fault.case_number == 0) {
    fail<UsageError>("--fault '{}': write {}", text, kFaultForm);
  }
  if (fault.rank >= ranks) {
    fail<UsageError>("--fault {}: there are only {} rank(s)", text, ranks);
  }
  return fault;
}

void AllreduceFault::strike(Span out) const {
  if (kind == Kind::die) std::raise(SIGKILL);
  while (kind == Kind::hang) pause();
  if (out.empty()) return;
  const Span first = out.part(0, 1);
  const Buffer element(1, out.dtype);
  copy(first, element.span());
  for (std::byte& byte : std::span(element.span().data, first.bytes())) byte = ~byte;
  copy(element.span(), first);
}

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
