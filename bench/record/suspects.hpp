// SPDX-License-Identifier: Apache-2.0
// Which host is at fault, as rows of hosts.csv say it: from those of many launches to one row a
// host and one a link, and from these to the last line of a program or a run.
#pragma once

#include <string>
#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

/// A host that is named.
struct Suspect {
  std::string host;
  std::string verdict;  // as in hosts.csv; unreachable, different or lost
  std::string why;
};

/// Rows of several launches as one row a host, and behind these one a link, of the launches on the
/// most hosts: medians of the numbers, in how many launches it was looked at (`launches`) and
/// something was said of it (`accused`), and what half of them or more say, in the words of the one
/// in the middle. Sorted by host.
std::vector<ResultRow> host_rows(const std::vector<ResultRow>& of_launches);

/// The rows of hosts that are named.
std::vector<ResultRow> named_hosts(const std::vector<ResultRow>& rows);

/// "suspect: host3, its link sends 12 % of the others' median (look at cable, port, driver)", with
/// " in 3 of 4 launches" where there were several; "no host stands out"; empty without rows: hosts
/// were not looked at, or there is only one. Those that were `lost` come first. Behind it the notes
/// of links that touch nobody who is named.
std::string suspect_line(const std::vector<Suspect>& lost, const std::vector<ResultRow>& rows);

/// The host that a watchdog's line says was lost as a whole, "(all of host4: stopped, down or cut
/// off)"; empty: it says nothing of the kind.
std::string lost_host_in(const std::string& line);

}  // namespace scalebench
