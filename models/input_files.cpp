// SPDX-License-Identifier: Apache-2.0
#include "models/input_files.hpp"

#include <algorithm>

#include "collectives/control.hpp"

namespace scalebench {

Residency prepare_files(const ImageSource& source, PageCache wanted, Communicator& control) {
  const std::vector<int> node = control.topology().node_of_rank;
  const auto me = node.begin() + control.rank();
  const auto place = std::count(node.begin(), me, *me);
  const auto helpers = std::count(node.begin(), node.end(), *me);
  for (std::int64_t i = place; i < source.files(); i += helpers) {
    if (wanted == PageCache::cold) drop_from_page_cache(source.file(i));
    if (wanted == PageCache::warm) read_into_page_cache(source.file(i));
  }
  // Reading ahead for one file may bring in its neighbour: look when all are done.
  control.barrier();
  Residency mine;
  for (std::int64_t i = place; i < source.files(); i += helpers) {
    mine += residency_of(source.file(i));
  }
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
