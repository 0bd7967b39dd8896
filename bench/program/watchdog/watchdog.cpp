// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/watchdog.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "bench/cli/stderr.hpp"
#include "bench/program/watchdog/life_signs.hpp"
#include "bench/program/watchdog/link.hpp"
#include "bench/program/watchdog/termination.hpp"

namespace scalebench {
namespace {

using Kind = WatchdogMessage::Kind;

constexpr double kFarewellSeconds = 1;  // how long a rank waits for the others' last word
constexpr double kGraceSeconds = 2;     // in which the rank that speaks ends the others
// Of the time for culprits, after a death: for those that came before it and are told later.
constexpr double kGatherShare = 0.5;
constexpr double kAlertLook = 0.02;
constexpr double kSilentShare = 0.5;  // of the limit: four messages and more are missing
constexpr double kHushSeconds = 2.5;  // before a launcher gives up on a host that is cut off

}  // namespace

/// The watchdog's thread: tells of this rank, hears of the others, and ends all when one is lost.
/// It sleeps but for two looks a second and for connections that end.
class WatchdogGuard {
 public:
  WatchdogGuard(int rank, const ProgressMarks& marks, WatchdogOptions options, WatchdogLinks links)
      : rank_(rank),
        marks_(marks),
        options_(std::move(options)),
        interval_(std::min(0.5, options_.limit_seconds / 8)),
        hosts_(std::move(links.hosts)),
        links_(std::move(links.links)),
        peers_(links_.size()),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        moved_(watchdog_seconds()),
        mine_seen_{moved_, moved_, moved_},
        last_look_(moved_),
        next_look_(moved_) {
    mine_ = marks_.read();
    for (Peer& peer : peers_) {
      peer.hear_all_at(moved_);
      peer.progress = mine_;  // nobody has begun anything
    }
    if (!options_.lives) {
      options_.lives = [signs = LifeSigns()]() mutable { return signs.any(); };
    }
    if (rank_ == 0) peers_[0].gone = true;
    if (options_.heeds_termination) termination_.emplace(wake_.number());
    thread_ = start_quiet_thread([this] { run(); });
  }

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
  void command(Command command) {
    command_.store(command);
    wake();
  }

