# SPDX-License-Identifier: Apache-2.0
# A figure is written as a whole or not at all.
from __future__ import annotations

import importlib.util
import tempfile
import unittest
from pathlib import Path
from unittest import mock

HAVE_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
if HAVE_MATPLOTLIB:
    from matplotlib.figure import Figure

    from scalebench.figures import theme


@unittest.skipUnless(HAVE_MATPLOTLIB, "no matplotlib: install python3-matplotlib")
class Save(unittest.TestCase):
    def test_one_that_is_broken_off_leaves_the_figure_before(self) -> None:
        run = Path(self.enterContext(tempfile.TemporaryDirectory()))
        whole = theme.save(Figure(layout="constrained"), run, "phases", "")
        before = {path: path.read_bytes() for path in whole}

        def half(_: Figure, path: Path, **words: object) -> None:
            Path(path).write_bytes(b"half")
            raise OSError("No space left on device")

        with mock.patch.object(Figure, "savefig", half), self.assertRaises(OSError):
            theme.save(Figure(layout="constrained"), run, "phases", "")
        self.assertEqual({path: path.read_bytes() for path in (run / "figures").iterdir()}, before)


if __name__ == "__main__":
    unittest.main()
