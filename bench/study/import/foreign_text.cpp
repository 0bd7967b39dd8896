// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/foreign_text.hpp"

#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "bench/machine/json_text.hpp"
#include "bench/record/columns.hpp"
#include "bench/record/json_members.hpp"
#include "bench/study/analysis/rows.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kBlanks = " \t\v\f\r";

/// "[1,0]<stdout>:" and "[prterun-host-1@1,0]<stdout>: ", which mpirun --tag-output puts first, and
/// horovodrun's "[0]<stdout>:"; each also behind the 24 characters of a time.
std::string_view without_tag(std::string_view line) {
  for (const std::string_view stream : {"]<stdout>:", "]<stderr>:"}) {
    const std::size_t at = line.find(stream);
    const std::size_t open = at == std::string_view::npos ? at : line.rfind('[', at);
    if (open != 0 && !(open == 24 && line[13] == ':' && line[16] == ':')) continue;
    const std::string_view tag = line.substr(open + 1, at - open - 1);
    const bool number = tag.find_first_not_of("0123456789") == std::string_view::npos;
    if (number || tag.find(',') != std::string_view::npos) return line.substr(at + stream.size());
  }
  return line;
}

/// Throws for compressed files, pictures, programs: a log has few control characters.
void require_text(std::string_view text, const std::string& file) {
  constexpr std::size_t kLookedAt = 65536;
  constexpr std::string_view kUsual = "\t\n\v\f\r\b\x1b";
  if (text.starts_with("\x1f\x8b")) {
    fail<UsageError>("{}:1: this is compressed; unpack it first, as with gunzip", file);
  }
  const std::string_view head = text.substr(0, kLookedAt);
  const auto odd = std::ranges::count_if(head, [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 || byte == 0x7f) && kUsual.find(c) == std::string_view::npos;
  });
  if (odd > 16 && static_cast<std::size_t>(odd) > head.size() / 20) {
    fail<UsageError>("{}:1: this is no text: {} of its first {} bytes are control characters", file,
                     odd, head.size());
  }
}

std::string_view next_cell(std::string_view& packed) {
  std::size_t length = 0, unit = 1, at = 0;
  for (bool more = true; more; unit *= 128) {
    const auto digit = static_cast<unsigned char>(packed[at++]);
    more = digit >= 128;
    length += unit * (digit % 128);
  }
  const std::string_view cell = packed.substr(at, length);
  packed.remove_prefix(at + length);
  return cell;
}

}  // namespace

std::vector<ForeignLine> lines_of(std::string_view text, const std::string& file,
                                  std::vector<Remark>& findings, std::size_t longest) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    fail<UsageError>("{}:1: this is UTF-16; convert it first, as with iconv -f UTF-16 -t UTF-8",
                     file);
  }
  require_text(text, file);
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<ForeignLine> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (line.ends_with('\r')) line.remove_suffix(1);
    // What a progress bar has overwritten is no longer meant.
    const std::size_t overwritten = line.rfind('\r');
    if (overwritten != std::string_view::npos) line.remove_prefix(overwritten + 1);
    if (line.size() > longest) {
      findings.push_back({number, fmt::format("a line of {} characters; at most {} are read",
                                              line.size(), longest)});
    } else if (line.find('\0') != std::string_view::npos) {
      findings.push_back({number, "a NUL byte: this line is no text"});
    } else {
      lines.push_back({number, without_tag(line)});
    }
  }
  return lines;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::optional<double> decimal_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const std::optional<double> value = read_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<PrintedNumber> printed_number(std::string_view text) {
  const std::optional<double> value = decimal_of(text);
  if (!value) return std::nullopt;
  const std::size_t exponent_at = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, exponent_at);
  const std::size_t point = mantissa.find('.');
  double last_digit =
      point == std::string_view::npos ? 0 : -static_cast<double>(mantissa.size() - point - 1);
  if (exponent_at < text.size()) {
    last_digit += decimal_of(text.substr(exponent_at + 1)).value_or(0);
  }
  return PrintedNumber{*value, 0.5 * std::pow(10.0, last_digit)};
}

