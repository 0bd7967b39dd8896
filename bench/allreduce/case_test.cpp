// SPDX-License-Identifier: Apache-2.0
// One case from check to check, on ranks that are threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "bench/allreduce/bound.hpp"
#include "bench/allreduce/measure.hpp"
#include "bench/allreduce/tuning.hpp"
#include "collectives/transport/thread_ranks_test.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

AllreduceMethod brief() {
  AllreduceMethod method;
  method.repetitions = 3;
  method.batches = 3;
  method.pipeline = 4;
  method.warm_up.fixed = 1;
  method.start = StartMode::barrier;
  return method;
}

AllreduceResult measured(Communicator& ranks, const AllreduceCase& one, AllreduceMethod method,
                         const MomentFault* fault = nullptr) {
  const AllreduceBuffers buffers(ranks, {.largest_bytes = one.bytes(),
                                         .out_of_place = !one.in_place,
                                         .cold = method.cache == Cache::cold,
                                         .cold_bytes = 100'000});
  CollectiveTimer timer(ranks);
  AllreduceVerifier verifier(ranks, one.bytes());
  return measure_allreduce({ranks, buffers, timer, verifier, nullptr, fault}, one, method);
}

AllreduceFootprint footprint_of(std::size_t bytes) {
  AllreduceFootprint footprint;
  footprint.largest_bytes = bytes;
  return footprint;
}

AllreduceCase case_of(const AllreduceAlgorithm& algorithm, std::size_t count) {
  AllreduceCase one;
  one.algorithm = &algorithm;
  one.count = count;
  return one;
}

AllreduceAlgorithm algorithm_of(AllreduceFunction function) {
  return {.name = "broken", .function = function, .cost = nullptr, .purpose = ""};
}

TEST(MeasureAllreduce, MeasuresARightAlgorithm) {
  for (const Cache cache : {Cache::warm, Cache::cold, Cache::written}) {
    for (const bool in_place : {false, true}) {
      run_ranks(2, [&](Communicator& ranks) {
        AllreduceMethod method = brief();
        method.cache = cache;
        AllreduceCase one = case_of(allreduce_named("ring"), 1001);
        one.dtype = DType::bfloat16;
        one.in_place = in_place;
        const AllreduceResult result = measured(ranks, one, method);
        EXPECT_EQ(result.status, "ok") << result.note;
        EXPECT_EQ(result.timing.repetitions.size(), 3U);
        EXPECT_EQ(result.timing.repetitions.front().rank_seconds.size(), 2U);
      });
    }
  }
}

TEST(MeasureAllreduce, ChecksEveryOp) {
  for (const ReduceOp op : kReduceOps) {
    run_ranks(3, [&](Communicator& ranks) {
      AllreduceCase one = case_of(allreduce_named("ring"), 5000);
      one.op = op;
      EXPECT_EQ(measured(ranks, one, brief()).status, "ok") << name_of(op);
    });
  }
}

TEST(MeasureAllreduce, DividesAPipelinedRepetition) {
  run_ranks(2, [&](Communicator& ranks) {
    AllreduceCase one = case_of(allreduce_named("naive"), 10);
    one.pipelined = true;
    const AllreduceResult result = measured(ranks, one, brief());
    EXPECT_EQ(result.timing.operations, 4U);
    EXPECT_EQ(result.timing.repetitions.size(), 3U);
  });
}

TEST(MeasureAllreduce, VoidsAWrongOne) {
  // A "sum" that forgets the other ranks.
  const AllreduceAlgorithm lazy = algorithm_of([](Communicator&, ConstSpan, Span, ReduceOp) {});
  run_ranks(2, [&](Communicator& ranks) {
    const AllreduceResult result = measured(ranks, case_of(lazy, 100), brief());
    EXPECT_EQ(result.status, "wrong");
    EXPECT_GT(result.all_wrong(), 100U) << "both ranks' elements";
    EXPECT_TRUE(result.timing.repetitions.empty()) << "no timing for a wrong result";
  });
}

TEST(MeasureAllreduce, VoidsOneThatLeavesItsResultOut) {
  // In place these are right; out of place the output was never written, or the input was.
  const AllreduceAlgorithm no_output =
      algorithm_of([](Communicator& ranks, ConstSpan in, Span out, ReduceOp op) {
        const Span where{const_cast<std::byte*>(in.data), in.count, in.dtype, in.memory};
        allreduce_named("ring").run(ranks, where, in.data == out.data ? out : where, op);
      });
  const AllreduceAlgorithm no_input =
      algorithm_of([](Communicator& ranks, ConstSpan in, Span out, ReduceOp op) {
        const Span where{const_cast<std::byte*>(in.data), in.count, in.dtype, in.memory};
        allreduce_named("ring").run(ranks, where, where, op);
        if (in.data != out.data) ranks.copy(in, out);
      });
  for (const AllreduceAlgorithm& algorithm : {no_output, no_input}) {
    run_ranks(2, [&](Communicator& ranks) {
      AllreduceCase one = case_of(algorithm, 100);
      EXPECT_EQ(measured(ranks, one, brief()).status, "ok");
      one.in_place = false;
      EXPECT_EQ(measured(ranks, one, brief()).status, "wrong");
    });
  }
}

TEST(MeasureAllreduce, SkipsWithTheReason) {
  run_ranks(2, [&](Communicator& ranks) {
    const AllreduceResult result =
        measured(ranks, case_of(allreduce_named("native"), 100), brief());
    EXPECT_EQ(result.status, "skipped");
    EXPECT_NE(result.note.find("threads"), std::string::npos);
  });
}

TEST(MeasureAllreduce, FindsOneElementThatARehearsedFaultChanged) {
  const MomentFault fault(Injections({"wrong:1@1"}, InjectedInto::allreduce, 2));
  run_ranks(2, [&](Communicator& ranks) {
    const AllreduceResult result = measured(ranks, case_of(allreduce_named("ring"), 100), brief(),
                                            ranks.rank() == 1 ? &fault : nullptr);
    EXPECT_EQ(result.status, "wrong");
    EXPECT_EQ(result.wrong, (std::vector<std::size_t>{0, 1}));
    EXPECT_THAT(result.note, testing::HasSubstr(" of rank 1 differ"));
  });
}

TEST(MeasureAllreduce, FindsARankThatIsWrongOnceInTenThousandOperations) {
  const MomentFault fault(Injections({"wrong=10000:1@1"}, InjectedInto::allreduce, 2));
  AllreduceMethod method = brief();
  method.checks = 10500;
  run_ranks(2, [&](Communicator& ranks) {
    const AllreduceCase one = case_of(allreduce_named("one_shot"), 16);
    const AllreduceResult result =
        measured(ranks, one, method, ranks.rank() == 1 ? &fault : nullptr);
    EXPECT_EQ(result.status, "wrong");
    EXPECT_EQ(result.wrong, (std::vector<std::size_t>{0, 1}));
    EXPECT_EQ(result.note,
              "1 elements of rank 1 differ from the exact result, in check 10000 of 10501");
  });
}

TEST(MeasureAllreduce, TakesLongerByTheShareThatIsInjected) {
  static constexpr std::chrono::milliseconds kAsItIs{2};
  const AllreduceAlgorithm slow = algorithm_of(
      [](Communicator&, ConstSpan, Span, ReduceOp) { std::this_thread::sleep_for(kAsItIs); });
  AllreduceMethod method = brief();
  method.checks = 0;
  run_ranks(2, [&](Communicator& ranks) {
    const AllreduceCase one = case_of(slow, 100);
    const AllreduceBuffers buffers(ranks, footprint_of(one.bytes()));
    CollectiveTimer timer(ranks);
    AllreduceVerifier verifier(ranks, one.bytes());
    const AllreduceBench bench{
        .data = ranks, .buffers = buffers, .timer = timer, .verifier = verifier, .slower = 0.5};
    const AllreduceResult result = measure_allreduce(bench, one, method);
    ASSERT_EQ(result.status, "ok");
    // It slept at least so long, and lingered half of that.
    for (const Repetition& repetition : result.timing.repetitions) {
      EXPECT_GE(repetition.seconds, 0.003);
    }
  });
}

TEST(AllreduceBuffers, KeepPlacementsApartAndOnPages) {
  run_ranks(1, [&](Communicator& ranks) {
    const AllreduceBuffers buffers(
        ranks,
        {.largest_bytes = 10'000, .out_of_place = true, .cold = true, .cold_bytes = 100'000});
    AllreduceCase one = case_of(allreduce_named("ring"), 2500);
    one.in_place = false;
    ASSERT_EQ(buffers.slots(one), 5U) << "of 24 576 bytes: no less than the walk";
    const AllreduceSpans first = buffers.slot(one, 0);
    const AllreduceSpans last = buffers.slot(one, buffers.slots(one) - 1);
    EXPECT_EQ(first.out.data - first.in.data, 12'288);
    EXPECT_EQ((last.in.data - first.in.data) % 4096, 0);
    EXPECT_LE(last.out.data + one.bytes(), buffers.all().data + buffers.all().bytes());
    // Whatever the size, also where one buffer is nearly the walk, or more.
    for (const std::size_t count : {1U, 1000U, 2499U}) {
      const AllreduceCase other = case_of(allreduce_named("ring"), count);
      const AllreduceSpans end = buffers.slot(other, buffers.slots(other) - 1);
      EXPECT_GE(end.in.data + 4096 * (other.bytes() / 4096 + 1) - first.in.data, 100'000);
      EXPECT_LE(end.in.data + other.bytes(), buffers.all().data + buffers.all().bytes());
    }
  });
  for (const std::size_t bytes : {60'000U, 98'000U, 150'000U}) {
    run_ranks(1, [&](Communicator& ranks) {
      const AllreduceBuffers buffers(ranks,
                                     {.largest_bytes = bytes, .cold = true, .cold_bytes = 100'000});
      const AllreduceCase one = case_of(allreduce_named("ring"), bytes / sizeof(float));
      const std::size_t slots = buffers.slots(one);
      EXPECT_EQ(slots, bytes < 100'000 ? 2U : 1U);
      const AllreduceSpans end = buffers.slot(one, slots - 1);
      EXPECT_LE(end.in.data + one.bytes(), buffers.all().data + buffers.all().bytes());
    });
  }
}

TEST(RequireMemory, NamesWhatIsNeeded) {
  EXPECT_THROW(require_memory(footprint_of(std::size_t{1} << 60U), 2, 1, 2), UsageError);
  EXPECT_NO_THROW(require_memory(footprint_of(8), 2, 1, 2));
}

TEST(AllreduceBound, GrowsWithTheSize) {
  run_ranks(2, [&](Communicator& ranks) {
    const AllreduceBuffers buffers(ranks, footprint_of(std::size_t{1} << 20U));
    AllreduceBound bound(ranks, buffers, 10);
    for (const std::size_t bytes : {8, 70'000, 100'000, 1 << 20}) bound.measure(bytes);
    EXPECT_TRUE(std::isnan(bound.seconds(1024)));
    EXPECT_GT(bound.seconds(100'000), 0);
    EXPECT_DOUBLE_EQ(bound.seconds(140'000) / bound.seconds(70'000), 2);
    EXPECT_DOUBLE_EQ(bound.seconds(1 << 19) / bound.seconds(1 << 16), 8) << "measured at 64 KiB";
    EXPECT_NE(bound.seconds(1 << 20) / bound.seconds(1 << 19), 2) << "measured at 1 MiB";
  });
}

TEST(Tune, ChoosesAmongThoseThatWork) {
  run_ranks(2, [&](Communicator& ranks) {
    const AllreduceBuffers buffers(ranks, footprint_of(4096));
    CollectiveTimer timer(ranks);
    AllreduceVerifier verifier(ranks, 4096);
    const SharedChoices choices =
        tune({ranks, buffers, timer, verifier, nullptr, nullptr}, ranks,
             {{"threads", Memory::host, {}}, DType::float32, ReduceOp::sum}, brief(), 8, 4096);
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{4096}}) {
      EXPECT_NE(choices->pick(bytes).name, "native") << "threads have none";
      EXPECT_NE(choices->pick(bytes).name, "auto");
    }
  });
}

/// Each exchange takes so long, and rank 0 comes out of one of the barriers 30 ms late.
class SlowRanks final : public Communicator {
 public:
  SlowRanks(Communicator& inner, std::chrono::microseconds exchange, int late_barrier)
      : Communicator(inner.memory()), inner_(inner), exchange_(exchange), late_(late_barrier) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  Topology topology() const override { return inner_.topology(); }
  std::string_view transport() const override { return inner_.transport(); }
  void exchange(ConstSpan out, int to, Span in, int from) override {
    std::this_thread::sleep_for(exchange_);
    inner_.exchange(out, to, in, from);
  }
  void barrier() override {
    inner_.barrier();
    if (barriers_++ == late_ && rank() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
  }
  int barriers() const { return barriers_; }

 private:
  Communicator& inner_;
  const std::chrono::microseconds exchange_;
  const int late_;
  int barriers_ = 0;
};

TEST(Tune, OneLateRankAtOneLookChangesNothing) {
  using namespace std::chrono_literals;
  struct Choice {
    std::string algorithm;
    int looks = 0;
  };
  const auto choice = [](int late) {
    Choice made;
    run_ranks(4, [&](Communicator& ranks) {
      SlowRanks data(ranks, 600us, -1);  // operations are long, so few looks are taken
      SlowRanks host(ranks, 0us, late);
      const AllreduceBuffers buffers(data, footprint_of(64));
      CollectiveTimer timer(host);
      AllreduceVerifier verifier(host, 64);
      const SharedChoices choices =
          tune({data, buffers, timer, verifier, nullptr, nullptr}, host,
               {{"threads", Memory::host, {}}, DType::float32, ReduceOp::sum}, brief(), 64, 64);
      if (host.rank() == 0) made = {std::string(choices->pick(64).name), host.barriers()};
    });
    return made;
  };
  // Of four ranks it has the fewest exchanges, two.
  const std::string fastest = "recursive_doubling";
  const int looks = choice(-1).looks;
  EXPECT_GT(looks, 20);
  for (int late = 0; late < looks; ++late) {
    std::string algorithm;
    // On a busy machine others are late as well.
    for (int attempt = 0; attempt < 10 && algorithm != fastest; ++attempt) {
      algorithm = choice(late).algorithm;
    }
    EXPECT_EQ(algorithm, fastest) << "late at look " << late << " of " << looks;
  }
}

}  // namespace
}  // namespace scalebench
