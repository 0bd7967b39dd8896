// SPDX-License-Identifier: Apache-2.0
// What --help says, wrapped to the terminal: the usual options, how many others there are,
// examples, exit codes. --help-all has every option, under its heading.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace scalebench {

// Headings. An option of which nothing is said is a usual one.
inline constexpr const char* kUsual = "Common";
inline constexpr const char* kModelAndData = "Model and data";
inline constexpr const char* kParallelism = "Parallelism";
inline constexpr const char* kStrategy = "Strategy";
inline constexpr const char* kMethod = "Method";
inline constexpr const char* kCheckpoints = "Checkpoints";
inline constexpr const char* kRecording = "Recording";
inline constexpr const char* kFaults = "Faults";

/// Options that are added while it lives stand under `heading`, and so not in --help.
class Heading {
 public:
  Heading(CLI::App& app, const std::string& heading);
  ~Heading();
  Heading(const Heading&) = delete;
  Heading& operator=(const Heading&) = delete;

 private:
  CLI::App& app_;
  std::string before_;
};

/// What is typed behind `command` (none: the app's own name), to be shown as examples; "" is the
/// name alone.
void add_examples(CLI::App& app, const std::vector<std::string>& examples,
                  std::string command = "");

/// --help-all, and what --help says of itself, for the app and its verbs.
void add_help(CLI::App& app);

/// The app's name with those of the commands before it: "scalebench nightly accept".
std::string path_of(const CLI::App& app);

/// Those that --help-all shows: by heading, the usual ones first.
std::vector<const CLI::Option*> shown_options(const CLI::App& app);

/// {"-q", "--quiet"}; none of an option that is known by its place.
std::vector<std::string> names_of(const CLI::Option& option);

/// How an option that is known by its place is shown: "RUN", or "RUNS..." where it repeats.
std::string place_of(const CLI::Option& option);

/// "scalebench verify RUN"; `options`: whether "[OPTION]..." stands in it.
std::string usage_of(const CLI::App& app, bool options);

/// `all`: every option, else the usual ones. Lines of at most `columns` characters, but for words
/// and examples that are longer.
std::string help_page(const CLI::App& app, bool all, std::size_t columns);

/// Of the terminal that stdout is, from 60 to 100; 100 where it is none.
std::size_t columns_of_stdout();

}  // namespace scalebench