bool is_count(std::string_view text) {
  const std::uint64_t value = read_number<std::uint64_t>(text).value_or(0);
  return value > 0 && value < std::uint64_t{1} << 62U;
}

std::string no_number(std::string_view name, std::string_view text) {
  std::string what = fmt::format("{}: '{}' is not a number", name, text);
  std::string with_point(text);
  std::ranges::replace(with_point, ',', '.');
  if (with_point != text && decimal_of(with_point)) what += "; write the decimal point as .";
  return what;
}

PackedRows::PackedRows(const std::vector<ResultRow>& rows) {
  for (const ResultRow& row : rows) push_back(row);
}

void PackedRows::push_back(const ResultRow& row) {
  if (schema_ == nullptr) schema_ = &row.schema();
  rows_.push_back(pack(row));
}

void PackedRows::replace(std::size_t place, const ResultRow& row) { rows_.at(place) = pack(row); }

PackedRows::Place PackedRows::pack(const ResultRow& row) {
  constexpr std::size_t kSmallest = 1U << 12U, kLargest = 1U << 20U;
  if (&row.schema() != schema_) fail("a row of {} among {}", row.schema().file, schema_->file);
  std::size_t bytes = 0;
  for (const std::string& cell : row.cells()) bytes += cell.size() + 1 + cell.size() / 64;
  const std::size_t last = blocks_.empty() ? 0 : blocks_.back()->capacity();
  const bool room = last > 0 && last - blocks_.back()->size() >= bytes;
  if (!room || blocks_.back().use_count() > 1) {
    blocks_.push_back(std::make_shared<std::string>());
    blocks_.back()->reserve(std::max(bytes, std::clamp(2 * last, kSmallest, kLargest)));
  }
  std::string& block = *blocks_.back();
  const Place place{static_cast<std::uint32_t>(blocks_.size() - 1),
                    static_cast<std::uint32_t>(block.size())};
  for (const std::string& cell : row.cells()) {
    std::size_t length = cell.size();
    for (; length >= 128; length /= 128) block += static_cast<char>(128 + length % 128);
    block += static_cast<char>(length);
    block += cell;
  }
  return place;
}

std::string_view PackedRows::packed(std::size_t place) const {
  const Place at = rows_.at(place);
  return std::string_view(*blocks_[at.block]).substr(at.offset);
}

ResultRow PackedRows::at(std::size_t place) const {
  std::string_view packed = this->packed(place);
  std::vector<std::string> cells(schema_->columns.size());
  for (std::string& cell : cells) cell = next_cell(packed);
  return {*schema_, std::move(cells)};
}

std::string_view PackedRows::text(std::size_t place, std::string_view column) const {
  std::string_view packed = this->packed(place);
  const std::size_t index = schema_->columns.place_of(column);
  if (index == schema_->columns.size()) return "";
  for (std::size_t i = 0; i < index; ++i) next_cell(packed);
  return next_cell(packed);
}

std::vector<ResultRow> PackedRows::unpacked() const {
  std::vector<ResultRow> rows;
  for (std::size_t i = 0; i < size(); ++i) rows.push_back(at(i));
  return rows;
}

void PackedRows::reorder(const std::vector<std::size_t>& places) {
  std::vector<Place> rows;
  rows.reserve(places.size());
  for (const std::size_t place : places) rows.push_back(rows_.at(place));
  rows_ = std::move(rows);
}

ImportedCases::ImportedCases(const std::vector<ImportedCase>& cases) {
  for (const ImportedCase& one : cases) push_back(one);
}

void ImportedCases::push_back(const ImportedCase& one) {
  rows_.push_back(one.row);
  seconds_.insert(seconds_.end(), one.seconds.begin(), one.seconds.end());
  ends_.push_back(seconds_.size());
  if (!one.accuracies.empty()) accuracies_.emplace(size() - 1, one.accuracies);
}

