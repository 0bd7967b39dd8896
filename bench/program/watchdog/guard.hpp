// SPDX-License-Identifier: Apache-2.0
// The watchdog's thread: tells of this rank, hears of the others, and ends all when one is lost.
// It sleeps but for two looks a second and for connections that end.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/program/watchdog/link.hpp"
#include "bench/program/watchdog/termination.hpp"
#include "bench/program/watchdog/watchdog.hpp"

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
    terminate,
  };
  void command(Command command);

 private:
  /// The other end of a link.
  struct Peer {
    RankProgress progress;
    double heard = 0;
    bool gone = false;     // has said goodbye
    bool failing = false;  // has said that it fails or is ended: its end is no death
    bool hushed = false;   // rank 0 has said that nothing comes
  };

  void run();
  bool look();
  bool hear(std::size_t from, double now);
  void tell();
  bool judge(double now);
  void note_silence(double now);
  void note_death(std::size_t of);
  bool all_dead_known() const;
  bool name_dead();
  void leave_early();
  void excuse();
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
  int successor_ = 1;  // who speaks when rank 0 cannot
  // A rank that fails or is ended may be so because another has died. Rank 0 waits for that death
  // before it excuses all further ones.
  double failing_since_ = 0;  // 0: nobody does
  double dead_since_ = 0;     // 0: nobody is, or it has been said
  std::string deaths_;        // a line for each
  bool excused_ = false;      // deaths are the doing of a rank that reports itself, or a launcher's
  std::optional<Termination> termination_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace scalebench
