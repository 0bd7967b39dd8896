// SPDX-License-Identifier: Apache-2.0
// Which transport carries which algorithm, by their names: what a study is refused for before its
// first launch, and what a prediction leaves out.
#pragma once

#include <string>
#include <string_view>

namespace scalebench {

/// Why ranks on so many hosts cannot reduce by `algorithm` over `transport`, in one line that says
/// what is valid; empty where they can, also with `auto` that may come to one of them, and for a
/// name that is in no table.
std::string why_not_carried(std::string_view algorithm, std::string_view transport, int hosts = 1);

}  // namespace scalebench
