// SPDX-License-Identifier: Apache-2.0
#include "bench/program/fault.hpp"

#include <fmt/ranges.h>
#include <re2/re2.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <optional>

#include "bench/cli/help.hpp"
#include "bench/cli/stderr.hpp"
#include "bench/machine/identity.hpp"
#include "bench/program/program.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

/// `form` is also what is read by: a part in brackets may be left out, one that is not there must
/// not be given.
struct Kind {
  Injected fault;
  InjectedInto program;
  std::string_view name, form;
  double least, most;             // of the amount
  std::int64_t first, otherwise;  // moment
  std::string_view what;
};

constexpr InjectedInto kAllreduce = InjectedInto::allreduce, kTraining = InjectedInto::training;
constexpr double kMostSeconds = 3600, kMostPpm = 1e5, kMostOperations = 1e9;
constexpr auto kKinds = std::to_array<Kind>({
    {Injected::slower, kAllreduce, "slower", "slower=SHARE", 0, 10, 0, 0,
     "every operation takes such a share of its time longer, 0.3 is 30 %"},
    {Injected::hang, kAllreduce, "hang", "hang:RANK[@CASE]", 0, 0, 0, 3,
     "this rank stops for ever in the third case, or another, counted from 1; @0: while the "
     "transports open"},
    {Injected::kill, kAllreduce, "kill", "kill:RANK[@CASE]", 0, 0, 0, 3, "the same by SIGKILL"},
    {Injected::wrong, kAllreduce, "wrong", "wrong[=N]:RANK[@CASE]", 1, kMostOperations, 1, 3,
     "one element is wrong there, in every operation or one of N"},
    {Injected::sleep, kTraining, "sleep", "sleep=SECONDS:RANK", 0, kMostSeconds, 0, 0,
     "this rank computes so much longer in each step"},
    {Injected::delay, kTraining, "delay", "delay=SECONDS", 0, kMostSeconds, 0, 0,
     "each communication takes so much longer"},
    {Injected::throttle, kTraining, "throttle", "throttle=SECONDS", 0, kMostSeconds, 0, 0,
     "loading takes so much longer in each step"},
    {Injected::kill, kTraining, "kill", "kill:RANK@STEP", 0, 0, 0, 0,
     "this rank ends by SIGKILL at the begin of the step, counted from 0 over the training; not "
     "in a training that resumes"},
    {Injected::stop, kTraining, "stop", "stop:RANK@STEP", 0, 0, 0, 0,
     "the same, but the rank stops by SIGSTOP and stays"},
    {Injected::drift, kTraining, "drift", "drift=PPM:RANK", -kMostPpm, kMostPpm, 0, 0,
     "the clock of this rank's host goes so many parts per million too fast"},
});

bool comes_at_a_moment(const Kind& kind) { return kind.form.find('@') != std::string_view::npos; }

std::string forms_of(InjectedInto program) {
  std::vector<std::string_view> forms;
  for (const Kind& kind : kKinds) {
    if (kind.program == program) forms.push_back(kind.form);
  }
  return fmt::format("{}", fmt::join(forms, ", "));
}

/// What is behind `mark`, as `kind` wants it: false where that is no number, is missing, or does
/// not belong there.
template <class Number>
bool takes(const Kind& kind, char mark, const std::string& text, Number& number) {
  const std::size_t at = kind.form.find(mark);
  if (text.empty()) return at == std::string_view::npos || kind.form[at - 1] == '[';
  const std::optional<Number> read = read_number<Number>(std::string_view(text).substr(1));
  number = read.value_or(number);
  return at != std::string_view::npos && read.has_value();
}

