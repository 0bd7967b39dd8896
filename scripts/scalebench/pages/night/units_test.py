# SPDX-License-Identifier: Apache-2.0
# configs/nightly/: every file is what its reader parses, and names only verbs, options, series and
# studies that exist. Arguments: PATH_OF_SCALEBENCH; exit 77 where nothing could be checked.
from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from fixtures.night import write_night
from scalebench.pages.night.prometheus import write_textfile
from scalebench.pages.night.record import read_night

try:
    import yaml
except ImportError:
    yaml = None

FOLDER = Path(__file__).resolve().parents[4] / "configs" / "nightly"
PROGRAM = Path(os.environ.get("SCALEBENCH", "scalebench"))


def run(*words: object, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60, check=False, **more)


def text_of(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(text_of(name))
    return parser


def schedule_of(workflow: dict[Any, Any]) -> str:
    triggers = workflow.get("on", workflow.get(True))  # YAML 1.1 reads `on` as a truth value
    return triggers["schedule"][0]["cron"]


class Files(unittest.TestCase):
    def test_only_verbs_and_options_that_exist_are_named(self) -> None:
        named = 0
        for path in sorted(FOLDER.iterdir()):
            # A command goes on to the end of its line, or of its quotes in Markdown.
            for command in re.findall(r"scalebench (nightly|report|verify|doctor) ([^`\n]*)", path.read_text(encoding="utf-8")):
                verb, words = command
                known = run(PROGRAM, verb, "--help-all")
                options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", words))
                if not options and "/" not in words:
                    continue  # prose
                self.assertIn(f"usage: scalebench {verb} ", known.stdout, f"{path.name}: scalebench has no verb {verb}")
                for option in options - {"--help"}:
                    self.assertRegex(known.stdout, rf"(?m)[ ,]{option}\b(?!-)", f"{path.name}: {verb} has no {option}")
                    named += 1
        self.assertGreater(named, 8)

    def test_what_fails_a_night_is_one_of_the_words_for_it(self) -> None:
        for path in FOLDER.iterdir():
            for words in re.findall(r"--fail-on (\S+)", path.read_text(encoding="utf-8")):
                self.assertLessEqual(set(words.split(",")), {"host", "unsure"}, path.name)

    def test_the_study_is_one(self) -> None:
        done = run(PROGRAM, "run", FOLDER / "nightly.toml", "--dry-run", "--oversubscribe", "--ranks", "1,2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("bench_allreduce", done.stdout)
        self.assertGreaterEqual(int(re.search(r"^launches = (\d+)", text_of("nightly.toml"), re.MULTILINE)[1]), 12)

    def test_systemd_units(self) -> None:
        service, timer = unit("scalebench-nightly.service"), unit("scalebench-nightly.timer")
        self.assertEqual(service["Service"]["Type"], "oneshot")
        self.assertEqual(service["Service"]["KillMode"], "control-group")
        self.assertTrue(service["Service"]["TimeoutStartSec"])
        self.assertTrue(service["Service"]["ExecStart"].startswith("/"))
        self.assertEqual(timer["Timer"]["Persistent"], "true")
        self.assertTrue(timer["Timer"]["OnCalendar"] and timer["Timer"]["RandomizedDelaySec"])
        self.assertEqual(timer["Install"]["WantedBy"], "timers.target")

    def test_systemd_takes_them(self) -> None:
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze here")
        with tempfile.TemporaryDirectory() as folder:
            for name in ("scalebench-nightly.service", "scalebench-nightly.timer"):
                content = text_of(name).replace("/usr/local/bin/scalebench", str(PROGRAM)).replace("User=scalebench", "User=root")
                (Path(folder) / name).write_text(content, encoding="utf-8")
            done = run("systemd-analyze", "verify", "--recursive-errors=no", *(Path(folder) / name for name in os.listdir(folder)))
            self.assertNotRegex(done.stderr, "scalebench-nightly|Unknown|Failed to parse", done.stderr)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = run("systemd-analyze", "calendar", unit("scalebench-nightly.timer")["Timer"]["OnCalendar"])
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_cron_line(self) -> None:
        lines = [line for line in text_of("crontab").splitlines() if line and not line.startswith("#")]
        settings = dict(line.split("=", 1) for line in lines if re.match(r"[A-Z_]+=", line))
        self.assertTrue({"SHELL", "PATH", "LC_ALL"} <= set(settings))
        (job,) = (line for line in lines if line[0].isdigit())
        command = " ".join(job.split(" ")[5:])
        self.assertEqual(len(re.findall(r"(?<!\\)%", command)), 0, "cron takes % for a newline")
        self.assertIn("flock -n -E 75 /", command)  # 1 would be a regression
        self.assertEqual(run("bash", "-n", "-c", command.replace(r"\%", "%")).returncode, 0)

    def test_slurm_script(self) -> None:
        self.assertEqual(run("bash", "-n", FOLDER / "nightly.sbatch").stderr, "")
        self.assertTrue(os.access(FOLDER / "nightly.sbatch", os.X_OK))
        batch = dict(line.split("=", 1) if "=" in line else (line, "") for line in re.findall(r"^#SBATCH (.*)$", text_of("nightly.sbatch"), re.MULTILINE))
        cron = dict(line.split("=", 1) if "=" in line else (line, "") for line in re.findall(r"^#SCRON (.*)$", text_of("scrontab"), re.MULTILINE))
        self.assertEqual(batch, cron)
        self.assertIn("--exclusive", batch)
        self.assertEqual(batch["--signal"], "B:TERM@120")
        if shutil.which("shellcheck"):
            done = run("shellcheck", FOLDER / "nightly.sbatch")
            self.assertEqual(done.returncode, 0, done.stdout)


@unittest.skipUnless(yaml, "no python3-yaml here")
class Yaml(unittest.TestCase):
    def test_nightly_workflow(self) -> None:
        workflow = yaml.safe_load(text_of("github-nightly.yml"))
        (job,) = workflow["jobs"].values()
        self.assertIn("self-hosted", job["runs-on"])
        self.assertEqual(workflow["concurrency"]["cancel-in-progress"], False)
        self.assertEqual(workflow["permissions"], {"contents": "read"})
        self.assertEqual(schedule_of(workflow), "0 3 * * *")
        steps = job["steps"]
        show = next(step for step in steps if step.get("name") == "Show")
        self.assertEqual(show["if"], "always()")
        self.assertTrue(any("upload-artifact" in step.get("uses", "") for step in steps))
        self.check_scripts(steps)
        with tempfile.TemporaryDirectory() as folder:
            summary, night = Path(folder) / "summary", Path(folder) / "night"
            environment = {**os.environ, "RUNNER_TEMP": folder, "GITHUB_STEP_SUMMARY": str(summary)}
            done = run("bash", "-e", "-c", show["run"], env=environment)
            self.assertEqual(done.returncode, 1, "no report is no pass")
            self.assertTrue(done.stdout.startswith("::error "))
            night.mkdir()
            (night / "report.md").write_text("# PASS\n")
            done = run("bash", "-e", "-c", show["run"], env=environment)
            self.assertEqual((done.returncode, done.stdout, summary.read_text()), (0, "", "# PASS\n"))

    def check_scripts(self, steps: list[dict[str, Any]]) -> None:
        for step in steps:
            script = step.get("run", "")
            self.assertNotIn("${{", script, "an expression in a script is run by the shell")
            self.assertEqual(run("bash", "-n", "-c", script).stderr, "")

    def test_dead_man_speaks_up_after_36_hours(self) -> None:
        workflow = yaml.safe_load(text_of("github-deadman.yml"))
        (job,) = workflow["jobs"].values()
        self.assertEqual(job["runs-on"], "ubuntu-latest")
        self.check_scripts(job["steps"])
        for answer, code in (("", 1), ("now", 0), ("35 hours ago", 0), ("37 hours ago", 1)):
            with tempfile.TemporaryDirectory() as folder:
                time = run("date", "-u", "-d", answer, "+%FT%TZ").stdout.strip() if answer else ""
                gh = Path(folder) / "gh"
                gh.write_text(f"#!/bin/sh\necho {time}\n")
                gh.chmod(0o755)
                environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "GITHUB_REPOSITORY": "a/b"}
                done = run("bash", "-e", "-c", job["steps"][0]["run"], env=environment)
                self.assertEqual((done.returncode, "::error " in done.stdout), (code, bool(code)), (answer, done.stdout + done.stderr))

    def test_alerts_ask_for_series_that_exist(self) -> None:
        rules = [rule for group in yaml.safe_load(text_of("prometheus-alerts.yml"))["groups"] for rule in group["rules"]]
        with tempfile.TemporaryDirectory() as folder:
            written = write_textfile(read_night(write_night(Path(folder), "PASS")))
        for rule in rules:
            self.assertTrue(rule["alert"] and rule["annotations"]["summary"])
            for name in re.findall(r"scalebench_\w+", rule["expr"]):
                self.assertIn(f"# TYPE {name} gauge\n", written)
        words = " ".join(rule["expr"] for rule in rules)
        self.assertIn("36 * 3600", words)
        # A study that was never published has no series: it is missed by its name.
        self.assertIn('absent(scalebench_night_last_run_timestamp_seconds{study="nightly"})', words)
        # Without a night that passed there is no series of it, so that the alert needs another to fire.
        with tempfile.TemporaryDirectory() as folder:
            never = write_textfile(read_night(write_night(Path(folder), "SLOWER", last_success=None)))
        (no_good,) = (rule["expr"] for rule in rules if rule["alert"] == "ScalebenchNoGoodNight")
        passed, has_run = (f"scalebench_night_last_{what}_timestamp_seconds" for what in ("success", "run"))
        self.assertNotIn(f"# TYPE {passed} ", never)
        self.assertIn(f"# TYPE {has_run} ", never)
        self.assertIn(f"({has_run} unless {passed})", no_good)
        if shutil.which("promtool"):
            self.assertEqual(run("promtool", "check", "rules", FOLDER / "prometheus-alerts.yml").returncode, 0)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        PROGRAM = Path(sys.argv.pop(1)).resolve()
    unittest.main()
