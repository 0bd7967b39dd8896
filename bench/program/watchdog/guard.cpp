// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/guard.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "bench/cli/stderr.hpp"
#include "bench/machine/identity.hpp"
#include "bench/program/watchdog/life_signs.hpp"

namespace scalebench {
namespace {

using Kind = Letter::Kind;
using Life = WatchdogPage::Life;

constexpr double kLookSeconds = 0.5;     // at most, between two looks
constexpr double kAgainSeconds = 0.05;   // between two letters that are to be answered
constexpr double kGraceSeconds = 2;      // in which a launcher, or the rank itself, ends it
constexpr double kUnnamedSeconds = 0.3;  // in which rank 0's watchdog says who names a death
constexpr double kLingerSeconds = 1;     // in which the last watchdogs ask rank 0's
// The letters of more ranks would wake rank 0's watchdog all the time: it reads them that often.
constexpr int kFewRanks = 16;
constexpr double kReadSeconds = 0.1;

class Guard {
 public:
  Guard(WatchdogPage& page, pid_t parent, int news, std::string name, double stopped_seconds)
      : page_(page),
        parent_(parent),
        news_(news),
        name_(std::move(name)),
        stopped_seconds_(stopped_seconds),
        signs_(parent) {
    own_host_name().copy(told_.host.data(), told_.host.size() - 1);
    page_.invitation = post_.invitation();
    page_.begun = true;
  }

  /// Until the parent has ended.
  void watch() {
    while (!parent_has_ended_) {
      sleep_until(next_look_);
      const double now = watchdog_seconds();
      if (now >= next_look_) look(now);
    }
    if (life_ == Life::alone) say_last(fmt::format("{} died", name_));
    if (life_ == Life::unwatched || life_ == Life::linking) {
      say_last(fmt::format("{} died before it was watched", name_));
    }
    if (life_ == Life::watched && ending_since_ == 0) name_death();
    if (life_ > Life::watched && !is_answered_) tell(kind_of_life());
    if (!judge_ || life_ == Life::parted) return;
    // Others may ask who names a death.
    const double until = watchdog_seconds() + kLingerSeconds;
    while (watchdog_seconds() < until) sleep_until(until);
    tell_all_to_end();
  }

 private:
  /// Reads what comes in the meantime.
  void sleep_until(double end) {
    std::array<pollfd, 2> waiting{{{news_, POLLIN, 0}, {post_.fd(), POLLIN, 0}}};
    if (parent_has_ended_) waiting[0].fd = -1;
    double seconds = std::clamp(end - watchdog_seconds(), 0.0, 60.0);
    if (judge_ && life_ == Life::watched && page_.ranks > kFewRanks) {
      waiting[1].fd = -1;
      seconds = std::min(seconds, kReadSeconds);
    }
    poll(waiting.data(), waiting.size(), static_cast<int>(std::ceil(1e3 * seconds)));
    std::array<char, 64> news{};
    const bool closed = waiting[0].revents != 0 && read(news_, news.data(), news.size()) == 0;
    // Another process may hold the other end of the pipe.
    parent_has_ended_ = parent_has_ended_ || closed || page_.over || getppid() != parent_;
    notice_life();
    while (const auto received = post_.receive(token())) take(*received);
  }

  std::uint64_t token() const { return life_ == Life::unwatched ? 0 : page_.invitation.token; }

  void notice_life() {
    const Life life = page_.life;
    if (life == std::exchange(life_, life)) return;
    next_look_ = 0;
    is_answered_ = false;
    heard_ = watchdog_seconds();
    if (life == Life::linking && page_.rank == 0) {
      judge_.emplace(page_.ranks, page_.limit_seconds);
      addresses_.resize(static_cast<std::size_t>(page_.ranks));
    }
  }

  void look(double now) {
    const bool slept = now - std::exchange(last_look_, now) > limit() / 2;
    if (slept) heard_ = now;  // what came meanwhile is unknown
    const bool waits = life_ >= Life::linking && life_ != Life::watched && !is_answered_;
    next_look_ = now + (waits ? kAgainSeconds : interval());
    const LifeSigns::Look parent = signs_.look();
    const bool is_seen = life_ == Life::watched || life_ == Life::alone;
    if (!parent.stopped || is_seen || slept) stopped_since_ = now;
    if (now > stopped_since_ + stopped_seconds_) end_stopped_parent();
    if (!parent.stopped) ++told_.beat;
    if (parent.alive) ++signs_seen_;
    if (waits || life_ == Life::watched) tell(kind_of_life());
    if (judge_ && life_ >= Life::watched) judge(now);
    if (life_ == Life::watched && now > heard_ + page_.limit_seconds) lose_judge(now);
    if (ending_since_ > 0 && now > ending_since_ + kGraceSeconds) end_parent();
  }

  double limit() const { return page_.limit_seconds > 0 ? page_.limit_seconds : stopped_seconds_; }
  double interval() const { return std::min(kLookSeconds, limit() / 8); }

  Kind kind_of_life() const {
    if (life_ == Life::failing) return Kind::failing;
    return life_ >= Life::parted ? Kind::parted : Kind::told;
  }

  // To rank 0's watchdog, and its answer.

