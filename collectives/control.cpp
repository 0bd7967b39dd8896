// SPDX-License-Identifier: Apache-2.0
#include "collectives/control.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>

namespace scalebench {
namespace {

/// Bytes as whole 32-bit words, since spans are of numbers.
std::vector<std::int32_t> words_for(std::size_t bytes) {
  return std::vector<std::int32_t>((bytes + sizeof(std::int32_t) - 1) / sizeof(std::int32_t));
}

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

}  // namespace

std::vector<double> all_gather(Communicator& host, std::span<const double> values) {
  const int p = host.size();
  const std::size_t n = values.size();
  std::vector<double> all(index(p) * n);
  const Span whole = span_of(std::span(all));
  const auto block = [&](int rank) { return whole.part(index((rank + p) % p) * n, n); };
  std::ranges::copy(values, all.begin() + static_cast<std::ptrdiff_t>(index(host.rank()) * n));
  for (int step = 0; step < p - 1; ++step) {
    host.exchange(block(host.rank() - step), (host.rank() + 1) % p, block(host.rank() - step - 1),
                  (host.rank() + p - 1) % p);
  }
  return all;
}

std::vector<double> all_gather(Communicator& host, double value) {
  return all_gather(host, std::span<const double>(&value, 1));
}

std::vector<std::string> all_gather(Communicator& host, const std::string& text) {
  const std::vector<double> sizes = all_gather(host, static_cast<double>(text.size()));
  std::vector<std::string> texts;
  for (int rank = 0; rank < host.size(); ++rank) {
    std::string& one = texts.emplace_back(text);
    one.resize(static_cast<std::size_t>(sizes[index(rank)]));
    broadcast_bytes(host, std::as_writable_bytes(std::span(one)), rank);
  }
  return texts;
}

void broadcast(Communicator& host, Span data, int root) {
  const Span nothing = data.part(0, 0);
  if (host.rank() != root) {
    host.exchange(nothing, root, data, root);
    return;
  }
  for (int to = 0; to < host.size(); ++to) {
    if (to != root) host.exchange(data, to, nothing, to);
  }
}

void broadcast_bytes(Communicator& host, std::span<std::byte> bytes, int root) {
  std::vector<std::int32_t> words = words_for(bytes.size());
  if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  broadcast(host, span_of(std::span(words)), root);
  if (!bytes.empty()) std::memcpy(bytes.data(), words.data(), bytes.size());
}

bool all_agree(Communicator& host, bool mine) {
  return std::ranges::all_of(all_gather(host, mine ? 1.0 : 0.0), [](double v) { return v != 0.0; });
}

bool any_agrees(Communicator& host, bool mine) { return !all_agree(host, !mine); }

std::string common_problem(Communicator& host, const std::string& problem) {
  const std::vector<std::string> said = all_gather(host, problem);
  const auto first = std::ranges::find_if(said, [](const auto& text) { return !text.empty(); });
  if (first == said.end()) return {};
  if (std::ranges::all_of(said, [&](const auto& text) { return text == *first; })) return *first;
  return fmt::format("rank {}: {}", first - said.begin(), *first);
}

ReleaseTogether::~ReleaseTogether() {
  if (borrowed_.empty() && own_.empty()) return;
  // Never deleted, on purpose; without memory for it they are let go as members are.
  using Kept = std::pair<decltype(borrowed_), decltype(own_)>;
  static_cast<void>(new (std::nothrow) Kept(std::move(borrowed_), std::move(own_)));
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