  void wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_.number(), &one, sizeof(one));
  }

 private:
  /// When a rank was last seen ...
  struct Seen {
    double moved = 0;  // to make progress, which a sign of life is where those count
    double begun = 0;  // at another place
    double alive = 0;  // to do something
  };

  /// The other end of a link.
  struct Peer {
    RankProgress progress;
    double heard = 0;
    Seen seen;
    bool gone = false;     // has said goodbye
    bool failing = false;  // has said that it fails or is ended: its end is no death
    bool hushed = false;   // rank 0 has said that nothing comes

    void hear_all_at(double now) {
      heard = now;
      seen = {now, now, now};
    }
  };

  void run() {
    try {
      watch();
    } catch (const std::exception& error) {
      say_last(fmt::format("rank {} on {}: its watchdog has failed: {}", rank_,
                           hosts_[static_cast<std::size_t>(rank_)], error.what()));
    }
  }

  void watch() {
    bool over = false;  // nothing more to find out; the links stay until this rank parts
    while (true) {
      const std::span<const WatchdogLink> links(links_);
      const bool alert = dead_since_ > 0 || (failing_since_ > 0 && !excused_);
      sleep_on(wake_.number(), over ? links.first(0) : links,
               over    ? interval_
               : alert ? kAlertLook
                       : next_look_ - watchdog_seconds());
      forget_wake();
      // Read before the marks: what began before a command is told before that is obeyed.
      const Command command = command_.load();
      if (!over && command != Command::freeze && has_begun()) tell_progress();
      if (command == Command::part) return part(Kind::goodbye);
      if (command == Command::part_failing) {
        if (!over) leave_early();
        return part(Kind::failing);
      }
      if (command == Command::terminate || (termination_ && Termination::received())) {
        if (!over) leave_early();
        if (termination_) termination_->pass_on();
        return part(Kind::failing);
      }
      if (command == Command::die) links_.clear();
      over = over || command != Command::watch || look();
    }
  }

  void forget_wake() {
    std::uint64_t woken = 0;
    [[maybe_unused]] const ssize_t got = read(wake_.number(), &woken, sizeof(woken));
  }

  bool has_begun() const { return marks_.read().cells != mine_.cells; }

  void tell_progress() {
    RankProgress mine = marks_.read();
    mine.signs = signs_;
    see(mine_, mine, mine_seen_, watchdog_seconds());
    mine_ = mine;
    send_to_all(Kind::progress, rank_);
  }

  void see(const RankProgress& before, const RankProgress& after, Seen& seen, double now) {
    if (!after.same_place(before)) seen.begun = now;
    if (!after.stands_still_since(before)) moved_ = seen.moved = now;
    if (after.signs != before.signs) seen.alive = now;
  }

  /// True: all ranks are to end, and this one has done its part.
  bool look() {
    const double now = watchdog_seconds();
    for (std::size_t from = 0; from < peers_.size(); ++from) {
      if (!peers_[from].gone && hear(from, now)) return true;
    }
    if (all_dead_known()) return name_dead();
    if (rank_ == 0 && failing_since_ > 0 && !excused_) excuse();
    if (now < next_look_) return false;
    next_look_ = now + interval_;
    if (options_.lives()) ++signs_;
    tell_progress();
    return judge(now);
  }

  bool hear(std::size_t from, double now) {
    Peer& peer = peers_[from];
    for (const WatchdogMessage& message : links_[from].receive()) {
      peer.heard = now;
      switch (message.kind) {
        case Kind::hello:
          break;
        case Kind::progress:
          see(peer.progress, message.progress, peer.seen, now);
          peer.progress = message.progress;
          break;
        case Kind::failing:
          peer.failing = true;
          // From rank 0: it has waited for the deaths that may be behind the failure.
          excused_ = excused_ || rank_ != 0;
          if (failing_since_ == 0) failing_since_ = now;
          break;
        case Kind::goodbye:
          peer.gone = true;
          break;
        case Kind::ending:
          return obey();
      }
    }
    if (peer.gone) links_[from].close();
    if (peer.gone || links_[from].open()) return false;
    peer.gone = true;
    if (!excused_ && !peer.failing) note_death(from);
    return false;
  }

  bool judge(double now) {
    // A rank that was stopped itself knows nothing of the others' meantime.
    if (now - std::exchange(last_look_, now) > options_.limit_seconds / 2) {
      for (Peer& peer : peers_) peer.hear_all_at(now);
      mine_seen_ = {now, now, now};
      moved_ = now;
    }
    // Wherever a rank is, its watchdog tells of it while its process runs.
    const auto lost = [&](const Peer& peer) {
      return !peer.gone && now - peer.heard > options_.limit_seconds;
    };
    if (rank_ != 0) {
      // While rank 0 lives, it judges.
      if (!lost(peers_[0])) return false;
      const WatchedRank first = watched(0, true);
      return end_of_first_rank(describe_hang(std::span(&first, 1), options_.limit_seconds));
    }
    note_silence(now);
    std::vector<WatchedRank> ranks{
        seen_at(now, {rank_, hosts_[0], false, 0, 0, mine_}, mine_seen_)};
    for (std::size_t rank = 1; rank < peers_.size(); ++rank) {
      const Peer& peer = peers_[rank];
      const bool silent = now - peer.heard > kSilentShare * options_.limit_seconds;
      if (!peer.gone) ranks.push_back(seen_at(now, watched(rank, silent), peer.seen));
    }
    if (std::ranges::any_of(peers_, lost)) {
      return speak(describe_hang(ranks, options_.limit_seconds));
    }
    // The others may spin while they wait for a rank that works on its own.
    if (const auto idle = std::ranges::find_if(ranks, &WatchedRank::idle); idle != ranks.end()) {
      return speak(describe_idleness(*idle) + "; ending all ranks");
    }
    double limit = 0;
    for (const WatchedRank& one : ranks) limit = std::max(limit, one.progress.limit_seconds);
    if (now - moved_ > limit) return speak(describe_hang(ranks, limit));
    // A library that spins shows life for ever.
    for (const WatchedRank& one : ranks) {
      const double ceiling = one.progress.limit_seconds * (options_.ceiling / options_.patience);
      if (one.progress.shows_life() && one.there_seconds > ceiling) {
        return speak(describe_hang(ranks, ceiling));
      }
    }
    return false;
  }

  void note(const std::string& text) {
    if (options_.note) return options_.note(text);
    print_line(text);
  }

  void note_silence(double now) {
    std::vector<WatchedRank> ranks{{rank_, hosts_[0], false, 0, 0, mine_}};
    bool news = false;
    for (std::size_t rank = 1; rank < peers_.size(); ++rank) {
      Peer& peer = peers_[rank];
      if (peer.gone) continue;
      const double seconds = now - peer.heard;
      if (peer.hushed && seconds < kHushSeconds) {
        peer.hushed = false;
        note(fmt::format("rank {} on {} is back", rank, hosts_[rank]));
      }
      // Ranks of one host fall silent together, and are heard of at different looks.
      const bool silent = seconds > kHushSeconds - 2 * interval_;
      news = news || (seconds > kHushSeconds && !peer.hushed);
      ranks.push_back(watched(rank, silent));
    }
    if (!news) return;
    for (const WatchedRank& one : ranks) {
      if (one.silent) peers_[static_cast<std::size_t>(one.rank)].hushed = true;
    }
    note(describe_silence(ranks, kHushSeconds));
  }

  void note_death(std::size_t of) {
    WatchedRank dead = watched(of, true);
    // What it last told may be half a second old, and no rank begins a cell without the others.
    const RankProgress mine = marks_.read();
    if (mine.cells > dead.progress.cells) dead.progress = mine;
    if (dead_since_ == 0) dead_since_ = watchdog_seconds();
    if (!deaths_.empty()) deaths_ += "\n";
    deaths_ += describe_death(dead);
  }

  bool all_dead_known() const {
    const double gather = kGatherShare * options_.culprit_seconds;
    return dead_since_ > 0 && watchdog_seconds() > dead_since_ + gather;
  }

  bool name_dead() {
    dead_since_ = 0;
    return rank_ == 0 ? speak(deaths_) : end_of_first_rank(deaths_);
  }

  /// This rank ends before its time, because it has failed or because the launcher ends it. Rank 0
  /// hears of it; and the rank whose death is behind it is named before this rank goes.
  void leave_early() {
    const double until = watchdog_seconds() + (rank_ == 0 ? 1 : 2) * options_.culprit_seconds;
    if (failing_since_ == 0) failing_since_ = watchdog_seconds();
    if (rank_ != 0) send_to_all(Kind::failing, rank_);
    while (!excused_ && !all_dead_known() && watchdog_seconds() < until) {
      for (std::size_t from = 0; from < peers_.size(); ++from) {
        // True: another rank speaks and ends all; not before it has.
        if (!peers_[from].gone && hear(from, watchdog_seconds())) return sleep_on(-1, {}, 1);
      }
      if (rank_ == 0) excuse();
      sleep_on(-1, {}, kAlertLook);
    }
    if (dead_since_ > 0) name_dead();
  }

  /// Rank 0, once nobody is left whose death could be behind a failure, or it would be known.
  void excuse() {
    const bool waits =
        std::ranges::any_of(peers_, [](const Peer& peer) { return !peer.gone && !peer.failing; });
    if (waits && watchdog_seconds() < failing_since_ + options_.culprit_seconds) return;
    excused_ = true;
    send_to_all(Kind::failing, rank_);
  }

  bool speak(const std::string& text) {
    // Also to a rank 0 that is only stopped: it is woken up to be killed, and would report deaths.
    send_to_all(Kind::ending, rank_);
    say(text);
    termination_.reset();
    options_.end();
    return true;
  }

  void say(const std::string& text) { options_.say ? options_.say(text) : say_last(text); }

  bool obey() {
    const double until = watchdog_seconds() + kGraceSeconds;
    const auto waits = [&] {
      return command_.load() == Command::watch && !(termination_ && Termination::received());
    };
    while (waits() && watchdog_seconds() < until) {
      sleep_on(wake_.number(), {}, until - watchdog_seconds());
      forget_wake();
    }
    if (waits()) {
      termination_.reset();
      options_.end();
    }
    return true;
  }

  /// Where rank 1 is gone, too, nobody says it.
  bool end_of_first_rank(const std::string& text) { return rank_ == 1 ? speak(text) : obey(); }

  void part(Kind farewell) {
    send_to_all(farewell, rank_);
    for (WatchdogLink& link : links_) link.finish_sending();
    // A connection that is closed with something unread takes its farewell back.
    const double until = watchdog_seconds() + kFarewellSeconds;
    while (std::ranges::any_of(links_, &WatchdogLink::open) && watchdog_seconds() < until) {
      sleep_on(-1, links_, std::min(0.1, until - watchdog_seconds()));
      for (WatchdogLink& link : links_) link.receive();
    }
  }

  void send_to_all(Kind kind, int about) {
    WatchdogMessage message;
    message.kind = kind;
    message.rank = about;
    message.progress = mine_;
    for (WatchdogLink& link : links_) link.send(message);
  }

  WatchedRank watched(std::size_t rank, bool silent) const {
    return {static_cast<int>(rank), hosts_[rank], silent, 0, 0, peers_[rank].progress};
  }
  static WatchedRank seen_at(double now, WatchedRank one, const Seen& seen) {
    one.still_seconds = now - seen.moved;
    one.dead_seconds = now - seen.alive;
    one.there_seconds = now - seen.begun;
    return one;
  }

  const int rank_;
  const ProgressMarks& marks_;
  WatchdogOptions options_;
  const double interval_;
  const std::vector<std::string> hosts_;
  std::vector<WatchdogLink> links_;
  std::vector<Peer> peers_;  // by link
  RankProgress mine_;
  std::uint64_t signs_ = 0;
  Descriptor wake_;
  std::atomic<Command> command_ = Command::watch;
  double moved_;  // when any rank was last seen to make progress
  Seen mine_seen_;
  double last_look_;
  double next_look_;
  // A rank that fails or is ended may be so because another has died. Rank 0 waits for that death
  // before it excuses all further ones.
  double failing_since_ = 0;  // 0: nobody does
  double dead_since_ = 0;     // 0: nobody is, or it has been said
  std::string deaths_;        // a line for each
  bool excused_ = false;      // deaths are the doing of a rank that reports itself, or a launcher's
  std::optional<Termination> termination_;
  std::jthread thread_;  // last: it uses all of the above
};

