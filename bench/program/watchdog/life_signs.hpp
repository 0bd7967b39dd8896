// SPDX-License-Identifier: Apache-2.0
// Whether this process does something, as far as the system can tell: a rank that builds a model
// for minutes cannot mark its progress, and is to be told from one whose library never returns.
#pragma once

namespace scalebench {

class LifeSigns {
 public:
  /// Since the last call: a twentieth of the time on a processor, which is more than a watchdog
  /// needs itself, or blocks of a file that came from a disk or go there.
  bool any();

 private:
  double computed_ = 0;  // seconds, of all threads
  double looked_ = 0;
  long blocks_ = 0;
};

}  // namespace scalebench
