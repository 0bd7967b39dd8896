// SPDX-License-Identifier: Apache-2.0
#include "models/gradients/progress_thread.hpp"

#include <utility>

namespace scalebench {

ProgressThread::ProgressThread(std::function<void()> begin) {
  if (begin) work_.push_back(std::move(begin));
  thread_ = std::thread([this] { run(); });
}

ProgressThread::~ProgressThread() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  posted_.notify_one();
  thread_.join();
}

void ProgressThread::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    // After a failure the other ranks are not met again.
    if (error_) return;
    work_.push_back(std::move(work));
  }
  posted_.notify_one();
}

void ProgressThread::wait() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return work_.empty(); });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ProgressThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    posted_.wait(lock, [this] { return leaving_ || !work_.empty(); });
    if (work_.empty()) return;
    const auto& next = work_.front();  // a deque keeps it in place while others are added
    lock.unlock();
    std::exception_ptr error;
    try {
      next();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error) {
      error_ = error;
      work_.clear();
    } else {
      work_.pop_front();
    }
    if (work_.empty()) done_.notify_all();
  }
}

}  // namespace scalebench
