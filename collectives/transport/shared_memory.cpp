// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <functional>
#include <utility>

#include "collectives/control.hpp"
#include "collectives/transport/shared_segment.hpp"
#include "collectives/transport/transports.hpp"
#include "kernels/buffer.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// Waits by spinning, since the peer answers within a microsecond; gives the core away when it does
/// not, and at once where ranks share cores.
class Spinner {
 public:
  explicit Spinner(bool crowded) : patience_(crowded ? 10 : 1'000) {}
  void pause() {
    if (spins_ == patience_) {
      sched_yield();
    } else {
      ++spins_;
#ifdef __x86_64__
      __builtin_ia32_pause();
#endif
    }
  }

 private:
  const int patience_;
  int spins_ = 0;
};

/// Fetches a cache line that this core will write soon, without waiting for it. What peers have
/// read must be taken back from them, which then need not happen while they wait for what is
/// written.
void fetch_to_write(const void* line) {
#ifdef __x86_64__
  // GCC's builtin fetches it to be read, unless told that the processor has this instruction. One
  // that has it not ignores it.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

/// Collective. Every rank makes a segment of that size and maps those of its host's other ranks.
SharedSegments make_shared(Communicator& control, std::size_t bytes,
                           Mapped mapped = Mapped::whole) {
  std::string problem;
  SharedSegments shared = share_segments(control, bytes, problem, mapped);
  for (const std::string& said : all_gather(control, problem)) {
    if (!said.empty()) fail<Unavailable>("transport shared_memory: {}", said);
  }
  shared.own.close_descriptor();
  return shared;
}

// A queue of messages from one process to another in shared memory. A short message is copied into
// a cell and its sender goes on; of a long one that lies in a window the cell only says where, and
// the receiver copies it from there. Head and tail are on cache lines of their own, each written by
// one side only.

constexpr std::size_t kCacheLine = 64;

struct alignas(kCacheLine) Mailbox {
  static constexpr std::size_t kCells = 4;
  static constexpr std::size_t kCellBytes = 8192;
  static constexpr std::uint64_t kInline = ~std::uint64_t{0};

  struct alignas(kCacheLine) Cell {
    std::uint64_t message_bytes;  // of the whole message, to be held against the receiver's
    std::uint64_t bytes;          // that this cell brings
    std::uint64_t window;         // the sender's window they lie in, or kInline
    std::uint64_t offset;         // in bytes, in that window
    alignas(kCacheLine) std::array<std::byte, kCellBytes> payload;
  };

  alignas(kCacheLine) std::atomic<std::uint64_t> posted;  // cells that the sender has filled
  alignas(kCacheLine) std::atomic<std::uint64_t> taken;   // cells that the receiver is done with
  std::array<Cell, kCells> cells;

  Cell& cell(std::uint64_t index) { return cells[index % kCells]; }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

/// Part of a short message that all ranks of a host read, with the word that it is there: both
/// travel at once.
struct alignas(kCacheLine) Note {
  static constexpr std::size_t kBytes = kCacheLine - sizeof(std::uint64_t);

  std::array<std::byte, kBytes> part;
  std::atomic<std::uint64_t> number;  // of the latest short message that it is of
};

class SharedMemoryCommunicator final : public Communicator {
 public:
  explicit SharedMemoryCommunicator(Communicator& control)
      : Communicator(Memory::host), control_(control), topology_(control.topology()) {
    const int node = topology_.node_of_rank[index(rank())];
    for (int other = 0; other < size(); ++other) {
      local_index_.push_back(local_ranks_.size());
      if (topology_.node_of_rank[index(other)] == node) local_ranks_.push_back(other);
    }
    crowded_ = share_processors(control_);
    // Of all mailboxes of a host, which grow with the square of its ranks, a rank uses few: its own
    // to and from those it exchanges with, which it does while warming up.
    board_ = make_shared(control_, sizeof(Board) + local_ranks_.size() * sizeof(Mailbox),
                         Mapped::on_use);
    control_.barrier();
  }

  int rank() const override { return control_.rank(); }
  int size() const override { return control_.size(); }
  Topology topology() const override { return topology_; }
  std::string_view transport() const override { return "shared_memory"; }

  // exchange_reduce() is the base's: what another core has just written comes fastest as one copy
  // (combined where it lies, a ring of 1 MiB took 80 us instead of 48).
  void exchange(ConstSpan out, int to, Span in, int from) override {
    const CallMarks::Call call(marks(), std::max(out.bytes(), in.bytes()));
    const bool send_here = !out.empty() && is_local(to);
    const bool receive_here = !in.empty() && is_local(from);
    Sending sending{out, send_here ? &mailbox(rank(), to) : nullptr};
    Receiving receiving{in, receive_here ? &mailbox(from, rank()) : nullptr, from};
    if (send_here) {
      start(sending);
      progress(sending);
    }
    Spinner spinner(crowded_);
    const bool send_across = !out.empty() && !send_here;
    const bool receive_across = !in.empty() && !receive_here;
    if (send_across || receive_across) {
      // What crosses hosts and what does not may wait for each other, by way of other ranks.
      const auto go_on_here = [&] {
        progress(sending);
        progress(receiving);
        const bool more = !done(sending) || !done(receiving);
        if (more) spinner.pause();
        return more;
      };
      const ConstSpan out_across = send_across ? out : out.part(0, 0);
      const Span in_across = receive_across ? in : in.part(0, 0);
      if (send_here || receive_here) {
        control_.exchange_meanwhile(out_across, to, in_across, from, std::ref(go_on_here));
      } else {
        control_.exchange(out_across, to, in_across, from);
      }
    }
    while (!done(sending) || !done(receiving)) {
      progress(sending);
      progress(receiving);
      spinner.pause();
    }
  }

  void exchange_meanwhile(ConstSpan out, int to, Span in, int from,
                          const std::function<bool()>& meanwhile) override {
    const bool here = (!out.empty() && is_local(to)) || (!in.empty() && is_local(from));
    if (here) return exchange(out, to, in, from);
    const CallMarks::Call call(marks(), std::max(out.bytes(), in.bytes()));
    control_.exchange_meanwhile(out, to, in, from, meanwhile);
  }

  bool pending(int from) override {
    if (!is_local(from)) return control_.pending(from);
    const Mailbox& box = mailbox(from, rank());
    return box.posted.load(std::memory_order_acquire) != box.taken.load(std::memory_order_relaxed);
  }

  void combine(std::span<const ConstSpan> from, std::span<const Span> to, ReduceOp op) override {
    scalebench::combine(from, to, op, stores_for(from, to));
  }

  Window window(std::size_t count, DType dtype) override {
    const std::size_t bytes = std::max<std::size_t>(count * size_of(dtype), 1);
    const auto shared = std::make_shared<SharedSegments>(make_shared(control_, bytes));
    control_.barrier();
    windows_->insert(shared->base_of_rank, rank(), bytes);
    const Span span{shared->own.data(), count, dtype, Memory::host};
    return {span, std::shared_ptr<void>(span.data, [windows = windows_, shared](void* own_base) {
              windows->erase(static_cast<const std::byte*>(own_base));
            })};
  }

  std::optional<Span> peer(Span mine, int rank) override {
    if (rank == this->rank()) return mine;
    return windows_->find(mine, rank);
  }

  bool gather_short(ConstSpan in, Span all) override {
    if (local_ranks_.size() < index(size()) || in.bytes() > kMostShortBytes) return false;
    const CallMarks::Call call(marks(), in.bytes());
    const std::uint64_t number = ++short_messages_;
    const std::size_t bytes = in.bytes();
    Note* const mine = board(rank()).notes[number % 2].data();
    in_notes(bytes, [&](std::size_t i, std::size_t at, std::size_t of_note) {
      std::memcpy(mine[i].part.data(), in.data + at, of_note);
      mine[i].number.store(number, std::memory_order_release);
    });
    Spinner spinner(crowded_);
    spinner.pause();  // as in barrier()
    for (const int other : local_ranks_) {
      std::byte* const to = all.data + index(other) * bytes;
      if (other == rank()) {
        std::memcpy(to, in.data, bytes);
        continue;
      }
      const Note* const theirs = board(other).notes[number % 2].data();
      in_notes(bytes, [&](std::size_t i, std::size_t at, std::size_t of_note) {
        while (theirs[i].number.load(std::memory_order_acquire) != number) spinner.pause();
        std::memcpy(to + at, theirs[i].part.data(), of_note);
      });
    }
    const Note* const next = board(rank()).notes[(number + 1) % 2].data();
    in_notes(bytes, [&](std::size_t i, std::size_t, std::size_t) { fetch_to_write(next + i); });
    return true;
  }

  void barrier() override {
    if (local_ranks_.size() < index(size())) return control_.barrier();
    const CallMarks::Call call(marks());
    const std::uint64_t generation = ++barriers_;
    board(rank()).entered[generation % 2].barrier.store(generation, std::memory_order_release);
    Spinner spinner(crowded_);
    // Who looks before the other has written makes it fetch the line back first.
    spinner.pause();
    for (const int other : local_ranks_) {
      const auto& theirs = board(other).entered[generation % 2].barrier;
      while (theirs.load(std::memory_order_acquire) < generation) spinner.pause();
    }
    fetch_to_write(&board(rank()).entered[(generation + 1) % 2]);
  }

 private:
  /// What each rank shows to its host; its mailboxes to the ranks there follow.
  struct alignas(kCacheLine) Board {
    struct alignas(kCacheLine) Entered {
      std::atomic<std::uint64_t> barrier;
    };
    /// Which barriers this rank has entered last, by turns: nobody looks at the one before any
    /// more.
    std::array<Entered, 2> entered;
    /// Of the last two short messages: who has written one has read all of the one before, and so
    /// nobody reads any more what the next but one overwrites.
    std::array<std::array<Note, (kMostShortBytes + Note::kBytes - 1) / Note::kBytes>, 2> notes;
  };
  struct Sending {
    ConstSpan data;
    Mailbox* mailbox;
    std::size_t sent = 0;
    std::uint64_t last_cell = 0;  // 1 + index of the cell that names a window, else 0
    std::optional<std::pair<std::size_t, std::size_t>> place{};  // window, offset
  };
  struct Receiving {
    Span data;
    Mailbox* mailbox;
    int from;
    std::size_t received = 0;
  };

  /// Calls `work` with each note's index, where it begins, and its bytes.
  template <class Work>
  static void in_notes(std::size_t bytes, Work work) {
    std::size_t i = 0, at = 0;
    for (; at + Note::kBytes <= bytes; at += Note::kBytes) work(i++, at, Note::kBytes);
    if (at < bytes) work(i, at, bytes - at);
  }

  /// Going around the caches spares reading the lines that are overwritten. In place they are read
  /// anyway, and as long as all ranks' buffers fit into the last cache they are better kept there.
  Stores stores_for(std::span<const ConstSpan> from, std::span<const Span> to) const {
    const bool in_place =
        std::ranges::any_of(from, [&](ConstSpan source) { return source.data == to.front().data; });
    const std::size_t of_all_ranks =
        from.front().bytes() * (from.size() + to.size()) * local_ranks_.size();
    return in_place || of_all_ranks <= cache_bytes_ ? Stores::cached : Stores::streaming;
  }

  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  bool is_local(int rank) const { return board_.base_of_rank[index(rank)] != nullptr; }
  Board& board(int rank) const {
    return *reinterpret_cast<Board*>(board_.base_of_rank[index(rank)]);
  }
  /// Lies in the sender's segment.
  Mailbox& mailbox(int from, int to) const {
    return reinterpret_cast<Mailbox*>(board_.base_of_rank[index(from)] +
                                      sizeof(Board))[local_index_[index(to)]];
  }

  void start(Sending& sending) const {
    if (sending.data.bytes() > Mailbox::kCellBytes) sending.place = windows_->place(sending.data);
  }

  static bool done(const Sending& sending) {
    if (sending.mailbox == nullptr) return true;
    if (sending.sent < sending.data.bytes()) return false;
    return sending.mailbox->taken.load(std::memory_order_acquire) >= sending.last_cell;
  }
  static bool done(const Receiving& receiving) {
    return receiving.mailbox == nullptr || receiving.received == receiving.data.bytes();
  }

  static void progress(Sending& sending) {
    const std::size_t total = sending.data.bytes();
    if (sending.mailbox == nullptr) return;
    Mailbox& mailbox = *sending.mailbox;
    while (sending.sent < total) {
      const std::uint64_t next = mailbox.posted.load(std::memory_order_relaxed);
      if (next - mailbox.taken.load(std::memory_order_acquire) >= Mailbox::kCells) return;
      Mailbox::Cell& cell = mailbox.cell(next);
      cell.message_bytes = total;
      if (sending.place) {
        cell.window = sending.place->first;
        cell.offset = sending.place->second;
        cell.bytes = total;
        sending.last_cell = next + 1;  // its memory is read until then
      } else {
        cell.window = Mailbox::kInline;
        cell.bytes = std::min(Mailbox::kCellBytes, total - sending.sent);
        std::memcpy(cell.payload.data(), sending.data.data + sending.sent, cell.bytes);
      }
      sending.sent += cell.bytes;
      mailbox.posted.store(next + 1, std::memory_order_release);
    }
  }

  void progress(Receiving& receiving) const {
    const std::size_t total = receiving.data.bytes();
    if (receiving.mailbox == nullptr) return;
    Mailbox& mailbox = *receiving.mailbox;
    while (receiving.received < total) {
      const std::uint64_t next = mailbox.taken.load(std::memory_order_relaxed);
      if (mailbox.posted.load(std::memory_order_acquire) == next) return;
      const Mailbox::Cell& cell = mailbox.cell(next);
      if (cell.message_bytes != total) {
        fail("rank {} sent {} bytes to rank {}, which expected {}", receiving.from,
             cell.message_bytes, rank(), total);
      }
      const std::byte* source = cell.window == Mailbox::kInline
                                    ? cell.payload.data()
                                    : windows_->base(cell.window, receiving.from) + cell.offset;
      std::memcpy(receiving.data.data + receiving.received, source, cell.bytes);
      receiving.received += cell.bytes;
      mailbox.taken.store(next + 1, std::memory_order_release);
    }
  }

  Communicator& control_;
  const Topology topology_;
  std::vector<int> local_ranks_;
  std::vector<std::size_t> local_index_;  // by rank: its position among them, where it is one
  bool crowded_ = false;
  std::size_t cache_bytes_ = host_cache_bytes();
  SharedSegments board_;
  // Shared with the windows, the last of which outlive this object as scratch of its base.
  std::shared_ptr<WindowTable> windows_ = std::make_shared<WindowTable>();
  std::uint64_t barriers_ = 0;
  std::uint64_t short_messages_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> make_shared_memory_communicator(Communicator& control) {
  return std::make_unique<SharedMemoryCommunicator>(control);
}

}  // namespace scalebench
