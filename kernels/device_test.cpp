// SPDX-License-Identifier: Apache-2.0
// Every device kernel against its twin on the host, which the other tests hold against the
// definition: same spans, same numbers, bit for bit except for the payload of a NaN.
#include "kernels/device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include "kernels/buffer.hpp"
#include "kernels/device_kernels.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/error.hpp"
#include "kernels/gemm.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kFractions = 1'000'003;

/// Fractions, so that every result has to be rounded; some too large for half. They repeat after
/// kFractions, a prime: an element from a wrong place is another number.
double fraction(std::size_t i) {
  return (static_cast<double>(i * 2654435761U % kFractions) - 500000) / 7;
}

/// to[i] = fraction(first + i). Copied from what is made once for each dtype, which takes longer
/// than all that is done with it.
void put_fractions(Span to, std::size_t first = 0) {
  static std::map<DType, TestSpan> made;
  const auto [found, is_new] = made.try_emplace(to.dtype, kFractions, to.dtype);
  if (is_new) found->second.fill(fraction);
  for (std::size_t at = 0; at < to.count;) {
    const std::size_t from = (first + at) % kFractions;
    const std::size_t length = std::min(kFractions - from, to.count - at);
    copy(found->second.get().part(from, length), to.part(at, length));
    at += length;
  }
}

class DeviceKernel : public Device, public testing::WithParamInterface<DType> {};

void expect_equal(const TestSpan& device, const TestSpan& host) {
  const TestSpan copied = device.on_host();
  EXPECT_TRUE(copied.margins_are_zero());
  ASSERT_EQ(copied.get().count, host.get().count);
  ASSERT_EQ(copied.get().dtype, host.get().dtype);
  if (std::memcmp(copied.get().data, host.get().data, host.get().bytes()) == 0) return;
  with_type(host.get().dtype, [&]<class T>() {
    const std::span<const T> got = copied.get().as<T>(), want = host.get().as<T>();
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double a = number_to_double(got[i]), b = number_to_double(want[i]);
      ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b)))
          << a << " is not " << b << " at " << i;
    }
  });
}

/// Runs `kernel(Span, Span, Span, stream)` in both memories on equal inputs, compares all three.
template <class Kernel>
void compare(DType first, DType second, Kernel kernel) {
  const OwnedStream stream;
  for (const std::size_t count : kTestSizes) {
    for (const std::size_t shift : kTestShifts) {
      SCOPED_TRACE(fmt::format("{} x {} after {}", count, name_of(first), shift));
      std::vector<TestSpan> here, there;
      for (auto* const spans : {&here, &there}) {
        const Memory memory = spans == &here ? Memory::host : Memory::device;
        for (const std::size_t i : {0, 1}) {
          put_fractions(spans->emplace_back(count, first, shift, memory), i);
        }
        spans->emplace_back(count, second, count % 2 == 0 ? shift : 1, memory);
        kernel(spans->at(0).get(), spans->at(1).get(), spans->at(2).get(),
               memory == Memory::host ? DeviceStream{} : stream.get());
      }
      stream.synchronize();
      for (const std::size_t i : {0, 1, 2}) expect_equal(there[i], here[i]);
    }
  }
}

TEST_P(DeviceKernel, Combine) {
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max}) {
    compare(GetParam(), GetParam(), [&](Span a, Span b, Span c, DeviceStream s) {
      const std::array<ConstSpan, 3> from{a, b, c};
      const std::array<Span, 2> to{a, c};
      combine(from, to, op, Stores::cached, s);
    });
  }
}

// More than the smaller of two kernels' arguments holds.
TEST_P(DeviceKernel, CombineManySourcesIntoTheLast) {
  constexpr std::size_t kSources = 200;
  for (const std::size_t into : {std::size_t{3}, kSources - 1}) {
    std::vector<TestSpan> sides[2];
    for (const Memory memory : {Memory::host, Memory::device}) {
      auto& spans = sides[memory == Memory::host ? 0 : 1];
      std::vector<ConstSpan> from;
      for (std::size_t i = 0; i < kSources; ++i) {
        spans.emplace_back(100, GetParam(), 0, memory).fill([i](std::size_t at) {
          return small_integer(i + at) / 8;
        });
        from.push_back(spans.back());
      }
      const std::array<Span, 1> to{spans[into]};
      combine(from, to, ReduceOp::sum);
    }
    device_synchronize();
    expect_equal(sides[1][into], sides[0][into]);
  }
}

TEST_P(DeviceKernel, Scale) {
  compare(GetParam(), GetParam(), [](Span a, Span, Span, DeviceStream s) { scale(a, 0.3, s); });
}

