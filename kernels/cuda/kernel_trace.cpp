// SPDX-License-Identifier: Apache-2.0
// What CUDA runs, launch by launch, by NVIDIA's CUPTI: a library that the driver loads into any
// program by itself (CUDA_INJECTION64_PATH). At the program's end a line for each kernel, copy and
// fill goes to the file SCALEBENCH_KERNEL_TRACE.PROCESS, as ranks are processes: begin and end in
// ns, node of a CUDA graph or 0, name. scripts/kernel_times sets both and adds the lines up.
#include <cupti.h>
#include <cxxabi.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

constexpr std::size_t kBufferBytes = std::size_t{8} << 20U;
constexpr std::align_val_t kAlignment{8};  // what CUPTI asks for

struct Record {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t node;
  const std::string* name;
};

/// Never destroyed: CUPTI may hand over a buffer while the program ends.
struct Trace {
  std::mutex mutex;
  std::unordered_map<std::string, std::string>
      names;  // as a program has them, and as they are read
  std::vector<Record> records;
  const pid_t process = getpid();

  const std::string* named(const char* name) {
    const auto [found, is_new] = names.try_emplace(name);
    if (is_new) {
      int status = 0;
      const std::unique_ptr<char, decltype(&std::free)> readable(
          abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
      found->second = status == 0 ? readable.get() : name;
    }
    return &found->second;
  }
};

Trace& trace() {
  static Trace* const only = new Trace;
  return *only;
}

template <class Activity>
void add(const Activity& activity, const char* name) {
  trace().records.push_back(
      {activity.start, activity.end, activity.graphNodeId, trace().named(name)});
}

void give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(operator new(kBufferBytes, kAlignment, std::nothrow));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}

void take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  const std::lock_guard lock(trace().mutex);
  CUpti_Activity* activity = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &activity) == CUPTI_SUCCESS) {
    if (activity->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel10*>(activity);
      add(kernel, kernel.name);
    } else if (activity->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
      add(*reinterpret_cast<const CUpti_ActivityMemcpy6*>(activity), "copy");
    } else if (activity->kind == CUPTI_ACTIVITY_KIND_MEMCPY2) {
      add(*reinterpret_cast<const CUpti_ActivityMemcpyPtoP4*>(activity), "copy between cards");
    } else if (activity->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
      add(*reinterpret_cast<const CUpti_ActivityMemset4*>(activity), "fill");
    }
  }
  operator delete(buffer, kAlignment);
}

void write_all() {
  if (getpid() != trace().process) return;  // a fork, which has the records of the other
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const char* const path = std::getenv("SCALEBENCH_KERNEL_TRACE");
  if (path == nullptr) return;
  const std::string own = std::string(path) + "." + std::to_string(getpid());
  std::FILE* const file = std::fopen(own.c_str(), "w");
  if (file == nullptr) return;
  const std::lock_guard lock(trace().mutex);
  for (const Record& record : trace().records) {
    std::fprintf(file, "%llu\t%llu\t%llu\t%s\n", static_cast<unsigned long long>(record.begin),
                 static_cast<unsigned long long>(record.end),
                 static_cast<unsigned long long>(record.node), record.name->c_str());
  }
  std::fclose(file);
}

}  // namespace

/// Called by the driver; 1: go on.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  trace();
  bool good = cuptiActivityRegisterCallbacks(&give_buffer, &take_buffer) == CUPTI_SUCCESS;
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
        CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET}) {
    good = good && cuptiActivityEnable(kind) == CUPTI_SUCCESS;
  }
  if (!good) std::fputs("kernel_trace: CUPTI cannot watch this program\n", stderr);
  std::atexit(&write_all);
  return 1;
}