Watchdog::Watchdog(Communicator& host, WatchdogOptions options)
    : marks_(options.limit_seconds, options.stretches, options.patience, options.calls),
      exceptions_(std::uncaught_exceptions()) {
  if (host.size() == 1) return;
  WatchdogLinks links = link_to_first_rank(host);
  if (links.links.empty()) return;
  guard_ =
      std::make_unique<WatchdogGuard>(host.rank(), marks_, std::move(options), std::move(links));
}

Watchdog::~Watchdog() {
  if (guard_ == nullptr) return;
  if (std::uncaught_exceptions() > exceptions_) {
    give_up();
  } else {
    guard_->command(WatchdogGuard::Command::part);
  }
}

void Watchdog::give_up() {
  if (guard_ == nullptr) return;
  guard_->command(WatchdogGuard::Command::part_failing);
  guard_.reset();
}

void Watchdog::begin(std::string_view name, Stage stage) {
  marks_.begin(name, stage);
  if (guard_ != nullptr) guard_->wake();
}

void Watchdog::simulate(Fault fault) {
  if (guard_ == nullptr) return;
  using Command = WatchdogGuard::Command;
  guard_->command(fault == Fault::die      ? Command::die
                  : fault == Fault::freeze ? Command::freeze
                                           : Command::terminate);
}

}  // namespace scalebench
