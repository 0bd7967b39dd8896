// SPDX-License-Identifier: Apache-2.0
// A recording that fails leaves the process usable: the stream is not left recording, nor an
// allocator with a pool that nobody empties. Knows nothing of CUDA, so that its order can be tested
// without.
#pragma once

#include <exception>

namespace scalebench {

/// Ends a recording that failed somewhere. Throws nothing of what these throw: what went wrong
/// first is what is to be said.
template <class Graph, class... Pools>
void give_up(Graph& graph, Pools&... pools) {
  try {
    graph.end();
    return;
  } catch (const std::exception&) {
    graph.forget_failure();
  }
  const auto give_back = [&graph](auto& pool) {
    try {
      // LibTorch's capture_end() may have come past this before it failed; then this throws, and
      // the graph gives the pool back itself, which nobody may do twice.
      pool.stop();
      pool.release();
    } catch (const std::exception&) {
      graph.forget_failure();
    }
  };
  (give_back(pools), ...);
}

/// Records what `work` enqueues: graph.begin(), work(), graph.end(). Whatever one of them throws is
/// thrown once the recording was given up. pool.stop(): allocations are no longer the recording's,
/// which throws when none are; pool.release(): its memory is given back. graph.forget_failure()
/// throws nothing.
template <class Graph, class Work, class... Pools>
void capture(Graph& graph, const Work& work, Pools&... pools) {
  try {
    graph.begin();
    work();
    graph.end();
  } catch (...) {
    give_up(graph, pools...);
    throw;
  }
}

}  // namespace scalebench