ImportedCase ImportedCases::at(std::size_t place) const {
  ImportedCase one{rows_.at(place), {}, {}};
  const auto begin = static_cast<std::ptrdiff_t>(place > 0 ? ends_[place - 1] : 0);
  const auto end = static_cast<std::ptrdiff_t>(ends_[place]);
  one.seconds.assign(seconds_.begin() + begin, seconds_.begin() + end);
  const auto found = accuracies_.find(place);
  if (found != accuracies_.end()) one.accuracies = found->second;
  return one;
}

using nlohmann::json;

json parse_foreign_json(std::string_view text, const std::string& file) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (!is_shallow_json(text)) {
    fail<UsageError>("{}: JSON that is nested more than {} deep", file, kDeepestJson);
  }
  try {
    return parse_json(std::string(text));
  } catch (const UsageError& error) {
    fail<UsageError>("{}: {}", file, error.what());
  } catch (const json::parse_error& error) {
    const std::string_view before = text.substr(0, std::min(error.byte, text.size()));
    const auto line =
        1 + std::ranges::count(before.substr(0, before.size() - !before.empty()), '\n');
    const std::size_t begin = before.substr(0, before.size() - !before.empty()).rfind('\n');
    const std::size_t column = before.size() - (begin == std::string_view::npos ? 0 : begin + 1);
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ...".
    const std::string_view what = error.what();
    const std::size_t colon = what.find(": ");
    fail<UsageError>("{}:{}:{}: not JSON: {}", file, line, column,
                     colon == std::string_view::npos ? what : what.substr(colon + 2));
  } catch (const json::out_of_range& error) {  // "...: number overflow parsing '1e999'"
    const std::string_view what = error.what();
    fail<UsageError>("{}: {}", file, what.substr(std::min(what.find("] ") + 2, what.size())));
  }
}

const json& member(const json& object, const char* name) {
  static const json kNull;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() ? kNull : *found;
}

std::string member_text(const json& object, const char* name) {
  const json& value = member(object, name);
  if (value.is_string()) return value.get<std::string>();
  return value.is_primitive() && !value.is_null() ? value.dump() : "";
}

namespace {

re2::RE2::Options pattern_options() {
  re2::RE2::Options options;
  options.set_log_errors(false);                            // they are thrown
  options.set_encoding(re2::RE2::Options::EncodingLatin1);  // a log may be no UTF-8
  return options;
}

}  // namespace

LinePattern::LinePattern(std::string_view place, const std::string& expression)
    : regex_(std::make_unique<re2::RE2>(expression, pattern_options())) {
  if (!regex_->ok()) {
    fail<UsageError>("{}: '{}' is no regular expression: {}", place, expression, regex_->error());
  }
  if (regex_->NumberOfCapturingGroups() == 0) {
    fail<UsageError>("{}: '{}' has no group (...) around its number", place, expression);
  }
}

LinePattern::~LinePattern() = default;

std::optional<std::string_view> LinePattern::first_group(std::string_view line) const {
  // Its own class in earlier versions of RE2, std::string_view in later ones.
  re2::StringPiece groups[2];
  const re2::StringPiece text(line.data(), line.size());
  if (!regex_->Match(text, 0, text.size(), re2::RE2::UNANCHORED, groups, 2)) return std::nullopt;
  return std::string_view(groups[1].data(), groups[1].size());
}

