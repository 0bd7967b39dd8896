// SPDX-License-Identifier: Apache-2.0
// Which study a verb is about: a config file and what the command line changes in it. Shared by
// `run` and `plan`.
#pragma once

#include <filesystem>
#include <string>

#include "bench/study/study_config.hpp"
#include "bench/verbs/study_setup.hpp"

namespace scalebench {

struct StudyChoice : StartOptions {
  std::filesystem::path config;
  std::string ranks;    // instead of the config's
  std::string layouts;  // instead of the config's
  int launches = 0;     // instead of the config's; 0: as there
  bool metrics = false;
};

void add_study_options(CLI::App& verb, StudyChoice& choice);

/// The config with what the command line and the job say. Throws UsageError, in one line for each
/// thing wrong, before anything starts.
StudyConfig config_of(StudyChoice& choice);

/// What the programs know, so that a config is refused before anything starts.
KnownNames known_names();

}  // namespace scalebench
