// SPDX-License-Identifier: Apache-2.0
// A named stretch of this thread's time for profilers (NVTX, domain "scalebench"; `nsys profile
// --trace cuda,nvtx`). Without a profiler it costs a few nanoseconds, in a build without CUDA
// nothing.
#pragma once

namespace scalebench {

class ProfilerRange {
 public:
  /// `name` ends with a zero and is copied by the profiler.
  explicit ProfilerRange(const char* name);
  /// On the thread that made it; ranges of a thread end in the reverse order.
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;
};

}  // namespace scalebench
