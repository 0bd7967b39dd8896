// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/shared_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "collectives/control.hpp"
#include "collectives/seats.hpp"
#include "kernels/buffer.hpp"
#include "kernels/error.hpp"

namespace scalebench {

/// From one rank to another, in the sender's segment: at most one piece is on its way, since its
/// sender waits for it. Each half is written by one side only.
struct Rendezvous::Slot {
  alignas(64) std::atomic<std::uint64_t> posted;  // pieces so far
  Piece piece;                                    // the latest
  alignas(64) std::atomic<std::uint64_t> taken;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

/// What a rank shows to all; its slots to every rank follow.
struct alignas(64) Rendezvous::Row {
  std::atomic<std::uint64_t> has_left;
};

bool share_processors(Communicator& control) {
  std::string mine;  // a '1' at the number of each processor that this thread may run on
  for (const int cpu : usable_cpus()) {
    const auto number = static_cast<std::size_t>(cpu);
    mine.resize(std::max(mine.size(), number + 1), '0');
    mine[number] = '1';
  }
  const std::vector<std::string> all = all_gather(control, mine);
  const std::vector<int> node = control.topology().node_of_rank;
  const int here = node[static_cast<std::size_t>(control.rank())];
  std::vector<std::vector<Core>> usable;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (node[rank] != here) continue;
    std::vector<Core>& its = usable.emplace_back();
    for (std::size_t cpu = 0; cpu < all[rank].size(); ++cpu) {
      if (all[rank][cpu] == '1') its.emplace_back(here, static_cast<int>(cpu));
    }
  }
  return too_few_cores(usable);
}

Rendezvous::Rendezvous(Communicator& control)
    : rank_(control.rank()), patience_(share_processors(control) ? 50 : 20'000) {
  const auto slots = static_cast<std::size_t>(control.size());
  std::string problem;
  shared_ = share_segments(control, sizeof(Row) + slots * sizeof(Slot), problem);
  throw_together<Unavailable>(control, "ranks of one host cannot meet", problem);
  shared_.own.close_descriptor();
}

Rendezvous::Row& Rendezvous::row(int rank) const {
  return *reinterpret_cast<Row*>(shared_.base_of_rank[static_cast<std::size_t>(rank)]);
}

Rendezvous::Slot& Rendezvous::slot(int from, int to) const {
  return reinterpret_cast<Slot*>(shared_.base_of_rank[static_cast<std::size_t>(from)] +
                                 sizeof(Row))[static_cast<std::size_t>(to)];
}

void Rendezvous::leave() noexcept { row(rank_).has_left.store(1, std::memory_order_release); }

void Rendezvous::exchange(std::size_t out_bytes, int to, const Offer& offer, std::size_t in_bytes,
                          int from, const Take& take) {
  std::size_t sent = 0, on_its_way = 0, received = 0;
  const auto progress_out = [&] {
    Slot& mine = slot(rank_, to);
    const std::uint64_t posted = mine.posted.load(std::memory_order_relaxed);
    if (on_its_way > 0) {
      if (mine.taken.load(std::memory_order_acquire) != posted) return false;
      sent += on_its_way;
      on_its_way = 0;
      if (sent == out_bytes) return true;
    }
    mine.piece = offer(sent);
    on_its_way = mine.piece.bytes;
    mine.posted.store(posted + 1, std::memory_order_release);
    return true;
  };
  const auto progress_in = [&] {
    Slot& theirs = slot(from, rank_);
    const std::uint64_t taken = theirs.taken.load(std::memory_order_relaxed);
    if (theirs.posted.load(std::memory_order_acquire) == taken) return false;
    const Piece piece = theirs.piece;
    if (piece.message_bytes != in_bytes || piece.bytes > in_bytes - received) {
      fail("rank {} sent {} bytes to rank {}, which expected {}", from, piece.message_bytes, rank_,
           in_bytes);
    }
    take(piece, received);
    received += piece.bytes;
    theirs.taken.store(taken + 1, std::memory_order_release);
    return true;
  };

  bool peer_left = false;
  int idle = 0;
  while (true) {
    const bool sending = sent < out_bytes, receiving = received < in_bytes;
    if (!sending && !receiving) return;
    bool moved = sending && progress_out();
    if (receiving) moved = progress_in() || moved;
    if (moved) {
      idle = 0;
      peer_left = false;
      continue;
    }
    // Only what a rank has not done before it left will never come: one more look after seeing it.
    if (peer_left) {
      fail("a rank left while rank {} was exchanging messages with ranks {} and {}", rank_, to,
           from);
    }
    peer_left = (sending && row(to).has_left.load(std::memory_order_acquire) != 0) ||
                (receiving && row(from).has_left.load(std::memory_order_acquire) != 0);
    if (++idle > patience_) std::this_thread::yield();
  }
}

SharedSegment::SharedSegment(std::size_t bytes, Mapped mapped) : bytes_(bytes) {
  // Asked first: Linux would take memory until there is none, and then kill the process.
  if (bytes > host_bytes_available()) {
    fail("out of shared memory: {} bytes asked for, {} available", bytes, host_bytes_available());
  }
  descriptor_ = memfd_create("scalebench", MFD_CLOEXEC);
  if (descriptor_ < 0) fail("memfd_create: {}", std::strerror(errno));
  give_up_unless([&] {
    if (ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) {
      fail("out of shared memory: {} bytes asked for: {}", bytes, std::strerror(errno));
    }
    fill();
    map(mapped);
  });
}

SharedSegment::SharedSegment(const SegmentName& name, std::size_t bytes, Mapped mapped)
    : bytes_(bytes) {
  const std::string path = fmt::format("/proc/{}/fd/{}", name.process, name.descriptor);
  descriptor_ = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor_ < 0) {
    fail("cannot map the memory of process {}: {}", name.process, std::strerror(errno));
  }
  give_up_unless([&] {
    require_same(name);
    map(mapped);
  });
  close_descriptor();
}

