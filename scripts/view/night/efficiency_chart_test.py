# SPDX-License-Identifier: Apache-2.0
# The axis of N of a night's efficiency: labels that can be read, and both ends.
from __future__ import annotations

import itertools
import re
import unittest

from view.night.efficiency_chart import axes


class AxesTest(unittest.TestCase):
    def test_labels_of_n_do_not_touch_and_the_last_has_one(self) -> None:
        for ranks in (range(1, 13), range(1, 18), [2**power for power in range(13)], [8, 3584], [4]):
            shown = "".join(axes(list(ranks), 1.06))
            found = sorted((float(x), n) for x, n in re.findall(r'<text x="([\d.]+)"[^>]*>(\d+)</text>', shown))
            self.assertEqual([found[0][1], found[-1][1]], [str(ranks[0]), str(ranks[-1])])
            for (left, a), (right, b) in itertools.pairwise(found):
                self.assertGreater(right - left, 7 * (len(a) + len(b)) / 2 + 3, (a, b))


if __name__ == "__main__":
    unittest.main()
