// SPDX-License-Identifier: Apache-2.0
// For tests: a call must throw a given kind of error, and its text must name certain things.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "kernels/error.hpp"

namespace scalebench {

template <class Kind = UsageError, class Function>
void expect_error(Function&& function, std::initializer_list<std::string_view> parts) {
  try {
    function();
  } catch (const Kind& error) {
    const std::string text = error.what();
    for (const std::string_view part : parts) {
      EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
    }
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return;
  }
  ADD_FAILURE() << "nothing was thrown";
}

}  // namespace scalebench
