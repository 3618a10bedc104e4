#!/usr/bin/env python3
"""Compares two builds of coppice-lab cell by cell: a set, an epsilon, a delta and a measure each.

    docs/research/cells.py --old LAB --new LAB --data DIR > cells.md

Both programs score the same rows in repetition r, so differences are taken within repetitions. A
program that knows no --per-repetition is compared by its means. Results are kept in --cache, by
the program's hash and its flags, so that a second run computes what is new alone. --freeze writes
the means of a program to a file, which --old takes instead of a program.
"""

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys

CLASS_SETS = ["adult", "mushroom", "cod-rna", "banknote", "credit", "occupancy", "rice", "diabetes",
              "car", "robot4", "robot24"]
NUMBER_SETS = ["abalone", "parkinsons", "appliances"]
FILES = {"adult": "adult_train.csv", "diabetes": "diabetes_pri.csv"}
# A measure's name here, its key among the repetitions, whether more is better.
CLASS_MEASURES = [("accuracy", "accuracy", True), ("AUC", "auc", True),
                  ("log loss", "log_loss", False),
                  ("calibration", "squared_calibration_error", False)]
NUMBER_MEASURES = [("RMSE", "rmse", False), ("MAE", "mae", False)]
MEASURES = CLASS_MEASURES + NUMBER_MEASURES


def mean_of(values):
    return sum(values) / len(values)


def error_of(values):
    """The standard error of the mean; infinite of a single value."""
    if len(values) < 2:
        return math.inf
    mean = mean_of(values)
    return math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values))


class Program:
    """A build of coppice-lab."""

    def __init__(self, path, options):
        self.path, self.options = path, options
        with open(path, "rb") as file:
            self.hash = hashlib.sha256(file.read()).hexdigest()[:16]
        usage = subprocess.run([path, "central", "--help"], capture_output=True, text=True, check=True)
        self.repetitions = ["--per-repetition"] if "--per-repetition" in usage.stdout else []

    def flags(self, name, epsilon, delta):
        options, folder = self.options, os.path.join(self.options.data, name)
        rows = ["--data", os.path.join(folder, FILES.get(name, name + ".csv"))]
        if options.official and name == "adult":
            rows += ["--test", os.path.join(folder, "adult_test.csv")]
        else:
            rows += ["--holdout", options.holdout]
        flags = rows + ["--schema", os.path.join(folder, "schema.json"), "--algorithm",
                        options.algorithm, "--epsilon", epsilon, "--repeats", str(options.repeats),
                        "--seed", str(options.seed)]
        if delta != "0":
            flags += ["--delta", delta]
        for setting in options.set:
            flags += ["--set", setting]
        return flags + self.repetitions

    def cell(self, name, epsilon, delta):
        """What the program reports, from the cache if it is there; None if it refuses the flags."""
        flags = self.flags(name, epsilon, delta)
        known = self.hash + " ".join(os.path.basename(flag) for flag in flags)
        path = os.path.join(self.options.cache, hashlib.sha256(known.encode()).hexdigest()[:24])
        if os.path.exists(path):
            with open(path) as file:
                return json.load(file)
        command = [self.path, "central", *flags, "--threads", str(self.options.threads), "--json"]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            print(f"{name}, epsilon {epsilon}, delta {delta}: {run.stderr.strip()}", file=sys.stderr)
            return None
        report = json.loads(run.stdout)
        with open(path + ".new", "w") as file:
            json.dump(report, file)
        os.replace(path + ".new", path)
        return report


class Frozen:
    """What --freeze wrote of a program."""

    def __init__(self, path, options):
        self.cells = {}
        with open(path) as file:
            for line in file:
                cell = json.loads(line)
                self.cells[cell["set"], cell["epsilon"], cell["delta"]] = cell
        for cell in self.cells.values():
            if cell["algorithm"] != options.algorithm:
                sys.exit(f"{path} is of {cell['algorithm']}, not of {options.algorithm}")

    def cell(self, name, epsilon, delta):
        return self.cells.get((name, epsilon, delta))


def open_program(path, options):
    return Frozen(path, options) if path.endswith(".jsonl") else Program(path, options)


def moments(report, key):
    """Mean, standard error and the values of the repetitions (None if only means are known)."""
    values = report.get("repetitions", {}).get(key)
    if values:
        return mean_of(values), error_of(values), values
    if key not in report:
        return None
    summary = report[key]
    return summary["mean"], summary["std"] / math.sqrt(summary["n"]), None


def shown(key, mean):
    """The calibration error is compared by its square and shown as its root."""
    return math.sqrt(max(mean, 0)) if key == "squared_calibration_error" else mean


def compare(old, new, key, more_is_better):
    """Old, new, how far new is ahead and by how many standard errors; None if one lacks it."""
    before, after = moments(old, key), moments(new, key)
    if before is None or after is None:
        return None
    sign = 1 if more_is_better else -1
    difference = sign * (after[0] - before[0]) + 0.0
    if before[2] and after[2] and len(before[2]) == len(after[2]):
        error = error_of([a - b for a, b in zip(after[2], before[2])])
    else:
        error = math.hypot(before[1], after[1])
    errors = 0.0 if difference == 0 else difference / error if error > 0 else math.copysign(99, difference)
    old_shown, new_shown = shown(key, before[0]), shown(key, after[0])
    return {"old": old_shown, "new": new_shown, "ahead": sign * (new_shown - old_shown) + 0.0,
            "error": None if key == "squared_calibration_error" else error, "errors": errors}


