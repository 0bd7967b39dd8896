# SPDX-License-Identifier: Apache-2.0
# configs/nightly/grafana-dashboard.json: it asks for series that scalebench.prom has, and a real Prometheus that
# has read one answers each of its queries. Without `prometheus` on the PATH that part is skipped.
from __future__ import annotations

import contextlib
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fixtures.night import write_night
from scalebench.pages.night.prometheus import write_textfile
from scalebench.pages.night.record import read_night

DASHBOARD = json.loads((Path(__file__).resolve().parents[4] / "configs/nightly/grafana-dashboard.json").read_text(encoding="utf-8"))
PATIENCE = 60
LISTENS = "0A"  # a state of proc(5)


def queries() -> list[str]:
    """Of every panel and of what its variables choose among."""
    chosen = [variable["query"]["query"] for variable in DASHBOARD["templating"]["list"] if variable["type"] == "query"]
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]] + chosen


def as_asked(query: str, cell: str = ".*") -> str:
    """With all studies and that cell chosen; of label_values(SERIES, LABEL), which is Grafana's own, the series."""
    series = re.sub(r"^label_values\((.*), \w+\)$", r"\1", query)
    return series.replace("$study", ".*").replace("$cell", cell)


def textfile() -> str:
    with tempfile.TemporaryDirectory() as folder:
        return write_textfile(read_night(write_night(Path(folder), "PASS")))


class Dashboard(unittest.TestCase):
    def test_it_asks_for_series_and_labels_that_exist(self) -> None:
        written = textfile()
        self.assertGreaterEqual(len(queries()), 8)
        for query in queries():
            for name, labels in re.findall(r"(scalebench_\w+)(?:\{([^}]*)\})?", query):
                series = [line for line in written.splitlines() if line.startswith(f"{name}{{")]
                self.assertTrue(series, query)
                for label in re.findall(r"(\w+)=~", labels):
                    self.assertIn(f'{label}="', series[0], query)
            self.assertNotIn("$", as_asked(query), "a variable that the dashboard has")

    def test_each_place_holds_one_panel(self) -> None:
        taken: set[tuple[int, int]] = set()
        for panel in DASHBOARD["panels"]:
            place = panel["gridPos"]
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(taken & cells, panel["title"])
            self.assertLessEqual(place["x"] + place["w"], 24, "Grafana's columns")
            taken |= cells
        numbers = [panel["id"] for panel in DASHBOARD["panels"]]
        self.assertEqual(len(set(numbers)), len(numbers))

    def test_where_a_process_listens_is_known(self) -> None:
        self.assertIsNone(port_of(os.getpid()))
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.assertEqual(port_of(os.getpid()), server.getsockname()[1])

    @unittest.skipUnless(shutil.which("prometheus"), "no prometheus here (apt install prometheus)")
    def test_prometheus_answers_every_query(self) -> None:
        written = textfile()
        chosen = re.findall(r'cell_seconds{.*cell="([^"]*)"}', written)[0]
        with prometheus_over(written) as ask:
            for query in queries():
                self.assertTrue(ask(as_asked(query)), query)
                self.assertTrue(ask(as_asked(query, chosen)), query)
            self.assertEqual(ask("scalebench_night_no_such_series"), [])


class Textfile(http.server.BaseHTTPRequestHandler):
    text = ""

    def do_GET(self) -> None:  # noqa: N802
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(self.text.encode())

    def log_message(self, *_: object) -> None:
        pass


def port_of(process: int) -> int | None:
    """Where it listens, by the kernel that gave it the port: one that is chosen before may be another's by then."""
    sockets = {os.readlink(entry) for entry in os.scandir(f"/proc/{process}/fd")}
    for line in Path(f"/proc/{process}/net/tcp").read_text(encoding="utf-8").splitlines()[1:]:
        _, local, _, state, *more = line.split()
        if state == LISTENS and f"socket:[{more[5]}]" in sockets:
            return int(local.rpartition(":")[2], 16)
    return None


@contextlib.contextmanager
def prometheus_over(text: str) -> Iterator[Any]:
    """A Prometheus that has scraped `text`, as a function from a query to its result."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Served", (Textfile,), {"text": text}))
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def ask(query: str) -> list[Any]:
        address = f"http://127.0.0.1:{port_of(process.pid)}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:  # noqa: S310
            return list(json.load(answer)["data"]["result"])

    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "prometheus.yml"
        job = {"job_name": "night", "scrape_interval": "1s", "static_configs": [{"targets": [f"127.0.0.1:{server.server_port}"]}]}
        config.write_text(json.dumps({"scrape_configs": [job]}), encoding="utf-8")  # JSON is YAML
        command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data", "--web.listen-address=127.0.0.1:0"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                until = time.monotonic() + PATIENCE
                while True:
                    with contextlib.suppress(urllib.error.URLError, ConnectionError):
                        if port_of(process.pid) and ask("scalebench_night_verdict"):
                            break
                    if process.poll() is not None or time.monotonic() > until:
                        raise AssertionError("prometheus has scraped nothing")
                    time.sleep(0.1)
                yield ask
            finally:
                process.terminate()
                process.wait()
                server.shutdown()
                server.server_close()


if __name__ == "__main__":
    unittest.main()
