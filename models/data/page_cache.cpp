// SPDX-License-Identifier: Apache-2.0
#include "models/data/page_cache.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& file)
      : name_(file.string()), descriptor_(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) fail("{}: cannot open: {}", name_, std::strerror(errno));
  }
  ~OpenFile() { close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const std::string& name() const { return name_; }
  int get() const { return descriptor_; }

 private:
  std::string name_;
  int descriptor_;
};

}  // namespace

void drop_from_page_cache(const std::filesystem::path& file) {
  const OpenFile open(file);
  // Dirty pages cannot be dropped. Both calls only ask: residency_of says what came of it.
  fdatasync(open.get());
  posix_fadvise(open.get(), 0, 0, POSIX_FADV_DONTNEED);
}

void read_into_page_cache(const std::filesystem::path& file) {
  const OpenFile open(file);
  std::vector<char> chunk(std::size_t{1} << 20U);
  ssize_t got = 0;
  do {
    got = read(open.get(), chunk.data(), chunk.size());
    if (got < 0 && errno != EINTR) fail("{}: cannot read: {}", open.name(), std::strerror(errno));
  } while (got != 0);
}

Residency& Residency::operator+=(const Residency& other) {
  pages += other.pages;
  resident += other.resident;
  unknown_files += other.unknown_files;
  return *this;
}

Residency residency_of(const std::filesystem::path& file) {
  const OpenFile open(file);
  struct stat about {};
  if (fstat(open.get(), &about) != 0) {
    fail("{}: cannot stat: {}", open.name(), std::strerror(errno));
  }
  if (about.st_size == 0) return {};
  // To others mincore reports every page as resident (Linux since 5.2).
  if (about.st_uid != geteuid() && access(file.c_str(), W_OK) != 0) return {0, 0, 1};
  const auto size = static_cast<std::size_t>(about.st_size);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, open.get(), 0);
  if (mapped == MAP_FAILED) return {0, 0, 1};
  std::vector<unsigned char> in_memory((size + page - 1) / page);
  const bool told = mincore(mapped, size, in_memory.data()) == 0;
  munmap(mapped, size);
  if (!told) return {0, 0, 1};
  return {static_cast<std::int64_t>(in_memory.size()),
          std::count_if(in_memory.begin(), in_memory.end(),
                        [](unsigned char flags) { return (flags & 1U) != 0; }),
          0};
}

}  // namespace scalebench
