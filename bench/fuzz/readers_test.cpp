// SPDX-License-Identifier: Apache-2.0
// Every reader over its corpus (real examples, and every fault that was ever found) and over some
// thousand mutations of it: the same ones with every compiler and on every machine, so that what is
// found here is found again.
#include "bench/fuzz/readers.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/error.hpp"
#include "models/data/sampler.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

// Of all files of a corpus together. Under the address sanitizer each takes ten times as long, and
// scripts/fuzz has that sanitizer, too.
#ifdef __SANITIZE_ADDRESS__
constexpr int kMutations = 300;
#else
constexpr int kMutations = 2'000;
#endif

struct Sample {
  std::string file;
  std::string bytes;
};

std::vector<Sample> corpus_of(std::string_view reader) {
  std::vector<Sample> corpus;
  for (const auto& entry : fs::directory_iterator(fs::path(SCALEBENCH_CORPUS) / reader)) {
    std::ifstream in(entry.path(), std::ios::binary);
    corpus.push_back({entry.path().filename().string(), {std::istreambuf_iterator<char>(in), {}}});
  }
  std::ranges::sort(corpus, {}, &Sample::file);  // a folder has no order
  return corpus;
}

/// Changes bytes as files break, and as those would who want a reader to break.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  /// `from` after one to four changes, some of which take parts of `other`.
  std::string mutated(std::string from, const std::string& other) {
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) change(from, other);
    return from;
  }

 private:
  std::size_t below(std::size_t bound) {
    return bound == 0 ? 0 : static_cast<std::size_t>(random_.next() % bound);
  }

  void change(std::string& bytes, const std::string& other) {
    const std::size_t at = below(bytes.size() + 1);
    const std::size_t length = below(std::min<std::size_t>(64, bytes.size() - at) + 1);
    switch (below(9)) {
      case 0:
        bytes.resize(at);
        break;
      case 1:
        bytes.erase(at, length);
        break;
      case 2:
        bytes.insert(below(bytes.size() + 1), bytes.substr(at, length));
        break;
      case 3:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 4:
        if (at < bytes.size()) bytes[at] = static_cast<char>(below(256));
        break;
      case 5:
        bytes.insert(at, one_of(kOdd));
        break;
      case 6:
        put_number(bytes, at);
        break;
      case 7:
        bytes = bytes.substr(0, at) + other.substr(below(other.size() + 1));
        break;
      default:
        if (below(16) == 0) nest(bytes, at);
    }
  }

  static constexpr std::array kOdd{"\n", "\r\n", "\t", "\v", " ", ",",  "\"", "'",    "[",   "]",
                                   "{",  "}",    "=",  ":",  "-", "\\", "#",  "\xff", "\x80"};
  static constexpr std::array kNumbers{"0",
                                       "-1",
                                       "1e300",
                                       "-1e300",
                                       "nan",
                                       "inf",
                                       "1e-320",
                                       "2147483647",
                                       "2147483648",
                                       "4294967296",
                                       "4611686018427387903",
                                       "9223372036854775807",
                                       "18446744073709551615",
                                       "99999999999999999999999"};

  const char* one_of(const auto& words) { return words[below(words.size())]; }

  /// In place of the first digits from `at` on.
  void put_number(std::string& bytes, std::size_t at) {
    constexpr const char* kDigits = "0123456789";
    const std::size_t first = std::min(bytes.find_first_of(kDigits, at), bytes.size());
    const std::size_t end = std::min(bytes.find_first_not_of(kDigits, first), bytes.size());
    bytes.replace(first, end - first, one_of(kNumbers));
  }

  /// In place of the value behind the first ':' from `at` on: deeper than a stack.
  static void nest(std::string& bytes, std::size_t at) {
    constexpr std::size_t kDeep = 100'000;
    const std::size_t first = std::min(bytes.find(':', at), bytes.size() - !bytes.empty());
    const std::size_t end = std::min(bytes.find_first_of(",}", first), bytes.size());
    const std::size_t begin = std::min(first + 1, end);
    bytes.replace(begin, end - begin, std::string(kDeep, '[') + std::string(kDeep, ']'));
  }

  SplitMix random_;
};

/// Printable, and no more of it than fits on a screen.
std::string shown(std::string_view bytes) {
  constexpr std::size_t kMost = 800;
  std::string text;
  for (const char c : bytes.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte < 0x20 || byte >= 0x7f || c == '\\' ? fmt::format("\\x{:02x}", byte)
                                                     : std::string(1, c);
  }
  return bytes.size() > kMost ? fmt::format("{}... ({} bytes)", text, bytes.size()) : text;
}

class EveryReader : public testing::TestWithParam<Reader> {};

TEST_P(EveryReader, ReturnsOrRefusesWhateverItReads) {
  const std::vector<Sample> corpus = corpus_of(GetParam().name);
  ASSERT_FALSE(corpus.empty());
  for (const Sample& sample : corpus) {
    EXPECT_EQ(fault_of(GetParam(), sample.bytes), "") << sample.file;
  }
  Mutator mutator(1);
  for (int i = 0; i < kMutations; ++i) {
    const auto place = static_cast<std::size_t>(i);
    const Sample& sample = corpus[place % corpus.size()];
    const std::string bytes = mutator.mutated(
        sample.bytes, corpus[(place + place / corpus.size()) % corpus.size()].bytes);
    ASSERT_EQ(fault_of(GetParam(), bytes), "")
        << "mutation " << i << ", of " << sample.file << ": " << shown(bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, EveryReader, testing::ValuesIn(readers().begin(), readers().end()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(Fuzz, EachReaderHasACorpusAndEachCorpusAReader) {
  std::vector<std::string> folders, names;
  for (const auto& entry : fs::directory_iterator(SCALEBENCH_CORPUS)) {
    folders.push_back(entry.path().filename().string());
  }
  for (const Reader& reader : readers()) names.emplace_back(reader.name);
  EXPECT_THAT(folders, testing::UnorderedElementsAreArray(names));
}

/// Changes of what is refused at once show little.
TEST(Fuzz, EachCorpusHasFilesThatAreRead) {
  for (const Reader& reader : readers()) {
    int good = 0;
    for (const Sample& sample : corpus_of(reader.name)) {
      if (!sample.file.starts_with("good")) continue;
      ++good;
      EXPECT_NO_THROW(reader.read(sample.bytes)) << reader.name << "/" << sample.file;
    }
    EXPECT_GT(good, 0) << reader.name;
  }
}

TEST(Fuzz, AFaultIsWhateverIsNoRefusal) {
  const auto fault = [](void (*read)(std::string_view)) {
    return fault_of({"made_up", "nothing", read}, "bytes");
  };
  EXPECT_EQ(fault([](std::string_view) {}), "");
  EXPECT_EQ(fault([](std::string_view) { throw UsageError("line 1: why"); }), "");
  EXPECT_THAT(fault([](std::string_view) { throw std::out_of_range("at"); }),
              testing::HasSubstr("std::out_of_range: at"));
  EXPECT_NE(fault([](std::string_view) { throw Error(""); }), "");
  EXPECT_NE(fault([](std::string_view) { throw 1; }), "");
}

}  // namespace
}  // namespace scalebench
