// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce_fault.hpp"

#include <unistd.h>

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

}  // namespace scalebench
