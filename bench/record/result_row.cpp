// SPDX-License-Identifier: Apache-2.0
#include "bench/record/result_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "bench/machine/digest.hpp"
#include "kernels/error.hpp"

namespace scalebench {

std::string case_id(std::string_view canonical_parameters) {
  return sha256_of(canonical_parameters).substr(0, 12);
}

namespace {

// A name with $ behind it, as in BASIC, is that of a column of texts.

constexpr std::string_view kCommon = "schema_version run_id$ case_id$ origin$ status$ note$ ";
/// What the card did beside the repetitions.
constexpr std::string_view kDevice =
    "sm_clock_mhz throttled_share power_capped_share gpu_watts gpu_celsius";
constexpr std::string_view kStatistics =
    "launches repetitions seconds_median seconds_ci_low seconds_ci_high interval$ seconds_min "
    "seconds_p5 seconds_p95 seconds_max seconds_mean outliers converged ";

/// The words of `parts`, which are separated by single spaces.
template <class... Parts>
ColumnNames words(Parts... parts) {
  ColumnNames all;
  std::string word;
  for (const std::string_view part : {std::string_view(parts)..., std::string_view(" ")}) {
    for (const char c : part) {
      if (c != ' ') {
        word += c;
      } else if (!word.empty()) {
        all.push_back(std::exchange(word, {}));
      }
    }
  }
  return all;
}

}  // namespace

const Schema& hosts_schema() {
  static const Schema schema{
      "hosts.csv", words(kCommon, "host$ slots found name boot_id$ cores gpus binaries libraries")};
  return schema;
}

const Schema& placement_schema() {
  static const Schema schema{"placement.csv",
                             words(kCommon, "ranks launch rank host$ local_rank cpus gpus")};
  return schema;
}

const Schema& samples_schema() {
  static const Schema schema{
      "samples.csv",
      words("schema_version run_id$ case_id$ origin$ bench$ launch ranks rank repetition seconds "
            "bytes "
            "samples skew_seconds slowest_rank sm_clock_mhz throttle_reasons throttled")};
  return schema;
}

const Schema& kernels_schema() {
  static const Schema schema{"kernels.csv",
                             words(kCommon, "kernel$ memory$ device$ dtype$ count bytes flops ",
                                   kStatistics, "gb_per_s gflop_per_s enqueue_seconds ", kDevice)};
  return schema;
}

const Schema& allreduce_schema() {
  static const Schema schema{
      "allreduce.csv",
      words(
          kCommon,
          "algorithm$ transport$ memory$ dtype$ op$ placement$ mode$ cache$ graph sync$ operations "
          "clock_residual_seconds size_bytes count ranks nodes ",
          kStatistics,
          "warm first_call_seconds algbw_gb_per_s busbw_gb_per_s busbw_ci_low_gb_per_s "
          "busbw_ci_high_gb_per_s wire_bw_gb_per_s skew_seconds slowest_rank redone wrong "
          "enqueue_seconds device_seconds ",
          kDevice)};
  return schema;
}

const Schema& allreduce_ranks_schema() {
  static const Schema schema{"allreduce_ranks.csv",
                             words(kCommon,
                                   "algorithm$ transport$ memory$ dtype$ op$ placement$ mode$ "
                                   "cache$ graph size_bytes ranks rank "
                                   "host$ device$ seconds_median slowest_share nodes")};
  return schema;
}

const Schema& bound_schema() {
  static const Schema schema{
      "bound.csv",
      words(kCommon,
            "transport$ memory$ size_bytes ranks kernel$ stream_gb_per_s seconds algbw_gb_per_s "
            "busbw_gb_per_s nodes")};
  return schema;
}

const Schema& links_schema() {
  static const Schema schema{
      "links.csv",
      words(kCommon,
            "ranks nodes from_host$ to_host$ message_bytes gb_per_s latency_seconds relative "
            "slow")};
  return schema;
}

const Schema& throughput_schema() {
  static const Schema schema{
      "throughput.csv",
      words(kCommon,
            "model$ parameters device$ dtype$ memory_format$ step$ threads batch largest "
            "batches_tried "
            "ranks nodes rank host$ ",
            kStatistics,
            "images_per_s images_per_s_ci_low images_per_s_ci_high relative_to_one_rank "
            "gflop_per_image roofline_gb_per_s roofline_gflop_per_s mfu published_gflop_per_s "
            "mfu_published ",
            kDevice)};
  return schema;
}

const Schema& epoch_schema() {
  static const Schema schema{
      "epoch.csv",
      words(kCommon,
            "model$ parameters gradient_sync$ allreduce$ transport$ device$ dtype$ memory_format$ "
            "threads "
            "dataset$ scaling$ global_batch batch optimizer$ learning_rate epochs ranks workers "
            "nodes "
            "rank host$ ",
            kStatistics,
            "samples images_per_s load_seconds forward_seconds backward_seconds sync_seconds "
            "update_seconds other_seconds evaluate_seconds checkpoint_seconds train_loss "
            "test_accuracy target_accuracy epochs_to_target seconds_to_target replicas_equal "
            "replica_divergence share_of loader_threads page_cache dilation compute_seconds "
            "transfer_seconds wait_seconds input_seconds evaluation_seconds host_seconds "
            "hidden_seconds wait_jitter_seconds wait_static_seconds last_rank last_rank_share")};
  return schema;
}

const Schema& accuracy_schema() {
  static const Schema schema{
      "accuracy.csv",
      words(kCommon,
            "model$ gradient_sync$ dataset$ scaling$ global_batch ranks launch epoch seconds "
            "seconds_so_far samples train_loss test_loss test_accuracy")};
  return schema;
}

const Schema& monitor_schema() {
  static const Schema schema{
      "monitor.csv",
      words(kCommon,
            "bench$ ranks launch host$ seconds utc_seconds cpu_share rank_cores_share core_shares "
            "steal_share clock_mhz context_switches_per_s ranks_memory_bytes memory_used_bytes "
            "memory_bytes disk_read_bytes_per_s disk_write_bytes_per_s "
            "network_received_bytes_per_s network_sent_bytes_per_s loopback_bytes_per_s "
            "sampling_seconds gpu gpu_share gpu_memory_used_bytes gpu_memory_bytes gpu_watts "
            "gpu_clock_mhz gpu_celsius gpu_throttle_reasons")};
  return schema;
}

const Schema& scaling_schema() {
  static const Schema schema{
      "scaling.csv",
      words(
          kCommon,
          "model$ parameters gradient_sync$ allreduce$ transport$ device$ dataset$ scaling$ "
          "global_batch batch dilation ranks nodes baseline h_seconds ideal_seconds seconds_median "
          "seconds_ci_low seconds_ci_high interval$ launches rho speedup speedup_ci_low "
          "speedup_ci_high efficiency efficiency_ci_low efficiency_ci_high h_raw_seconds "
          "efficiency_raw karp_flatt lost_seconds test_accuracy target_accuracy "
          "epochs_to_target seconds_to_target efficiency_statistical efficiency_to_accuracy "
          "lost_work_seconds lost_compute_seconds lost_transfer_seconds "
          "lost_wait_static_seconds lost_wait_jitter_seconds lost_input_seconds "
          "lost_evaluation_seconds lost_host_seconds lost_batch_seconds "
          "lost_contention_seconds lost_unattributed_seconds last_rank last_rank_share")};
  return schema;
}

const Schema& ladder_schema() {
  static const Schema schema{
      "ladder.csv",
      words(kCommon,
            "model$ gradient_sync$ allreduce$ transport$ device$ dataset$ scaling$ global_batch "
            "batch "
            "ranks nodes rung seconds_median seconds_ci_low seconds_ci_high interval$ launches "
            "seconds_at_one lost_seconds trace_seconds disagrees")};
  return schema;
}

const Schema& fit_schema() {
  static const Schema schema{
      "fit.csv",
      words(kCommon,
            "algorithm$ transport$ memory$ dtype$ op$ placement$ mode$ cache$ graph ranks nodes "
            "sizes points "
            "smallest_bytes largest_bytes alpha_seconds beta_seconds_per_byte "
            "gamma_seconds_per_byte rms_relative_residual worst_relative_residual worst_bytes")};
  return schema;
}

const Schema& fit_points_schema() {
  static const Schema schema{"fit_points.csv",
                             words(kCommon,
                                   "algorithm$ transport$ memory$ dtype$ op$ placement$ mode$ "
                                   "cache$ graph size_bytes ranks nodes "
                                   "seconds busbw_gb_per_s relative_residual")};
  return schema;
}

const Schema& certificate_schema() {
  static const Schema schema{
      "certificate.csv",
      words(kCommon,
            "algorithm$ transport$ memory$ dtype$ op$ placement$ mode$ cache$ graph size_bytes "
            "ranks nodes "
            "launches_a launches_b seconds_a seconds_b ratio ratio_low ratio_high p_value p_holm "
            "verdict$ floor smallest_effect")};
  return schema;
}

const Schema& gate_schema() {
  static const Schema schema{
      "gate.csv",
      words(kCommon,
            "bench$ family$ label$ ranks metric$ verdict$ launches nights before after change "
            "change_low change_high score p_value q_value mde floor pinned_before pinned_change "
            "drift_change drift_since_run rerun_run")};
  return schema;
}

const Schema& history_schema() {
  static const Schema schema{
      "history.csv", words("schema_version run_id$ case_id$ origin$ bench$ label$ ranks metric$ "
                           "started_utc value accepted segment")};
  return schema;
}

const Schema& comparison_schema() {
  static const Schema schema{
      "compare.csv",
      words(kCommon,
            "baseline_run$ letter$ bench$ family$ label$ differs$ ranks launches_a launches_b "
            "seconds_a "
            "seconds_b ratio ratio_low ratio_high p_value p_holm verdict$ floor smallest_effect "
            "busbw_a_gb_per_s busbw_b_gb_per_s images_per_s_a images_per_s_b efficiency_a "
            "efficiency_a_ci_low efficiency_a_ci_high efficiency_b efficiency_b_ci_low "
            "efficiency_b_ci_high")};
  return schema;
}

const Schema& cost_schema() {
  static const Schema schema{
      "cost.csv",
      words(kCommon,
            "instance$ usd_per_hour price_date$ price_source$ ranks_per_node model$ gradient_sync$ "
            "allreduce$ transport$ device$ dtype$ dataset$ scaling$ global_batch batch ranks nodes "
            "seconds_median seconds_ci_low seconds_ci_high interval$ launches samples images_per_s "
            "usd_per_epoch usd_per_epoch_ci_low usd_per_epoch_ci_high images_per_usd efficient "
            "test_accuracy target_accuracy epochs_to_target seconds_to_target usd_to_target")};
  return schema;
}

const Schema& break_even_schema() {
  static const Schema schema{"break_even.csv", words(kCommon,
                                                     "baseline_run$ instance_a$ instance_b$ model$ "
                                                     "gradient_sync$ dataset$ scaling$ criterion$ "
                                                     "ranks ranks_compared$ value_a value_b")};
  return schema;
}

const Schema& recovery_schema() {
  static const Schema schema{
      "recovery.csv",
      words(
          kCommon,
          "model$ gradient_sync$ allreduce$ transport$ dataset$ scaling$ global_batch batch ranks "
          "repetition fault fault_rank fault_step checkpoint_every resumed_step noticed_seconds "
          "detection_seconds restart_seconds down_seconds lost_seconds lost_steps lost_samples "
          "undisturbed_seconds disturbed_seconds overhead_seconds same_parameters same_loss "
          "noticed")};
  return schema;
}

const Schema& prediction_schema() {
  static const Schema schema{
      "prediction.csv",
      words(
          kCommon,
          "kind$ model$ parameters gradient_sync$ allreduce$ transport$ device$ dtype$ dataset$ "
          "scaling$ "
          "global_batch batch ranks workers nodes link$ what_if$ held_out calibrated_ranks$ curve$ "
          "step_seconds step_seconds_low step_seconds_high seconds seconds_low seconds_high "
          "h_seconds ideal_seconds speedup efficiency efficiency_low efficiency_high "
          "compute_seconds exposed_seconds hidden_seconds wait_seconds other_seconds "
          "measured_step_seconds measured_seconds measured_efficiency error change contention "
          "transfer overlap jitter static_wait")};
  return schema;
}

ColumnNames::ColumnNames(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) push_back(name);
}