TEST_P(DeviceKernel, Stream) {
  compare(GetParam(), GetParam(),
          [](Span a, Span, Span c, DeviceStream s) { stream_copy(a, c, s); });
  compare(GetParam(), GetParam(),
          [](Span a, Span b, Span c, DeviceStream s) { stream_triad(c, a, b, 0.3, s); });
}

TEST_P(DeviceKernel, CastToEveryDtype) {
  for (const DType to : kDTypes) {
    SCOPED_TRACE(name_of(to));
    compare(GetParam(), to, [](Span a, Span, Span c, DeviceStream s) { cast(a, c, s); });
  }
}

// Every thread of the largest grid goes round twice at least: it has 32 blocks of 256 threads for
// each of up to 256 multiprocessors, and a thread takes 16 bytes at a time.
TEST_P(DeviceKernel, ThreadsThatGoRoundAgain) {
  constexpr std::size_t kRound = std::size_t{256} * 32 * 256 * 16;
  const std::size_t many = 2 * kRound / size_of(GetParam()) + 3;
  const DType narrow = GetParam() == DType::float16 ? DType::bfloat16 : DType::float16;
  const OwnedStream stream;
  std::vector<TestSpan> here, there;
  for (auto* const spans : {&here, &there}) {
    const Memory memory = spans == &here ? Memory::host : Memory::device;
    for (const std::size_t i : {0, 1}) {
      put_fractions(spans->emplace_back(many, GetParam(), 0, memory), i);
    }
    spans->emplace_back(many, narrow, 0, memory);
    const std::array<ConstSpan, 2> from{spans->at(0), spans->at(1)};
    const std::array<Span, 1> to{spans->at(1)};
    const DeviceStream where = memory == Memory::host ? DeviceStream{} : stream.get();
    combine(from, to, ReduceOp::sum, Stores::cached, where);
    scale(spans->at(0), 0.3, where);
    cast(spans->at(1), spans->at(2), where);
  }
  stream.synchronize();
  for (const std::size_t i : {0, 1, 2}) expect_equal(there[i], here[i]);
}

TEST_P(DeviceKernel, PackAndUnpackMoreThanOneLaunch) {
  std::vector<TestSpan> parts;
  std::vector<ConstSpan> sources;
  std::vector<Span> targets;
  std::size_t total = 0;
  for (std::size_t i = 0; i < 300; ++i) {
    const std::size_t count = i == 7 ? 300003 : i % 40;
    parts.emplace_back(count, GetParam(), i % 9, Memory::device);
    sources.push_back(parts.back());
    targets.push_back(parts.back());
    total += count;
  }
  TestSpan expected(total, GetParam());
  expected.fill(small_integer);
  std::size_t first = 0;
  for (TestSpan& part : parts) {
    part.fill([first](std::size_t at) { return small_integer(first + at); });
    first += part.get().count;
  }
  const TestSpan flat(total, GetParam(), 3, Memory::device);
  device::pack(sources, flat, {});
  device_synchronize();
  expect_equal(flat, expected);
  for (TestSpan& part : parts) part.fill([](std::size_t) { return 0.0; });
  device::unpack(flat, targets, {});
  device_synchronize();
  first = 0;
  for (const TestSpan& part : parts) {
    for (const double value : part.values()) ASSERT_EQ(value, small_integer(first++));
    EXPECT_TRUE(part.margins_are_zero());
  }
}

TEST_P(DeviceKernel, GemmOfSmallIntegers) {
  constexpr std::size_t kM = 40, kN = 24, kK = 16;
  TestSpan a(kM * kK, GetParam(), 0, Memory::device);
  TestSpan b(kK * kN, GetParam(), 0, Memory::device);
  const TestSpan c(kM * kN, GetParam(), 0, Memory::device);
  const auto bit = [](std::size_t i) { return static_cast<double>(i * 7 % 3) - 1; };
  a.fill(bit);
  b.fill(bit);
  if (GetParam() == DType::int32) {
    EXPECT_THROW(gemm(a, b, c, kM, kN, kK), Unavailable);
    return;
  }
  gemm(a, b, c, kM, kN, kK);
  device_synchronize();
  const std::vector<double> product = c.values();
  for (std::size_t i = 0; i < kM * kN; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < kK; ++k) sum += bit(i / kN * kK + k) * bit(k * kN + i % kN);
    ASSERT_EQ(product[i], sum) << i;
  }
}

