// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/nightly_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "bench/record/file.hpp"
#include "bench/record/utc_time.hpp"
#include "kernels/error.hpp"

namespace scalebench {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

NightlyLock::NightlyLock(const std::filesystem::path& results) {
  std::error_code ignored;  // opening the file says what is wrong
  std::filesystem::create_directories(results, ignored);
  const std::filesystem::path path = results / ".nightly.lock";
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    fail<UsageError>("cannot write '{}': {}; choose another folder with --results", path.string(),
                     std::strerror(errno));
  }
  held_ = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
  if (!held_ && errno != EWOULDBLOCK) {
    const int reason = errno;
    ::close(descriptor_);
    fail<UsageError>("cannot lock '{}': {}; choose a folder on a local disk with --results",
                     path.string(), std::strerror(reason));
  }
  if (!held_) {
    holder_ = read_file(path);
    while (holder_.ends_with('\n')) holder_.pop_back();
    return;
  }
  const std::string text =
      fmt::format("pid {} on {} since {}\n", ::getpid(), host_name(), utc_label());
  if (::ftruncate(descriptor_, 0) != 0 ||
      ::write(descriptor_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    fail<UsageError>("cannot write '{}': {}", path.string(), std::strerror(errno));
  }
}

NightlyLock::~NightlyLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace scalebench
