// SPDX-License-Identifier: Apache-2.0
// A thread that does what it is given, in order, while the thread of the backward pass goes on. It
// sleeps while there is nothing to do, so that it takes no core from the computation.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace scalebench {

class ProgressThread {
 public:
  /// `begin` runs first on the thread: to select a device, say. What it throws, wait() throws.
  explicit ProgressThread(std::function<void()> begin = {});
  /// Ends what was posted, then joins. Exceptions that nobody waited for are lost.
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  void post(std::function<void()> work);

  /// Returns when all that was posted is done. Throws the first exception since the last call;
  /// what was posted behind its cause has been dropped.
  void wait();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable posted_;
  std::condition_variable done_;
  std::deque<std::function<void()>> work_;  // its front stays until it is done
  std::exception_ptr error_;
  bool leaving_ = false;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace scalebench
