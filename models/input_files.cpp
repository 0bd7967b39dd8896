// SPDX-License-Identifier: Apache-2.0
#include "models/input_files.hpp"

#include <algorithm>

#include "collectives/control.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// A file that cannot be opened has no pages: reading it for training says so, by the policy for
/// bad images.
template <class Function>
void for_own_files(const ImageSource& source, const Communicator& control, Function function) {
  const std::vector<int> node = control.topology().node_of_rank;
  const auto me = node.begin() + control.rank();
  const auto place = std::count(node.begin(), me, *me);
  const auto helpers = std::count(node.begin(), node.end(), *me);
  for (std::int64_t i = place; i < source.files(); i += helpers) {
    try {
      function(source.file(i));
    } catch (const Error&) {
      continue;
    }
  }
}

}  // namespace

Residency prepare_files(const ImageSource& source, PageCache wanted, Communicator& control) {
  for_own_files(source, control, [&](const std::filesystem::path& file) {
    if (wanted == PageCache::cold) drop_from_page_cache(file);
    if (wanted == PageCache::warm) read_into_page_cache(file);
  });
  // Reading ahead for one file may bring in its neighbour: look when all are done.
  control.barrier();
  Residency mine;
  for_own_files(source, control,
                [&](const std::filesystem::path& file) { mine += residency_of(file); });
  Residency all;
  const std::vector<double> values{static_cast<double>(mine.pages),
                                   static_cast<double>(mine.resident),
                                   static_cast<double>(mine.unknown_files)};
  const std::vector<double> gathered = all_gather(control, std::span(values));
  for (std::size_t i = 0; i < gathered.size(); i += values.size()) {
    all += {static_cast<std::int64_t>(gathered[i]), static_cast<std::int64_t>(gathered[i + 1]),
            static_cast<std::int64_t>(gathered[i + 2])};
  }
  return all;
}

}  // namespace scalebench
