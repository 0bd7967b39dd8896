// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD, for tests: rank 1 never returns from making its shared memory, or ends
// there as if all were well, where SCALEBENCH_TEST_EXIT is set; where SCALEBENCH_TEST_CALL is a
// number, it never returns from the call of MPI_Waitall with that number; where
// SCALEBENCH_TEST_STOP names MPI_Init_thread or MPI_Finalize, it is stopped at the beginning of
// that call; and where SCALEBENCH_TEST_STALE names a file, its handle has gone stale, as NFS says
// after a while of one that its server does not know any more, and ranks that get to MPI_Finalize
// say so.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

bool is_rank(std::string_view wanted) {
  for (const char* const name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    const char* const rank = std::getenv(name);
    if (rank != nullptr && wanted == rank) return true;
  }
  return false;
}

bool is_stale(int descriptor) {
  const char* const stale = std::getenv("SCALEBENCH_TEST_STALE");
  if (stale == nullptr) return false;
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t size = readlink(link.c_str(), path.data(), path.size());
  const std::string_view file(path.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  static std::atomic<int> writes = 0;
  return file.ends_with(stale) && ++writes > 1;  // the head of a table still gets there
}

void stop_in(std::string_view call) {
  const char* const wanted = std::getenv("SCALEBENCH_TEST_STOP");
  if (wanted != nullptr && wanted == call && is_rank("1")) raise(SIGSTOP);
}

/// Libraries of MPI may make memory of their own, before ranks are watched.
bool is_ours(std::string_view name) { return name == "scalebench"; }

}  // namespace

extern "C" int memfd_create(const char* name, unsigned flags) noexcept {
  if (is_ours(name) && is_rank("1")) {
    if (std::getenv("SCALEBENCH_TEST_EXIT") != nullptr) {
      sleep(2);  // until its watchdog has told where it is, also on a busy machine
      std::exit(0);
    }
    while (true) pause();
  }
  return static_cast<int>(syscall(SYS_memfd_create, name, flags));
}

/// Both a list of requests and one of statuses are pointers, whatever MPI makes of their elements.
extern "C" int MPI_Waitall(int count, void* requests, void* statuses) {
  static const char* const said = std::getenv("SCALEBENCH_TEST_CALL");
  static const long wanted = said == nullptr ? 0 : std::strtol(said, nullptr, 10);
  static std::atomic<long> calls = 0;
  if (wanted > 0 && is_rank("1") && ++calls == wanted) {
    while (true) pause();
  }
  using Waitall = int (*)(int, void*, void*);
  static const auto real = reinterpret_cast<Waitall>(dlsym(RTLD_NEXT, "MPI_Waitall"));
  return real(count, requests, statuses);
}

extern "C" int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  stop_in("MPI_Init_thread");
  using Init = int (*)(int*, char***, int, int*);
  return reinterpret_cast<Init>(dlsym(RTLD_NEXT, "MPI_Init_thread"))(argc, argv, required,
                                                                     provided);
}

extern "C" int MPI_Finalize() {
  stop_in("MPI_Finalize");
  constexpr std::string_view kWords = "a rank is in MPI_Finalize\n";
  if (std::getenv("SCALEBENCH_TEST_STALE") != nullptr) {
    syscall(SYS_write, STDERR_FILENO, kWords.data(), kWords.size());
  }
  return reinterpret_cast<int (*)()>(dlsym(RTLD_NEXT, "MPI_Finalize"))();
}

extern "C" ssize_t write(int descriptor, const void* data, std::size_t bytes) {
  if (is_stale(descriptor)) {
    sleep(2);  // the other rank is at its end meanwhile
    errno = ESTALE;
    return -1;
  }
  return syscall(SYS_write, descriptor, data, bytes);
}