void ColumnNames::push_back(std::string_view name) {
  const bool text = name.ends_with('$');
  if (text) name.remove_suffix(1);
  if (names_.size() == kMost) fail("column '{}': more than {} in a file", name, kMost);
  names_.emplace_back(name);
  texts_.push_back(text);
  // At most half full, so that a search ends soon.
  if (2 * names_.size() > slots_.size()) {
    slots_.assign(std::max<std::size_t>(64, 2 * slots_.size()), 0);
    for (std::size_t i = 0; i < names_.size(); ++i) occupy(i);
  } else {
    occupy(names_.size() - 1);
  }
}

std::size_t ColumnNames::slot_of(std::string_view name) const {
  std::size_t slot = std::hash<std::string_view>()(name) % slots_.size();
  while (slots_[slot] != 0 && names_[slots_[slot] - 1U] != name) slot = (slot + 1) % slots_.size();
  return slot;
}

void ColumnNames::occupy(std::size_t place) {
  std::uint8_t& slot = slots_[slot_of(names_[place])];
  if (slot == 0) slot = static_cast<std::uint8_t>(place + 1);
}

std::size_t ColumnNames::place_of(std::string_view name) const {
  if (slots_.empty()) return size();
  const std::uint8_t slot = slots_[slot_of(name)];
  return slot == 0 ? size() : slot - 1U;
}