Injection parse(const std::string& typed, InjectedInto program, int ranks) {
  static const RE2 kWord("(?s)([^=:@]*)(=[^:@]*)?(:[^@]*)?(@.*)?", RE2::Latin1);
  std::string name, amount, rank, when;
  const bool is_word = RE2::FullMatch(typed, kWord, &name, &amount, &rank, &when);
  const auto kind = std::ranges::find_if(
      kKinds, [&](const Kind& one) { return one.name == name && one.program == program; });
  if (kind == kKinds.end()) fail<UsageError>("--inject {}: valid: {}", typed, forms_of(program));
  Injection one{.fault = kind->fault,
                .amount = kind->least,
                .when = kind->otherwise,
                .text = typed,
                .at_a_moment = comes_at_a_moment(*kind)};
  if (!is_word || !takes(*kind, '=', amount, one.amount) || !takes(*kind, ':', rank, one.rank) ||
      !takes(*kind, '@', when, one.when) || one.when < kind->first) {
    fail<UsageError>("--inject {}: valid: {}", typed, kind->form);
  }
  if (!(one.amount >= kind->least && one.amount <= kind->most)) {
    fail<UsageError>("--inject {}: valid: {}, from {} to {}", typed, kind->form, kind->least,
                     kind->most);
  }
  const bool of_one = kind->form.find(':') != std::string_view::npos;
  if (of_one && (one.rank < 0 || one.rank >= ranks)) {
    fail<UsageError>("--inject {}: there are {} rank(s), from 0 on", typed, ranks);
  }
  return one;
}

}  // namespace

Injections::Injections(const std::vector<std::string>& texts, InjectedInto program, int ranks) {
  for (const std::string& text : texts) {
    Injection one = parse(text, program, ranks);
    const Injection* const other = one.at_a_moment ? at_a_moment() : find(one.fault);
    if (other != nullptr) {
      fail<UsageError>("--inject {} and --inject {}: give one", other->text, text);
    }
    all_.push_back(std::move(one));
  }
}

const Injection* Injections::find(Injected fault) const {
  const auto found = std::ranges::find(all_, fault, &Injection::fault);
  return found == all_.end() ? nullptr : &*found;
}

double Injections::amount(Injected fault) const {
  const Injection* const found = find(fault);
  return found == nullptr ? 0 : found->amount;
}

const Injection* Injections::at_a_moment() const {
  const auto found = std::ranges::find(all_, true, &Injection::at_a_moment);
  return found == all_.end() ? nullptr : &*found;
}

std::string Injections::lasting() const {
  std::vector<std::string> texts;
  for (const Injection& one : all_) {
    if (!one.at_a_moment) texts.push_back(one.text);
  }
  return fmt::format("{}", fmt::join(texts, " "));
}

CLI::Option* add_inject_option(CLI::App& app, InjectedInto program, int ranks,
                               Injections& injections) {
  std::vector<std::string> lines;
  for (const Kind& kind : kKinds) {
    if (kind.program == program) lines.push_back(fmt::format("{}: {}", kind.form, kind.what));
  }
  const auto take = [&injections, program, ranks](const std::vector<std::string>& texts) {
    injections = Injections(texts, program, ranks);
  };
  return app
      .add_option_function<std::vector<std::string>>(
          "--inject", take,
          fmt::format("put in a fault; may be repeated; {}", fmt::join(lines, "; ")))
      ->allow_extra_args(false)
      ->type_name("FAULT")
      ->group(kFaults);
}

MomentFault::MomentFault(const Injections& injections) {
  if (const Injection* const one = injections.at_a_moment()) what_ = *one;
}

void MomentFault::require_reached(std::size_t last) const {
  if (what_.rank < 0 || what_.when <= static_cast<std::int64_t>(last)) return;
  fail<JointRefusal>("--inject {}: would never come, number {} is the last", what_.text, last);
}

bool MomentFault::strikes(std::size_t number, int of_rank) const {
  return what_.rank == of_rank && what_.when == static_cast<std::int64_t>(number);
}

void MomentFault::strike(Span out) const {
  const auto every = static_cast<std::size_t>(std::max(1.0, what_.amount));
  if (++operations_ % every != 0) return;
  if (what_.fault != Injected::wrong) {
    print_line(fmt::format("rank {} on {}: --inject {} strikes here, on purpose", what_.rank,
                           own_host_name(), what_.text));
  }
  if (what_.fault == Injected::kill) std::raise(SIGKILL);
  if (what_.fault == Injected::stop) std::raise(SIGSTOP);
  while (what_.fault == Injected::hang) pause();
  if (out.empty()) return;
  const Span first = out.part(0, 1);
  const Buffer element(1, out.dtype);
  copy(first, element.span());
  for (std::byte& byte : std::span(element.span().data, first.bytes())) byte = ~byte;
  copy(element.span(), first);
}

}  // namespace scalebench
