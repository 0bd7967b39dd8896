# SPDX-License-Identifier: Apache-2.0
# plot on made-up runs: which files appear, what is said about the others, that equal data give
# equal bytes, and that gaps, single ranks and missing matplotlib do no harm.
from __future__ import annotations

import contextlib
import csv
import importlib.util
import io
import itertools
import os
import re
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

from fixtures import monitor
from fixtures.files import COLUMNS, write_csv
from fixtures.run import throughput_rows, write_run
from scalebench import losses
from scalebench.rows import read_rows

SCRIPTS = Path(__file__).resolve().parents[2]
HAVE_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
if HAVE_MATPLOTLIB:
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.colors import to_hex

    from scalebench.figures.plot import main as plot_main
    from scalebench.figures import busbw, phases, scaling, theme, waterfall
FIGURES = {"efficiency", "waterfall", "phases", "throughput", "busbw", "monitor"}


def plot(run: Path, *words: str) -> SimpleNamespace:
    """As plot ends, with what it said, but in this process: starting one and matplotlib takes longer than many figures."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        code = plot_main([str(run), *words])
    return SimpleNamespace(returncode=code, stderr=said.getvalue())


def started(run: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scalebench", "plot", str(run), *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def edit(path: Path, change: Callable[[dict[str, str]], dict[str, str] | None]) -> None:
    """Rewrites a CSV file row by row; None drops the row."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    kept = [row for row in map(change, rows) if row is not None]
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)


def emptied(columns: list[str], row: dict[str, str]) -> dict[str, str]:
    """The row with those cells empty if it is of two ranks."""
    return {**row, **dict.fromkeys(columns, "")} if row["ranks"] == "2" else row


