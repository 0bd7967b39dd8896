// SPDX-License-Identifier: Apache-2.0
#include "collectives/together.hpp"

#include <algorithm>
#include <exception>

#include "collectives/control.hpp"

namespace scalebench {

std::string common_problem(Communicator& host, const std::string& problem) {
  const std::vector<std::string> said = all_gather(host, problem);
  const auto first = std::ranges::find_if(said, [](const auto& text) { return !text.empty(); });
  if (first == said.end()) return {};
  if (std::ranges::all_of(said, [&](const auto& text) { return text == *first; })) return *first;
  return fmt::format("rank {}: {}", first - said.begin(), *first);
}

ReleaseTogether::~ReleaseTogether() {
  if (borrowed_.empty() && own_.empty()) return;
  // Never deleted, on purpose.
  static_cast<void>(new auto(std::pair(std::move(borrowed_), std::move(own_))));
}

void ReleaseTogether::release(std::shared_ptr<void> borrowed, std::shared_ptr<void> own) noexcept {
  if (borrowed) borrowed_.push_back(std::move(borrowed));
  if (own) own_.push_back(std::move(own));
  if (std::uncaught_exceptions() > 0) return;
  try {
    collect();
  } catch (const std::exception&) {
    // Another rank failed and says so itself; a destructor cannot.
  }
}

void ReleaseTogether::collect() {
  settle_();
  borrowed_.clear();
  host_.barrier();
  own_.clear();
}

}  // namespace scalebench