SharedSegment::~SharedSegment() { let_go(); }

void SharedSegment::give_up_unless(const std::function<void()>& step) {
  // Of a constructor that throws, no destructor runs.
  try {
    step();
  } catch (...) {
    let_go();
    throw;
  }
}

void SharedSegment::let_go() {
  if (data_ != nullptr) munmap(data_, bytes_);
  data_ = nullptr;
  close_descriptor();
}

void SharedSegment::close_descriptor() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

SegmentName SharedSegment::name() const {
  struct stat about {};
  if (descriptor_ < 0 || fstat(descriptor_, &about) != 0) return {};
  return {getpid(), descriptor_, about.st_dev, about.st_ino};
}

void SharedSegment::require_same(const SegmentName& name) const {
  struct stat about {};
  if (fstat(descriptor_, &about) != 0) {
    fail("cannot look at the memory of process {}: {}", name.process, std::strerror(errno));
  }
  if (about.st_dev != name.device || about.st_ino != name.file) {
    fail(
        "descriptor {} of process {} is file {} of device {} here, not the segment (file {} of "
        "device {}): ranks of one host must see each other under the same process numbers",
        name.descriptor, name.process, about.st_ino, about.st_dev, name.file, name.device);
  }
  // What is behind the end of a file that is mapped would end this process with SIGBUS.
  if (!S_ISREG(about.st_mode) || static_cast<std::uint64_t>(about.st_size) != bytes_) {
    fail("the segment of process {} has {} bytes, and {} were expected", name.process,
         about.st_size, bytes_);
  }
}

void SharedSegment::fill() {
  // Pages that are only promised would end the process with SIGBUS on first use.
  const int error = posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes_));
  if (error != 0) {
    fail("out of shared memory: {} bytes asked for: {}", bytes_, std::strerror(error));
  }
}

void SharedSegment::map(Mapped mapped) {
  const int populate = mapped == Mapped::whole ? MAP_POPULATE : 0;
  void* address =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | populate, descriptor_, 0);
  if (address == MAP_FAILED) {
    fail("cannot map {} bytes of shared memory: {}", bytes_, std::strerror(errno));
  }
  data_ = static_cast<std::byte*>(address);
}

SharedSegments share_segments(Communicator& control, std::size_t bytes, std::string& problem,
                              Mapped mapped) {
  SharedSegments shared;
  const std::vector<int> node = control.topology().node_of_rank;
  const auto me = static_cast<std::size_t>(control.rank());
  const auto alike = static_cast<std::size_t>(std::ranges::count(node, node[me]));
  problem = problem_of([&] {
    const std::size_t available = host_bytes_available();
    if (bytes > available / alike) {
      fail("out of shared memory: {} bytes asked for by each of {} ranks, {} available", bytes,
           alike, available);
    }
  });
  control.barrier();  // nobody takes memory while others still look at how much there is
  if (problem.empty()) {
    problem = problem_of([&] { shared.own = SharedSegment(bytes, mapped); });
  }
  const std::vector<SegmentName> all = all_gather_as_is(control, std::vector{shared.own.name()});
  for (std::size_t rank = 0; rank < node.size() && problem.empty(); ++rank) {
    shared.base_of_rank.push_back(nullptr);
    if (rank == me) {
      shared.base_of_rank.back() = shared.own.data();
    } else if (node[rank] == node[me] && all[rank].descriptor >= 0) {  // below: that rank says why
      problem = problem_of([&] {
        shared.of_peers.emplace_back(all[rank], bytes, mapped);
        shared.base_of_rank.back() = shared.of_peers.back().data();
      });
    }
  }
  return shared;
}

}  // namespace scalebench
