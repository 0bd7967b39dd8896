// SPDX-License-Identifier: Apache-2.0
// scalebench normal RUN|LOG: is that what such hardware gives? Of a run of ours or an imported one,
// or of a log of nccl-tests or osu_allreduce as it is. Exit: ok for NORMAL; regression for SLOW and
// FAST; nothing_measured for UNKNOWN.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <array>
#include <cmath>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/cli/quantity.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/result_row.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/import/kinds.hpp"
#include "bench/study/normal/judge.hpp"
#include "bench/study/run/setup.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

struct NormalOptions {
  fs::path what;
  std::string fabric;
  std::string network;
  std::string instance;
  std::vector<std::string> settings;
};

/// What is to be judged, and what is known beside it.
struct Subject {
  std::vector<MeasuredLine> lines;
  std::vector<std::string> gpus;  // their names
  bool uses_gpus = false;         // some buffers are in them
  Evidence evidence;
};

void add_line(const ResultRow& row, double seconds, Subject& subject) {
  MeasuredLine& line = subject.lines.emplace_back();
  line.algorithm = row.get("algorithm");
  line.transport = row.get("transport");
  line.bytes = static_cast<std::int64_t>(number_in(row, "size_bytes"));
  line.ranks = read_number<int>(row.get("ranks")).value_or(0);
  line.nodes = read_number<int>(row.get("nodes")).value_or(0);
  line.seconds = seconds;
  line.in_host_memory = row.get("memory") != "device";
  subject.uses_gpus |= !line.in_host_memory;
}

Subject subject_of_run(const fs::path& folder) {
  Subject subject;
  subject.gpus = texts_in(read_manifest(folder).environment.key, "gpus");
  for (const ResultRow& row : rows_in(folder, allreduce_schema())) {
    if (row.get("status") != "ok") continue;
    add_line(row, number_in(row, "seconds_median"), subject);
  }
  return subject;
}

Subject subject_of_log(const NormalOptions& options) {
  const std::string text = read_foreign(options.what);
  const std::string file = options.what.string();
  const std::vector<Settings> settings = parse_settings(options.settings, allreduce_schema(), 1);
  const ImportedFile read = read_collectives(text, file, settings.front());
  Subject subject;
  subject.gpus = texts_in(read.key, "gpus");
  subject.evidence = evidence_in(text);
  Console console(/*speaks=*/true, /*quiet=*/true);
  for (const Remark& finding : read.findings) console.warn(printable(text_of(file, finding)));
  for (const ImportedLaunch& launch : read.launches) {
    for (std::size_t i = 0; i < launch.cases.size(); ++i) {
      const ImportedCase one = launch.cases[i];
      if (!one.seconds.empty()) add_line(one.row, median_of(one.seconds), subject);
    }
  }
  return subject;
}

/// "400gbit", or "8x400gbit" of 8 devices.
void set_network(const std::string& text, Place& place) {
  std::string rate = text;
  re2::RE2::FullMatch(text, "([1-9][0-9]{0,2})x(.*)", &place.rails, &rate);
  try {
    place.rail_gb_per_s = parse_rate(rate) / 8e9;
  } catch (const UsageError& error) {
    fail<UsageError>("--network {}: {}", text, error.what());
  }
}

/// The instance type's network and check, and its GPUs where nothing names them.
void set_instance(const std::string& name, Subject& subject, Place& place) {
  const std::vector<Instance> catalog = read_instances(configs_folder() / "instances.csv");
  const Instance& instance = row_named(catalog, &Instance::name, "instance", name);
  for (const std::string& gpu : subject.gpus) {
    if (instance.gpus > 0 && has_gpu(instance, gpu)) continue;
    fail<UsageError>("--instance {}: it has {}, and this is of {}", name,
                     instance.gpus > 0 ? instance.gpu_model : "no GPU", gpu);
  }
  if (subject.gpus.empty()) subject.gpus = {instance.gpu_model};
  place.rail_gb_per_s = std::isnan(instance.network_gbps) ? 0 : instance.network_gbps / 8;
  place.gpus_of_host = instance.gpus;
  place.check = instance.check;
}

