#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Every command that the pages and the examples of --help show, against the programs' own --help-all: the
# program, the verb, the script and the options exist. It starts nothing but that, so that it also reads
# commands for machines with GPUs.
# python -m pages.commands FOLDER_OF_PROGRAMS [ROOT] prints file:line and what is not there; exit 1 when there
# is something, 77 when no program is there.
from __future__ import annotations

import functools
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

PAGES = ["README.md", "CONTRIBUTING.md", "docs/*.md", "results/README.md", "configs/*/README.md"]
PROGRAMS = ["scalebench", "bench_allreduce", "bench_epoch", "bench_kernels", "bench_throughput"]
ENDS = {"&&", "||", "|", "&", ";", ">", "<", "--"}  # of what a program is given
OF_GOOGLE_BENCHMARK = "--benchmark_"  # which bench_kernels hands on
NOT_IN_HELP = {"-h", "--help"}  # which every program has

CODE_SPAN = re.compile(r"`([^`]+)`")
OPTION = re.compile(r"--?[A-Za-z][\w-]*")


class Command(NamedTuple):
    place: str
    program: str  # scalebench, bench_…, scripts/…
    words: list[str]  # behind it


def pieces(page: str) -> Iterator[tuple[int, str]]:
    """What may be a command: lines of blocks of code, joined where they go on, and code within a line."""
    fenced, begin, joined = False, 0, ""
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            begin, joined = (begin, joined) if joined else (number, "")
            joined += line.strip()
            if joined.endswith("\\"):
                joined = joined[:-1]
            else:
                yield begin, joined
                joined = ""
        else:
            for span in CODE_SPAN.finditer(line):
                yield number, span[1]


def words_in(text: str) -> list[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";|&<>")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    try:
        return list(lexer)
    except ValueError:  # an apostrophe in a sentence
        return []


def program_named(word: str) -> str | None:
    """As `scripts/setup` and `bench_epoch` wherever it lies."""
    script = re.search(r"(?:^|/)(scripts/[\w.]+)$", word)
    if script:
        return script[1]
    name = word.rsplit("/", 1)[-1]
    return name if name in PROGRAMS else None


def commands(name: str, page: str) -> Iterator[Command]:
    for line, text in pieces(page):
        words = words_in(text)
        found = [(place, program) for place, word in enumerate(words) if (program := program_named(word))]
        for place, program in found:
            if place > 0 and (words[place - 1] in ("-R", "-m") or words[place - 1].startswith("--target")):
                continue
            rest = words[place + 1 :]
            begins = next((i for i, word in enumerate(rest) if word in ENDS or program_named(word)), len(rest))
            yield Command(f"{name}:{line}", program, rest[:begins])


class Programs:
    def __init__(self, folder: Path, root: Path):
        self.folder = folder
        self.root = root

    def has(self, name: str) -> bool:
        return (self.folder / name).is_file()

    @functools.cache
    def help(self, name: str, verb: str = "") -> str:
        command = [str(self.folder / name), *verb.split(), "--help-all"]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout

    @functools.cache
    def verbs(self, verb: str = "") -> set[str]:
        """Those of the program, or of a verb that has its own."""
        table = self.help("scalebench", verb).partition("\nVerbs:\n")[2].partition("\n\n")[0]
        return set(re.findall(r"^  ([a-z-]+) ", table, re.MULTILINE))

    def examples(self, names: list[str]) -> Iterator[tuple[str, str]]:
        """What --help shows behind "Examples:", by program and verb."""
        for name in names:
            for verb in ["", *sorted(self.verbs())] if name == "scalebench" else [""]:
                page = self.help(name, verb).partition("\nExamples:\n")[2]
                yield f"{name} {verb} --help-all".replace("  ", " "), page.partition("\n\n")[0]

    @functools.cache
    def script_text(self) -> str:
        files = (file for file in (self.root / "scripts").rglob("*") if file.is_file() and file.suffix in {"", ".py"})
        return "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in sorted(files))

    def wrong_in(self, command: Command) -> Iterator[str]:
        if command.program.startswith("scripts/"):
            yield from self.wrong_in_script(command)
            return
        if not self.has(command.program):
            return
        verb, options = "", [word.partition("=")[0].rstrip(".,;:") for word in command.words if OPTION.match(word)]
        if command.program == "scalebench" and command.words and not command.words[0].startswith("-"):
            # A list of verbs, as `scalebench show|list`, is more than one command; …: any.
            verb = command.words[0]
            if not re.fullmatch(r"[a-z-]+", verb):
                return
            if verb not in self.verbs():
                yield f"scalebench has no verb {verb}"
                return
            if len(command.words) > 1 and command.words[1] in self.verbs(verb):
                verb += f" {command.words[1]}"
        known = set(OPTION.findall(self.help(command.program, verb).partition("\nExamples:\n")[0]))
        for option in options:
            if option not in known | NOT_IN_HELP and not option.startswith(OF_GOOGLE_BENCHMARK):
                yield f"{command.program} {verb}".strip() + f" has no option {option}"

    def wrong_in_script(self, command: Command) -> Iterator[str]:
        if not (self.root / command.program).exists():
            yield f"there is no {command.program}"
            return
        if command.program in {"scripts/python", "scripts/test", "scripts/quickstart"}:
            return  # what it is given is another program's
        for word in command.words:
            option = word.partition("=")[0]
            if option.startswith("--") and option not in self.script_text():
                yield f"{command.program} has no option {option}"


def main() -> int:
    folder = Path(sys.argv[1])
    root = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).resolve().parents[2]
    programs = Programs(folder, root)
    there = [name for name in PROGRAMS if programs.has(name)]
    if not there:
        print(f"skipped: none of {', '.join(PROGRAMS)} in {folder}")
        return 77
    left_out = sorted(set(PROGRAMS) - set(there))
    count, wrong, pages = 0, [], []
    for pattern in PAGES:
        for file in sorted(root.glob(pattern)):
            pages.append((file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")))
    for name, page in [*pages, *programs.examples(there)]:
        for command in commands(name, page):
            count += command.program not in left_out
            wrong += [f"{command.place}: {what}" for what in programs.wrong_in(command)]
    print("\n".join([*wrong, f"{count} commands, {len(wrong)} wrong"]))
    if left_out:
        print(f"not in this build, and so not looked at: {', '.join(left_out)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
