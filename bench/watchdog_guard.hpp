// SPDX-License-Identifier: Apache-2.0
// The watchdog's thread: tells of this rank, hears of the others, and ends all when one is lost.
// It sleeps but for two looks a second and for connections that end.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "bench/watchdog.hpp"
#include "bench/watchdog_link.hpp"

namespace scalebench {

class WatchdogGuard {
 public:
  WatchdogGuard(int rank, const ProgressMarks& marks, WatchdogOptions options, WatchdogLinks links);
  /// After a command to part, which it obeys within a second.
  ~WatchdogGuard() = default;

  enum class Command {
    watch,
    part,          // a normal end
    part_failing,  // this rank has failed and says so itself: what dies after it needs no report
    die,           // the faults of Watchdog::Fault
    freeze,
  };
  void command(Command command);

 private:
  /// The other end of a link.
  struct Peer {
    RankProgress progress;
    double heard = 0;
    bool gone = false;  // has said goodbye
  };

  void run();
  bool look();
  bool hear(std::size_t from, double now);
  void tell();
  bool judge(double now);
  bool on_death(std::size_t of);
  bool speak(const std::string& text);
  bool obey();
  bool end_of_first_rank(const std::string& text);
  void part(WatchdogMessage::Kind farewell);
  void send_to_all(WatchdogMessage::Kind kind, int about);
  WatchedRank watched(std::size_t rank, bool silent) const;

  const int rank_;
  const ProgressMarks& marks_;
  const WatchdogOptions options_;
  const double interval_;
  const std::vector<std::string> hosts_;
  std::vector<WatchdogLink> links_;
  std::vector<Peer> peers_;  // by link
  RankProgress mine_;
  FileDescriptor wake_;
  std::atomic<Command> command_ = Command::watch;
  double moved_;  // when any rank was last seen to make progress
  double last_look_;
  double next_look_;
  int successor_ = 1;     // who speaks when rank 0 cannot
  bool excused_ = false;  // a rank has failed and says so: deaths are its doing
  std::jthread thread_;   // last: it uses all of the above
};

}  // namespace scalebench
