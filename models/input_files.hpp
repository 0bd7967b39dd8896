// SPDX-License-Identifier: Apache-2.0
// The files behind a data set, all ranks together: each rank of a host takes its share of them.
#pragma once

#include "collectives/communicator.hpp"
#include "models/image_source.hpp"
#include "models/page_cache.hpp"

namespace scalebench {

/// Collective over a host communicator: drops or reads the source's files, each once on every host,
/// and returns what all hosts' page caches then hold of them, summed.
Residency prepare_files(const ImageSource& source, PageCache wanted, Communicator& control);

}  // namespace scalebench
