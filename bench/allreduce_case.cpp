// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce_case.hpp"

#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "collectives/allreduce_check.hpp"
#include "collectives/control.hpp"
#include "kernels/buffer.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// Bytes that surely displace what the last-level cache holds.
std::size_t cold_bytes(Memory memory) {
  constexpr std::size_t kDeviceCache = std::size_t{128} << 20U;  // above any card's L2 today
  constexpr std::size_t kUnknownHostCache = std::size_t{64} << 20U;
  if (memory == Memory::device) return 4 * kDeviceCache;
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return 4 * (cache > 0 ? static_cast<std::size_t>(cache) : kUnknownHostCache);
}

/// The buffers of one case: one, or enough to walk through cold memory, each page-aligned.
class Rotation {
 public:
  Rotation(const AllreduceCase& one, Memory memory, bool cold) {
    constexpr std::size_t kPage = 4096;
    const std::size_t stride = (std::max(one.bytes(), std::size_t{1}) + kPage - 1) / kPage * kPage;
    slots_ = cold ? std::max<std::size_t>(1, (cold_bytes(memory) + stride - 1) / stride) : 1;
    // Zeros stay zeros however often they are summed in place, where other values would overflow.
    buffer_ = Buffer(slots_ * stride / size_of(one.dtype), one.dtype, memory);
    stride_ = stride / size_of(one.dtype);
    count_ = one.count;
  }
  void next() { slot_ = (slot_ + 1) % slots_; }
  Span current() const { return buffer_.span().part(slot_ * stride_, count_); }

 private:
  Buffer buffer_;
  std::size_t slots_ = 1;
  std::size_t stride_ = 0;
  std::size_t count_ = 0;
  std::size_t slot_ = 0;
};

/// Runs the case once on inputs whose sum is known; returns wrong elements over all ranks.
std::size_t check(Communicator& data, Communicator& host, const AllreduceCase& one, Span buffer) {
  const Buffer staging(one.count, one.dtype);
  fill_inputs(staging.span(), data.rank(), data.size(), ReduceOp::sum);
  copy(staging.span(), buffer);
  one.algorithm->run(data, buffer, buffer, ReduceOp::sum);
  data.wait();
  poison(staging.span());
  copy(buffer, staging.span());
  const auto mine = static_cast<double>(count_wrong(staging.span(), data.size(), ReduceOp::sum));
  const std::vector<double> all = all_gather(host, mine);
  with_type(one.dtype, [&]<class T>() { std::ranges::fill(staging.span().as<T>(), T(0)); });
  copy(staging.span(), buffer);
  return static_cast<std::size_t>(std::accumulate(all.begin(), all.end(), 0.0));
}

}  // namespace

void require_memory(std::size_t largest_bytes, int ranks_on_host, bool cold) {
  // The rotation, the staging copy of the check, and an algorithm's scratch of up to one buffer.
  const double rotation =
      cold ? static_cast<double>(std::max(largest_bytes, cold_bytes(Memory::host)))
           : static_cast<double>(largest_bytes);
  const double needed = (rotation + 2 * static_cast<double>(largest_bytes)) * ranks_on_host;
  const double free =
      static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed <= free) return;
  fail<UsageError>(
      "a buffer of {} bytes needs {:.0f} bytes for {} rank(s) on this host, {:.0f} are free; "
      "use a smaller -e",
      largest_bytes, needed, ranks_on_host, free);
}

AllreduceResult measure_allreduce(Communicator& data, Communicator& host, const AllreduceCase& one,
                                  const AllreduceMethod& method) {
  AllreduceResult result;
  try {
    Rotation rotation(one, data.memory(), method.cold);
    if (method.check) result.wrong = check(data, host, one, rotation.current());
    if (result.wrong == 0) {
      StopRule stop = StopRule::for_bytes(one.bytes());
      stop.fixed = method.repetitions;
      stop.at_most_seconds = method.stop_seconds;
      const auto operation = [&] {
        one.algorithm->run(data, rotation.current(), rotation.current(), ReduceOp::sum);
        data.wait();
      };
      result.timing = time_collective(
          host, [&] { rotation.next(); }, operation, method.warm_up, stop, method.start);
      if (method.check) result.wrong = check(data, host, one, rotation.current());
    }
  } catch (const Unavailable& reason) {
    // Every rank meets it at the same place, before any message of this case.
    return {"skipped", reason.what(), 0, {}};
  }
  if (result.wrong > 0) {
    return {"wrong",
            fmt::format("{} elements differ from the exact sum", result.wrong),
            result.wrong,
            {}};
  }
  return result;
}

}  // namespace scalebench
