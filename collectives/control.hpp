// SPDX-License-Identifier: Apache-2.0
// Small collectives for the benchmark's own coordination, over any host transport. They are made of
// exchange() alone, so that threads and MPI share them, and are never inside a timed region. Each
// takes ceil(log2 ranks) messages of a rank, or twice as many.
// Every function is collective and takes the same sizes on every rank unless it says otherwise.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "collectives/communicator.hpp"
#include "kernels/error.hpp"

namespace scalebench {

/// Every rank's value, by rank.
std::vector<double> all_gather(Communicator& host, double value);
/// Every rank's text, by rank; lengths may differ.
std::vector<std::string> all_gather(Communicator& host, const std::string& text);
/// Every rank's text, by rank, on rank 0; nothing on the others, which need not have the memory.
std::vector<std::string> gather_texts(Communicator& host, const std::string& text);
/// Every rank's values, one after the other by rank: result[rank * values.size() + i].
std::vector<double> all_gather(Communicator& host, std::span<const double> values);

/// Every rank's list, by rank, of values that are told as their bytes are; lengths may differ.
template <class Value>
std::vector<std::vector<Value>> gather_lists(Communicator& host, const std::vector<Value>& mine) {
  static_assert(std::is_trivially_copyable_v<Value>);
  const std::string bytes(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(Value));
  std::vector<std::vector<Value>> lists;
  for (const std::string& theirs : all_gather(host, bytes)) {
    lists.emplace_back(theirs.size() / sizeof(Value));
    if (!theirs.empty()) std::memcpy(lists.back().data(), theirs.data(), theirs.size());
  }
  return lists;
}

/// The same, one after the other.
template <class Value>
std::vector<Value> all_gather_as_is(Communicator& host, const std::vector<Value>& mine) {
  std::vector<Value> all;
  for (const auto& list : gather_lists(host, mine)) all.insert(all.end(), list.begin(), list.end());
  return all;
}

/// Rank `root`'s data replaces everybody's. Host spans of equal count.
void broadcast(Communicator& host, Span data, int root);
/// The rank that tells this one, which is not `root`, in a broadcast of `root`: pending() of it
/// says whether it has.
int teller_of(const Communicator& host, int root);
void broadcast_bytes(Communicator& host, std::span<std::byte> bytes, int root);

/// True on every rank if it is true on all / on any of them.
bool all_agree(Communicator& host, bool mine);
bool any_agrees(Communicator& host, bool mine);

// What ranks must do together even when something goes wrong: throw the same error, and give back
// memory only when no peer can be reading it any more.

/// Collective over `host`, a host transport. Empty when `problem` is empty on every rank, else one
/// line that is the same on all ranks and names the first rank that has one, unless all have it.
std::string common_problem(Communicator& host, const std::string& problem);

/// Collective: throws `Kind` with "`what`: problem" on every rank if any rank has a problem.
template <class Kind>
void throw_together(Communicator& host, std::string_view what, const std::string& problem) {
  const std::string common = common_problem(host, problem);
  if (!common.empty()) fail<Kind>("{}: {}", what, common);
}

/// What the Error says that `work` throws; empty when it throws none.
template <class Work>
std::string problem_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

/// The memory behind windows, on its way to be freed.
class ReleaseTogether {
 public:
  /// `settle` returns when all of this rank's device work is done. `host` outlives this object.
  ReleaseTogether(Communicator& host, std::function<void()> settle)
      : host_(host), settle_(std::move(settle)) {}
  /// What has never been collected is left to the end of the process, since peers may be using it.
  ~ReleaseTogether();
  ReleaseTogether(const ReleaseTogether&) = delete;
  ReleaseTogether& operator=(const ReleaseTogether&) = delete;

  /// Collective: drops `borrowed`, this rank's mappings of its peers' memory, and, once all ranks
  /// have done so, `own`. While an exception is on its way it only takes note, for the next
  /// collect(): the others may be in another call, and would be waited for in vain.
  void release(std::shared_ptr<void> borrowed, std::shared_ptr<void> own) noexcept;

  /// Collective, also for ranks that have nothing to release.
  void collect();

 private:
  Communicator& host_;
  std::function<void()> settle_;
  std::vector<std::shared_ptr<void>> borrowed_;
  std::vector<std::shared_ptr<void>> own_;
};

}  // namespace scalebench
