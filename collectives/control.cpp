// SPDX-License-Identifier: Apache-2.0
#include "collectives/control.hpp"

#include <algorithm>
#include <bit>
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

std::vector<std::int32_t> words_of(const std::string& text) {
  std::vector<std::int32_t> words = words_for(text.size());
  if (!text.empty()) std::memcpy(words.data(), text.data(), text.size());
  return words;
}

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

// In each round of a broadcast whoever has been told tells the rank as many places on as there are
// who have been.

/// Counted from the root.
int place_of(const Communicator& host, int root) {
  return (host.rank() - root + host.size()) % host.size();
}

/// Every rank's block, one after the other by rank; `counts` are their lengths. Each of
/// ceil(log2 ranks) rounds doubles the blocks that a rank has: Bruck et al., "Efficient Algorithms
/// for All-to-All Communications in Multiport Message-Passing Systems", IEEE TPDS 8 (1997).
template <class Number>
std::vector<Number> gather_blocks(Communicator& host, std::span<const Number> mine,
                                  const std::vector<std::size_t>& counts) {
  const std::size_t p = counts.size(), rank = index(host.rank());
  // Blocks lie in the order of ranks from this one on, around the circle; where each begins.
  std::vector<std::size_t> begin{0};
  for (std::size_t i = 0; i < p; ++i) begin.push_back(begin.back() + counts[(rank + i) % p]);
  std::vector<Number> all(begin.back());
  std::ranges::copy(mine, all.begin());
  const Span whole = span_of(std::span(all));
  for (std::size_t have = 1; have < p; have *= 2) {
    const std::size_t more = std::min(have, p - have);
    host.exchange(whole.part(0, begin[more]), static_cast<int>((rank + p - have) % p),
                  whole.part(begin[have], begin[have + more] - begin[have]),
                  static_cast<int>((rank + have) % p));
  }
  std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(begin[(p - rank) % p]),
              all.end());
  return all;
}

}  // namespace

int teller_of(const Communicator& host, int root) {
  const auto place = static_cast<unsigned>(place_of(host, root));
  return static_cast<int>(place - std::bit_floor(place) + static_cast<unsigned>(root)) %
         host.size();
}

std::vector<double> all_gather(Communicator& host, std::span<const double> values) {
  return gather_blocks(host, values, std::vector<std::size_t>(index(host.size()), values.size()));
}

std::vector<double> all_gather(Communicator& host, double value) {
  return all_gather(host, std::span<const double>(&value, 1));
}

std::vector<std::string> all_gather(Communicator& host, const std::string& text) {
  const std::vector<double> sizes = all_gather(host, static_cast<double>(text.size()));
  std::vector<std::size_t> counts;
  for (const double size : sizes)
    counts.push_back(words_for(static_cast<std::size_t>(size)).size());
  const auto all = gather_blocks<std::int32_t>(host, words_of(text), counts);
  std::vector<std::string> texts;
  const std::int32_t* block = all.data();
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    texts.emplace_back(reinterpret_cast<const char*>(block), static_cast<std::size_t>(sizes[rank]));
    block += counts[rank];
  }
  return texts;
}

std::vector<std::string> gather_texts(Communicator& host, const std::string& text) {
  const std::vector<double> sizes = all_gather(host, static_cast<double>(text.size()));
  std::vector<std::int32_t> words = words_of(text);
  const auto all_words = [&] { return span_of(std::span(words)); };
  if (host.rank() != 0) {
    host.exchange(all_words(), 0, all_words().part(0, 0), 0);
    return {};
  }
  std::vector<std::string> texts{text};
  for (int rank = 1; rank < host.size(); ++rank) {
    const auto size = static_cast<std::size_t>(sizes[index(rank)]);
    words = words_for(size);
    host.exchange(all_words().part(0, 0), rank, all_words(), rank);
    texts.emplace_back(reinterpret_cast<const char*>(words.data()), size);
  }
  return texts;
}

void broadcast(Communicator& host, Span data, int root) {
  const int p = host.size(), place = place_of(host, root);
  const Span nothing = data.part(0, 0);
  if (place > 0) {
    const int teller = teller_of(host, root);
    host.exchange(nothing, teller, data, teller);
  }
  for (int told = static_cast<int>(std::bit_ceil(static_cast<unsigned>(place) + 1));
       place + told < p; told *= 2) {
    const int next = (place + told + root) % p;
    host.exchange(data, next, nothing, next);
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
