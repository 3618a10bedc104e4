#!/usr/bin/env python3
"""The benchmark of docs/research: its split rule, its scorer, its statistics, its document, and a run of one set.

Data sets are looked for in ../shared/data or $COPPICE_DATA_DIR; what needs one is skipped where it is absent.
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "docs/research/benchmark"
DATA = pathlib.Path(os.environ.get("COPPICE_DATA_DIR", ROOT.parent / "shared/data"))
LAB = pathlib.Path(os.environ.get("COPPICE_LAB", ROOT / "build/release/bin/coppice-lab"))
sys.path.insert(0, str(SCRIPTS))

import benchmark  # noqa: E402
import ranks  # noqa: E402
import report  # noqa: E402
import scores  # noqa: E402
import splits  # noqa: E402


def write(folder: pathlib.Path, name: str, text: str) -> pathlib.Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


HELD_OUT = [3, 14, 24]  # of 25 rows, by another program


class SplitsTest(unittest.TestCase):
    def test_rule_gives_the_same_rows_forever(self):
        self.assertEqual(splits.held_out("seed", "set", 0, 25), HELD_OUT)
        self.assertNotEqual(splits.held_out("seed", "set", 1, 25), HELD_OUT)

    def test_lists_have_the_checksums_that_are_written_down(self):
        rule = splits.rules()
        for name in ("banknote", "car"):
            known = rule["sets"][name]
            for repetition in (0, 4):
                rows = splits.held_out(rule["seed"], name, repetition, known["files"][0]["rows"])
                self.assertEqual(splits.checksum(rows), known["test_rows_sha256"][repetition])

    def test_parts_hold_every_row_once_in_the_file_s_order(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            rows = [f"{i},x\n" for i in range(31)]
            (folder / "car").mkdir()
            write(folder / "car", "car.csv", "a,label\n" + "".join(rows))
            splits.write_split(folder, "car", 2, folder / "out")
            header, train = splits.read_rows(folder / "out/train.csv")
            _, test = splits.read_rows(folder / "out/test.csv")
            self.assertEqual(header, "a,label\n")
            self.assertEqual((len(train), len(test)), (27, 4))
            self.assertEqual(sorted(train + test), sorted(rows))
            self.assertEqual(test, sorted(test, key=rows.index))

    @unittest.skipUnless((DATA / "car").is_dir(), f"no data sets in {DATA}")
    def test_files_are_those_that_were_measured(self):
        found = [line for line in splits.differences(DATA) if "is not there" not in line]
        self.assertEqual(found, [])

    def test_another_file_is_noticed(self):
        with tempfile.TemporaryDirectory() as scratch:
            (pathlib.Path(scratch) / "car").mkdir()
            write(pathlib.Path(scratch) / "car", "car.csv", "a,label\n1,x\n")
            self.assertTrue(any(line.startswith("car: the file") for line in splits.differences(pathlib.Path(scratch))))


class ScoresTest(unittest.TestCase):
    def test_two_classes(self):
        found = scores.score_classes([[0.9, 0.1], [0.4, 0.6], [0.6, 0.4], [0.2, 0.8]], [0, 0, 1, 1])
        self.assertEqual(found["accuracy"], 0.5)
        self.assertEqual(found["auc"], 0.75)  # of four pairs .4 < .6 is the wrong one
        self.assertAlmostEqual(found["log_loss"], -math.log(0.9 * 0.4 * 0.4 * 0.8) / 4)

    def test_ties_count_half_and_the_first_class_answers(self):
        found = scores.score_classes([[0.5, 0.5], [0.5, 0.5]], [0, 1])
        self.assertEqual((found["accuracy"], found["auc"]), (0.5, 0.5))

    def test_three_classes_are_each_against_the_rest(self):
        certain = [[1.0, 0, 0], [0, 1.0, 0], [0, 0.9, 0.1], [0, 0.2, 0.8]]
        found = scores.score_classes(certain, [0, 1, 2, 2])
        self.assertAlmostEqual(found["auc"], 1.0)
        self.assertEqual(found["accuracy"], 0.75)

    def test_certainty_that_is_wrong_has_a_finite_loss(self):
        self.assertAlmostEqual(scores.score_classes([[1.0, 0.0]], [1])["log_loss"], -math.log(1e-6))

    def test_numbers(self):
        self.assertAlmostEqual(scores.score_numbers([1.0, 5.0], [4.0, 1.0])["rmse"], math.sqrt(12.5))

    def test_predictions_that_do_not_fit_are_refused(self):
        schema = {"label": "label", "classes": ["a", "b"]}
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            test = write(folder, "test.csv", "x,label\n1,a\n2,b\n")
            for text in ("b,a\n1,0\n0,1\n", "a,b\n1,0\n", "a,b\n.7,.7\n0,1\n", "a,b\nnan,1\n0,1\n", ""):
                with self.assertRaises(ValueError, msg=text):
                    scores.score_files(schema, test, write(folder, "p.csv", text))
            fits = scores.score_files(schema, test, write(folder, "p.csv", "a,b\n1,0\n0,1\n"))
            self.assertEqual(fits["accuracy"], 1)


class RanksTest(unittest.TestCase):
    # Demsar 2006, section 3.2.3: four systems on fourteen sets.
    AVERAGES = [3.143, 2.000, 2.893, 1.964]

    def test_friedman_and_nemenyi_are_those_of_a_published_example(self):
        self.assertAlmostEqual(ranks.friedman(self.AVERAGES, 14), 9.28, places=2)
        self.assertAlmostEqual(ranks.critical_difference(4, 14), 1.25, places=2)
        self.assertAlmostEqual(ranks.critical_difference(5, 14), 1.63, places=2)

    def test_tail_of_chi_squared(self):
        self.assertAlmostEqual(ranks.chi_squared_tail(7.815, 3), 0.05, places=4)
        self.assertAlmostEqual(ranks.chi_squared_tail(2 * math.log(10), 2), 0.1)

    def test_ranks_share_ties(self):
        self.assertEqual(ranks.ranks_of([0.9, 0.8, 0.9, 0.7], True), [1.5, 3, 1.5, 4])
        self.assertEqual(ranks.ranks_of([0.9, 0.8], False), [2, 1])
        self.assertEqual(ranks.average_ranks([[1, 2], [1, 2], [2, 1]], True), [5 / 3, 4 / 3])

    def test_bars_join_what_is_within_the_difference(self):
        self.assertEqual(ranks.groups([1, 2, 4, 4.5], 1.2), [(1, 2), (4, 4.5)])
        self.assertEqual(ranks.groups([1, 3, 5], 1), [])


class ReportTest(unittest.TestCase):
    def test_mean_and_error(self):
        self.assertEqual(report.mean_and_error([1, 2, 3, 6]), [3, 1.0801])
        self.assertEqual(report.mean_and_error([0.5]), [0.5, None])

    def test_behind_is_two_errors_in_the_metric_s_direction(self):
        self.assertTrue(report.is_behind([0.80, 0.003], [0.82, 0.004], True))
        self.assertFalse(report.is_behind([0.80, 0.006], [0.82, 0.009], True))
        self.assertFalse(report.is_behind([0.80, 0.003], [0.82, 0.004], False))

    def test_losses_are_bold(self):
        def cell(system, accuracy):
            return (system, "car", "1", "0"), {"system": system, "accuracy": [accuracy, 0.001], "repetitions": 3}
        results = dict([cell("auto", 0.8), cell("privatree", 0.81), cell("logistic", 0.9)])
        self.assertEqual(report.cell_text(results, "auto", "car", "1", "0", "accuracy"), "**.8000 ± .0010**")
        results.update([cell("privatree", 0.79)])
        self.assertEqual(report.cell_text(results, "auto", "car", "1", "0", "accuracy"), ".8000 ± .0010")

    def test_document_is_what_the_results_make(self):
        results = report.read_results(SCRIPTS / "results.jsonl")
        self.assertGreater(len(results), 1000)
        self.assertEqual(report.outdated(results), [], "run docs/research/benchmark/report.py write")

    def test_every_system_has_its_adapter_and_every_set_its_schema(self):
        for name, system in benchmark.SYSTEMS.items():
            if system["kind"] == "foreign":
                self.assertTrue((SCRIPTS / "systems" / system["adapter"]).exists(), name)
        for name in benchmark.SETS:
            self.assertTrue(benchmark.schema_path(name).exists(), name)


@unittest.skipUnless((DATA / "banknote").is_dir() and LAB.exists(), f"no data sets in {DATA}, or no {LAB}")
class RunTest(unittest.TestCase):
    def run_script(self, out, *arguments):
        command = [str(SCRIPTS / "run.sh"), str(DATA), str(out), "--repeats", "1", "--sets", "banknote", "--epsilons", "1",
                   *arguments]
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COPPICE_LAB": str(LAB)}, check=False)

    def test_two_trainers_and_an_adapter(self):
        with tempfile.TemporaryDirectory() as scratch:
            out = pathlib.Path(scratch) / "out"
            done = self.run_script(out, "--systems", "auto", "logistic", "constant")
            self.assertEqual(done.returncode, 0, done.stderr)
            runs = [run for path in sorted((out / "runs").iterdir()) for run in benchmark.read_runs(path)]
            self.assertEqual(len(runs), 5)  # two trainers with and without a delta, and the constant answer
            for run in runs:
                self.assertNotIn("error", run)
                is_constant = run["system"] == "constant"
                self.assertEqual(run["auc"] == 0.5, is_constant)
                self.assertEqual(run["accuracy"] < 0.7, is_constant)
            self.assertIn("| banknote |", (out / "benchmark-tables.md").read_text(encoding="utf-8"))
            before = (out / "runs/auto.jsonl").read_text(encoding="utf-8")
            self.run_script(out, "--systems", "auto")
            self.assertEqual((out / "runs/auto.jsonl").read_text(encoding="utf-8"), before)  # nothing twice
            self.run_script(out, "--systems", "auto", "--again")
            self.assertNotEqual((out / "runs/auto.jsonl").read_text(encoding="utf-8"), before)

    def test_a_system_that_cannot_run_says_why(self):
        with tempfile.TemporaryDirectory() as scratch:
            out = pathlib.Path(scratch) / "out"
            os.environ["PYTHONPATH"] = ""
            self.run_script(out, "--systems", "privatree")
            run = json.loads((out / "runs/privatree.jsonl").read_text(encoding="utf-8"))
            self.assertIn("privatree.log says why", run["error"])
            self.assertIn("No module named", (out / "privatree.log").read_text(encoding="utf-8"))
            path = out / "runs/privatree.jsonl"
            path.write_text(json.dumps({**run, "error": "of an earlier call"}) + "\n", encoding="utf-8")
            self.run_script(out, "--systems", "privatree")  # what failed is tried again
            self.assertNotIn("of an earlier call", path.read_text(encoding="utf-8"))

    def test_mistakes(self):
        done = subprocess.run([str(SCRIPTS / "run.sh"), "/nowhere", "/tmp/none", "--sets", "car"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("/nowhere has no folder car", done.stderr)
        for script in ("run.sh", "benchmark.py", "report.py", "splits.py", "scores.py"):
            shown = subprocess.run([str(SCRIPTS / script), "--help"], capture_output=True, text=True, check=False)
            self.assertEqual(shown.returncode, 0, script)
            self.assertIn(script, shown.stdout)


if __name__ == "__main__":
    unittest.main()
