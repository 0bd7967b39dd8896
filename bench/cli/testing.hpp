// SPDX-License-Identifier: Apache-2.0
// For tests of command lines: what a program's parser makes of these words.
#pragma once

#include <string>
#include <vector>

namespace scalebench {

template <class Options>
Options parsed(Options (*parse)(int, const char* const*, int),
               const std::vector<std::string>& words, int ranks) {
  std::vector<const char*> argv{"a_program"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  return parse(static_cast<int>(argv.size()), argv.data(), ranks);
}

}  // namespace scalebench
