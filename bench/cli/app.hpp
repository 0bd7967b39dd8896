// SPDX-License-Identifier: Apache-2.0
// CLI11's App by name, for headers: its own header costs every file that includes it three seconds.
#pragma once

namespace CLI {
class App;
}  // namespace CLI
