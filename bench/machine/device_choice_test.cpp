// SPDX-License-Identifier: Apache-2.0
// Which rank gets which card, from what ranks of several hosts would report: no card is needed.
#include "bench/machine/device_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Words = std::vector<std::string>;
using Views = std::vector<DeviceView>;

const std::string kSlice = "MIG-11111111-2222-3333-4444-555555555555";
const std::string kCard = "GPU-aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee";

std::vector<int> indices(const Views& views, const Words& named = {}, bool share = false) {
  return place_ranks(views, named, share).index;
}

std::string refusal(const Views& views, const Words& named = {}) {
  try {
    return place_ranks(views, named, false).why_not;
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(DeviceChoice, EveryRankTakesTheOneOfItsNumber) {
  const DeviceView four{"h", {"a", "b", "c", "d"}};
  EXPECT_THAT(indices({four, four, four}), ElementsAre(0, 1, 2));
  EXPECT_THAT(indices({four, four}, {"2", "0"}), ElementsAre(2, 0));
  EXPECT_FALSE(place_ranks({four, four}, {}, true).shared) << "may share, and need not";
}

TEST(DeviceChoice, NumbersOfDifferentRanksAreNotCompared) {
  // One card each by CUDA_VISIBLE_DEVICES, as Slurm does; and the same cards in another order.
  EXPECT_THAT(indices({{"h", {"a"}}, {"h", {"b"}}}), ElementsAre(0, 0));
  EXPECT_THAT(indices({{"h", {"a", "b"}}, {"h", {"b", "a"}}}), ElementsAre(0, 0));
  EXPECT_THAT(indices({{"h", {"a", "b"}}, {"h", {"a"}}}), ElementsAre(1, 0)) << "one gives way";
  EXPECT_THAT(indices({{"h", {"a", "b"}}, {"h", {"b", "c"}}, {"h", {"a"}}}), ElementsAre(1, 1, 0));
  EXPECT_THAT(refusal({{"h", {"a"}}, {"h", {"a"}}}), HasSubstr("2 rank(s) and 1 device(s)"));
}

// All starts of four ranks that see all of four cards, a pair of them, or one: there is a card for
// each unless more ranks see a part of the cards alone than it has cards.
TEST(DeviceChoice, EveryRankHasOneOfItsOwnWhereThatIsPossible) {
  const std::vector<Words> seen{
      {"a", "b", "c", "d"}, {"a", "b"}, {"d", "c"}, {"a"}, {"b"}, {"c"}, {"d"}};
  const auto is_within = [](const Words& part, const Words& all) {
    return std::ranges::all_of(
        part, [&](const std::string& one) { return std::ranges::count(all, one) > 0; });
  };
  for (std::size_t start = 0; start < 7 * 7 * 7 * 7; ++start) {
    Views views;
    for (std::size_t digits = start; views.size() < 4; digits /= 7) {
      views.push_back({"h", seen[digits % 7]});
    }
    const bool possible = std::ranges::all_of(seen, [&](const Words& part) {
      return std::ranges::count_if(views, [&](const DeviceView& view) {
               return is_within(view.uuids, part);
             }) <= std::ssize(part);
    });
    const DevicePlacement placement = place_ranks(views, {}, false);
    ASSERT_EQ(placement.why_not.empty(), possible) << start;
    std::set<std::string> taken;
    for (std::size_t rank = 0; rank < placement.index.size(); ++rank) {
      taken.insert(views[rank].uuids.at(static_cast<std::size_t>(placement.index[rank])));
    }
    ASSERT_EQ(taken.size(), possible ? 4U : 0U) << start;
  }
}

TEST(DeviceChoice, HostsHaveTheirOwnCards) {
  const Views two{{"h1", {"a", "b"}}, {"h1", {"a", "b"}}, {"h2", {"c", "d"}}, {"h2", {"c", "d"}}};
  EXPECT_THAT(indices(two), ElementsAre(0, 1, 0, 1));
  // Hosts that are one machine see the same card: that is sharing, too.
  const Views one{{"h1", {"a"}}, {"h2", {"a"}}};
  EXPECT_THAT(indices(one), IsEmpty());
  EXPECT_TRUE(place_ranks(one, {}, true).shared);
  EXPECT_THAT(refusal({{"h1", {"a"}}, {"h2", {}}}), HasSubstr("0 device(s) on host h2"));
}

TEST(DeviceChoice, TooFewAreSharedOnlyWhereThatWasAsked) {
  const Views views(5, {"h", {"a", "b"}});
  EXPECT_THAT(refusal(views), AllOf(HasSubstr("5 rank(s) and 2 device(s) on host h"),
                                    HasSubstr("--share-devices"), HasSubstr("--device cpu")));
  const DevicePlacement shared = place_ranks(views, {}, true);
  EXPECT_THAT(shared.index, ElementsAre(0, 1, 0, 1, 0));
  EXPECT_TRUE(shared.shared);
  EXPECT_EQ(shared.why_not, "");
  EXPECT_THAT(indices(views, {"1"}, true), ElementsAre(1, 1, 1, 1, 1));
  EXPECT_THAT(indices({{"h", {"a"}}, {"h", {}}}, {}, true), IsEmpty()) << "one sees none at all";
}

TEST(DeviceChoice, ADeviceIsNamedByItsUuidWhateverTheToolsCallIt) {
  const std::string slice_as_card = "GPU" + kSlice.substr(3);
  const Views views{{"h1", {kCard, slice_as_card}}, {"h2", {"GPU-" + std::string(36, '0')}}};
  EXPECT_THAT(indices({views[0]}, {kSlice}), ElementsAre(1));
  EXPECT_THAT(indices({views[0], views[0]}, {kSlice, kCard}), ElementsAre(1, 0));
  EXPECT_THAT(refusal(views, {kSlice}), HasSubstr("0 named device(s) on host h2"));
  EXPECT_THAT(refusal({views[1]}, {kCard}), AllOf(HasSubstr("no rank sees"), HasSubstr(kCard)));
}

TEST(DeviceChoice, RefusesWhatIsNotThere) {
  EXPECT_THAT(refusal(Views(2, {"h", {"a", "b"}}), {"2", "0"}),
              AllOf(HasSubstr("no device 2"), HasSubstr("0 to 1")));
  EXPECT_THAT(refusal(Views(2, {"h", {"a", "b"}}), {"1"}),
              AllOf(HasSubstr("2 rank(s) and 1 named device(s)"), HasSubstr("name one for each")));
}

TEST(DeviceChoice, ReadsNumbersAndUuids) {
  EXPECT_THAT(parse_devices(""), IsEmpty());
  EXPECT_THAT(parse_devices("2,0"), ElementsAre("2", "0"));
  EXPECT_THAT(parse_devices(kCard + "," + kSlice), ElementsAre(kCard, kSlice));
  for (const char* text : {"0,x", "0,", ",1", "GPU-", "GPU-1", "-1", "gpu-aaaaaaaa"}) {
    EXPECT_THROW(parse_devices(text), UsageError) << text;
  }
  EXPECT_THROW(parse_devices("1,01"), UsageError) << "the same twice";
  EXPECT_THROW(parse_devices(kSlice + ",GPU" + kSlice.substr(3)), UsageError);
}

}  // namespace
}  // namespace scalebench
