// SPDX-License-Identifier: Apache-2.0
#include "bench/fault_words.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <string_view>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kValid = "valid: RANK:SECONDS, as 1:0.05";

template <class Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

void require_seconds(std::string_view option, double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 3600) {
    fail<UsageError>("--{} {}: must be seconds from 0 to 3600", option, seconds);
  }
}

}  // namespace

void add_fault_options(CLI::App& app, FaultWords& words, Faults& faults) {
  app.add_option("--sleep-rank", words.sleep_rank,
                 "inject a fault: RANK:SECONDS, this rank computes so much longer in each step")
      ->group("Faults");
  app.add_option("--delay-collective", faults.delay_collective_seconds,
                 "inject a fault: each communication takes so many seconds longer")
      ->group("Faults");
  app.add_option("--throttle-input", faults.throttle_input_seconds,
                 "inject a fault: loading takes so many seconds longer in each step")
      ->group("Faults");
}

void apply(const FaultWords& words, int ranks, Faults& faults) {
  require_seconds("delay-collective", faults.delay_collective_seconds);
  require_seconds("throttle-input", faults.throttle_input_seconds);
  if (words.sleep_rank.empty()) return;
  const std::string_view text = words.sleep_rank;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || !parse(text.substr(0, colon), faults.sleep_rank) ||
      !parse(text.substr(colon + 1), faults.sleep_seconds)) {
    fail<UsageError>("--sleep-rank {}: {}", text, kValid);
  }
  if (faults.sleep_rank < 0 || faults.sleep_rank >= ranks) {
    fail<UsageError>("--sleep-rank {}: there are {} rank(s), from 0 on", text, ranks);
  }
  require_seconds("sleep-rank", faults.sleep_seconds);
}

std::string text_of(const Faults& faults) {
  std::string text;
  const auto add = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  };
  if (faults.sleep_rank >= 0) {
    add("sleep_rank", fmt::format("{}:{}", faults.sleep_rank, faults.sleep_seconds));
  }
  if (faults.delay_collective_seconds > 0) {
    add("delay_collective", fmt::format("{}", faults.delay_collective_seconds));
  }
  if (faults.throttle_input_seconds > 0) {
    add("throttle_input", fmt::format("{}", faults.throttle_input_seconds));
  }
  return text;
}

}  // namespace scalebench