bool Schema::has(std::string_view column) const {
  return columns.place_of(column) < columns.size();
}

ResultRow::ResultRow(const Schema& schema) : schema_(&schema), cells_(schema.columns.size()) {}

ResultRow::ResultRow(const Schema& schema, std::vector<std::string> cells)
    : schema_(&schema), cells_(std::move(cells)) {
  if (cells_.size() != schema.columns.size()) {
    fail("{}: {} columns and {} cells", schema.file, schema.columns.size(), cells_.size());
  }
}

std::size_t ResultRow::index_of(std::string_view column) const {
  const ColumnNames& columns = schema_->columns;
  const std::size_t place = columns.place_of(column);
  if (place < columns.size()) return place;
  const std::vector<std::string_view> valid(columns.begin(), columns.end());
  fail("{}: {}", schema_->file, unknown_name("column", column, valid));
}

ResultRow& ResultRow::set(std::string_view column, std::string_view text) {
  cells_[index_of(column)] = text;
  return *this;
}

ResultRow& ResultRow::set(std::string_view column, double value) {
  return set(column, std::isfinite(value) ? fmt::format("{}", value) : std::string());
}

const std::string& ResultRow::get(std::string_view column) const {
  return cells_[index_of(column)];
}

PackedRows::PackedRows(const std::vector<ResultRow>& rows) {
  for (const ResultRow& row : rows) push_back(row);
}

