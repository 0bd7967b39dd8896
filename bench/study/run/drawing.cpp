// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/drawing.hpp"

#include <fmt/format.h>

#include <atomic>
#include <string>
#include <system_error>
#include <vector>

#include "bench/launch/process.hpp"
#include "bench/study/run/setup.hpp"

namespace scalebench {

bool draw(const std::filesystem::path& folder, std::string_view script, Console& console,
          const std::vector<std::string>& more) {
  const std::filesystem::path scripts = scripts_folder();
  std::vector<std::string> command{(scripts / "python").string(), (scripts / script).string(),
                                   folder.string()};
  command.insert(command.end(), more.begin(), more.end());
  const std::atomic<bool> never = false;
  // Pictures are no part of what the manifest's hashes cover.
  const std::filesystem::path figures = folder / "figures";
  const std::filesystem::path logs = figures / script;
  std::filesystem::create_directories(logs);
  const LaunchEnd end = run_launch(command, {}, logs, 300, never);
  if (end.ok) {
    std::filesystem::remove_all(logs);
    std::error_code holds_figures;
    std::filesystem::remove(figures, holds_figures);
  } else {
    console.warn(fmt::format("{}: {}", script, end.why), (logs / "stderr.log").string());
  }
  return end.ok;
}

bool draw_run(const std::filesystem::path& folder, Console& console,
              const std::vector<std::string>& more) {
  draw(folder, "plot.py", console, more);
  return draw(folder, "report.py", console, more);
}

}  // namespace scalebench