namespace {

/// Columns that statistics, ids and rates come from, never a user.
constexpr std::string_view kMade =
    "schema_version run_id case_id origin status launches repetitions seconds_median "
    "seconds_ci_low seconds_ci_high interval seconds_min seconds_p5 seconds_p95 seconds_max "
    "seconds_mean outliers converged algbw_gb_per_s busbw_gb_per_s busbw_ci_low_gb_per_s "
    "busbw_ci_high_gb_per_s images_per_s_ci_low images_per_s_ci_high gb_per_s gflop_per_s "
    "images_per_s wrong";

constexpr std::array<std::string_view, 16> kCounts{
    "size_bytes",    "count",      "ranks",  "nodes",      "batch",
    "global_batch",  "samples",    "epochs", "parameters", "threads",
    "workers",       "operations", "bytes",  "share_of",   "epochs_to_target",
    "loader_threads"};

/// Of ranks, and of what is counted by them: above what anybody has, and what an int holds.
constexpr std::uint64_t kMostRanks = 1U << 24U;

constexpr std::array<std::string_view, 2> kShares{"test_accuracy", "target_accuracy"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::string> values_of(std::string_view text, std::size_t files) {
  std::vector<std::string> values;
  for (std::size_t begin = 0, end = 0; end < text.size(); begin = end + 1) {
    end = std::min(text.find(',', begin), text.size());
    values.emplace_back(text.substr(begin, end - begin));
  }
  if (values.size() > 1 && values.size() == files) return values;
  return std::vector<std::string>(files, std::string(text));
}

}  // namespace

std::vector<std::string_view> describing_columns(const Schema& schema) {
  static const std::vector<std::string_view> made = words_of(kMade);
  std::vector<std::string_view> columns(schema.columns.begin(), schema.columns.end());
  std::erase_if(columns, [](std::string_view column) { return is_one_of(made, column); });
  return columns;
}

void require_value(std::string_view place, std::string_view column, std::string_view value) {
  if (value.empty()) fail<UsageError>("{}: {} is empty", place, column);
  const bool may_be_none = column == "loader_threads" && value == "0";
  if (is_one_of(kCounts, column) && !is_count(value) && !may_be_none) {
    fail<UsageError>("{}: {}: '{}' is not a positive whole number", place, column, value);
  }
  const bool of_ranks = column == "ranks" || column == "nodes";
  if (of_ranks && read_number<std::uint64_t>(value).value_or(0) > kMostRanks) {
    fail<UsageError>("{}: {}: {} is more than {}", place, column, value, kMostRanks);
  }
  const bool number = column.ends_with("_seconds") || column == "learning_rate" ||
                      column == "flops" || column.ends_with("_loss") || is_one_of(kShares, column);
  const std::optional<double> found = decimal_of(value);
  if (number && !found) fail<UsageError>("{}: {}", place, no_number(column, value));
  if (is_one_of(kShares, column) && (*found < 0 || *found > 1)) {
    fail<UsageError>("{}: {} is {}, and a share is from 0 to 1", place, column, value);
  }
}

std::vector<Settings> parse_settings(const std::vector<std::string>& texts, const Schema& schema,
                                     std::size_t files) {
  const std::vector<std::string_view> valid = describing_columns(schema);
  std::vector<Settings> all(files);
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      fail<UsageError>("--set {}: write column=value, as ranks=4", text);
    }
    const std::string column = text.substr(0, equals);
    if (!is_one_of(valid, column)) {
      fail<UsageError>("--set {}: {}", text, unknown_name("column", column, valid));
    }
    const std::vector<std::string> values =
        values_of(std::string_view(text).substr(equals + 1), files);
    for (std::size_t i = 0; i < files; ++i) {
      require_value("--set " + text, column, values[i]);
      if (!setting(all[i], column).empty()) fail<UsageError>("--set {}: set twice", text);
      all[i].emplace_back(column, values[i]);
    }
  }
  return all;
}

void apply(const Settings& settings, ResultRow& row, const std::string& file) {
  for (const auto& [column, value] : settings) {
    const std::string& said = row.get(column);
    if (!said.empty() && said != value) {
      fail<UsageError>("--set {}={}: {} says {}", column, value, file, said);
    }
    row.set(column, value);
  }
}

void set_where_empty(ResultRow& row, std::string_view column, std::string_view value) {
  if (row.get(column).empty()) row.set(column, value);
}

std::string setting(const Settings& settings, std::string_view column) {
  for (const auto& [name, value] : settings) {
    if (name == column) return value;
  }
  return "";
}