TEST_F(Device, GemmMayRoundFloatsToTf32) {
  constexpr std::size_t kSide = 64;
  TestSpan a(kSide * kSide, DType::float32, 0, Memory::device);
  TestSpan b(kSide * kSide, DType::float32, 0, Memory::device);
  const TestSpan c(kSide * kSide, DType::float32, 0, Memory::device);
  const TestSpan exact(kSide * kSide, DType::float32, 0, Memory::device);
  a.fill([](std::size_t i) { return std::sin(static_cast<double>(i)); });
  b.fill([](std::size_t i) { return std::cos(static_cast<double>(i)); });
  gemm(a, b, exact, kSide, kSide, kSide);
  gemm(a, b, c, kSide, kSide, kSide, {}, GemmMath::tf32);
  device_synchronize();
  const std::vector<double> got = c.values(), want = exact.values();
  // Each factor is off by at most 2^-11 of itself.
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], kSide * 2e-3) << i;
}

INSTANTIATE_TEST_SUITE_P(EveryDtype, DeviceKernel, testing::ValuesIn(kDTypes),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST_F(Device, HasANameAndAUuid) {
  EXPECT_FALSE(device_name(0).empty());
  EXPECT_EQ(device_uuid(0).substr(0, 4), "GPU-");
  EXPECT_THROW(device_name(device_count()), Error);
  EXPECT_FALSE(cuda_driver_version().empty());
}

TEST_F(Device, RefusesMoreMemoryThanThereIs) {
  EXPECT_THROW(Buffer(std::size_t{1} << 50U, DType::float32, Memory::device), Error);
  EXPECT_NO_THROW(Buffer(8, DType::float32, Memory::device));  // the error does not stick
}

TEST_F(Device, GraphsReplayWhatWasRecorded) {
  const OwnedStream stream;
  TestSpan values(1000, DType::float32, 0, Memory::device);
  values.fill([](std::size_t) { return 1.0; });
  DeviceGraph graph;
  EXPECT_THROW(graph.launch(stream.get()), Error);
  EXPECT_THROW(graph.end_capture(), Error);
  for (const double factor : {2.0, 3.0}) {  // the second recording replaces the first
    graph.begin_capture(stream.get());
    EXPECT_THROW(graph.begin_capture(stream.get()), Error);
    scale(values, factor, stream.get());
    graph.end_capture();
  }
  stream.synchronize();
  EXPECT_EQ(values.values()[999], 1) << "recording must not run anything";
  for (int replay = 0; replay < 3; ++replay) graph.launch(stream.get());
  stream.synchronize();
  for (const double value : values.values()) ASSERT_EQ(value, 27);
}

TEST_F(Device, GraphsOutliveACaptureThatWentWrong) {
  const OwnedStream stream;
  const TestSpan values(1000, DType::float32, 0, Memory::device);
  EXPECT_THROW(DeviceGraph().begin_capture(DeviceStream{}), Error);
  {
    DeviceGraph graph;
    graph.begin_capture(stream.get());
    EXPECT_THROW(stream.synchronize(), Error);  // makes the capture invalid
    EXPECT_THROW(graph.end_capture(), Error);
  }
  {
    DeviceGraph cut_short;
    cut_short.begin_capture(stream.get());
    scale(values, 2, stream.get());
  }
  EXPECT_NO_THROW(scale(values, 2, stream.get()));  // the stream and this thread go on
  EXPECT_NO_THROW(stream.synchronize());
}

TEST_F(Device, EventsHoldAnotherStream) {
  const OwnedStream first, second;
  TestSpan values(std::size_t{1} << 20U, DType::float32, 0, Memory::device);
  values.fill([](std::size_t) { return 1.0; });
  DeviceEvent scaled;
  for (int turn = 0; turn < 10; ++turn) {
    scale(values, 2, first.get());
    scaled.record(first.get());
    scaled.hold(second.get());
    scale(values, 0.5, second.get());
    scaled.record(second.get());
    scaled.hold(first.get());
  }
  scale(values, 3, first.get());
  first.synchronize();
  EXPECT_EQ(values.values()[1000], 3);
}

TEST_F(Device, CopiesOnAStreamComeAfterItsWorkAndAreDone) {
  const OwnedStream stream;
  constexpr std::size_t kCount = std::size_t{1} << 20U;
  const TestSpan host(kCount, DType::float32), back(kCount, DType::float32);
  const TestSpan values(kCount, DType::float32, 0, Memory::device);
  put_fractions(host.get());
  copy(host.get(), values.get(), stream.get());
  scale(values, 2, stream.get());
  copy(values.get(), back.get(), stream.get());
  scale(host, 2);
  expect_equal(back, host);
}

TEST_F(Device, EventsMeasureTime) {
  const Buffer buffer(std::size_t{1} << 20U, DType::float32, Memory::device);
  DeviceEvent start, stop;
  start.record();
  scale(buffer.span(), 2);
  stop.record();
  stop.synchronize();
  EXPECT_GT(stop.seconds_since(start), 0);
}

// The update rules against their twins on the host, step after step.

class DeviceUpdate : public Device {};

/// Floats in both memories.
class Twin {
 public:
  Twin(std::size_t count, float scale)
      : host_(count), device_(count + 1, DType::float32, Memory::device) {
    for (std::size_t i = 0; i < count; ++i) {
      host_[i] = scale * std::sin(static_cast<float>(i + count));
    }
  }
  /// `shift`: 1 lies beside what four floats at a time need.
  float* on_device(std::size_t shift) {
    auto* const to = device_.span().as<float>().data() + shift;
    if (!host_.empty()) device_copy_done(host_.data(), to, host_.size() * sizeof(float));
    return to;
  }
  std::vector<float>& host() { return host_; }
  void expect_equal(std::size_t shift) const {
    std::vector<float> got(host_.size());
    const auto* const from = device_.span().as<float>().data() + shift;
    if (!got.empty()) device_copy_done(from, got.data(), got.size() * sizeof(float));
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], host_[i]) << i;
  }

 private:
  std::vector<float> host_;
  Buffer device_;
};

