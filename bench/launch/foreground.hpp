// SPDX-License-Identifier: Apache-2.0
// A launch in the foreground: mpirun with this process's streams and signals. What mpirun says of
// itself, pages between lines of dashes, is held back and becomes one line where no rank has
// spoken.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/launch/process.hpp"

namespace scalebench {

struct MpirunEnd {
  enum class Kind {
    of_ranks,   // they ended by themselves, and have said why
    cut_off,    // some were killed, or are lost
    not_begun,  // it could start none
  } kind = Kind::of_ranks;
  int code = 0;     // as a shell tells it
  std::string why;  // one line; empty where ranks have said it
};

/// Tells lines of mpirun's pages from those of ranks.
class MpirunPages {
 public:
  /// Whether the line is of a page, and so not for the user.
  bool take(std::string_view line);
  /// `wait_status`: how mpirun ended, of waitpid. `may_be_verdict`: ranks were asked to end with
  /// 1 for a finding, with which mpirun ends by itself too.
  MpirunEnd end(int wait_status, bool may_be_verdict) const;
  /// The lines of one that has no end yet: it is none.
  const std::string& unfinished() const { return lines_; }

 private:
  struct Page {
    std::string text;    // all of it in one line
    std::string begins;  // its first paragraph, and the next one where that is announced
  };
  void close();

  bool inside_ = false;
  std::string lines_;
  std::vector<Page> pages_;
};

/// Runs Open MPI's mpirun until it ends. `say` gets what the ranks say on stderr, as it comes.
/// Signals that are sent to this process alone reach mpirun too.
MpirunEnd run_in_foreground(const std::vector<std::string>& command, const Variables& environment,
                            const std::function<void(std::string_view)>& say);

}  // namespace scalebench