Place place_of(const NormalOptions& options, Subject& subject, const std::vector<Fabric>& fabrics) {
  Place place;
  if (!options.network.empty()) set_network(options.network, place);
  if (!options.instance.empty()) set_instance(options.instance, subject, place);
  if (!options.fabric.empty()) {
    place.fabric = &row_named(fabrics, &Fabric::name, "fabric", options.fabric);
    place.fabric_is_said = true;
  } else if (subject.uses_gpus) {
    place.fabric = fabric_of(fabrics, subject.gpus);
    if (place.fabric == nullptr) {
      place.why_no_fabric =
          fmt::format("configs/fabrics.csv has no row for {}; say what joins them with --fabric",
                      subject.gpus.empty() ? "GPUs without a name"
                                           : fmt::format("{}", fmt::join(subject.gpus, ", ")));
    }
  }
  return place;
}

std::string text_of(const Judgement& judgement) {
  std::string text = fmt::format("# {:>10} {:<20} {:<14} {:>5} {:>10} {:>9} {:>9} {:>6}  {}\n",
                                 "size", "algorithm", "transport", "ranks", "time", "busbw",
                                 "expected", "share", "verdict");
  for (const JudgedLine& one : judgement.lines) {
    const MeasuredLine& line = one.line;
    const auto number = [](double value, int digits) {
      return std::isnan(value) || value == 0 ? "-" : fmt::format("{:.{}f}", value, digits);
    };
    text += fmt::format("{:>12} {:<20} {:<14} {:>5} {:>10} {:>9} {:>9} {:>6}  {}{}\n",
                        show_size(static_cast<std::size_t>(line.bytes)), printable(line.algorithm),
                        printable(line.transport), line.ranks, show_time(line.seconds),
                        number(line.busbw(), 2), number(one.expectation.busbw, 1),
                        number(100 * one.share(), 0), name_of(one.verdict),
                        one.why.empty() ? "" : ": " + one.why);
  }
  text += "\n" + printable(judgement.sentence) + "\n";
  for (const std::string& cause : judgement.causes) text += "  " + printable(cause) + "\n";
  return text + (judgement.source.empty() ? "" : "  source: " + judgement.source + "\n");
}

ExitCode show_normal(const NormalOptions& options) {
  const bool run = fs::is_directory(options.what);
  if (run && !options.settings.empty()) {
    fail<UsageError>("--set {}: a run says itself what it measured; valid with a log",
                     options.settings.front());
  }
  Subject subject = run ? subject_of_run(options.what) : subject_of_log(options);
  const std::vector<Fabric> fabrics = read_fabrics(configs_folder() / "fabrics.csv");
  const Place place = place_of(options, subject, fabrics);
  const Judgement judgement = judge(subject.lines, place, subject.evidence);
  const Console console(/*speaks=*/true, /*quiet=*/true);
  console.result(text_of(judgement));
  constexpr std::array<ExitCode, 4> kCodes{ExitCode::ok, ExitCode::regression, ExitCode::regression,
                                           ExitCode::nothing_measured};
  return kCodes.at(static_cast<std::size_t>(judgement.verdict));
}

}  // namespace

void add_normal(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<NormalOptions>(verb, invocation, show_normal);
  takes_runs(verb.add_option("what", options.what,
                             "a run, also an imported one, or a log of nccl-tests or "
                             "osu_allreduce"))
      ->required()
      ->type_name("RUN|FILE");
  verb.add_option("--fabric", options.fabric,
                  "what joins the GPUs of a host, as configs/fabrics.csv names it; default: by "
                  "their names")
      ->type_name("NAME");
  CLI::Option* network = verb.add_option(
      "--network", options.network,
      "line rate of a host's network, as 200gbit, or 8x400gbit of 8 devices; several "
      "hosts need it");
  network->type_name("RATE");
  verb.add_option("--instance", options.instance,
                  "the hosts' instance type, as p5.48xlarge: says GPUs and network, and what its "
                  "provider's health check asks for")
      ->excludes(network);
  verb.add_option("--set", options.settings, "what a log does not say, as ranks=8")
      ->type_name("NAME=VALUE");
}

}  // namespace scalebench
