// SPDX-License-Identifier: Apache-2.0
// What the suite needs to know of accelerators, without a CUDA header: count, name, choice,
// streams, events and graphs. In a build without CUDA there are zero devices and every other call
// throws Unavailable, so that callers need no #ifdef.
#pragma once

#include <cstddef>
#include <string>

namespace scalebench {

/// Devices this process can see: 0 without CUDA, without a driver or without a card.
int device_count();
/// Empty when device_count() > 0, else one line that says why there is none.
std::string why_no_device();
/// Marketing name and UUID of device `index`.
std::string device_name(int index);
std::string device_uuid(int index);
void select_device(int index);

/// Versions as "13.0"; empty when not in the build (or, for the driver, not on the machine).
std::string cuda_build_version();
std::string cuda_driver_version();

/// An ordered queue of device work; a cudaStream_t. The default-constructed one is the legacy
/// default stream, which LibTorch also uses.
struct DeviceStream {
  void* handle = nullptr;
};

/// Raw memory on the selected device. Throws Error with bytes asked and free when there is not
/// enough.
void* device_allocate(std::size_t bytes);
void device_free(void* pointer) noexcept;
/// The driver's copy within a device, enqueued; a capture takes it.
void device_copy(const void* from, void* to, std::size_t bytes, DeviceStream stream);
/// Between any two memories, in order on `stream`, which is done on return.
void device_copy_done(const void* from, void* to, std::size_t bytes, DeviceStream stream = {});
void device_zero(void* pointer, std::size_t bytes);
void device_synchronize();

/// Owns a non-blocking stream.
class OwnedStream {
 public:
  OwnedStream();
  ~OwnedStream();
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  DeviceStream get() const { return stream_; }
  void synchronize() const;

 private:
  DeviceStream stream_;
};

/// A point in a stream's time; seconds between two of them once both have passed.
class DeviceEvent {
 public:
  DeviceEvent();
  ~DeviceEvent();
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;
  void record(DeviceStream stream = {});
  void synchronize() const;
  /// What is enqueued on `stream` from now on waits for this point; the host does not.
  void hold(DeviceStream stream) const;
  double seconds_since(const DeviceEvent& earlier) const;

 private:
  void* handle_ = nullptr;
};

/// Device work that is recorded once from a stream and then replayed as a whole, without the cost
/// of launching its kernels one by one. Between begin_capture() and end_capture() the work is
/// recorded and not run: this thread must then neither wait for the stream nor allocate.
class DeviceGraph {
 public:
  DeviceGraph() = default;
  /// Also ends a capture that an exception has cut short.
  ~DeviceGraph();
  DeviceGraph(const DeviceGraph&) = delete;
  DeviceGraph& operator=(const DeviceGraph&) = delete;

  /// `stream` is not the default one. What was recorded before is dropped. Throws Error when a
  /// capture is under way.
  void begin_capture(DeviceStream stream);
  /// Throws Error when something was enqueued that cannot be recorded.
  void end_capture();
  /// Enqueues the recorded work. Throws Error before the first end_capture().
  void launch(DeviceStream stream) const;

 private:
  DeviceStream captured_;       // while a capture is under way
  void* executable_ = nullptr;  // a cudaGraphExec_t
};

// A named stretch of this thread's time for profilers (NVTX, domain "scalebench"; `nsys profile
// --trace cuda,nvtx`). Without a profiler it costs a few nanoseconds, in a build without CUDA
// nothing.

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
