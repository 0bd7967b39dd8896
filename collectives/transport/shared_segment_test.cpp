// SPDX-License-Identifier: Apache-2.0
// Segments of other processes, and the meeting of ranks, without any device: a transport of host
// memory whose messages all go in pieces through a small staging buffer, as those of cuda_ipc do
// from outside of windows.
#include "collectives/transport/shared_segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "collectives/transport/thread_ranks_test.hpp"
#include "collectives/transport/transport_test.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A segment as its owner tells of it, and as another process finds it.

/// Another process with two segments, which says their names and does as it is told.
class Owner {
 public:
  explicit Owner(std::size_t bytes) {
    std::array<int, 2> to{}, from{};
    if (pipe(to.data()) != 0 || pipe(from.data()) != 0) fail("no pipe");
    process_ = fork();
    if (process_ == 0) {
      close(to[1]);
      close(from[0]);
      try {
        serve(bytes, to[0], from[1]);
      } catch (const Error&) {
        // The test misses an answer.
      }
      _exit(0);
    }
    close(to[0]);
    close(from[1]);
    order_ = to[1];
    answer_ = from[0];
    if (read(answer_, names.data(), sizeof(names)) != kNamesBytes) fail("no names");
  }
  ~Owner() {
    close(order_);
    close(answer_);
    waitpid(process_, nullptr, 0);
  }

  /// Returns when it is done.
  void recycle_the_first_descriptor() const { order('r'); }
  void shorten_the_second() const { order('s'); }

  std::array<SegmentName, 2> names;

 private:
  static constexpr auto kNamesBytes = static_cast<ssize_t>(2 * sizeof(SegmentName));

  static void serve(std::size_t bytes, int orders, int answers) {
    const SharedSegment first(bytes), second(bytes);
    first.data()[0] = std::byte{42};
    const std::array<SegmentName, 2> both{first.name(), second.name()};
    bool good = ::write(answers, both.data(), sizeof(both)) == kNamesBytes;
    for (char order = 0; good && ::read(orders, &order, 1) == 1;) {
      if (order == 'r') good = ::dup2(both[1].descriptor, both[0].descriptor) >= 0;
      if (order == 's') good = ::ftruncate(both[1].descriptor, 1) == 0;
      good = good && ::write(answers, &order, 1) == 1;
    }
  }
  void order(char what) const {
    char done = 0;
    if (write(order_, &what, 1) != 1 || read(answer_, &done, 1) != 1) fail("it has ended");
  }

  pid_t process_ = -1;
  int order_ = -1;
  int answer_ = -1;
};

constexpr std::size_t kSegmentBytes = std::size_t{64} << 10U;

TEST(SharedSegment, IsWhatItsOwnerToldOf) {
  const Owner owner(kSegmentBytes);
  const SharedSegment first(owner.names[0], kSegmentBytes);
  EXPECT_EQ(first.data()[0], std::byte{42});
  EXPECT_EQ(SharedSegment(owner.names[1], kSegmentBytes).data()[0], std::byte{0});
}

/// Of the mapping that begins there: what of it is in this process's own memory, in KiB.
std::size_t resident_kib(const std::byte* begin) {
  std::ifstream mappings("/proc/self/smaps");
  const std::string first = fmt::format("{:08x}-", reinterpret_cast<std::uintptr_t>(begin));
  std::string line;
  while (std::getline(mappings, line) && !line.starts_with(first)) continue;
  while (std::getline(mappings, line)) {
    if (line.starts_with("Rss:")) return std::stoul(line.substr(4));
  }
  return 0;
}

TEST(SharedSegment, HasAllOfItsPagesMappedAtOnceOrAsTheyAreUsed) {
  const Owner owner(kSegmentBytes);
  const SharedSegment whole(owner.names[0], kSegmentBytes);
  EXPECT_EQ(resident_kib(whole.data()), kSegmentBytes >> 10U);
  const SharedSegment mine(kSegmentBytes, Mapped::on_use);
  const SharedSegment theirs(owner.names[1], kSegmentBytes, Mapped::on_use);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const SharedSegment* some : {&mine, &theirs}) {
    EXPECT_EQ(resident_kib(some->data()), 0U);
    some->data()[page] = std::byte{7};
    EXPECT_EQ(resident_kib(some->data()), page >> 10U);
  }
}