def frozen(name, epsilon, delta, report, algorithm):
    cell = {"set": name, "epsilon": epsilon, "delta": delta, "algorithm": algorithm}
    for _, key, _ in MEASURES:
        found = moments(report, key)
        if found is not None:
            n = len(found[2]) if found[2] else report[key]["n"]
            cell[key] = {"mean": float(f"{found[0]:.6g}"),
                         "std": float(f"{found[1] * math.sqrt(n):.4g}"), "n": n}
    return cell


def row_text(name, epsilon, delta, measure, result):
    digits = 3 if measure in ("RMSE", "MAE") else 4
    number = lambda value: f"{value:.{digits}f}"
    error = "" if result["error"] is None else number(result["error"])
    cells = [name, epsilon, delta, measure, number(result["old"]), number(result["new"]),
             f"{result['ahead']:+.{digits}f}", error, f"{result['errors']:+.1f}"]
    if result["errors"] <= -2:
        cells = [f"**{cell}**" if cell else cell for cell in cells]
    return "| " + " | ".join(cells) + " |"


def summary_text(results):
    lines = ["| measure | cells | ahead by 2 s.e. | behind by 2 s.e. | behind by 4 s.e. | mean lead |",
             "|---|---|---|---|---|---|"]
    names = [name for name, _, _ in MEASURES if any(r["measure"] == name for r in results)]
    for name in names + ["all"]:
        chosen = [r for r in results if name in (r["measure"], "all")]
        lead = "" if name == "all" else f"{mean_of([r['ahead'] for r in chosen]):+.4f}"
        behind = sum(r["errors"] <= -2 for r in chosen)
        lines.append(f"| {name} | {len(chosen)} | {sum(r['errors'] >= 2 for r in chosen)} | {behind} "
                     f"({100 * behind / len(chosen):.1f} %) | {sum(r['errors'] <= -4 for r in chosen)} "
                     f"| {lead} |")
    return "\n".join(lines)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--old", help="a coppice-lab, or what --freeze wrote of one (.jsonl)")
    parser.add_argument("--new", required=True, help="a coppice-lab")
    parser.add_argument("--data", required=True, help="a folder of each set")
    parser.add_argument("--sets", default=",".join(CLASS_SETS + NUMBER_SETS))
    parser.add_argument("--epsilons", default=".01,.03,.1,.5,1,2,4,8")
    parser.add_argument("--deltas", default="0,1e-6")
    parser.add_argument("--algorithm", default="auto")
    parser.add_argument("--set", action="append", default=[], help="name=value, of the algorithm")
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=22)
    parser.add_argument("--holdout", default=".1")
    parser.add_argument("--official", action="store_true", help="score adult on adult_test.csv")
    parser.add_argument("--cache", default=os.path.expanduser("~/.cache/coppice-cells"))
    parser.add_argument("--out", help="also every compared cell as a line of JSON")
    parser.add_argument("--freeze", help="write the means of --new to this file, to be --old later")
    parser.add_argument("--losses", action="store_true", help="print the losing cells alone")
    options = parser.parse_args()
    if not options.old and not options.freeze:
        parser.error("--old or --freeze is needed")
    if os.environ.get("COPPICE_SMALLEST") == "1":  # smallest.sh says what for
        options.sets, options.epsilons, options.repeats = "banknote,abalone", ".5", 2
    for field in ("sets", "epsilons", "deltas"):
        setattr(options, field, getattr(options, field).split(","))
    return options


def plain(epsilon):
    return epsilon if not epsilon.startswith(".") else "0" + epsilon


def main():
    options = parse_options()
    os.makedirs(options.cache, exist_ok=True)
    new = open_program(options.new, options)
    old = open_program(options.old, options) if options.old else None
    results, kept = [], []
    if old:
        print("Bold: behind by two standard errors or more. `ahead` and `/ s.e.` are above 0 where the "
              "new one is better; the calibration error is compared by its square.\n")
        print("| set | ε | δ | measure | old | new | ahead | s.e. | / s.e. |\n|---|---|---|---|---|---|---|---|---|")
    for name in options.sets:
        for delta in options.deltas:
            for epsilon in map(plain, options.epsilons):
                after = new.cell(name, epsilon, delta)
                if after is None:
                    continue
                kept.append(frozen(name, epsilon, delta, after, options.algorithm))
                before = old.cell(name, epsilon, delta) if old else None
                if before is None:
                    continue
                for measure, key, more_is_better in MEASURES:
                    result = compare(before, after, key, more_is_better)
                    if result is None:
                        continue
                    results.append({"set": name, "epsilon": epsilon, "delta": delta,
                                    "measure": measure, **result})
                    if not options.losses or result["errors"] <= -2:
                        print(row_text(name, epsilon, delta, measure, result), flush=True)
    if results:
        print("\n" + summary_text(results))
    for path, lines in ((options.out, results), (options.freeze, kept)):
        if path:
            with open(path, "w") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)


if __name__ == "__main__":
    main()
