#!/usr/bin/env python3
"""Runs what docs/research says its figures come from, each at its smallest size (docs/research/smallest.sh).

    research_commands_test.py [QuickTest | LongTest]

Commands are those of all pages; of a script that makes several tables, each table is one. What they print must have the columns of
the pages and a figure in each cell, and no file of docs/ may change. Data sets are looked for in ../shared/data or $COPPICE_DATA_DIR.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from commands_test import BINARIES, ROOT, SPAN, missing_package
from page_commands_test import DATA, RESEARCH, blocks, commands

PAGES = sorted((ROOT / "docs").rglob("*.md"))
COMMAND = re.compile(RESEARCH)

# Those that take ten seconds of processor time or more at their smallest, or all of them together too long, and those of benchmarks,
# which only `tests/run.sh long` builds.
LONG = re.compile(r"accuracy\.sh \S+ million$|central\.sh \S+ (diprime|dpboost|lazybb|auto|scaling)\b|(poisoning|reproduce|boost_speed|cuts|load)\.sh|_bench\b")

STAND_INS = [
    (r"(?<=[ =])(DATA_DIR|DATA|\.\./shared/data|path/to/data)(?=\s|$)", str(DATA)), (r" (path/to/diabetes|DIABETES)\b", f" {DATA}/diabetes"),
    (r" adult/", f" {DATA}/adult/"), (r" path/on/the/disk", " disk"), (r" (OUT|WORK|/tmp/cuts)(?=\s|$)", " out"),
    (r"--reports 20000", "--reports 2000"), (r"(build/release/bin/offer_bench)", r"\1 --devices 5"),
    (r"\s+> \S+\.md", ""), (r" \[REPEATS\]", ""),
]

# What commands print that are no tables of Markdown: the columns of performance.md, and the sets of mechanisms.md.
SHOWN = {
    "device_bench": [rf"BM_Privatize/{name}/{leaves} .*payload_bytes=" for leaves in (16, 256, 4096, 65536)
                     for name in ("laplace_split", "laplace_joint", "symmetric_unary", "optimized_unary", "subset_selection", "direct",
                                  "hadamard_response", "local_hashing", "signed_hadamard")] +
                    ["BM_LookUpDraw ", "BM_TextbookDraw ", "BM_RandomBytes .*bytes_per_second="],
    "estimate_bench": ["BM_AddAndPrune/laplace_split .*leaves=251", "BM_AddAndPrune/optimized_unary ", "BM_SimulateAndFit "],
    "forest_bench": [f"BM_{what}/{rows} " for what in ("ChooseSize", "GrowForest", "Basis", "EstimatePooled") for rows in (200, 1000)],
    "offer_bench": [rf'"offer":"{who}","public_rows":{rows},.*"leaves_a_tree":\d.*"message":\d.*"schema":\d.*"tree":\d.*"path":\d.*"tickets":32'
                    for who in ("device", "device that knows the terms", "whole forest") for rows in (200, 1000)],
    "batch_bench": [f'"{key}":[0-9.]+' for key in ("delivered_per_second", "delivered_mb_per_second", "plain_mb_per_second", "delivered_to_plain",
                                                   "opened_per_cpu_second", "x25519_per_cpu_second", "opened_to_x25519")],
    "load.sh": ["# ingest_bench", '"laplace_split".*"ratio":[0-9.]+,"dropped_cpu_us":[0-9.]+,"counted_cpu_us":', "# unary_bench",
                '"at_once":6400,"empty_per_second":\\d+,"reports_per_second":\\d+,"ratio":', "# connect_bench", '"resumed":true,"at_once":64,',
                "# predict_bench: idle", '"rows":16,.*"predict_median_us":\\d+', '"accepted":6000,', r"\d+ collections beside them"],
    "noise_coverage": [r"dpboost on rice at epsilon 0\.5: coverage 0\.\d", r"logistic on occupancy at epsilon 0\.5: coverage 0\.\d"],
    "scaling": [r"spe\nrows seconds bytes\n2000 [0-9.]+ [0-9.]+\n4000 ", r"diprime\nrows seconds bytes\n2000 ", "<svg"],
    "run.sh": [r"out/benchmark\.md"],
}
# Rows that have no figure in some column.
BLANK = re.compile(r"\| no noise \||^\| not private \(SEQ, ε = ∞\) \||\| \**calibration\** \||^\| all \|")
MARK = re.compile(r"\|[-|: ]+\|")


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")] if " | " in line else [line.strip("| ")]


def tables(text):
    """[head, rows] of each table of Markdown."""
    lines = text.splitlines()
    for i, line in enumerate(lines[1:], 1):
        if MARK.fullmatch(line):
            rows = []
            for row in lines[i + 1:]:
                if not row.startswith("|"):
                    break
                rows.append(row)
            yield lines[i - 1], rows


def columns_of_pages():
    """All heads as one text: a page may put more before the script's words, such as which study it is. None shows calibration."""
    heads = [head for page in PAGES for head, _ in tables(page.read_text(encoding="utf-8"))]
    return re.sub(r"[*`]", "", "\n".join([*heads, "calibration error"])).lower()