namespace {

using Unit = std::pair<std::string_view, double>;

constexpr Unit kTimes[]{{"s", 1},     {"ms", 1e-3}, {"us", 1e-6},
                        {"ns", 1e-9}, {"min", 60},  {"h", 3600}};
// MB could be 10^6 or 2^20 and is none of them.
constexpr Unit kSizes[]{{"B", 1}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}};
constexpr Unit kRates[]{{"GB/s", 1},         {"MB/s", 1e-3},         {"kB/s", 1e-6},
                        {"B/s", 1e-9},       {"GiB/s", 1.073741824}, {"MiB/s", 1.048576e-3},
                        {"Gbit/s", 1.0 / 8}, {"Mbit/s", 1e-3 / 8}};
constexpr Unit kPerSecond[]{{"1/s", 1}, {"1/min", 1.0 / 60}, {"1/h", 1.0 / 3600}};
constexpr Unit kShareUnits[]{{"1", 1}, {"%", 0.01}};

std::span<const Unit> units_of(std::string_view column) {
  if (column == "seconds" || column.ends_with("_seconds")) return kTimes;
  if (column == "bytes" || column.ends_with("_bytes")) return kSizes;
  if (column.ends_with("gb_per_s")) return kRates;
  if (column == "images_per_s") return kPerSecond;
  if (column.ends_with("_accuracy")) return kShareUnits;
  return {};
}

bool is(const ResultRow& row, const Schema& schema) { return row.schema().file == schema.file; }

std::optional<double> positive(double value) {
  if (std::isfinite(value) && value > 0) return value;
  return std::nullopt;
}

}  // namespace

bool is_training(const Schema& schema) {
  return schema.file == epoch_schema().file || schema.file == throughput_schema().file;
}

std::vector<std::string_view> value_columns(const Schema& schema) {
  if (is_training(schema)) return {"seconds", "images_per_s"};
  if (schema.file == kernels_schema().file) return {"seconds", "gb_per_s"};
  return {"seconds", "algbw_gb_per_s", "busbw_gb_per_s"};
}

bool carries_values(const Schema& schema, std::string_view column) {
  return is_one_of(value_columns(schema), column);
}

double unit_factor(std::string_view place, std::string_view column, std::string_view unit) {
  if (unit.empty()) return 1;
  const std::span<const Unit> units = units_of(column);
  std::vector<std::string_view> valid;
  for (const auto& [name, factor] : units) {
    if (name == unit) return factor;
    valid.push_back(name);
  }
  if (valid.empty()) fail<UsageError>("{}: {} has no unit, so not '{}'", place, column, unit);
  fail<UsageError>("{}: {}", place, unknown_name("unit", unit, valid));
}

std::optional<double> seconds_behind(const ResultRow& row, std::string_view column, double value) {
  if (column == "seconds") return value;
  if (column == "algbw_gb_per_s") return positive(number_in(row, "size_bytes") / value * 1e-9);
  if (column == "busbw_gb_per_s") {
    // The time at which this many bytes have that busbw: both bandwidths go as 1/seconds.
    const double ranks = number_in(row, "ranks");
    if (!(ranks >= 1 && ranks <= static_cast<double>(kMostRanks))) return std::nullopt;
    return positive(busbw_gb_per_s(number_in(row, "size_bytes"), value, static_cast<int>(ranks)));
  }
  if (column == "gb_per_s") return positive(number_in(row, "bytes") / value * 1e-9);
  if (is(row, epoch_schema())) return positive(number_in(row, "samples") / value);
  const double steps = row.get("rank") == "all" ? number_in(row, "ranks") : 1;
  return positive(number_in(row, "batch") * steps / value);
}

std::string_view needed_for_seconds(const Schema& schema) {
  if (schema.file == epoch_schema().file) return "samples (the images of one epoch)";
  if (schema.file == throughput_schema().file) return "batch (images of one rank in one step)";
  if (schema.file == kernels_schema().file) return "bytes";
  return "size_bytes and ranks";
}

}  // namespace scalebench
