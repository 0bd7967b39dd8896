# SPDX-License-Identifier: Apache-2.0
# plot on made-up runs, comparisons and predictions: which files appear, what is said about the others, that equal data
# give equal bytes, and that gaps, single ranks, long names and many series do no harm.
from __future__ import annotations

import contextlib
import csv
import importlib.util
import io
import itertools
import json
import re
import tempfile
import unittest
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from fixtures import monitor
from fixtures.account import loss_rows
from fixtures.files import COLUMNS, write_csv
from fixtures.run import epoch_rows, scaling_rows, throughput_rows, write_run
from scalebench import losses
from scalebench.rows import read_rows

ROOT = Path(__file__).resolve().parents[3]
HAVE_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
if HAVE_MATPLOTLIB:
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.colors import to_hex
    from matplotlib.figure import Figure

    from scalebench.figures import busbw, cost, prediction, scaling, theme, waterfall
    from scalebench.__main__ import main
FIGURES = {"efficiency", "waterfall", "busbw", "monitor"}


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


@unittest.skipUnless(HAVE_MATPLOTLIB, "no matplotlib: install python3-matplotlib")
class PlotCase(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "20260102T030405Z-quick-0a1b2c"
        self.folder.mkdir()
        self.enterContext(matplotlib.rc_context({**theme.STYLE, "backend": "agg"}))

    def files(self) -> set[str]:
        return {path.stem for path in (self.folder / "figures").glob("*.svg")}

    def drawn(self) -> set[str]:
        """Which figures have a file, or one for each of their panels."""
        self.assertEqual({path.stem for path in (self.folder / "figures").glob("*.png")}, self.files())
        return {name.partition("-")[0] for name in self.files()}

    def texts(self, name: str) -> str:
        """All that is written in a figure."""
        svg = (self.folder / "figures" / f"{name}.svg").read_text(encoding="utf-8")
        return " ".join(" ".join(re.findall("<!-- (.*?) -->", svg)).split())

    def keep(self, *names: str) -> None:
        """Without the other tables, whose figures are not looked at and take the time."""
        for path in self.folder.glob("*.csv"):
            if path.name not in names:
                path.unlink()

    def plot(self, *words: str, code: int = 0) -> str:
        """Draws; returns what was said on stderr."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(main(["plot", str(self.folder), *words]), code, said.getvalue())
        return said.getvalue()


class Files(PlotCase):
    def test_every_figure_twice_with_equal_bytes(self) -> None:
        write_run(self.folder, models=["mnist_cnn"])
        contents = []
        for _ in range(2):
            self.plot()
            self.assertEqual(self.drawn(), FIGURES)
            contents.append({path.name: path.read_bytes() for path in (self.folder / "figures").iterdir()})
        self.assertEqual(*contents)
        self.assertNotIn(b"dc:date", contents[0]["efficiency.svg"])
        self.assertIn("AMD EPYC 7B13", self.texts("efficiency"))

    def test_missing_and_empty_files_leave_out_their_figure_and_an_older_one(self) -> None:
        write_run(self.folder, models=["mlp"], ranks=[1, 2], syncs=["flat"])
        self.plot()
        (self.folder / "scaling.csv").unlink()
        (self.folder / "allreduce.csv").write_bytes(b"")
        said = self.plot()
        self.assertEqual(self.drawn(), {"monitor"})
        for name in ("efficiency", "waterfall", "busbw"):
            self.assertIn(f"no {name} figure", said)

    def test_one_rank_has_no_bus_bandwidth(self) -> None:
        write_run(self.folder, ranks=[1], syncs=["flat"])
        self.assertIn("no busbw figure", self.plot())
        self.assertEqual(self.drawn(), {"efficiency", "monitor"})

    def test_empty_cells_are_gaps_and_a_torn_last_row_is_said(self) -> None:
        write_run(self.folder, models=["mlp"], transports=["mpi"])
        unknown = {"scaling.csv": ["efficiency", "efficiency_ci_low", "h_seconds"],
                   "allreduce.csv": ["seconds_ci_low"]}  # fmt: skip
        for name, columns in unknown.items():
            edit(self.folder / name, partial(emptied, columns))
        with open(self.folder / "scaling.csv", "a", encoding="utf-8") as file:
            file.write("1,20260102T0")
        self.assertIn("scaling.csv: line", self.plot())
        self.assertEqual(self.drawn(), FIGURES)

    def test_odd_texts_every_origin_and_rows_that_are_not_ok(self) -> None:
        write_run(self.folder, models=["<b>&$x_1$ — \u202emodel"], ranks=[1, 2, 4], transports=["mpi"])
        origins = dict(zip(itertools.product(("flat", "bucketed"), ("1", "2", "4")),
                           ["measured", "emulated", "predicted", "quoted", "imported", ""]))
        for name in ("scaling.csv", "losses.csv"):
            edit(self.folder / name, lambda row: {**row, "origin": origins[row["gradient_sync"], row["ranks"]]})
        (self.folder / "manifest.json").write_text("[]", encoding="utf-8")
        self.plot()
        self.assertEqual(self.drawn(), FIGURES)
        self.keep("scaling.csv")
        edit(self.folder / "scaling.csv", lambda row: {**row, "status": "wrong"})
        self.assertIn("no efficiency figure", self.plot())

    def test_one_that_is_broken_off_leaves_the_figure_before(self) -> None:
        whole = theme.save(Figure(layout="constrained"), self.folder, "efficiency", "")
        before = {path: path.read_bytes() for path in whole}

        with mock.patch("os.fsync", side_effect=OSError("No space left on device")), self.assertRaises(OSError):
            theme.save(Figure(layout="constrained"), self.folder, "efficiency", "another")
        self.assertEqual({path: path.read_bytes() for path in (self.folder / "figures").iterdir()}, before)

    def test_no_folder_is_refused(self) -> None:
        self.folder.rmdir()
        self.assertEqual(self.plot(code=2).count("\n"), 1)

    def test_fine_print_and_legend_stand_below_the_panel_which_does_not_pay(self) -> None:
        heights = []
        for name, fine_print in (("short", "run a"), ("long", "run a  ·  a host of many words, 2 cores  ·  " * 4)):
            figure, (axes,) = theme.panel("a title", 2)
            theme.ideal(axes, [1, 2], 1)
            theme.legend(axes, ["a note"])
            theme.save(figure, self.folder, name, fine_print)
            legend, foot = figure.legends[0].get_window_extent(), figure.texts[-1].get_window_extent()
            self.assertLess(foot.y1, legend.y1, name)
            self.assertGreaterEqual(foot.y0, 0)
            self.assertLessEqual(foot.x1, figure.bbox.x1)
            self.assertLess(legend.y1, axes.get_window_extent().y0)
            heights.append(axes.get_window_extent().height)
        self.assertAlmostEqual(*heights, delta=2)

    def test_long_names_leave_the_panels_their_place(self) -> None:
        models = [f"/data/{'a_folder_within/' * 9}{name}.pt" for name in ("first", "second")]
        syncs = [f"{name}_{'as_long_as_imports_have_them_' * 4}" for name in ("mirrored", "server")]
        rows = scaling_rows(models, [1, 2, 4], syncs, cores=4)
        write_csv(self.folder, "scaling.csv", rows)
        write_csv(self.folder, "losses.csv", loss_rows(rows))
        write_csv(self.folder, "epoch.csv", epoch_rows(models, [1, 2, 4], syncs, cores=4))
        efficiency = scaling.draw(self.folder)
        self.assertEqual(len(efficiency), 2, "both models have a file of their own")
        for figure in [*efficiency.values(), *waterfall.draw(self.folder).values()]:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # of axes that have no place
                theme.put_below(figure, ["run a"])
                figure.draw_without_rendering()
            self.assertGreater(figure.axes[0].get_window_extent().width, 0.4 * figure.bbox.width)
            for text in figure.legends[0].get_texts():
                self.assertLess(text.get_window_extent().x1, figure.bbox.width, text.get_text())

    def test_more_series_than_colours(self) -> None:
        syncs = [f"sync_{n}" for n in range(11)]
        write_run(self.folder, models=["a"], syncs=syncs, algorithms=syncs, transports=["mpi"], cores=64)
        self.keep("scaling.csv", "allreduce.csv", "losses.csv")
        edit(self.folder / "losses.csv", lambda row: row if row["ranks"] == "2" and row["gradient_sync"] < "sync_2"
             else None)
        self.plot()
        self.assertEqual(self.drawn(), {"efficiency", "waterfall", "busbw"})


class Panels(PlotCase):
    def test_two_numbers_of_ranks_are_dots_beside_each_other_and_more_are_lines(self) -> None:
        for ranks, linestyle in (([1, 2], "None"), ([1, 2, 4], "-")):
            write_run(self.folder, models=["mlp"], ranks=ranks, syncs=["flat"], cores=8)
            (figure,) = scaling.draw(self.folder).values()
            marked = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
            self.assertEqual({line.get_linestyle() for line in marked}, {linestyle}, ranks)
        for count in (1, 2, 5, 8, 16):
            write_csv(self.folder, "scaling.csv",
                      scaling_rows(["mlp"], [1, 2], [f"sync{n}" for n in range(count)], cores=2))
            (figure,) = scaling.draw(self.folder).values()
            left, right = figure.axes[0].get_xlim()
            at_two = [line.get_xdata()[1] for line in figure.axes[0].lines if line.get_marker() in tuple(theme.MARKERS)]
            self.assertEqual(len(set(at_two)), count)
            self.assertTrue(all(left < x < right for x in at_two), (count, at_two))

    def test_a_legend_names_what_is_drawn_alone_and_the_upright(self) -> None:
        rows = scaling_rows(["mlp"], [1, 2, 4], ["flat", "bucketed"], cores=4)
        empty = [{**row, "efficiency": ""} for row in rows if row["gradient_sync"] == "bucketed"]
        write_csv(self.folder, "scaling.csv", [*(row for row in rows if row["gradient_sync"] == "flat"), *empty])
        (figure,) = scaling.draw(self.folder).values()
        legend = figure.legends[0]
        self.assertEqual([text.get_text() for text in legend.get_texts()], ["ideal", "flat"])
        self.assertIn("upright: range of rounds\nideal: H/N, H = 30.0 s an epoch", legend.get_title().get_text())

    def test_published_series_are_crosses_with_their_source(self) -> None:
        write_run(self.folder, models=["mnist_cnn"])
        self.keep("scaling.csv")
        self.plot("--published", "tf_k80_p2_8xlarge_resnet50,mlperf_h100_resnet50")
        self.assertIn("relative to 8", self.texts("efficiency"))
        self.assertIn("busbw_h200: it has no efficiency on one device, so no cross",
                      self.plot("--published", "busbw_h200"))
        self.assertNotIn("quoted", self.texts("efficiency"))
        self.assertIn("no published series 'k80'", self.plot("--published", "k80", code=2))

    def test_batches_are_drawn_where_several_were_measured(self) -> None:
        rows = [{**row, "dtype": dtype, "memory_format": "contiguous", "step": "eager", "batch": batch,
                 "images_per_s": batch * 10}
                for row in throughput_rows(["mlp"], [1], 4) for dtype in ("float", "bfloat16")
                for batch in (32, 64, 800)]  # fmt: skip
        write_csv(self.folder, "throughput.csv", rows)
        self.plot()
        self.assertEqual(self.drawn(), {"batches"})
        for words in ("mlp on cpu", "bfloat16", "float", "800"):
            self.assertIn(words, self.texts("batches"))

    def test_monitor_has_lanes_for_what_was_seen(self) -> None:
        write_csv(self.folder, "monitor.csv", monitor.rows_of([1, 2], hosts=2, gpus=2))
        self.plot()
        for host in ("host0", "host1"):
            for words in (f"What {host} did", "CPU, %", "disk, MB/s", "GPU power, W", "GPU 1"):
                self.assertIn(words, self.texts(f"monitor-what-{host}-did"))
        idle = dict.fromkeys(("disk_read_bytes_per_s", "disk_write_bytes_per_s"), "20000")
        edit(self.folder / "monitor.csv", lambda row: None if row["gpu"] else {**row, **idle})
        self.plot()
        for words in ("GPU", "disk"):
            self.assertNotIn(words, self.texts("monitor-what-host0-did"))

    def test_bandwidth_does_without_a_bound(self) -> None:
        write_run(self.folder, models=["mlp"], transports=["mpi"])
        for bound in (True, False):
            legend = busbw.draw(self.folder)["busbw-allreduce-over-mpi-2-ranks"].legends[0]
            self.assertEqual("memory's bound" in [text.get_text() for text in legend.get_texts()], bound)
            self.assertIn("upright: range of launches", legend.get_title().get_text())
            edit(self.folder / "allreduce.csv", lambda row: {**row, "bound_busbw_gb_per_s": ""})


class Waterfalls(PlotCase):
    def setUp(self) -> None:
        super().setUp()
        write_run(self.folder, models=["mlp"], ranks=[1, 2], syncs=["flat"])

    def waterfall(self) -> Axes:
        """The panel of a run of one strategy on two ranks."""
        (figure,) = waterfall.draw(self.folder).values()
        return figure.axes[0]

    def test_losses_that_cannot_be_told_from_0_are_grey_on_an_axis_from_0(self) -> None:
        edit(self.folder / "losses.csv", lambda row: {**row, "seconds_ci_low": "-0.1"} if row["loss"] == "transfer"
             else row)
        panel = self.waterfall()
        names = [label.get_text() for label in panel.get_yticklabels()]
        grey = {name for name, bar in zip(names, panel.patches) if to_hex(bar.get_facecolor()) == theme.NEUTRAL}
        self.assertEqual(grey, {"transfer"})
        self.assertEqual((names[0], *names[-2:]), ("ideal H/N", "small parts", "measured"))
        self.assertEqual(panel.get_xlim()[0], 0)
        note = panel.figure.legends[0].get_title().get_text().replace("\n", " ")
        self.assertIn("means over 5 round(s); whisker: range of rounds; grey: cannot be told from 0", note)

    def test_the_bars_end_at_what_was_measured_with_the_largest_loss_by_itself(self) -> None:
        edit(self.folder / "losses.csv",
             lambda row: {**row, "seconds": "0.05444" if row["loss"] == "host" else "-0.02"})
        panel = self.waterfall()
        (account,) = losses.accounts(self.folder)
        measured = account.case.number("measured_seconds")
        shown = {label.get_text(): bar.get_width() for label, bar in zip(panel.get_yticklabels(), panel.patches)}
        self.assertAlmostEqual(sum(shown.values()), 2 * measured)
        self.assertAlmostEqual(shown["measured"], measured)
        self.assertAlmostEqual(shown["host"], 0.05444, msg="less than a hundredth of the epoch")

    def test_one_round_has_nothing_grey(self) -> None:
        edit(self.folder / "scaling.csv", lambda row: {**row, "rounds": "1", "interval": ""})
        edit(self.folder / "losses.csv", lambda row: {**row, "seconds_ci_low": "", "seconds_ci_high": ""})
        panel = self.waterfall()
        self.assertNotIn(theme.NEUTRAL, [to_hex(bar.get_facecolor()) for bar in panel.patches])
        self.assertIn("over 1 round(s), without an interval",
                      panel.figure.legends[0].get_title().get_text().replace("\n", " "))

    def test_losses_of_the_fixture_sum_to_what_was_measured(self) -> None:
        for account in losses.accounts(self.folder):
            parts = sum(account.seconds(loss) for loss in account.losses)
            self.assertAlmostEqual(account.case.number("ideal_seconds") + parts,
                                   account.case.number("measured_seconds"))


class Costs(PlotCase):
    def plotted(self, *rows: dict[str, Any]) -> str:
        price = {"usd_per_hour": 12.24, "currency": "usd", "price_date": "2026-07-20", "price_source": "list"}
        instances = [{"name": "p3.8xlarge", **price},
                     {"name": "g2.2xlarge", **price, "price_source": "given by the user"}]
        document = {"runs": [{"letter": "A", "run_id": "on_p3"}], "instances": instances, "costs": rows}
        (self.folder / "compare.json").write_text(json.dumps(document), encoding="utf-8")
        return self.plot()

    def row(self, instance: str, ranks: int, seconds: float, usd: float, **cells: object) -> dict[str, object]:
        return {"origin": "measured", "status": "ok", "instance": instance, "workload": "resnet20 cifar strong",
                "ranks": ranks,
                "seconds": seconds, "usd": usd, "best": "yes", **cells}  # fmt: skip

    def test_draws_each_instance_with_its_price_and_a_line_where_there_is_one(self) -> None:
        four, other = self.row("p3.8xlarge", 4, 28, 0.1), self.row("g2.2xlarge", 1, 640, 0.05, origin="imported")
        part = self.row("p3.8xlarge", 1, 100, 0.3, seconds_ci_low=98, seconds_ci_high=103, best="part")
        self.plotted(part, four, other, self.row("p2.xlarge", 1, 300, 0.2, origin="quoted", best="no"),
                     {**four, "status": "failed", "seconds": None, "usd": None})  # fmt: skip
        texts = self.texts("cost")
        for text in ("p2.xlarge (quoted)", "p3.8xlarge: 12.24 usd/h, 2026-07-20",
                     "g2.2xlarge (imported): 12.24 usd/h, 2026-07-20, given by",
                     "interval over launches", "minutes", "A: on_p3", "a part of an instance, billed whole",
                     "N=4"):  # fmt: skip
            self.assertIn(text, texts)
        self.assertNotIn("nothing of that origin is both", texts)
        self.plotted(four, self.row("p3.8xlarge", 2, 60, 0.05), {**other, "workload": "mlp steps"})
        self.assertEqual(self.files(), {"cost-resnet20-cifar-strong", "cost-mlp-steps"})
        self.assertIn("nothing of that origin is both", self.texts("cost-resnet20-cifar-strong"))

    def test_nothing_with_a_cost_is_said_and_an_older_figure_goes(self) -> None:
        self.plotted(self.row("p3.8xlarge", 4, 28, 0.1))
        self.assertIn("nothing with a cost", self.plotted())
        self.assertEqual(self.files(), set())

    def test_an_interval_lies_within_the_axes(self) -> None:
        self.plotted(self.row("p3.8xlarge", 4, 2800, 0.1),
                     self.row("g2.2xlarge", 1, 640, 0.12, seconds_ci_low=20, seconds_ci_high=9000))
        (figure,) = cost.draw(self.folder)[0].values()
        low, high = figure.axes[0].get_ylim()
        self.assertLess(low * 60, 20)
        self.assertGreater(high * 60, 9000)


class Predictions(PlotCase):
    def rows_of(self, case_id: str, **more: object) -> list[dict[str, object]]:
        case = {"case_id": case_id, "model": "mlp", "gradient_sync": "mirrored", "scaling": "weak", "efficiency": 0.9,
                "efficiency_low": 0.85, "efficiency_high": 0.95, "network": "model", **more}  # fmt: skip
        return [{**case, "kind": "held_out", "ranks": 4, "error": 0.02, "measured_efficiency": 0.88},
                {**case, "kind": "forecast", "ranks": 16}]

    def drawn_of(self, rows: list[dict[str, object]]) -> tuple[Figure, str]:
        write_csv(self.folder, "prediction.csv", rows)
        figures, fine_print = prediction.draw(self.folder)
        return figures["prediction"], fine_print

    def test_bands_links_and_errors_are_named_where_there_are_some(self) -> None:
        figure, fine_print = self.drawn_of(self.rows_of("a"))
        self.assertTrue(fine_print.endswith("predicted, with 95 % by the errors of each measured N left out"))
        self.assertEqual(figure.legends[0].get_title().get_text(), "mirrored: N = 4 held out, step +2.0\u00a0%")
        self.assertTrue(self.drawn_of(self.rows_of("a", efficiency_low=""))[1].endswith("predicted"))
        fine_print = self.drawn_of(self.rows_of("a", network="25gbit,10us"))[1]
        self.assertTrue(fine_print.endswith("predicted for a link of 25gbit,10us"))
        self.plot()
        self.assertEqual(self.files(), {"prediction"})

    def test_trainings_that_no_word_tells_apart_are_lines_of_their_own(self) -> None:
        figure = self.drawn_of(self.rows_of("ab") + self.rows_of("cd"))[0]
        names = [text.get_text() for text in figure.legends[0].get_texts()]
        self.assertLessEqual({"mirrored · case ab", "mirrored · case cd (predicted)"}, set(names))
        self.assertEqual([list(line.get_xdata()) for line in figure.axes[0].lines].count([4, 16]), 2)


class Fixture(unittest.TestCase):
    def test_it_has_the_columns_of_the_documentation(self) -> None:
        documented = (ROOT / "results" / "README.md").read_text(encoding="utf-8")
        for name, columns in COLUMNS.items():
            for column in columns.split():
                self.assertIn(f"`{column}`", documented, name)


if __name__ == "__main__":
    unittest.main()