def stated():
    """(page, command) of each that this test is for."""
    for path in PAGES:
        page = str(path.relative_to(ROOT))
        yield from ((page, command) for block in blocks(path) for command in commands(block) if COMMAND.match(command))
    overview = (ROOT / "docs/research/README.md").read_text(encoding="utf-8")
    yield from (("docs/research/README.md", span[2]) for span in SPAN.finditer(overview) if COMMAND.match(span[2] + " ") and " " in span[2])


def tables_of(command):
    """A command for each table that it stands for: `a|b|c`, and those that a comment says come then."""
    command, _, comment = command.partition(" #")
    for pattern, stand_in in STAND_INS:
        command = re.sub(pattern, stand_in, command)
    if "docs/research/" in command:
        command = re.sub(r"(?: (?:--(?:seed|repeats) )?\d+)+$", "", command.strip())  # which its smallest size sets
    then = re.search(r"\bthen:? ([\w, ]+)", comment)
    last = command.strip().split(" ")[-1]
    choices = last.split("|") + (then[1].strip().split(", ") if then else [])
    one_each = [command.strip().removesuffix(last) + choice for choice in choices]
    return [one + " && grep -o '<svg' scaling.svg" if one.endswith(" scaling") else one for one in one_each]


def all_commands():
    """Each once, with the page that first has it."""
    found = {}
    for page, command in stated():
        for one in tables_of(command):
            found.setdefault(one, page)
    return found


