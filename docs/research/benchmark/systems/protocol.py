"""What adapters share: the protocol of the benchmark, and rows as numbers.

An adapter reads one JSON object a line from stdin
    {"train": FILE, "test": FILE, "schema": FILE, "epsilon": 1.0, "delta": 1e-06, "seed": 3, "output": FILE}
(delta 0: pure), trains on `train`, writes predictions of the rows of `test` to `output` (see scores.py), and
answers with one line on stdout: {"seconds": of training alone}, or {"error": "why not"}.
It ends when stdin does. Nothing but these lines may go to stdout.

Test labels are in the test file as everywhere: an adapter must not read them.
"""

import csv
import functools
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Table:
    """Features as text, in the schema's order; empty text is missing. `labels` is empty for test rows."""
    rows: list[list[str]]
    labels: list[str]


def read_schema(path: str) -> dict:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def read_table(path: str, schema: dict, with_labels: bool) -> Table:
    names = [feature["name"] for feature in schema["features"]]
    rows, labels = [], []
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows.append([row[name] for name in names])
            if with_labels:
                labels.append(row[schema["label"]])
    return Table(rows, labels)


def clamp(number: float, low: float, high: float) -> float:
    return min(max(number, low), high)


def as_number(text: str, feature: dict) -> float:
    """Inside the public bounds; missing is the middle."""
    low, high = feature["min"], feature["max"]
    return (low + high) / 2 if text == "" else clamp(float(text), low, high)


def as_code(text: str, feature: dict) -> int:
    """The number of a category in the public vocabulary; one more than all of them if missing or other."""
    values = feature["values"]
    return values.index(text) if text in values else len(values)


def coded(table: Table, schema: dict) -> list[list[float]]:
    """One column a feature: a number inside its bounds, or a category's code."""
    features = schema["features"]
    return [[as_number(text, feature) if feature["type"] == "numeric" else float(as_code(text, feature))
             for text, feature in zip(row, features)] for row in table.rows]


def one_hot(table: Table, schema: dict) -> list[list[float]]:
    """Numbers scaled to 0 to 1 by their bounds, and a column of 0 and 1 for each category of the schema."""
    def columns(text: str, feature: dict) -> list[float]:
        if feature["type"] == "numeric":
            return [(as_number(text, feature) - feature["min"]) / (feature["max"] - feature["min"])]
        return [float(text == value) for value in feature["values"]]
    return [[x for text, feature in zip(row, schema["features"]) for x in columns(text, feature)]
            for row in table.rows]


@functools.lru_cache(maxsize=1)
def _load(train: str, test: str, schema_path: str, encode: Callable[[Table, dict], object]) -> tuple:
    schema = read_schema(schema_path)
    table = read_table(train, schema, with_labels=True)
    hidden = read_table(test, schema, with_labels=False)
    return schema, encode(table, schema), table.labels, encode(hidden, schema)


def load(request: dict, encode: Callable[[Table, dict], object]) -> tuple:
    """The schema, the training rows as `encode` makes them, their labels, and the test rows. The last answer is kept:
    requests that follow one another differ in epsilon."""
    return _load(request["train"], request["test"], request["schema"], encode)


def numbered(labels: list[str], schema: dict) -> list[float]:
    """Classes by their place in the schema, or the numbers to predict."""
    classes = schema.get("classes")
    return [classes.index(label) if classes else float(label) for label in labels]


def write_predictions(path: str, header: list[str], rows: list[list[float]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([repr(float(x)) for x in row] for row in rows)


def write_probabilities(path: str, schema: dict, known: list[str], rows: list[list[float]]) -> None:
    """Of columns named `known`; a class that the system never saw gets 0, and rows add up to 1."""
    classes = schema["classes"]
    complete = []
    for row in rows:
        by_name = {name: max(float(p), 0.0) for name, p in zip(known, row)}
        total = sum(by_name.values())
        usable = 0 < total < float("inf")
        complete.append([by_name.get(name, 0.0) / total if usable else 1 / len(classes) for name in classes])
    write_predictions(path, classes, complete)


def write_numbers(path: str, schema: dict, numbers: list[float]) -> None:
    """Clamped to the public bounds of the target, as ours are."""
    low, high = schema["target_min"], schema["target_max"]
    write_predictions(path, ["prediction"], [[clamp(float(number), low, high)] for number in numbers])


class Stopwatch:
    """Seconds of the block that it is entered for."""

    def __enter__(self) -> "Stopwatch":
        self._start = time.perf_counter()
        return self

    def __exit__(self, *unused: object) -> None:
        self.seconds = time.perf_counter() - self._start


def serve(run: Callable[[dict], float]) -> None:
    """Answers requests with `run`, which returns the seconds of training. What the system prints goes to stderr."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        try:
            answer = {"seconds": run(json.loads(line))}
        except Exception as error:  # whatever a foreign system throws is its answer
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(answer), file=answers, flush=True)
