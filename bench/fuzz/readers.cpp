// SPDX-License-Identifier: Apache-2.0
#include "bench/fuzz/readers.hpp"

#include <cxxabi.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <typeinfo>
#include <utility>
#include <vector>

#include "bench/cli/quantity.hpp"
#include "bench/launch/hosts.hpp"
#include "bench/launch/launcher.hpp"
#include "bench/record/csv.hpp"
#include "bench/record/manifest.hpp"
#include "bench/study/analysis/tables.hpp"
#include "bench/study/import/imported_rows.hpp"
#include "bench/study/import/kinds.hpp"
#include "bench/study/nightly/record.hpp"
#include "bench/study/plan/config.hpp"
#include "bench/study/plan/layouts.hpp"
#include "bench/study/plan/plan.hpp"
#include "bench/study/run/result_text.hpp"
#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"
#include "models/checkpoint_file.hpp"
#include "models/data/dataset.hpp"
#include "models/data/picture.hpp"
#include "models/step/traced_step.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

/// A folder of this process's own; in memory, unless TMPDIR says otherwise.
class Scratch {
 public:
  Scratch() {
    const bool memory = std::getenv("TMPDIR") == nullptr && access("/dev/shm", W_OK) == 0;
    const fs::path root = memory ? fs::path("/dev/shm") : fs::temp_directory_path();
    std::string name = (root / "scalebench-fuzz.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder " + name);
    folder_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const fs::path& folder() const { return folder_; }

 private:
  fs::path folder_;
};

/// A file of that name and these bytes, for readers that want a path: always the same path.
fs::path file_of(std::string_view name, std::string_view bytes) {
  static const Scratch scratch;
  fs::path path = scratch.folder() / name;
  fs::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + path.string());
  return path;
}

/// Two files in one: what comes before the first line "---", and what after it.
std::pair<std::string_view, std::string_view> divided(std::string_view bytes) {
  constexpr std::string_view kMark = "\n---\n";
  const std::size_t at = bytes.find(kMark);
  if (at == std::string_view::npos) return {bytes, ""};
  return {bytes.substr(0, at + 1), bytes.substr(at + kMark.size())};
}

std::vector<std::string> lines_in(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    lines.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return lines;
}

/// Goes on after a refusal: the next way of reading the same bytes is to see them too.
template <class Read>
void tried(Read read) {
  try {
    read();
  } catch (const Error&) {
  }
}

/// What we wrote ourselves must be read: a refusal of it is a fault.
template <class Read>
auto read_back(std::string_view what, Read read) {
  try {
    return read();
  } catch (const Error& error) {
    throw std::logic_error(fmt::format("{}, as written here, is refused: {}", what, error.what()));
  }
}

// Configs and plans.

void config(std::string_view bytes) {
  const StudyConfig config = parse_study_config(std::string(bytes), "study.toml");
  const std::string text = config_text(config);
  read_back("a config", [&] { return parse_study_config(text, "again.toml"); });
}

void plan(std::string_view bytes) {
  const StoredPlan plan = read_plan(file_of("plan/plan.json", bytes).parent_path());
  const fs::path again = file_of("again/plan.json", plan_text(plan)).parent_path();
  read_back("a plan", [&] { return read_plan(again); });
  for (const PlannedLaunch& one : plan.launches) tried([&] { started_by(one, plan.settings); });
}

void history(std::string_view bytes) {
  const fs::path folder = file_of("history.csv", bytes).parent_path();
  judge_machine(machine_nights(rows_in(folder, history_schema()), "measured"), {{"a", 1.0}});
}

// Files of a run.

void csv(std::string_view bytes) {
  const fs::path file = file_of("rows.csv", bytes);
  constexpr std::size_t kLooked = 1;  // at most so many rows: for each place the file is read again
  for (const LastLine last : {LastLine::must_end, LastLine::may_lack_its_end}) {
    tried([&] {
      const CsvTable table = CsvTable::read(file, last);
      for (std::size_t row = 0; row < std::min(table.size(), kLooked); ++row) {
        for (const std::string& column : table.columns()) {
          tried([&] { table.number(row, column); });
        }
      }
    });
  }
}

void manifest(std::string_view bytes) {
  const Manifest manifest = read_manifest(file_of("run/manifest.json", bytes).parent_path());
  const fs::path again = file_of("again/manifest.json", document(json_of(manifest))).parent_path();
  read_back("a manifest", [&] { return read_manifest(again); });
}