class PlotTest(unittest.TestCase):
    def setUp(self) -> None:
        self.run_folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "20260102T030405Z-quick-0a1b2c"

    def files(self, suffix: str = "svg") -> set[str]:
        return {path.stem for path in (self.run_folder / "figures").glob(f"*.{suffix}")}

    def drawn(self) -> set[str]:
        """Which figures have a file, or one for each of their panels."""
        self.assertEqual(self.files("png"), self.files("svg"))
        return {name.partition("-")[0] for name in self.files()}

    def svg(self, name: str) -> str:
        return (self.run_folder / "figures" / f"{name}.svg").read_text(encoding="utf-8")

    def keep(self, *names: str) -> None:
        """Without the other tables, whose figures are not looked at and take the time."""
        for path in self.run_folder.glob("*.csv"):
            if path.name not in names:
                path.unlink()

    def plot(self) -> str:
        """Draws; returns what was said on stderr."""
        done = plot(self.run_folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stderr


@unittest.skipUnless(HAVE_MATPLOTLIB, "no matplotlib: install python3-matplotlib")
class FiguresTest(PlotTest):
    def test_draws_every_figure_and_names_run_and_host(self) -> None:
        write_run(self.run_folder, models=["mnist_cnn"])
        self.plot()
        self.assertEqual(self.drawn(), FIGURES)

    def test_batches_are_drawn_where_several_were_measured(self) -> None:
        rows = [
            {**row, "dtype": dtype, "memory_format": "contiguous", "step": "eager", "batch": batch,
             "images_per_s": batch * 10}
            for row in throughput_rows(["mlp"], [1], 4) for dtype in ("float", "bfloat16")
            for batch in (32, 64, 800)
        ]  # fmt: skip
        write_csv(self.run_folder, "throughput.csv", rows)
        self.plot()
        svg = self.svg("batches")
        for words in ("mlp on cpu", "bfloat16", "float", "800"):
            self.assertIn(f"<!-- {words}", svg)

    def test_a_model_may_have_the_path_of_its_file_as_its_name(self) -> None:
        folder = "/data/" + "a_folder_within_a_folder/" * 10
        write_run(self.run_folder, models=[f"{folder}first.pt", f"{folder}second.pt"], ranks=[1, 2], syncs=["flat"])
        self.keep("scaling.csv", "epoch.csv")
        self.plot()
        self.assertEqual(self.drawn(), {"efficiency", "phases"})
        self.assertEqual(len(self.files()), 4, "both models have a file of their own")

    def test_one_rank_has_its_share_by_its_own_column_and_a_missing_ideal_is_not_named(self) -> None:
        write_run(self.run_folder, models=["mlp"], ranks=[1, 2], syncs=["flat", "none"])
        share = [{**row, "share_of": "2", "case_id": "share", "ranks": "1"}
                for row in read_rows(self.run_folder, "epoch.csv") if row["gradient_sync"] == "none"][:1]  # fmt: skip
        whole = [{**row, "share_of": "1"} for row in read_rows(self.run_folder, "epoch.csv") if row["gradient_sync"] == "flat"]
        write_csv(self.run_folder, "epoch.csv", [*whole, *share])
        self.keep("scaling.csv", "epoch.csv")
        names = [("flat, N = 1", "flat, N = 2", "none, N = 1, share of 1/2")] * 2
        for words, ideal in zip(names, (True, False)):
            (figure,) = phases.draw(self.run_folder).values()
            self.assertEqual(tuple(label.get_text() for label in figure.axes[0].get_yticklabels()), words)
            self.assertEqual("ideal" in [text.get_text() for text in figure.legends[0].get_texts()], ideal)
            # Cut before one_device was measured: other rows have an ideal, and these have none.
            edit(self.run_folder / "scaling.csv", lambda row: {**row, "case_id": "another"})

    def test_published_series_are_crosses_with_their_source(self) -> None:
        write_run(self.run_folder, models=["mnist_cnn"])
        self.keep("scaling.csv")
        done = plot(self.run_folder, "--published", "tf_k80_p2_8xlarge_resnet50,mlperf_h100_resnet50")
        self.assertEqual(done.returncode, 0, done.stderr)
        drawn = " ".join(" ".join(re.findall("<!-- (.*?) -->", self.svg("efficiency"))).split())
        for words in ("tensorflow/tensorflow", "docs_src/performance/benchmarks.md", "relative to 8 (quoted:", " 3584 "):
            self.assertIn(words, drawn)
        self.assertNotIn("collapsed", done.stderr, "one of them has no speedup on one device")
        self.assertIn("tf_k80_p2_8xlarge_resnet50: of ResNet-50, and this run trained mnist_cnn", done.stderr)
        done = plot(self.run_folder, "--published", "busbw_h200")
        self.assertIn("busbw_h200: it has no efficiency on one device, so no cross", done.stderr)
        self.assertNotIn("quoted", self.svg("efficiency"))
        done = plot(self.run_folder, "--published", "k80")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no published series 'k80'", done.stderr)

    def test_long_names_of_strategies_leave_room_for_the_lines(self) -> None:
        syncs = [f"{kind}_with_a_name_as_long_as_imports_have_them" for kind in ("mirrored", "server", "sharded")]
        write_run(self.run_folder, models=["mnist_cnn"], syncs=syncs)
        with matplotlib.rc_context({**theme.STYLE, "backend": "agg"}):
            (figure,) = scaling.draw(self.run_folder).values()
            figure.draw_without_rendering()
        width = figure.bbox.width
        for axes in figure.axes:
            self.assertGreater(axes.get_window_extent().width, 0.6 * width)
        legend = figure.legends[0]
        self.assertEqual(len(legend.get_texts()), 1 + 2 * len(syncs), "the ideal, measured and emulated")
        for text in legend.get_texts():
            self.assertLess(text.get_window_extent().x1, width, text.get_text())
        self.assertNotIn("collapsed", self.plot())

    def test_monitor_has_lanes_for_what_was_seen(self) -> None:
        rows = monitor.rows_of([1, 2], hosts=2, gpus=2)
        write_csv(self.run_folder, "monitor.csv", rows)
        self.plot()
        hosts = {host: self.svg(f"monitor-what-{host}-did") for host in ("host0", "host1")}
        for host, svg in hosts.items():
            for words in (f"What {host} did", "CPU, %", "disk, MB/s", "GPU power, W", "GPU 1"):
                self.assertIn(f"<!-- {words}", svg)
        self.assertEqual(self.drawn(), {"monitor"})
        edit(self.run_folder / "monitor.csv",
             lambda row: None if row["gpu"] else {**row, "disk_read_bytes_per_s": "", "disk_write_bytes_per_s": ""})  # fmt: skip
        self.plot()
        for words in ("GPU", "disk"):
            self.assertNotIn(f"<!-- {words}", self.svg("monitor-what-host0-did"))

    def test_a_lane_in_which_nothing_happened_is_not_drawn(self) -> None:
        write_csv(self.run_folder, "monitor.csv", monitor.rows_of([1, 2], hosts=1, gpus=0))
        idle = dict.fromkeys(("disk_read_bytes_per_s", "disk_write_bytes_per_s"), "20000")
        edit(self.run_folder / "monitor.csv", lambda row: {**row, **idle})
        self.plot()
        self.assertIn("<!-- CPU, %", self.svg("monitor"))
        self.assertNotIn("<!-- disk", self.svg("monitor"))

    def test_two_numbers_of_ranks_are_dots_and_more_are_lines(self) -> None:
        for ranks, linestyle in (([1, 2], "None"), ([1, 2, 4], "-")):
            write_run(self.run_folder, models=["mlp"], ranks=ranks, syncs=["flat"], cores=8)
            (figure,) = scaling.draw(self.run_folder).values()
            marked = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
            self.assertEqual({line.get_linestyle() for line in marked}, {linestyle}, ranks)

    def test_numbers_of_ranks_that_have_no_room_are_left_out(self) -> None:
        powers = [2**power for power in range(13)]
        for ranks, shown in ((powers[:10], powers[:10]), (powers, [1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096]),
                             ([*range(1, 17)], [1, 2, 3, 4, 5, 6, 8, 12, 16]), ([8, 3584], [8, 3584]), ([0, 2], [1, 2])):  # fmt: skip
            with matplotlib.rc_context({**theme.STYLE, "backend": "agg"}):
                figure, (axes,) = theme.panel("a title", 2)
                theme.ranks_axis(axes, ranks)
                figure.draw_without_rendering()
            labels = [label for label in axes.get_xticklabels() if label.get_text()]
            self.assertEqual([int(label.get_text()) for label in labels], shown)
            boxes = [label.get_window_extent() for label in labels]
            for left, right in itertools.pairwise(boxes):
                self.assertGreater(right.x0 - left.x1, 5, "pixels")

    def test_equal_data_give_equal_bytes(self) -> None:
        write_run(self.run_folder, models=["mlp"], ranks=[1, 2], syncs=["flat"], transports=["mpi"])
        self.assertEqual(started(self.run_folder).returncode, 0)
        first = {path.name: path.read_bytes() for path in (self.run_folder / "figures").iterdir()}
        self.assertEqual(started(self.run_folder).returncode, 0)
        second = {path.name: path.read_bytes() for path in (self.run_folder / "figures").iterdir()}
        self.assertEqual(first, second)
        self.assertNotIn(b"dc:date", first["efficiency.svg"])

    def test_one_rank_has_no_bus_bandwidth(self) -> None:
        write_run(self.run_folder, ranks=[1], syncs=["flat"])
        said = self.plot()
        self.assertEqual(self.drawn(), FIGURES - {"busbw", "waterfall"})
        self.assertIn("no busbw figure", said)

    def test_missing_and_empty_files_leave_out_their_figure_and_an_older_one(self) -> None:
        write_run(self.run_folder, models=["mlp"])
        self.plot()
        (self.run_folder / "scaling.csv").unlink()
        write_csv(self.run_folder, "throughput.csv", [])
        (self.run_folder / "allreduce.csv").write_bytes(b"")
        said = self.plot()
        self.assertEqual(self.drawn(), {"phases", "monitor"})
        for name in ("efficiency", "waterfall", "throughput", "busbw"):
            self.assertIn(f"no {name} figure", said)

    def test_empty_cells_are_gaps(self) -> None:
        write_run(self.run_folder, models=["mlp"], transports=["mpi"])
        unknown = {
            "scaling.csv": ["efficiency", "efficiency_ci_low", "efficiency_raw", "h_seconds"],
            "epoch.csv": ["input_seconds", "seconds"],
            "throughput.csv": ["images_per_s_ci_low"],
            "allreduce.csv": ["seconds_ci_low"],
        }
        for name, columns in unknown.items():
            edit(self.run_folder / name, partial(emptied, columns))
        self.plot()
        self.assertEqual(self.drawn(), FIGURES)

    def test_bandwidth_does_without_a_bound_and_says_what_is_not_there(self) -> None:
        write_run(self.run_folder, models=["mlp"], transports=["mpi"])
        self.keep("allreduce.csv")
        self.plot()
        panel = "busbw-allreduce-over-mpi-2-ranks"
        for words in ("memory's bound", "skipped: hierarchical"):
            self.assertIn(f"<!-- {words}", self.svg(panel))
        edit(self.run_folder / "allreduce.csv",
             lambda row: {**row, "bound_busbw_gb_per_s": "", "status": "wrong" if row["algorithm"] == "naive" else row["status"]})  # fmt: skip
        self.plot()
        self.assertIn("wrong: naive", self.svg(panel))
        self.assertNotIn("<!-- memory's bound", self.svg(panel))

    def test_rates_of_few_decades_have_labels_between_the_powers_of_ten(self) -> None:
        wide = [0.01, 0.1, 1.0, 10.0, 100.0]
        for rates, labels in (((20, 90), [20, 50, 100]), ((4, 30), [5, 10, 20]), ((7.5, 7.9), [5, 10]),
                              ((0.21, 0.22), [0.15, 0.2, 0.3]), ((0.015, 120), wide)):  # fmt: skip
            case = {"algorithm": "ring", "transport": "mpi", "ranks": 2}
            columns = ("seconds_median", "seconds_ci_low", "seconds_ci_high")
            rows = [{**case, **dict.fromkeys(columns, 1), "busbw_gb_per_s": rate, "size_bytes": 1024 * (1 + place)} for place, rate in enumerate(rates)]
            write_csv(self.run_folder, "allreduce.csv", rows)
            (figure,) = busbw.draw(self.run_folder).values()
            axis = figure.axes[0].yaxis
            low, high = axis.get_view_interval()
            self.assertEqual([round(tick, 4) for tick in axis.get_majorticklocs() if low <= tick <= high], labels, rates)

    def test_fine_print_of_several_lines_stands_below_the_legend(self) -> None:
        self.run_folder.mkdir()
        heights = []
        for name, fine_print in (("short", "run a"), ("long", "run a  ·  a host of many words, 2 cores  ·  " * 4)):
            figure, _ = theme.panel("a title", 2)
            theme.legend(figure, [theme.ideal_line()])
            theme.save(figure, self.run_folder, name, fine_print)
            legend, foot = figure.legends[0].get_window_extent(), figure.texts[-1].get_window_extent()
            self.assertLess(foot.y1, legend.y0, name)
            self.assertGreaterEqual(foot.y0, 0)
            self.assertLessEqual(foot.x1, figure.bbox.x1)
            self.assertLess(legend.y1, figure.axes[0].get_window_extent().y0)
            heights.append(figure.axes[0].get_window_extent().height)
        self.assertAlmostEqual(heights[0], heights[1], delta=1, msg="the panel paid for the fine print")

    def waterfall(self) -> Axes:
        """The panel of a run of one strategy on two ranks."""
        (figure,) = waterfall.draw(self.run_folder).values()
        (panel,) = figure.axes
        return panel

    def test_losses_that_cannot_be_told_from_0_are_grey_on_an_axis_from_0(self) -> None:
        write_run(self.run_folder, models=["mlp"], ranks=[1, 2], syncs=["flat"])
        edit(self.run_folder / "losses.csv", lambda row: {**row, "seconds_ci_low": "-0.1"} if row["loss"] == "transfer" else row)
        panel = self.waterfall()
        names = [label.get_text() for label in panel.get_yticklabels()]
        grey = {name for name, bar in zip(names, panel.patches) if to_hex(bar.get_facecolor()) == "#b8bec6"}
        self.assertEqual(grey, {"transfer"})
        self.assertEqual((names[0], *names[-2:]), ("ideal H/N", "small parts", "measured"))
        self.assertEqual(panel.get_xlim()[0], 0)
        for words in ("means over 5 round(s)", "whisker: range of rounds", "grey: cannot be told from 0"):
            self.assertIn(words, panel.get_xlabel())

    def test_small_parts_are_one_bar_and_the_bars_end_at_what_was_measured(self) -> None:
        write_run(self.run_folder, models=["mlp"], ranks=[1, 2], syncs=["flat"])
        (account,) = losses.accounts(self.run_folder)
        bars = self.waterfall().patches
        measured = account.case.number("measured_seconds")
        shown = [bar.get_width() for bar in bars]
        self.assertAlmostEqual(sum(shown[:-1]), measured)
        self.assertAlmostEqual(shown[-1], measured)
        small = [seconds for loss in account.losses if abs(seconds := account.seconds(loss)) < 0.01 * measured]
        self.assertGreater(len(small), 1)
        self.assertAlmostEqual(shown[-2], sum(small))

    def test_the_largest_loss_is_no_small_part(self) -> None:
        write_run(self.run_folder, models=["mlp"], ranks=[1, 2], syncs=["flat"])
        edit(self.run_folder / "losses.csv", lambda row: {**row, "seconds": "0.05444" if row["loss"] == "host" else "-0.02"})
        panel = self.waterfall()
        shown = {label.get_text(): bar.get_width() for label, bar in zip(panel.get_yticklabels(), panel.patches)}
        self.assertAlmostEqual(shown["host"], 0.05444, msg="less than a hundredth of the epoch")

    def test_a_whisker_stands_where_its_bar_does(self) -> None:
        write_run(self.run_folder, models=["mlp"], ranks=[1, 2], syncs=["flat"])
        whiskers = [line.get_xdata() for line in self.waterfall().lines if line.get_marker() == "|"]
        batch = next(row for row in read_rows(self.run_folder, "losses.csv") if row["loss"] == "batch")
        expected = [15 + batch.number(f"seconds_ci_{end}") for end in ("low", "high")]
        self.assertEqual(list(whiskers[0]), expected)
        self.assertEqual(len(whiskers), 4, "those of a bar of their own")

    def test_one_round_has_no_whisker_and_nothing_grey(self) -> None:
        write_run(self.run_folder, models=["mlp"], ranks=[1, 2], syncs=["flat"])
        edit(self.run_folder / "scaling.csv", lambda row: {**row, "rounds": "1", "interval": ""})
        edit(self.run_folder / "losses.csv", lambda row: {**row, "seconds_ci_low": "", "seconds_ci_high": ""})
        panel = self.waterfall()
        self.assertFalse([line for line in panel.lines if line.get_marker() == "|"])
        self.assertNotIn("#b8bec6", [to_hex(bar.get_facecolor()) for bar in panel.patches])
        self.assertIn("means over 1 round(s), without an interval", panel.get_xlabel())

    def test_what_an_interval_is_of_is_said(self) -> None:
        write_run(self.run_folder, models=["mlp"], ranks=[1, 2], transports=["mpi"])
        self.keep("scaling.csv", "allreduce.csv")
        self.plot()
        for name, words in (("efficiency", "upright: range of rounds"), ("busbw", "upright: range of launches")):
            self.assertIn(words, self.svg(name))

    def test_a_run_without_losses_has_no_account(self) -> None:
        write_run(self.run_folder, models=["mlp"], ranks=[1, 2], syncs=["flat"], transports=["mpi"])
        self.plot()
        (self.run_folder / "losses.csv").unlink()
        self.assertIn("no waterfall figure", self.plot())
        self.assertEqual(self.drawn(), FIGURES - {"waterfall"})

    def test_rows_that_are_not_ok_are_not_drawn(self) -> None:
        write_run(self.run_folder, models=["mlp"])
        self.keep("scaling.csv")
        edit(self.run_folder / "scaling.csv", lambda row: {**row, "status": "wrong"})
        self.assertIn("no efficiency figure", self.plot())

    def test_torn_last_row_is_said(self) -> None:
        write_run(self.run_folder, models=["mlp"], ranks=[1, 2], syncs=["flat"], transports=["mpi"])
        with open(self.run_folder / "scaling.csv", "a", encoding="utf-8") as file:
            file.write("1,20260102T0")
        self.assertIn("scaling.csv: line", self.plot())
        self.assertEqual(self.drawn(), FIGURES)

    def test_odd_texts_and_every_origin(self) -> None:
        write_run(self.run_folder, models=["<b>&$x_1$ — \u202emodel"], ranks=[1, 2, 4])
        places = itertools.product(("flat", "bucketed"), ("1", "2", "4"))
        origins = dict(zip(places, ["measured", "emulated", "predicted", "quoted", "imported", ""]))
        for name in ("scaling.csv", "losses.csv"):
            edit(self.run_folder / name, lambda row: {**row, "origin": origins[row["gradient_sync"], row["ranks"]]})
        (self.run_folder / "manifest.json").write_text("[]", encoding="utf-8")
        self.plot()
        self.assertEqual(self.drawn(), FIGURES)

    def test_more_series_than_colours(self) -> None:
        syncs = [f"sync_{n}" for n in range(11)]
        write_run(
            self.run_folder, models=["a", "b", "c", "d"], syncs=syncs, algorithms=syncs, cores=64
        )
        for name in ("epoch.csv", "throughput.csv"):
            (self.run_folder / name).unlink()
        # An account has a file of its own: those of one model are as good as of four.
        of_a = {row["case_id"] for row in read_rows(self.run_folder, "scaling.csv") if row["model"] == "a"}
        edit(self.run_folder / "losses.csv", lambda row: row if row["case_id"] in of_a else None)
        self.plot()
        self.assertEqual(self.drawn(), {"efficiency", "waterfall", "busbw", "monitor"})


class WithoutFiguresTest(PlotTest):
    def test_without_matplotlib_exit_3_and_nothing_written(self) -> None:
        write_run(self.run_folder)
        broken = self.run_folder.parent / "modules" / "matplotlib"
        broken.mkdir(parents=True)
        (broken / "__init__.py").write_text(
            "raise ImportError('no matplotlib here')\n", encoding="utf-8"
        )
        done = started(self.run_folder, PYTHONPATH=f"{broken.parent}:{SCRIPTS}")
        self.assertEqual(done.returncode, 3)
        self.assertIn("python3-matplotlib", done.stderr)
        self.assertFalse((self.run_folder / "figures").exists())

    @unittest.skipUnless(HAVE_MATPLOTLIB, "no matplotlib: install python3-matplotlib")
    def test_no_folder_is_a_usage_error(self) -> None:
        done = plot(self.run_folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage:", done.stderr)

    def test_losses_of_the_fixture_sum_to_what_was_measured(self) -> None:
        write_run(self.run_folder)
        accounts = losses.accounts(self.run_folder)
        self.assertEqual(len(accounts), 8)
        for account in accounts:
            parts = sum(account.seconds(loss) for loss in account.losses)
            self.assertAlmostEqual(account.case.number("ideal_seconds") + parts, account.case.number("measured_seconds"))

    def test_fixture_has_the_columns_of_the_documentation(self) -> None:
        documented = (SCRIPTS.parent / "results" / "README.md").read_text(encoding="utf-8")
        for name, columns in COLUMNS.items():
            for column in columns.split():
                self.assertIn(f"`{column}`", documented, name)


if __name__ == "__main__":
    unittest.main()
