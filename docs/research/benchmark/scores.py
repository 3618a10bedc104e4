#!/usr/bin/env python3
"""Scores of predictions: one scorer for every system.

    scores.py --schema SCHEMA --test TEST.csv --predictions PREDICTIONS.csv

Predictions have a header line and one line for each test row, in its order. Classes: a column of
probabilities for each class, named as in the schema. Numbers: one column, `prediction`.
Prints one JSON object: accuracy, auc and log_loss, or rmse. The definitions are those of `coppice model
evaluate`: the most probable class answers, the first one on a tie; the AUC of three classes and more is
the mean of each against the rest; a probability below 1e-6 counts as 1e-6 in the log loss.
"""

import argparse
import csv
import json
import math
import pathlib
import sys

MIN_PROBABILITY = 1e-6


def roc_area(scores: list[float], hits: list[bool]) -> float | None:
    """The area under the ROC curve; ties count half. None where all rows or no row is a hit."""
    positives = sum(hits)
    negatives = len(hits) - positives
    if positives == 0 or negatives == 0:
        return None
    order = sorted(range(len(scores)), key=scores.__getitem__)
    pairs, below, start = 0.0, 0, 0
    while start < len(order):
        end = start
        while end < len(order) and scores[order[end]] == scores[order[start]]:
            end += 1
        hit = sum(hits[row] for row in order[start:end])
        pairs += hit * (below + (end - start - hit) / 2)
        below += end - start - hit
        start = end
    return pairs / (positives * negatives)


def score_classes(probabilities: list[list[float]], labels: list[int]) -> dict[str, float]:
    right = sum(row.index(max(row)) == label for row, label in zip(probabilities, labels))
    loss = -sum(math.log(max(row[label], MIN_PROBABILITY)) for row, label in zip(probabilities, labels))
    classes = len(probabilities[0])
    scored = [1] if classes == 2 else range(classes)
    areas = [roc_area([row[k] for row in probabilities], [label == k for label in labels]) for k in scored]
    present = [area for area in areas if area is not None]
    found = {"accuracy": right / len(labels), "log_loss": loss / len(labels)}
    if present:
        found["auc"] = sum(present) / len(present)
    return found


def score_numbers(predictions: list[float], targets: list[float]) -> dict[str, float]:
    squares = sum((p - t) ** 2 for p, t in zip(predictions, targets))
    return {"rmse": math.sqrt(squares / len(targets))}


def read_column(path: pathlib.Path, name: str) -> list[str]:
    with path.open(newline="", encoding="utf-8") as file:
        return [row[name] for row in csv.DictReader(file)]


def score_files(schema: dict, test: pathlib.Path, predictions: pathlib.Path) -> dict[str, float]:
    """Errors  ValueError where the predictions are not what the test rows ask for."""
    truth = read_column(test, schema["label"])
    with predictions.open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        rows = [[float(field) for field in row] for row in reader]
    expected = schema.get("classes", ["prediction"])
    if header != expected:
        raise ValueError(f"{predictions} has the columns {header}; the schema asks for {expected}")
    if len(rows) != len(truth):
        raise ValueError(f"{predictions} has {len(rows)} rows, and the test file {len(truth)}")
    if not all(len(row) == len(header) and all(map(math.isfinite, row)) for row in rows):
        raise ValueError(f"{predictions} has a row that is too short, or a number that is not finite")
    if "classes" not in schema:
        return score_numbers([row[0] for row in rows], [float(text) for text in truth])
    if any(abs(sum(row) - 1) > 1e-6 or min(row) < 0 for row in rows):
        raise ValueError(f"{predictions} has a row whose probabilities do not add up to 1")
    numbers = {name: k for k, name in enumerate(schema["classes"])}
    return score_classes(rows, [numbers[text] for text in truth])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("schema", "test", "predictions"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    options = parser.parse_args()
    try:
        schema = json.loads(options.schema.read_text(encoding="utf-8"))
        print(json.dumps(score_files(schema, options.test, options.predictions)))
    except (OSError, ValueError, KeyError) as error:
        print(f"scores.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