void trace(std::string_view bytes) {
  const StepProfile trace = parse_profile(bytes, "trace.json");
  read_back("a trace", [&] { return parse_profile(json_of(trace), "again.json"); });
}

// Other programs' results, up to the rows and tables that become of them.

void make_rows(ImportedFile file, const Schema& schema) {
  std::vector<NumberedLaunch> launches;
  for (ImportedLaunch& launch : file.launches) {
    launches.push_back({static_cast<int>(launches.size()) + 1, "file", std::move(launch)});
  }
  if (launches.empty()) return;
  require_cases(launches);
  const ImportedRows rows = imported_rows(launches, schema, {"run", "imported"});
  result_text({}, {rows.cases});
  why_no_speedup(rows);
  if (schema.file != epoch_schema().file) return;
  StudyTables tables;
  put_answers(tables, imported_legs(cells_of(rows.launches)));
}

/// Without what a user may set, and with it.
template <auto reader, auto schema>
void results(std::string_view bytes) {
  tried([&] { make_rows(reader(bytes, "file", Settings()), schema()); });
  if (!schema().has("ranks")) return;
  make_rows(reader(bytes, "file", Settings{{"ranks", "4"}}), schema());
}

Settings training_settings() { return {{"ranks", "2"}, {"model", "resnet50"}, {"batch", "32"}}; }

/// Lines as --metric has them, "---", the log.
void log_by_patterns(std::string_view bytes) {
  const auto [patterns, log] = divided(bytes);
  const Schema& schema = epoch_schema();
  const LogGuide guide{&schema, {parse_metrics(lines_in(patterns), schema)}, ""};
  make_rows(read_log(log, "log", guide, training_settings()), schema);
}

/// The name of a preset, "---", the log.
void log_of_preset(std::string_view bytes) {
  const std::string_view name = bytes.substr(0, bytes.find('\n'));
  const std::string_view log = divided(bytes).second;
  static const std::vector<Preset> presets = read_presets(SCALEBENCH_PRESETS);
  for (const Schema* const schema : {&epoch_schema(), &throughput_schema()}) {
    for (const Settings& settings : {Settings(), training_settings()}) {
      const LogGuide guide{schema, presets, std::string(name)};
      tried([&] { make_rows(read_log(log, "log", guide, settings), *schema); });
    }
  }
}

/// A map of columns, "---", a CSV file.
void csv_by_map(std::string_view bytes) {
  const auto [columns, rows] = divided(bytes);
  const CsvMap map = read_csv_map(file_of("map.toml", columns));
  make_rows(read_mapped_csv(file_of("foreign.csv", rows), map, Settings()), *map.schema);
}

void published(std::string_view bytes) {
  const fs::path file = file_of("published.csv", bytes);
  const CsvTable table = CsvTable::read(file);
  if (table.size() == 0) return;
  const std::string& name = table.text(0, "name");
  const CsvMap map = published_map(file, name);
  make_rows(read_mapped_csv(file, map, Settings()), *map.schema);
}

// Hosts, and what launchers say of them.

void host_list(std::string_view bytes) {
  tried([&] { parse_layouts(bytes); });
  const Hosts hosts = parse_hosts(bytes);
  read_back("a list of hosts", [&] { return parse_hosts(host_words(hosts)); });
}

void hostfile(std::string_view bytes) { read_hostfile(file_of("hosts", bytes)); }

void nodelist(std::string_view bytes) {
  tried([&] { tasks_per_node(bytes); });
  parse_hosts(bytes, "SLURM_JOB_NODELIST");
}

void tf_config(std::string_view bytes) {
  described_cluster("", "", {{"TF_CONFIG", std::string(bytes)}});
}

/// A variable a line, as `env` prints them.
void environment(std::string_view bytes) {
  const std::vector<std::string> lines = lines_in(bytes);
  std::vector<const char*> environment;
  for (const std::string& line : lines) environment.push_back(line.c_str());
  environment.push_back(nullptr);
  const EnvironmentVariables variables = environment_variables(environment.data());
  tried([&] { process_place(variables); });
  const ClusterDescription cluster = described_cluster("", "", variables);
  if (!cluster.hosts.empty()) {
    read_back("a description", [&] { return parse_hosts(host_words(cluster.hosts)); });
  }
}

