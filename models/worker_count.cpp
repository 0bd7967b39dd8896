// SPDX-License-Identifier: Apache-2.0
#include "models/worker_count.hpp"

#include "kernels/error.hpp"

namespace scalebench {

int worker_count(std::string_view gradient_sync, const GradientSyncOptions& options, int ranks) {
  if (gradient_sync == "tpu") {
    fail<UsageError>(
        "gradient sync tpu: there is no TPU runtime for C++ to run on; on GPUs use mirrored");
  }
  if (gradient_sync == "ps_sync" || gradient_sync == "ps_async") {
    if (ranks < 2) {
      fail<UsageError>("gradient sync {} needs a server and a worker: at least 2 ranks, not {}",
                       gradient_sync, ranks);
    }
    if (options.servers < 1 || options.servers >= ranks) {
      fail<UsageError>("{} servers among {} ranks leave no worker; expected 1 to {}",
                       options.servers, ranks, ranks - 1);
    }
    return ranks - options.servers;
  }
  // All ranks work on the same images, each on its part of the network.
  if (gradient_sync == "model_split") return 1;
  return ranks;
}

}  // namespace scalebench