class Folder:
    """Where commands run: a copy of docs/research, and links to what else their scripts use."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="coppice-research-"))
        shutil.copytree(ROOT / "docs/research", self.path / "docs/research", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("deploy", "tests"):
            (self.path / name).symlink_to(ROOT / name)
        (self.path / "build").mkdir()
        (self.path / "build/release").symlink_to(BINARIES.parent)
        self.environment = {**os.environ, "COPPICE_SMALLEST": "1", "COPPICE_DATA_DIR": str(DATA), "COPPICE_SOURCE_DIR": str(ROOT),
                            "HOME": str(self.path), "PATH": f"{BINARIES}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1",
                            "BENCHMARK_MIN_TIME": "0.001", "GTEST_FILTER": "*/case_32:*/case_64", "THREADS": "1"}
        for name in ("COPPICE_LAB", "COPPICE_BIN", "STUDIES", "MEASURES"):
            self.environment.pop(name, None)

    def documents(self):
        return {path.relative_to(self.path): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in sorted((self.path / "docs").rglob("*")) if path.is_file()}

    def run(self, command):
        return subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=self.path, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=1200, check=False)


def missing_for(command):
    """What this machine lacks: data, of which there is no word in CI, or what is built and installed."""
    if str(DATA) in command or "noise_coverage" in command:
        for name in ("adult", "banknote", "diabetes"):
            if not (DATA / name).is_dir():
                return f"there is no {DATA / name}"
    program = re.search(r"build/release/(?:bin|tests)/\w+", command)
    if program and not (BINARIES.parent / program[0].removeprefix("build/release/")).is_file():
        return f"{program[0]} is not built"
    tool = "gnuplot" if "scaling" in command else "jq"
    if ".sh" in command and shutil.which(tool) is None:
        return f"{tool} is not installed"
    with_sklearn = "without_privacy" in command or "public_rows" in command
    if with_sklearn and subprocess.run(["/usr/bin/python3", "-c", "import pandas, sklearn"], capture_output=True, check=False).returncode:
        return "python3-pandas or python3-sklearn is not installed"
    if "boost_speed" in command and subprocess.run(["/usr/bin/python3", "-c", "import xgboost"], capture_output=True, check=False).returncode:
        return "python3-xgboost is not installed"
    return ""


def faults_of(command, printed, columns):
    """What is wrong with what a command printed."""
    shown = next((patterns for name, patterns in SHOWN.items() if name in command), [])
    faults = [f"nothing like {pattern}" for pattern in shown if not re.search(pattern, printed)]
    found = list(tables(printed))
    if not shown and not found:
        faults.append("no table")
    for head, rows in found:
        faults += [f"no page has the column {cell}" for cell in cells(head)[1:] if re.sub(r"[*`]", "", cell).lower() not in columns]
        faults += [] if rows else [f"no rows below {head}"]
        for row in rows:
            if re.search(r", (paper|authors' code) ", row):
                continue
            blank = re.search(r"\| +\|", row) or row.count("|") != head.count("|")
            if blank and not BLANK.search(row) or re.search(r"\b(nan|null|inf)\b", row):
                faults.append(f"a cell without a figure: {row}")
    return faults


class Commands(unittest.TestCase):
    def run_those(self, wanted):
        if not (BINARIES / "coppice-lab").is_file():
            missing_package.skip(f"there are no programs in {BINARIES}; build them, or set COPPICE_BIN_DIR")
        folder, columns, wrong, skipped = Folder(), columns_of_pages(), [], []
        self.addCleanup(shutil.rmtree, folder.path)
        before = folder.documents()
        for command, page in wanted.items():
            missing = missing_for(command)
            if missing:
                (wrong if missing_package.IN_CI and not missing.startswith("there is no") else skipped).append(f"{command}: {missing}")
                continue
            times = os.times()
            done = folder.run(command)
            took = sum(os.times()[2:4]) - sum(times[2:4])
            faults = faults_of(command, done.stdout, columns) if done.returncode == 0 else [f"exit code {done.returncode}"]
            print(f"{took:6.1f} s  {page}: {command}", flush=True)
            if faults:
                wrong.append("\n".join([f"{page}: {command}", *faults, done.stdout[-1500:], done.stderr[-1500:]]))
        for line in skipped:
            print("skipped:", line)
        self.assertEqual(wrong, [], "\n\n".join(wrong))
        self.assertEqual(folder.documents(), before, "a command at its smallest size wrote over figures of the pages")
        if len(skipped) == len(wanted):
            self.skipTest(skipped[0])


class QuickTest(Commands):
    def test_commands(self):
        self.run_those({command: page for command, page in all_commands().items() if not LONG.search(command)})

    def test_every_script_is_run(self):
        found = "\n".join(all_commands())
        for path in sorted((ROOT / "docs/research").glob("*.sh")):
            if path.name != "smallest.sh":
                self.assertIn(f"{path.name} ", found + " ")
        self.assertGreater(len(all_commands()), 30, "the pages have lost their commands, or this test no longer finds them")


class LongTest(Commands):
    def test_commands(self):
        self.run_those({command: page for command, page in all_commands().items() if LONG.search(command)})


if __name__ == "__main__":
    unittest.main()
