// SPDX-License-Identifier: Apache-2.0
// Recordings that fail at each of their places, on a graph and an allocator that keep the rules of
// LibTorch's: what they are left in, and which error is said.
#include "models/torch/capture.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace scalebench {
namespace {

enum class Fails : std::uint8_t { nowhere, begin, between, begin_late, work, end, instantiation };

/// As an allocator of LibTorch's for one pool.
struct FakePool {
  bool allocating = false;
  int users = 0;

  void begin() {
    allocating = true;
    ++users;
  }
  void stop() {
    if (!allocating) throw std::runtime_error("not currently recording to mempool_id");
    allocating = false;
  }
  void release() { --users; }
};

/// As at::cuda::CUDAGraph, whose destructor releases the pools where capture_end() came so far.
struct FakeGraph {
  FakeGraph(FakePool& of_device, FakePool& of_host, Fails where)
      : device(of_device), host(of_host), fails(where) {}
  ~FakeGraph() {
    if (!ended) return;
    device.release();
    host.release();
  }
  FakeGraph(const FakeGraph&) = delete;
  FakeGraph& operator=(const FakeGraph&) = delete;

  void begin() {
    if (fails == Fails::begin) throw std::runtime_error("begin");
    device.begin();
    if (fails == Fails::between) throw std::runtime_error("between");
    host.begin();
    if (fails == Fails::begin_late) throw std::runtime_error("begin late");
    recording = true;
  }
  void end() {
    if (!recording) throw std::runtime_error("the stream is not recording");
    recording = false;
    if (fails == Fails::end) throw std::runtime_error("end");
    device.stop();
    host.stop();
    ended = true;
    if (fails == Fails::instantiation) throw std::runtime_error("instantiation");
  }
  void forget_failure() { ++forgotten; }

  FakePool& device;
  FakePool& host;
  Fails fails;
  bool recording = false, ended = false;
  int forgotten = 0;
};

/// What is said, after which nothing of the recording is left.
std::string said(Fails where) {
  FakePool device, host;
  std::string text;
  {
    FakeGraph graph(device, host, where);
    const auto work = [where] {
      if (where == Fails::work) throw std::runtime_error("work");
    };
    try {
      capture(graph, work, device, host);
    } catch (const std::exception& error) {
      text = error.what();
    }
    EXPECT_FALSE(graph.recording);
    EXPECT_FALSE(device.allocating);
    EXPECT_FALSE(host.allocating);
    EXPECT_EQ(graph.forgotten > 0, where != Fails::nowhere && where != Fails::work);
  }
  EXPECT_EQ(device.users, 0) << "released once, by whoever has to";
  EXPECT_EQ(host.users, 0);
  return text;
}

TEST(Capture, SaysWhatFailedFirstAndLeavesNothingBehind) {
  EXPECT_EQ(said(Fails::nowhere), "");
  EXPECT_EQ(said(Fails::begin), "begin");
  EXPECT_EQ(said(Fails::between), "between");
  EXPECT_EQ(said(Fails::begin_late), "begin late");
  EXPECT_EQ(said(Fails::work), "work");
  EXPECT_EQ(said(Fails::end), "end");
  EXPECT_EQ(said(Fails::instantiation), "instantiation");
}

}  // namespace
}  // namespace scalebench