TEST(SharedSegment, IsNotMappedWhereADescriptorHasBecomeAnother) {
  const Owner owner(kSegmentBytes);
  owner.recycle_the_first_descriptor();
  const auto map = [&] { const SharedSegment first(owner.names[0], kSegmentBytes); };
  EXPECT_THAT(message_of<Error>(map),
              AllOf(HasSubstr(fmt::format("descriptor {} of process {}", owner.names[0].descriptor,
                                          owner.names[0].process)),
                    HasSubstr("not the segment"), HasSubstr("same process numbers")));
}

TEST(SharedSegment, IsNotMappedWithAnotherSize) {
  const Owner owner(kSegmentBytes);
  const auto map = [&](std::size_t bytes) {
    return message_of<Error>([&] { const SharedSegment second(owner.names[1], bytes); });
  };
  EXPECT_THAT(map(2 * kSegmentBytes), HasSubstr("has 65536 bytes, and 131072 were expected"));
  EXPECT_THAT(map(kSegmentBytes / 2), HasSubstr("has 65536 bytes, and 32768 were expected"));
  owner.shorten_the_second();
  EXPECT_THAT(map(kSegmentBytes), HasSubstr("has 1 bytes, and 65536 were expected"));
}

TEST(SharedSegment, OfARankThatIsNotThereLeavesNothingOpen) {
  const auto open = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  const SharedSegment own(kSegmentBytes);
  const auto before = open();
  SegmentName name = own.name();
  ++name.file;
  EXPECT_THROW(SharedSegment(name, kSegmentBytes), Error);
  name.descriptor = 999;
  EXPECT_THROW(SharedSegment(name, kSegmentBytes), Error);
  EXPECT_EQ(open(), before);
}

// Ranks that have to share processors.

TEST(IsCrowded, ByWhatItsThreadMayRunOn) {
  run_ranks(2, [](Communicator& control) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(usable_cpus().front()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_TRUE(share_processors(control));
  });
  run_ranks(1, [](Communicator& control) { EXPECT_FALSE(share_processors(control)); });
}

// Ranks that meet.

using Staging = std::array<std::byte, 4096>;

class StagedCommunicator final : public Communicator {
 public:
  StagedCommunicator(Communicator& control, std::vector<Staging>& staging_of_rank)
      : Communicator(Memory::host), control_(control), staging_(staging_of_rank), meet_(control) {}

  int rank() const override { return control_.rank(); }
  int size() const override { return control_.size(); }
  Topology topology() const override { return control_.topology(); }
  std::string_view transport() const override { return "staged"; }
  void barrier() override { control_.barrier(); }

  void exchange(ConstSpan out, int to, Span in, int from) override {
    const auto offer = [&](std::size_t at) {
      Staging& mine = staging_[static_cast<std::size_t>(rank())];
      const std::size_t bytes = std::min(mine.size(), out.bytes() - at);
      std::memcpy(mine.data(), out.data + at, bytes);
      return Piece{7, 0, bytes, out.bytes()};
    };
    const auto take = [&](const Piece& piece, std::size_t at) {
      EXPECT_EQ(piece.window, 7U);
      std::memcpy(in.data + at, staging_[static_cast<std::size_t>(from)].data(), piece.bytes);
    };
    meet_.exchange(out.bytes(), to, offer, in.bytes(), from, take);
  }

 private:
  Communicator& control_;
  std::vector<Staging>& staging_;
  Rendezvous meet_;
};

void run_staged(int ranks, const std::function<void(Communicator&)>& body) {
  std::vector<Staging> staging(static_cast<std::size_t>(ranks));
  run_ranks(ranks, [&](Communicator& control) {
    StagedCommunicator communicator(control, staging);
    body(communicator);
  });
}

