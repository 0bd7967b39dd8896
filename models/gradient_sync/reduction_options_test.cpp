// SPDX-License-Identifier: Apache-2.0
// The options by which strategies that reduce are told how, what they refuse, and what they tell.
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "collectives/allreduce.hpp"
#include "collectives/transport/thread_ranks_test.hpp"
#include "models/gradient_sync/strategy_under_test.hpp"
#include "models/gradients/gradient_sync.hpp"
#include "models/gradients/reducer.hpp"
#include "models/step/step_trace.hpp"
#include "models/testing.hpp"

namespace scalebench {
namespace {

TEST(MultiWorker, SaysWhatTheMeasuredTableChose) {
  const std::vector<MeasuredAllreduce> measured{
      {"one_shot", 64, 1e-6}, {"ring", 64, 2e-6}, {"one_shot", 4096, 3e-6}, {"ring", 4096, 2e-6}};
  const auto choices = std::make_shared<const AllreduceChoices>(measured);
  run_ranks(2, [&](Communicator& communicator) {
    StrategyUnderTest setup(communicator, "auto");
    expect_error([&] { setup.make("multi_worker"); }, {"auto", "measured"});
    communicator.set_choices(choices);
    const auto sync = setup.make("multi_worker");
    pass(*sync, setup.parameters, communicator.rank());
    EXPECT_EQ(setup.parameters[1].grad()[4].item<float>(), 0.5F);
    const std::string remarks = sync->remarks();
    EXPECT_NE(remarks.find("chose one_shot for 128 bytes"), std::string::npos) << remarks;
    EXPECT_NE(remarks.find("above: ring"), std::string::npos) << remarks;
  });
}

/// What each lane went through, in order; checks that activities do not nest.
class Recording final : public Timeline {
 public:
  void begin(std::size_t lane, std::string_view activity) override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(open_[lane]);
    open_[lane] = true;
    lanes[lane].emplace_back(activity);
  }
  void end(std::size_t lane) override {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(open_[lane]);
    open_[lane] = false;
  }
  bool all_ended() const {
    return std::none_of(open_.begin(), open_.end(), [](const auto& lane) { return lane.second; });
  }
  std::map<std::size_t, std::vector<std::string>> lanes;

 private:
  std::mutex mutex_;
  std::map<std::size_t, bool> open_;
};

TEST(Timelines, TellWhatEachGradientGoesThrough) {
  run_ranks(2, [&](Communicator& communicator) {
    Recording recording;
    StrategyUnderTest setup(communicator, "ring");
    setup.options.timeline = &recording;
    const auto sync = setup.make("horovod");
    pass(*sync, setup.parameters, 1);
    EXPECT_TRUE(recording.all_ended());
    ASSERT_EQ(recording.lanes.size(), 2U);
    for (const auto& [lane, activities] : recording.lanes) {
      EXPECT_EQ(activities, (std::vector<std::string>{"NEGOTIATE_ALLREDUCE", "QUEUE", "ring"}))
          << lane;
    }
  });
}

double ticks() {
  static thread_local double now = 0;
  return now += 0.125;
}

TEST(Horovod, CountsItsNegotiation) {
  run_ranks(1, [](Communicator& communicator) {
    StrategyUnderTest setup(communicator, "ring");
    setup.options.cycle_seconds = 0;
    auto sync = setup.make("horovod");
    pass(*sync, setup.parameters, 1);
    EXPECT_EQ(sync->remarks().find(" s,"), std::string::npos) << sync->remarks();
    setup.options.clock = &ticks;
    sync = setup.make("horovod");
    pass(*sync, setup.parameters, 1);
    EXPECT_NE(sync->remarks().find(" s,"), std::string::npos) << sync->remarks();
  });
}

TEST(GradientFusion, FillsMessagesInTheOrderOfTheBuffer) {
  using Messages = std::vector<std::vector<std::size_t>>;
  const std::vector<FlatPlace> places{{176, 8}, {128, 40}, {112, 16}, {0, 100}};
  EXPECT_EQ(fuse(places, {}, 1), Messages{});
  EXPECT_EQ(fuse(places, {0, 1, 2, 3}, 1), (Messages{{3}, {2}, {1}, {0}}));
  EXPECT_EQ(fuse(places, {1, 0, 3}, 1000), (Messages{{3, 1, 0}}));
  EXPECT_EQ(fuse(places, {0, 3, 2, 1}, 4 * 64), (Messages{{3}, {2, 1, 0}}));
  EXPECT_FALSE(are_neighbours({3, 1, 0}));
  EXPECT_TRUE(are_neighbours({2, 1, 0}));
}

TEST(GradientFusion, ReducesWhatLiesApart) {
  run_ranks(2, [](Communicator& communicator) {
    for (const DType wire : {DType::float32, DType::float16}) {
      StrategyUnderTest setup(communicator, "direct");
      setup.options.wire = wire;
      const Window flat = communicator.window(192, DType::float32);
      const auto values = flat.span.as<float>();
      std::fill(values.begin(), values.end(), static_cast<float>(communicator.rank() * 2));
      const std::vector<Span> parts{flat.span.part(0, 100), flat.span.part(128, 40)};
      FusionBuffer fusion(
          {setup.parameters, communicator, setup.allreduce, "sgd", setup.trace, setup.options},
          flat.span, 1000);
      fusion.pack(parts);
      fusion.average();
      fusion.unpack(parts);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const bool inside = i < 100 || (i >= 128 && i < 168);
        EXPECT_EQ(values[i], inside ? 1 : communicator.rank() * 2) << i;
      }
      communicator.barrier();
    }
  });
}

}  // namespace
}  // namespace scalebench