struct TwinPart {
  explicit TwinPart(std::size_t count)
      : parameters(count, 1), gradients(count, 2), first(count, 0), second(count, 0) {}
  UpdatePart part(std::size_t shift) {
    return {parameters.on_device(shift),
            gradients.on_device(0),
            {first.on_device(0), second.on_device(0)},
            parameters.host().size()};
  }
  Twin parameters, gradients, first, second;
};

/// More parts than one launch takes, of sizes with and without remainders.
std::vector<TwinPart> many_parts() {
  std::vector<TwinPart> parts;
  for (std::size_t i = 0; i < 130; ++i) parts.emplace_back(i == 50 ? 1'000'003 : i * 7 % 40);
  return parts;
}

TEST_F(DeviceUpdate, SgdHasTheHostsBits) {
  for (const std::size_t shift : {0, 1}) {
    std::vector<TwinPart> twins = many_parts();
    std::vector<UpdatePart> parts;
    for (TwinPart& twin : twins) parts.push_back(twin.part(shift));
    const Buffer rate(1, DType::float64, Memory::device);
    const double rates[] = {0.1, 0.05, 0.05};
    for (std::size_t t = 0; t < std::size(rates); ++t) {
      const double wanted = rates[t];
      device_copy_done(&wanted, rate.span().data, sizeof(wanted));
      sgd_update(parts, 0.9F, rate.span().as<double>().data(), {});
      for (TwinPart& twin : twins) {
        sgd_update(twin.parameters.host(), twin.gradients.host(), twin.first.host(), 0.9F,
                   static_cast<float>(wanted));
      }
    }
    device_synchronize();
    for (const TwinPart& twin : twins) {
      twin.parameters.expect_equal(shift);
      twin.first.expect_equal(0);
    }
  }
}

TEST_F(DeviceUpdate, AdamHasTheHostsBitsAndCountsItsSteps) {
  std::vector<TwinPart> twins = many_parts();
  std::vector<UpdatePart> parts;
  for (TwinPart& twin : twins) parts.push_back(twin.part(0));
  const double rate = 0.01;
  const Buffer rate_there(1, DType::float64, Memory::device);
  device_copy_done(&rate, rate_there.span().data, sizeof(rate));
  const Buffer progress(sizeof(AdamProgress) / sizeof(double), DType::float64, Memory::device);
  auto* const there = reinterpret_cast<AdamProgress*>(progress.span().data);
  AdamStep step{0.9, 0.999, 1e-8, 0, 0};
  for (unsigned t = 1; t <= 5; ++t) {
    adam_update(parts, step, rate_there.span().as<double>().data(), there, {});
    AdamProgress got;
    device_copy_done(there, &got, sizeof(got));
    EXPECT_EQ(got.steps, t);
    EXPECT_FLOAT_EQ(got.step_size, static_cast<float>(rate / (1 - std::pow(step.beta1, t))));
    EXPECT_FLOAT_EQ(got.bias2_root, static_cast<float>(std::sqrt(1 - std::pow(step.beta2, t))));
    step.step_size = got.step_size;
    step.bias2_root = got.bias2_root;
    for (TwinPart& twin : twins) {
      adam_update(twin.parameters.host(), twin.gradients.host(), twin.first.host(),
                  twin.second.host(), step);
    }
  }
  for (const TwinPart& twin : twins) {
    twin.parameters.expect_equal(0);
    twin.first.expect_equal(0);
    twin.second.expect_equal(0);
  }
}

}  // namespace
}  // namespace scalebench
