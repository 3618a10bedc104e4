#!/usr/bin/python3
"""Compares gradient_boosting, which stands for "no privacy", with scikit-learn's HistGradientBoosting.

    docs/research/without_privacy.py DATA [--repeats N] [--sets NAME...]

DATA has a folder for each data set. A fifth of the rows is held out, by SHA-256 of set, repetition and row number; both
learners get the rest, on one thread. scikit-learn runs twice: as it comes, and with early stopping and up to 500 rounds.
It sorts categories by itself where there are fewer than 255 of them, and otherwise gets their numbers. Prints the tables of
without-privacy.md. Needs scikit-learn, and build/release/bin/coppice-lab or COPPICE_LAB=/path/to/coppice-lab.
"""

import argparse
import csv
import hashlib
import json
import math
import os
import pathlib
import subprocess
import tempfile

import numpy

os.environ["OMP_NUM_THREADS"] = "1"
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
LAB = os.environ.get("COPPICE_LAB", HERE.parents[1] / "build/release/bin/coppice-lab")
FILES = {"adult": "adult_train.csv", "census": "census_pub.csv", "diabetes": "diabetes_pri.csv"}
THEIRS = {"HGB": {}, "HGB, early stopping": {"early_stopping": True, "max_iter": 500, "n_iter_no_change": 20}}
MIN_PROBABILITY = 1e-6


def split(path: pathlib.Path, repetition: int, folder: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """Writes the training part and the test part."""
    head, *rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
    order = sorted(range(len(rows)), key=lambda row: hashlib.sha256(f"{path.name}/{repetition}/{row}".encode()).digest())
    held_out = set(order[:-(-len(rows) // 5)])
    train, test = folder / "train.csv", folder / "test.csv"
    train.write_text(head + "".join(row for i, row in enumerate(rows) if i not in held_out), encoding="utf-8")
    test.write_text(head + "".join(row for i, row in enumerate(rows) if i in held_out), encoding="utf-8")
    return train, test


def encoded(text: str, feature: dict) -> float:
    if text == "":
        return math.nan
    if feature["type"] == "numeric":
        return min(max(float(text), feature["min"]), feature["max"])
    return feature["values"].index(text) if text in feature["values"] else len(feature["values"])


def read(path: pathlib.Path, schema: dict) -> tuple[numpy.ndarray, numpy.ndarray]:
    classes = schema.get("classes")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    features = [[encoded(row[feature["name"]], feature) for feature in schema["features"]] for row in rows]
    labels = [classes.index(row[schema["label"]]) if classes else float(row[schema["label"]]) for row in rows]
    return numpy.array(features), numpy.array(labels)


def theirs(schema: dict, train: pathlib.Path, test: pathlib.Path, repetition: int, options: dict) -> dict[str, float]:
    (rows, labels), (asked, truth) = read(train, schema), read(test, schema)
    categories = [feature["type"] != "numeric" and len(feature["values"]) < 255 for feature in schema["features"]]
    kind = HistGradientBoostingClassifier if "classes" in schema else HistGradientBoostingRegressor
    model = kind(categorical_features=categories, random_state=repetition, **options).fit(rows, labels)
    if "classes" not in schema:
        numbers = numpy.clip(model.predict(asked), schema["target_min"], schema["target_max"])
        return {"rmse": float(numpy.sqrt(((numbers - truth) ** 2).mean()))}
    found = numpy.zeros((len(asked), len(schema["classes"])))
    found[:, model.classes_.astype(int)] = model.predict_proba(asked)
    right = found[numpy.arange(len(truth)), truth.astype(int)]
    return {"accuracy": float((found.argmax(1) == truth).mean()),
            "log_loss": float(-numpy.log(numpy.maximum(right, MIN_PROBABILITY)).mean())}


def ours(schema_file: pathlib.Path, train: pathlib.Path, test: pathlib.Path) -> dict[str, float]:
    command = [str(LAB), "central", "--algorithm", "gradient_boosting", "--epsilon", "inf", "--data", str(train), "--test",
               str(test), "--schema", str(schema_file), "--repeats", "1", "--threads", "1", "--json"]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {measure: report[measure]["mean"] for measure in ("accuracy", "log_loss", "rmse") if measure in report}


def mean_and_error(values: list[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    squares = sum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(squares / (len(values) - 1) / len(values)) if len(values) > 1 else 0.0


def number(value: float) -> str:
    return f"{value:.4g}" if abs(value) >= 10 else f"{value:.4f}"


def compare(folder: pathlib.Path, repeats: int) -> dict[str, dict[str, list[float]]]:
    """scores[measure][learner], one for each repetition."""
    schema_file = folder / "schema.json"
    schema = json.loads(schema_file.read_text(encoding="utf-8"))
    scores: dict[str, dict[str, list[float]]] = {}
    for repetition in range(repeats):
        with tempfile.TemporaryDirectory() as work:
            train, test = split(folder / FILES.get(folder.name, f"{folder.name}.csv"), repetition, pathlib.Path(work))
            found = {"ours": ours(schema_file, train, test)}
            found.update({name: theirs(schema, train, test, repetition, options) for name, options in THEIRS.items()})
        for learner, measures in found.items():
            for measure, value in measures.items():
                scores.setdefault(measure, {}).setdefault(learner, []).append(value)
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sets", nargs="+", metavar="NAME")
    options = parser.parse_args()
    if os.environ.get("COPPICE_SMALLEST") == "1":  # smallest.sh says what for
        options.sets, options.repeats = ["banknote", "abalone"], 2
    names = options.sets or sorted(path.parent.name for path in options.data.glob("*/schema.json"))
    behind = cells = 0
    print(f"| set | measure | `gradient_boosting` | {' | '.join(f'{name} | ours is better by' for name in THEIRS)} |")
    print("|---|---|---|" + "---|---|" * len(THEIRS))
    for name in names:
        for measure, by_learner in compare(options.data / name, options.repeats).items():
            line = f"| {name} | {measure.replace('_', ' ').replace('rmse', 'RMSE')} | {number(mean_and_error(by_learner['ours'])[0])} |"
            for learner in THEIRS:
                sign = 1 if measure == "accuracy" else -1
                gains = [sign * (a - b) for a, b in zip(by_learner["ours"], by_learner[learner])]
                gain, error = mean_and_error(gains)
                cells += 1
                behind += gain < -2 * error
                line += f" {number(mean_and_error(by_learner[learner])[0])} | {number(gain)} ± {number(error)} |"
            print(line, flush=True)
    print(f"\nOf {cells} cells, ours is behind by more than two standard errors in {behind}; {options.repeats} repetitions.")


if __name__ == "__main__":
    main()
