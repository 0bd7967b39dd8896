// SPDX-License-Identifier: Apache-2.0
#include "bench/join/daemons.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

/// Field 4 of /proc/PID/stat; the name in field 2 may hold blanks and brackets. 0: it is gone.
pid_t parent_of(const fs::path& process) {
  std::ifstream file(process / "stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  int parent = 0;
  char state = 0;
  if (name_end == std::string::npos ||
      std::sscanf(line.c_str() + name_end + 1, " %c %d", &state, &parent) != 2) {
    return 0;
  }
  return parent;
}

}  // namespace

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void become(const std::vector<char*>& argv, pid_t parent, bool stdout_to_stderr) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  if (stdout_to_stderr) dup2(STDERR_FILENO, STDOUT_FILENO);
  execvp(argv[0], argv.data());
  dprintf(STDERR_FILENO, "%s: %s\n", argv[0], std::strerror(errno));
  _exit(127);
}

int exit_status(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

Daemons::Daemons(bool adopts) : adopts_(adopts) {
  if (adopts_) prctl(PR_SET_CHILD_SUBREAPER, 1);
}

pid_t Daemons::start(const std::vector<std::string>& argv) {
  const std::vector<char*> pointers = pointers_to(argv);  // a child may not allocate
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) fail("fork: {}", std::strerror(errno));
  if (child == 0) become(pointers, parent, /*stdout_to_stderr=*/true);
  running_.push_back(child);
  return child;
}

void Daemons::stop(pid_t daemon) const {
  if (std::ranges::find(running_, daemon) != running_.end()) kill(daemon, SIGTERM);
}

std::vector<Daemons::Ended> Daemons::ended() {
  std::vector<Ended> ended;
  std::erase_if(running_, [&](pid_t daemon) {
    int status = 0;
    if (waitpid(daemon, &status, WNOHANG) != daemon) return false;
    ended.push_back({daemon, exit_status(status)});
    return true;
  });
  return ended;
}

std::vector<pid_t> Daemons::children() const {
  if (!adopts_) return running_;
  std::vector<pid_t> children;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    const bool is_process = name.find_first_not_of("0123456789") == std::string::npos;
    if (is_process && parent_of(entry.path()) == getpid()) children.push_back(std::stoi(name));
  }
  return children;
}

void Daemons::end_all(std::chrono::milliseconds grace) {
  const Clock::time_point deadline = Clock::now() + grace;
  std::vector<pid_t> asked;
  // Whatever a child leaves behind is a child in the next turn.
  for (auto left = children(); !left.empty(); left = children()) {
    for (const pid_t child : left) {
      if (waitpid(child, nullptr, WNOHANG) == child) {
        std::erase(running_, child);
      } else if (Clock::now() >= deadline) {
        kill(child, SIGKILL);
      } else if (std::ranges::find(asked, child) == asked.end()) {
        kill(child, SIGTERM);
        asked.push_back(child);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace scalebench
