// SPDX-License-Identifier: Apache-2.0
#include "collectives/shared_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "kernels/buffer.hpp"
#include "kernels/error.hpp"

namespace scalebench {

SharedSegment::SharedSegment(std::size_t bytes) : bytes_(bytes) {
  // Asked first: Linux would take memory until there is none, and then kill the process.
  if (bytes > host_bytes_available()) {
    fail("out of shared memory: {} bytes asked for, {} available", bytes, host_bytes_available());
  }
  descriptor_ = memfd_create("scalebench", MFD_CLOEXEC);
  if (descriptor_ < 0) fail("memfd_create: {}", std::strerror(errno));
  // Pages that are only promised would end the process with SIGBUS on first use.
  const int error = posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes));
  if (error != 0) {
    close_descriptor();
    fail("out of shared memory: {} bytes asked for: {}", bytes, std::strerror(error));
  }
  map();
}

SharedSegment::SharedSegment(int pid, int descriptor, std::size_t bytes) : bytes_(bytes) {
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, descriptor);
  descriptor_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor_ < 0) fail("cannot map the memory of process {}: {}", pid, std::strerror(errno));
  map();
  close_descriptor();
}

SharedSegment::~SharedSegment() {
  if (data_ != nullptr) munmap(data_, bytes_);
  close_descriptor();
}

void SharedSegment::close_descriptor() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

void SharedSegment::map() {
  // Populated: the first use of a page is no page fault in somebody's timed region.
  void* address =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor_, 0);
  if (address == MAP_FAILED) {
    const int error = errno;
    close_descriptor();
    fail("cannot map {} bytes of shared memory: {}", bytes_, std::strerror(error));
  }
  data_ = static_cast<std::byte*>(address);
}

}  // namespace scalebench
