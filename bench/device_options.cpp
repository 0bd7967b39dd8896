// SPDX-License-Identifier: Apache-2.0
#include "bench/device_options.hpp"

#include <CLI/CLI.hpp>

#include "bench/cli/choices.hpp"
#include "bench/cli/command_line.hpp"
#include "bench/device_choice.hpp"
#include "kernels/error.hpp"

namespace scalebench {

std::string DeviceOptions::typed() const {
  return named.empty() ? "--device " + device : "--devices " + named;
}

void add_device_options(CLI::App& app, DeviceOptions& options) {
  offer(app.add_option("--device", options.device,
                       "auto, cpu, or cuda (one device per rank of a host)")
            ->capture_default_str(),
        kDevices);
  app.add_option("--devices", options.named,
                 "the devices that the ranks of a host take, in their order, such as 0,2, or "
                 "UUIDs; default: all");
  app.add_flag("--share-devices", options.share,
               "several ranks may share a device where there are too few; rows are then emulated");
  app.add_flag("--nccl-share-devices", options.nccl_share,
               "with --share-devices: tell NCCL (2.30.3 or later, experimental) to take them");
}

void check_device_options(const DeviceOptions& options) {
  require_known("device", options.device, kDevices);
  parse_devices(options.named);
  if (options.device == "cpu" && (!options.named.empty() || options.share)) {
    fail<UsageError>("{} is about CUDA devices, and --device cpu asks for none",
                     options.named.empty() ? "--share-devices" : options.typed());
  }
  if (options.nccl_share && !options.share) {
    fail<UsageError>("--nccl-share-devices: add --share-devices, which lets ranks share one");
  }
}

}  // namespace scalebench
