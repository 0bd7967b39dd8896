// SPDX-License-Identifier: Apache-2.0
// Which host is at fault, as rows of suspects.csv say it: from those of many launches to one row a
// host, and from these to the last line of a program or a run.
#pragma once

#include <string>
#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

/// Rows of several launches as one row a host, of the launches on the most hosts: medians of the
/// numbers, in how many launches the host was looked at (`launches`) and named (`accused`), and the
/// verdict that half of them or more have, with the words of the one in the middle. Sorted by host.
std::vector<ResultRow> suspect_rows(const std::vector<ResultRow>& of_launches);

/// The rows of hosts that are named.
std::vector<ResultRow> named_hosts(const std::vector<ResultRow>& rows);

/// Rows of links.csv, one a pair, get the note of one of their launches where half of them or more
/// have one, else none.
void note_pairs(std::vector<ResultRow>& links, const std::vector<ResultRow>& of_launches);

/// "suspect: host3, its link sends 12 % of the others' median (look at cable, port, driver)", with
/// " in 3 of 4 launches" where there were several; "no host stands out"; empty without rows: hosts
/// were not looked at, or there is only one. Behind it the notes of rows of links.csv, on as many
/// hosts, that touch nobody who is named.
std::string suspect_line(const std::vector<ResultRow>& hosts,
                         const std::vector<ResultRow>& links = {});

}  // namespace scalebench