void sizes(std::string_view bytes) {
  tried([&] { show_time(parse_duration(bytes)); });
  tried([&] { parse_rate(bytes); });
  show_size(parse_size("--min", bytes));
}

// Data sets and checkpoints.

void idx_file(std::string_view bytes) {
  const fs::path file = file_of("images-idx3-ubyte", bytes);
  tried([&] { read_idx(file, 1); });
  read_idx(file, 3);
}

/// Labels as many as the images say, with which the folder is a data set.
void idx_folder(std::string_view bytes) {
  const fs::path file = file_of("mnist/t10k-images-idx3-ubyte", bytes);
  file_of("mnist/t10k-labels-idx1-ubyte", std::string_view("\0\0\x08\1\0\0\0\2\0\1", 10));
  load_dataset(file.parent_path().string(), Split::test, {1, 28, 28, 10}, 1);
}

void idx(std::string_view bytes) {
  tried([&] { idx_folder(bytes); });
  idx_file(bytes);
}

void cifar(std::string_view bytes) {
  const fs::path file = file_of("cifar-10-batches-bin/test_batch.bin", bytes);
  load_dataset(file.parent_path().string(), Split::test, {3, 32, 32, 10}, 1);
}

/// The header; of small pictures, all of it.
void jpeg(std::string_view bytes) {
  constexpr std::int64_t kSmall = 1 << 14;
  const std::span file(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  JpegDecoder decoder;
  const JpegDecoder::Size size = decoder.size(file);
  if (std::int64_t{size.height} * size.width > kSmall) return;
  for (const int divisor : {1, 2, 4, 8}) {
    Picture picture;
    decoder.decode(file, divisor, picture);
  }
}

/// As they are, and as what a right checksum follows: without that nothing behind it is reached.
void checkpoint(std::string_view bytes) {
  tried([&] { checkpoint_from(bytes); });
  std::string sealed(bytes);
  std::array<unsigned char, 32> digest{};
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  sealed.append(digest.begin(), digest.end());
  const Checkpoint checkpoint = checkpoint_from(sealed);
  read_back("a checkpoint", [&] { return checkpoint_from(bytes_of(checkpoint)); });
  difference(checkpoint, {{"model", "mlp"}});
}

constexpr Reader kReaders[]{
    {"config", "a study's TOML file", config},
    {"plan", "plan.json", plan},
    {"history", "history.csv of nights", history},
    {"csv", "a CSV file", csv},
    {"manifest", "manifest.json", manifest},
    {"trace", "recorded steps", trace},
    {"collectives", "nccl-tests, text and JSON, OSU, IMB",
     results<read_collectives, allreduce_schema>},
    {"log", "a log and a user's patterns", log_by_patterns},
    {"preset", "a log of a known program", log_of_preset},
    {"csv_map", "a foreign CSV file and its map", csv_by_map},
    {"published", "published.csv", published},
    {"hosts", "--hosts and --layouts", host_list},
    {"hostfile", "a hostfile", hostfile},
    {"nodelist", "Slurm's lists of nodes and tasks", nodelist},
    {"tf_config", "TF_CONFIG", tf_config},
    {"environment", "variables of torchrun, SageMaker, Slurm, LSF", environment},
    {"sizes", "sizes, rates, durations", sizes},
    {"idx", "MNIST's files", idx},
    {"cifar", "CIFAR-10's files", cifar},
    {"jpeg", "a picture", jpeg},
    {"checkpoint", "a checkpoint", checkpoint},
};

/// "std::out_of_range: what".
std::string described(const std::exception& error) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status), &std::free);
  return fmt::format("{}: {}", status == 0 ? name.get() : typeid(error).name(), error.what());
}

}  // namespace

std::span<const Reader> readers() { return kReaders; }

const Reader& reader_named(std::string_view name) {
  return row_named(kReaders, &Reader::name, "reader", name);
}

std::string fault_of(const Reader& reader, std::string_view bytes) {
  try {
    reader.read(bytes);
  } catch (const Error& error) {
    return std::string_view(error.what()).empty() ? "a refusal without a reason" : "";
  } catch (const std::exception& error) {
    return described(error);
  } catch (...) {
    return "something that is no std::exception";
  }
  return "";
}

}  // namespace scalebench