void PackedRows::push_back(const ResultRow& row) {
  if (schema_ == nullptr) schema_ = &row.schema();
  rows_.emplace_back();
  replace(rows_.size() - 1, row);
}

void PackedRows::replace(std::size_t place, const ResultRow& row) {
  if (&row.schema() != schema_) fail("a row of {} among {}", row.schema().file, schema_->file);
  std::string packed;
  std::size_t bytes = 0;
  for (const std::string& cell : row.cells()) bytes += cell.size() + 1 + cell.size() / 128;
  packed.reserve(bytes);
  for (const std::string& cell : row.cells()) {
    std::size_t length = cell.size();
    for (; length >= 128; length /= 128) packed += static_cast<char>(128 + length % 128);
    packed += static_cast<char>(length);
    packed += cell;
  }
  rows_.at(place) = std::move(packed);
}

std::string_view PackedRows::next_cell(std::string_view& packed) {
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

ResultRow PackedRows::at(std::size_t place) const {
  std::string_view packed = rows_.at(place);
  std::vector<std::string> cells(schema_->columns.size());
  for (std::string& cell : cells) cell = next_cell(packed);
  return {*schema_, std::move(cells)};
}

std::string_view PackedRows::text(std::size_t place, std::string_view column) const {
  std::string_view packed = rows_.at(place);
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
  std::vector<std::string> rows;
  rows.reserve(places.size());
  for (const std::size_t place : places) rows.push_back(std::move(rows_.at(place)));
  rows_ = std::move(rows);
}

using nlohmann::json;

json json_of(const ResultRow& row) {
  json object = json::object();
  const ColumnNames& columns = row.schema().columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& cell = row.cells()[i];
    if (columns.is_text(i)) {
      object[columns[i]] = cell;
      continue;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    const bool number = error == std::errc() && end == cell.data() + cell.size();
    const bool whole = number && value == std::floor(value) && std::abs(value) < 1e15;
    object[columns[i]] = !number ? json() : whole ? json(std::llround(value)) : json(value);
  }
  return object;
}

std::string document(nlohmann::json body) {
  body["schema_version"] = kSchemaVersion;
  return body.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string text_in(const ResultRow& row, std::string_view column) {
  return row.schema().has(column) ? row.get(column) : std::string();
}

double number_in(const ResultRow& row, std::string_view column) {
  const std::string& cell = row.get(column);
  if (cell.empty()) return std::numeric_limits<double>::quiet_NaN();
  double value = 0;
  const char* const end = cell.data() + cell.size();
  const auto [stop, error] = std::from_chars(cell.data(), end, value);
  if (error == std::errc() && stop == end && std::isfinite(value)) return value;
  fail<UsageError>("{}: case {}, column '{}': '{}' is not a number", row.schema().file,
                   row.get("case_id"), column, cell);
}

}  // namespace scalebench
