#!/usr/bin/env python3
"""Drawings of docs/research that gnuplot made are what their sources give: drawn again, each point lies where it lay.

Those of the benchmark are compared byte by byte in benchmark_test.py, architecture.svg in the site's build.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from commands_test import BINARIES, ROOT, missing_package
from page_commands_test import DATA

RESEARCH = ROOT / "docs/research"


def drawn(path):
    """The texts of a drawing, and its points: each marker's place, and each coordinate of its lines."""
    text = path.read_text(encoding="utf-8")
    texts = re.findall(r"<tspan[^>]*>([^<]*)</tspan>", text)
    places = re.findall(r"transform='translate\(([^)]*)\)", text) + re.findall(r" d='([^']*)'", text.partition("</defs>")[2])
    return texts, [float(number) for place in places for number in re.findall(r"-?\d+\.\d+", place)]


class PlotsTest(unittest.TestCase):
    def setUp(self):
        if shutil.which("gnuplot") is None:
            missing_package.skip("gnuplot is not installed: tests/packages.txt")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="coppice-plots-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def compare(self, name, pixels):
        texts, points = drawn(self.folder / name)
        texts_there, points_there = drawn(RESEARCH / name)
        self.assertEqual(texts, texts_there)
        self.assertEqual(len(points), len(points_there))
        self.assertGreater(len(points), 100)
        for point, there in zip(points, points_there):
            self.assertAlmostEqual(point, there, delta=pixels, msg=f"docs/research/{name} is not what its source gives")

    def test_time_against_rows_is_that_of_the_table(self):
        section = (RESEARCH / "performance.md").read_text(encoding="utf-8").partition("\n## Central training\n")[2].partition("\n## ")[0]
        rows = re.findall(r"^\| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \|", section, re.MULTILINE)
        self.assertGreater(len(rows), 3)
        for column, trainer in ((1, "spe"), (2, "diprime")):
            lines = [f"{row[0].replace(',', '')} {row[column]}\n" for row in rows]
            (self.folder / trainer).write_text("rows seconds\n" + "".join(lines), encoding="utf-8")
        subprocess.run(["gnuplot", "-e", "spe='spe'; diprime='diprime'; picture='scaling.svg'", RESEARCH / "scaling.gp"], cwd=self.folder, check=True)
        self.compare("scaling.svg", 2)  # the table's last digit

    def test_the_plan_is_what_the_command_below_it_draws(self):
        if not (BINARIES / "coppice-lab").is_file():
            missing_package.skip(f"there is no {BINARIES}/coppice-lab; build it, or set COPPICE_BIN_DIR")
        if not (DATA / "adult").is_dir():
            self.skipTest(f"there is no {DATA}/adult")
        commands = re.search(r"\(plan\.svg\)\n\n```sh\n(.*?)```", (RESEARCH / "accuracy.md").read_text(encoding="utf-8"), re.DOTALL)[1]
        (self.folder / "adult").symlink_to(DATA / "adult")
        subprocess.run(["bash", "-euc", commands], cwd=self.folder, check=True, capture_output=True,
                       env={**os.environ, "PATH": f"{BINARIES}:{os.environ['PATH']}"})
        self.compare("plan.svg", 0.5)


if __name__ == "__main__":
    unittest.main()