  void tell(Kind kind) {
    told_.rank = page_.rank;
    told_.progress = page_.marks.read();
    told_.progress.signs = signs_seen_;
    const Letter letter{page_.invitation.token, kind, told_};
    if (judge_) return obey(answer_to(letter));
    if (judge_address_) return post_.send(letter, *judge_address_);
    for (std::size_t i = 0; i < page_.invitation.count; ++i) {
      post_.send(letter, page_.invitation.addresses[i]);
    }
  }

  void take(const Post::Received& received) {
    const Letter& letter = received.letter;
    if (letter.kind >= Kind::heard) {
      judge_address_ = received.from;
      of_judge_ = letter.told;
      return obey(letter.kind);
    }
    const auto rank = static_cast<std::size_t>(letter.told.rank);
    if (!judge_ || letter.told.rank <= 0 || rank >= addresses_.size()) return;
    addresses_[rank] = received.from;
    post_.send({page_.invitation.token, answer_to(letter), told_}, received.from);
  }

  void obey(Kind answer) {
    heard_ = watchdog_seconds();
    is_answered_ = true;
    page_.reached = true;
    if (answer == Kind::named) is_to_name_ = true;
    if (answer == Kind::ending && ending_since_ == 0) ending_since_ = heard_;
  }

  /// Waits for the word of rank 0's watchdog, and does it without one.
  void name_death() {
    const double until = watchdog_seconds() + kUnnamedSeconds;
    is_answered_ = false;
    while (!is_answered_ && watchdog_seconds() < until) {
      tell(Kind::dead);
      if (!is_answered_) sleep_until(std::min(until, watchdog_seconds() + kAgainSeconds));
    }
    if (judge_) tell_all_to_end();
    if (is_to_name_ || !is_answered_) say_last(describe_death(told_));
  }

  // As rank 0's watchdog.

  Kind answer_to(const Letter& letter) {
    const double now = watchdog_seconds();
    const std::int32_t rank = letter.told.rank;
    if (letter.kind == Kind::told) judge_->hear(letter.told, now);
    if (letter.kind == Kind::parted || letter.kind == Kind::failing) {
      judge_->dismiss(rank, letter.kind == Kind::failing, now);
    }
    if (letter.kind == Kind::dead) {
      if (ending_since_ == 0) ending_since_ = now;
      return judge_->may_name_death(rank, now) ? Kind::named : Kind::ending;
    }
    return ending_since_ > 0 ? Kind::ending : Kind::heard;
  }

  void tell_all_to_end() {
    for (const sockaddr_in& one : addresses_) {
      if (one.sin_port != 0) post_.send({page_.invitation.token, Kind::ending, told_}, one);
    }
  }

  void judge(double now) {
    const Judge::Finding finding = judge_->look(now);
    if (!finding.note.empty()) print_line(finding.note);
    if (finding.verdict.empty() || ending_since_ > 0) return;
    ending_since_ = now;
    tell_all_to_end();
    say_last(finding.verdict);
    end_parent();
  }

  /// As the host of rank 0 is down or cut off: one of another host says it, and all end.
  void lose_judge(double now) {
    if (ending_since_ > 0) return;
    ending_since_ = now;
    if (page_.rank != page_.speaker) return;
    const std::array<WatchedRank, 2> both{
        {{0, of_judge_.host.data(), true, 0, 0, of_judge_.progress},
         {page_.rank, told_.host.data(), false, 0, 0, told_.progress}}};
    say_last(describe_silence(both, page_.limit_seconds) + "; ending all ranks");
  }

  // The end of the parent, which is still there while this process is its child.

  /// By itself, with an exit code, which it may do wherever it is; else by force.
  void end_parent() {
    page_.ending = true;
    const double until = watchdog_seconds() + kGraceSeconds;
    for (const int signal : {SIGTERM, SIGCONT}) {
      if (getppid() == parent_) kill(parent_, signal);
    }
    while (!parent_has_ended_ && watchdog_seconds() < until) sleep_until(until);
    if (!parent_has_ended_) kill(parent_, SIGKILL);
  }

  [[noreturn]] void end_stopped_parent() {
    print_line(fmt::format("{} is stopped: it is ended", name_));
    if (getppid() == parent_) kill(parent_, SIGKILL);
    _exit(0);
  }

  WatchdogPage& page_;
  const pid_t parent_;
  const int news_;
  const std::string name_;
  const double stopped_seconds_;
  Post post_;
  LifeSigns signs_;
  Life life_ = Life::unwatched;
  bool parent_has_ended_ = false;
  double next_look_ = 0;
  double last_look_ = 0;
  double stopped_since_ = 0;  // where nobody else sees it
  std::uint64_t signs_seen_ = 0;
  Told told_;
  std::optional<sockaddr_in> judge_address_;
  Told of_judge_;
  double heard_ = 0;  // of rank 0's watchdog
  bool is_answered_ = false;
  bool is_to_name_ = false;
  double ending_since_ = 0;  // 0: nobody is to end
  std::optional<Judge> judge_;
  std::vector<sockaddr_in> addresses_;  // by rank; of whom something was heard
};

}  // namespace

void watch_parent(WatchdogPage& page, pid_t parent, int news, const std::string& name,
                  double stopped_seconds) {
  try {
    Guard(page, parent, news, name, stopped_seconds).watch();
  } catch (const std::exception& error) {
    print_line(fmt::format("{}: its watchdog has failed: {}", name, error.what()));
  }
  _exit(0);
}

}  // namespace scalebench
