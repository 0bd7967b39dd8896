// SPDX-License-Identifier: Apache-2.0
#include "bench/record/utc_time.hpp"

#include <fmt/format.h>

namespace scalebench {
namespace {

/// Not strftime, whose text may depend on the locale.
template <class Format>
std::string formatted(Format format, std::time_t time) {
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  return fmt::format(format, utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
                     utc.tm_min, utc.tm_sec);
}

}  // namespace

std::string utc_label(std::time_t seconds_since_1970) {
  return formatted(FMT_STRING("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z"), seconds_since_1970);
}

std::string utc_name(std::time_t seconds_since_1970) {
  return formatted(FMT_STRING("{:04}{:02}{:02}T{:02}{:02}{:02}Z"), seconds_since_1970);
}

}  // namespace scalebench
