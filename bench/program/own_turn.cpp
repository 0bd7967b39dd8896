// SPDX-License-Identifier: Apache-2.0
#include "bench/program/own_turn.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <string>

#include "bench/launch/turns.hpp"
#include "bench/machine/descriptor.hpp"
#include "bench/measure/clock.hpp"

namespace scalebench {
namespace {

/// This rank's ends of the pipes, until its process ends; not open where nobody takes turns.
struct OwnTurn {
  Descriptor its, others, ready;
  bool is_first = true;

  OwnTurn() {
    const char* const files = std::getenv(kTurnsVariable);
    std::istringstream names(files == nullptr ? "" : files);
    std::string its_file, others_file, ready_file;
    if (!(names >> its_file >> others_file >> ready_file)) return;
    its = Descriptor(open(its_file.c_str(), O_RDONLY | O_CLOEXEC));
    others = Descriptor(open(others_file.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    ready = Descriptor(open(ready_file.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  }

  /// Of all ranks at once. Whether there are turns to be taken any more.
  bool pass_on_and_wait(const Ranks& ranks) {
    if (ranks.first()) {
      const std::string one_each(is_first ? 1 : ranks.session.size(), '.');
      const int to = (is_first ? ready : others).number();
      static_cast<void>(!write(to, one_each.data(), one_each.size()));
    }
    is_first = false;
    char turn = 0;
    ssize_t size = 0;
    while ((size = read(its.number(), &turn, 1)) < 0 && errno == EINTR) {
    }
    return size == 1;
  }
};

OwnTurn& own_turn() {
  static OwnTurn turn;
  return turn;
}

}  // namespace

double wait_for_turn(const Ranks& ranks) {
  constexpr double kLongestTurnSeconds = 3600;
  if (!takes_turns()) return 0;
  const double begin = local_seconds();
  ranks.progress.span("waiting for its turn");
  ranks.progress.allow(kLongestTurnSeconds);
  ranks.host.barrier();  // what all have timed is over
  if (!own_turn().pass_on_and_wait(ranks)) own_turn().its = Descriptor();
  return local_seconds() - begin;
}

bool takes_turns() { return own_turn().its.is_open(); }

double begin_in_turn(const Ranks& ranks, const std::string& cell, double operation_seconds) {
  const double waited = wait_for_turn(ranks);
  ranks.progress.cell(cell);
  ranks.progress.expect(operation_seconds);
  return waited;
}

}  // namespace scalebench
