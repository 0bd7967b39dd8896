// SPDX-License-Identifier: Apache-2.0
#include "kernels/buffer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;

/// Whether the mapping that holds this address was advised to be of huge pages: whether they came
/// depends on how much memory is free in one piece.
bool asks_for_huge_pages(const std::byte* address) {
  std::ifstream smaps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  bool here = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      here = begin <= wanted && wanted < end;
    } else if (here && line.starts_with("VmFlags:")) {
      return line.find(" hg") != std::string::npos;
    }
  }
  return false;
}

TEST(Buffer, IsZeroedAndPageAligned) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{4097}, std::size_t{3} << 20U}) {
    const Buffer buffer(count, DType::float64);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.span().data) % 4096, 0U);
    EXPECT_EQ(buffer.bytes(), count * 8);
    const auto values = buffer.span().as<double>();
    EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](double v) { return v == 0; }));
  }
}

TEST(Buffer, LiesInThePagesThatWereAskedFor) {
  constexpr std::size_t kCount = 4 * kHugePageBytes / sizeof(double);
  const Buffer huge(kCount, DType::float64, Memory::host, Pages::huge);
  const Buffer standard(kCount, DType::float64, Memory::host, Pages::standard);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(huge.span().data) % kHugePageBytes, 0U);
  const auto share = huge_page_share(huge.span());
  ASSERT_TRUE(share.has_value());
  EXPECT_GE(*share, 0);
  EXPECT_LE(*share, 1);
  EXPECT_TRUE(asks_for_huge_pages(huge.span().data));
  EXPECT_FALSE(asks_for_huge_pages(standard.span().data));
  if (!why_no_huge_pages(false).empty()) {
    EXPECT_EQ(*share, 0);
  }
  // Where the system gives them to everybody, standard pages are huge, too.
  std::ifstream enabled("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::string words{std::istreambuf_iterator<char>(enabled), {}};
  if (words.find("[always]") == std::string::npos) {
    EXPECT_EQ(huge_page_share(standard.span()), 0.0);
  }
}

TEST(HugePageShare, IsUnknownWhereThereIsNothingToTell) {
  EXPECT_EQ(huge_page_share({}), std::nullopt);
  double number = 0;
  EXPECT_EQ(huge_page_share(span_of(std::span(&number, 1))), 0.0) << "the stack has none";
  EXPECT_EQ(huge_page_share({nullptr, 4096, DType::float32, Memory::device}), std::nullopt);
}

TEST(Buffer, MayBeEmpty) {
  EXPECT_TRUE(Buffer().span().empty());
  EXPECT_EQ(Buffer(0, DType::float16).bytes(), 0U);
}

TEST(Buffer, Moves) {
  Buffer first(10, DType::int32);
  first.span().as<std::int32_t>()[9] = 42;
  Buffer second(std::move(first));
  Buffer third(5, DType::float64);
  third = std::move(second);
  EXPECT_EQ(third.span().as<std::int32_t>()[9], 42);
  EXPECT_EQ(third.span().count, 10U);
}

TEST(Buffer, SaysWhatItCouldNotGet) {
  try {
    const Buffer buffer(std::size_t{1} << 50U, DType::float32);
    FAIL() << "4 PiB were handed out";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("4503599627370496 bytes asked for"));
    EXPECT_THAT(error.what(), HasSubstr("available"));
  }
  EXPECT_THROW(Buffer(std::numeric_limits<std::size_t>::max() / 2, DType::float64), Error);
}

TEST(Buffer, OnADeviceNeedsOne) {
  if (device_count() > 0) GTEST_SKIP() << "there is a device";
  EXPECT_FALSE(why_no_device().empty());
  EXPECT_THROW(Buffer(1, DType::float32, Memory::device), Error);
}

TEST(Copy, CopiesAndRefuses) {
  const Buffer from(100, DType::int32);
  const Buffer to(100, DType::int32);
  from.span().as<std::int32_t>()[99] = 7;
  copy(from.span(), to.span());
  EXPECT_EQ(to.span().as<std::int32_t>()[99], 7);
  EXPECT_THROW(copy(from.span().part(0, 99), to.span()), Error);
  EXPECT_THROW(copy(Buffer(100, DType::float32).span(), to.span()), Error);
}

}  // namespace
}  // namespace scalebench