TEST(Rendezvous, EveryAlgorithmIsExact) {
  for (const int ranks : {1, 2, 3, 4}) {
    run_staged(ranks, [](Communicator& staged) {
      for (const AllreduceAlgorithm& algorithm : own_algorithms()) {
        for (const std::size_t count : {0, 1, 1023, 1025, 20'003}) {
          expect_exact_allreduce(staged, algorithm, count, DType::float32, ReduceOp::sum, true,
                                 false);
        }
      }
    });
  }
}

/// Rank 0 sends to 1 and receives from 2 at once; 1 receives, then sends; 2 the same. It is enough
/// for rank 1 to wait for rank 0's whole exchange, and nobody ever goes on.
TEST(Rendezvous, WaitsForNothingThatMpiWouldNotWaitFor) {
  run_staged(3, [](Communicator& staged) {
    std::vector<std::int32_t> sent(5000, staged.rank()), received(5000, -1);
    const Span out = span_of(std::span(sent)), in = span_of(std::span(received));
    const Span nothing = out.part(0, 0);
    const int right = (staged.rank() + 1) % 3, left = (staged.rank() + 2) % 3;
    for (int round = 0; round < 100; ++round) {
      if (staged.rank() == 0) {
        staged.exchange(out, right, in, left);
      } else {
        staged.exchange(nothing, right, in, left);
        staged.exchange(out, right, nothing, left);
      }
      ASSERT_EQ(received.back(), left);
    }
  });
}

TEST(Rendezvous, ARankMayMeetItself) {
  run_staged(1, [](Communicator& staged) {
    std::vector<std::int32_t> sent(5000, 3), received(5000, -1);
    staged.exchange(span_of(std::span(sent)), 0, span_of(std::span(received)), 0);
    EXPECT_EQ(received, sent);
  });
}

TEST(Rendezvous, SaysWhenMessagesDoNotFit) {
  const auto unequal = [](Communicator& staged) {
    const Buffer sent(20, DType::float32), expected(10, DType::float32);
    const int other = 1 - staged.rank();
    staged.exchange(sent.span(), other, expected.span(), other);
  };
  EXPECT_THROW(run_staged(2, unequal), Error);
}

TEST(Rendezvous, NobodyWaitsForARankThatHasLeft) {
  for (const bool sending : {true, false}) {
    std::atomic<int> woken = 0;
    const auto two_go = [&](Communicator& staged) {
      staged.barrier();  // all have been made
      if (staged.rank() == 2) throw Error("rank 2 failed");
      const Buffer buffer(20, DType::float32);
      const Span all = buffer.span(), nothing = all.part(0, 0);
      try {
        // Rank 1 waits for rank 2, and rank 0 for rank 1.
        staged.exchange(sending ? all : nothing, staged.rank() + 1, sending ? nothing : all,
                        staged.rank() + 1);
      } catch (const Error&) {
        ++woken;
        throw;
      }
    };
    EXPECT_THROW(run_staged(3, two_go), Error);
    EXPECT_EQ(woken, 2);
  }
}

TEST(Rendezvous, WhatWasSentBeforeLeavingArrives) {
  for (int round = 0; round < 200; ++round) {
    run_staged(2, [](Communicator& staged) {
      std::vector<std::int32_t> value(3000, staged.rank());
      const Span all = span_of(std::span(value)), nothing = all.part(0, 0);
      const bool sender = staged.rank() == 0;
      staged.exchange(sender ? all : nothing, 1, sender ? nothing : all, 0);
      EXPECT_EQ(value.back(), 0);
    });
  }
}

// Other users of the host -------------------------------------------------------------------------

TEST(SharedSegment, IsOutOfTheReachOfAnotherUser) {
  SharedSegment segment(4096);
  std::memcpy(segment.data(), "secret", 6);
  const SegmentName name = segment.name();
  const auto reached = as_another_user([&] {
    int ways = 0;
    for (const std::string& path :
         {fmt::format("/proc/{}/fd/{}", name.process, name.descriptor),
          fmt::format("/proc/{}/mem", name.process), fmt::format("/proc/{}/maps", name.process)}) {
      // Of maps only the opening is free; what it says is not.
      const int file = open(path.c_str(), O_RDONLY);
      char byte = 0;
      if (file >= 0 && read(file, &byte, 1) == 1) ++ways;
    }
    try {
      // What a rank does. Its own copy of the descriptor, which a child has, is no other user's
      // way.
      SharedSegment theirs(name, 4096);
      ++ways;
    } catch (const Error&) {
    }
    return ways;
  });
  if (!reached) GTEST_SKIP() << kNoOtherUser;
  EXPECT_EQ(*reached, 0);
  EXPECT_NO_THROW(SharedSegment(name, 4096)) << "this user reaches it";
}

TEST(SharedSegment, HasNoNameInAnyFolder) {
  const SharedSegment segment(4096);
  const auto file =
      std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", segment.name().descriptor));
  EXPECT_EQ(file, "/memfd:scalebench (deleted)");
  struct stat there {};
  ASSERT_EQ(fstat(segment.name().descriptor, &there), 0);
  EXPECT_EQ(there.st_nlink, 0U);
}

}  // namespace
}  // namespace scalebench
