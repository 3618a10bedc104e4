#!/usr/bin/python3
"""Compares what `coppice-lab public` learns from public rows alone with scikit-learn's learners.

    docs/research/public_rows.py --lab build/release/bin/coppice-lab --data DATA
        [--public-rows 200] [--repeats 20] [--sets NAME...] [--max-model-bytes N] [--cache FILE]

DATA has a folder for each set: NAME/NAME.csv, or several CSV files, and schema.json. In repetition
r a fifth of the rows, at most 4000, is for the test; the next rows of the same random order are the
public ones. All learners see the same rows: a forest of 200 trees and one of extremely random
trees, both with categories as their numbers and as columns of 0 and 1, and histogram gradient
boosting. scikit-learn's best is chosen by its own test scores, which flatters it: accuracy and log
loss each have their own best. Scores of finished repetitions stay in --cache, so that a second run
computes what is missing.

The calibration error has 15 bins of the probability of the answer. Its floor is what the same
probabilities would show if they were exactly right, since few rows never agree with them.
Needs numpy, pandas and scikit-learn.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import pandas as pd
from sklearn import ensemble

CLASS_SETS = ["german", "acs", "adult", "credit", "telco", "electricity", "rice", "banknote", "mushroom",
              "occupancy", "diabetes", "robot4", "car", "cod-rna", "robot24", "spambase", "optdigits"]
NUMBER_SETS = ["insurance", "california", "bike", "diamonds", "abalone", "appliances", "parkinsons"]
MOST_TEST_ROWS = 4000
MISSING_NUMBER = -1e9  # below all others, as trees want it
BINS = 15
FLOOR_DRAWS = 20


class DataSet:
    """The rows of a set as texts, and as numbers for scikit-learn."""

    def __init__(self, folder):
        self.name = os.path.basename(os.path.normpath(folder))
        self.schema_file = os.path.join(folder, "schema.json")
        with open(self.schema_file, encoding="utf-8") as file:
            self.schema = json.load(file)
        main = os.path.join(folder, self.name + ".csv")
        files = [main] if os.path.exists(main) else sorted(
            os.path.join(folder, name) for name in os.listdir(folder)
            if name.endswith(".csv") and "extra" not in name)
        self.texts = pd.concat([pd.read_csv(name, dtype=str, keep_default_na=False) for name in files],
                               ignore_index=True)
        self.classes = [str(name) for name in self.schema.get("classes", [])]
        answers = self.texts[self.schema.get("label", "label" if "label" in self.texts else "target")]
        if self.classes:
            self.answers = answers.map({name: k for k, name in enumerate(self.classes)}).to_numpy(int)
        else:
            self.answers = pd.to_numeric(answers).to_numpy(float)
        self.columns = [self.encode(feature) for feature in self.schema["features"]]

    def encode(self, feature):
        """A feature's values as numbers, and how many categories it has (0: a number)."""
        texts = self.texts[feature["name"]]
        if feature["type"] == "numeric":
            values = pd.to_numeric(texts.replace("", np.nan), errors="coerce").to_numpy(float)
            return np.where(np.isnan(values), MISSING_NUMBER, values), 0
        codes = {str(value): k for k, value in enumerate(feature["values"])}
        return texts.map(lambda text: codes.get(text, len(codes) + (text == ""))).to_numpy(float), len(codes) + 2

    def matrix(self, rows, one_hot):
        parts = []
        for values, categories in self.columns:
            if categories and one_hot:
                parts += [(values[rows] == code).astype(float) for code in range(categories)]
            else:
                parts.append(values[rows])
        return np.stack(parts, 1)

    def split(self, public_rows, repetition):
        order = np.random.default_rng(1000 + repetition).permutation(len(self.answers))
        tested = min(len(order) // 5, MOST_TEST_ROWS)
        return order[tested:tested + public_rows], order[:tested]


def calibration_error(probabilities, answers):
    sure = probabilities.max(1)
    right = probabilities.argmax(1) == answers
    of_row = np.minimum((sure * BINS).astype(int), BINS - 1)
    return sum(abs(sure[of_row == b].sum() - right[of_row == b].sum()) for b in range(BINS)) / len(answers)


def calibration_floor(probabilities):
    random, below = np.random.default_rng(5), probabilities.cumsum(1)
    draws = [np.minimum((random.random((len(below), 1)) > below).sum(1), below.shape[1] - 1)
             for _ in range(FLOOR_DRAWS)]
    return float(np.mean([calibration_error(probabilities, drawn) for drawn in draws]))


def score(predictions, answers, is_class):
    if not is_class:
        return {"rmse": float(np.sqrt(((predictions.ravel() - answers) ** 2).mean()))}
    predictions = predictions / predictions.sum(1, keepdims=True)
    of_answer = predictions[np.arange(len(answers)), answers]
    return {"accuracy": float((predictions.argmax(1) == answers).mean()),
            "log_loss": float(-np.log(np.clip(of_answer, 1e-6, 1)).mean()),
            "calibration": float(calibration_error(predictions, answers)),
            "floor": calibration_floor(predictions)}


def scikit_learn(data, public, test, repetition):
    """The scores of each learner, by name."""
    is_class = bool(data.classes)
    kind = "Classifier" if is_class else "Regressor"
    scores = {}
    for short, name in (("rf", "RandomForest"), ("et", "ExtraTrees"), ("hgb", "HistGradientBoosting")):
        for one_hot in (False, True):
            categorical = any(categories for _, categories in data.columns)
            if one_hot and (short == "hgb" or not categorical):
                continue
            size = {} if short == "hgb" else {"n_estimators": 200}
            model = getattr(ensemble, name + kind)(random_state=repetition, **size)
            model.fit(data.matrix(public, one_hot), data.answers[public])
            if is_class:
                predictions = np.zeros((len(test), len(data.classes)))
                predictions[:, model.classes_] = model.predict_proba(data.matrix(test, one_hot))
            else:
                predictions = model.predict(data.matrix(test, one_hot))
            scores[short + (", one-hot" if one_hot else "")] = score(predictions, data.answers[test], is_class)
    return scores


def coppice(options, data, public, test, repetition):
    """The scores of coppice-lab, and what it says about its model."""
    with tempfile.TemporaryDirectory() as folder:
        files = {name: os.path.join(folder, name + ".csv") for name in ("public", "test", "predictions")}
        data.texts.iloc[public].to_csv(files["public"], index=False)
        data.texts.iloc[test].to_csv(files["test"], index=False)
        command = [options.lab, "public", "--schema", data.schema_file, "--seed", str(repetition + 1),
                   "--max-model-bytes", str(options.max_model_bytes), "--json"]
        for name, path in files.items():
            command += ["--" + name, path]
        report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        predictions = np.loadtxt(files["predictions"], delimiter=",", ndmin=2)
    scores = score(predictions, data.answers[test], bool(data.classes))
    return {**scores, "bytes": report["model_bytes"], "held_out_loss": report["held_out_loss"],
            "held_out_loss_of_any_size": report["held_out_loss_of_any_size"]}


class Cache:
    """Scores by what they are of, one JSON line each."""

    def __init__(self, path):
        self.path, self.known = path, {}
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    entry = json.loads(line)
                    self.known[tuple(entry["of"])] = entry["scores"]

    def get(self, of, compute):
        if of not in self.known:
            self.known[of] = compute()
            if self.path:
                with open(self.path, "a", encoding="utf-8") as file:
                    file.write(json.dumps({"of": of, "scores": self.known[of]}) + "\n")
        return self.known[of]


def mean_and_error(values):
    values = np.asarray(values)
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return values.mean(), error


def best_of(learners, measure, sign):
    """The learner with the best mean, and its values; `sign` is 1 where more is better."""
    def mean_of(name):
        return sign * np.mean([scores[measure] for scores in learners[name]])
    name = max(learners, key=mean_of)
    return name, np.array([scores[measure] for scores in learners[name]])


def compare(name, ours, learners):
    """A row of the table, and what the summary needs of it."""
    if "rmse" in ours[0]:
        best, theirs = best_of(learners, "rmse", -1)
        rmse = np.array([scores["rmse"] for scores in ours])
        change, error = mean_and_error(100 * (rmse / theirs - 1))
        row = [name, f"{rmse.mean():.4g}", best, f"{theirs.mean():.4g}", f"{change:+.2f} ± {error:.2f} %"]
        return row, {"rmse_percent": change, "behind": change > 2 + 2 * error}
    column = {key: np.array([scores[key] for scores in ours]) for key in ours[0]}
    best, theirs = best_of(learners, "accuracy", 1)
    best_loss, their_loss = best_of(learners, "log_loss", -1)
    points, error = mean_and_error(100 * (column["accuracy"] - theirs))
    loss, loss_error = mean_and_error(column["log_loss"] - their_loss)
    over_floor = column["calibration"].mean() - column["floor"].mean()
    row = [name, f"{column['accuracy'].mean():.4f}", best, f"{theirs.mean():.4f}",
           f"{points:+.2f} ± {error:.2f}", f"{column['log_loss'].mean():.3f}", best_loss,
           f"{their_loss.mean():.3f}", f"{loss:+.3f} ± {loss_error:.3f}",
           f"{column['calibration'].mean():.3f}", f"{column['floor'].mean():.3f}"]
    return row, {"points": points, "loss": loss, "behind": points < -1.5 - 2 * error,
                 "loss_behind": loss > 2 * loss_error, "loss_above": loss > 0, "over_floor": over_floor,
                 "calibration": column["calibration"].mean()}


def print_table(head, rows):
    if not rows:
        return
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def print_summary(found):
    classes = [entry for entry in found if "points" in entry]
    numbers = [entry for entry in found if "rmse_percent" in entry]
    if classes:
        print(f"Classes, {len(classes)} sets: mean difference {np.mean([e['points'] for e in classes]):+.3f} points, "
              f"log loss {np.mean([e['loss'] for e in classes]):+.4f}; log loss above the best in "
              f"{sum(e['loss_above'] for e in classes)} sets, by two standard errors in "
              f"{sum(e['loss_behind'] for e in classes)}; calibration error at most "
              f"{max(e['over_floor'] for e in classes):.3f} above its floor.")
    if numbers:
        print(f"Numbers, {len(numbers)} sets: mean difference "
              f"{np.mean([e['rmse_percent'] for e in numbers]):+.2f} % RMSE.")
    print(f"More than two standard errors and 1.5 points (2 % RMSE) behind: {sum(e['behind'] for e in found)} sets.")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lab", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--public-rows", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--sets", nargs="+", default=CLASS_SETS + NUMBER_SETS)
    parser.add_argument("--max-model-bytes", type=int, default=1_000_000)
    parser.add_argument("--cache")
    options = parser.parse_args()
    if os.environ.get("COPPICE_SMALLEST") == "1":  # smallest.sh says what for
        options.sets, options.repeats = ["banknote", "abalone"], 2
    return options


def main():
    options = parse_arguments()
    warnings.filterwarnings("ignore")
    cache, class_rows, number_rows, found = Cache(options.cache), [], [], []
    for name in options.sets:
        data = DataSet(os.path.join(options.data, name))
        if len(data.answers) < 2 * options.public_rows:
            print(f"{name} is left out: it has {len(data.answers)} rows", file=sys.stderr)
            continue
        ours, learners = [], {}
        for repetition in range(options.repeats):
            public, test = data.split(options.public_rows, repetition)
            of = (name, options.public_rows, repetition)
            theirs = cache.get(("scikit-learn", *of), lambda: scikit_learn(data, public, test, repetition))
            for learner, scores in theirs.items():
                learners.setdefault(learner, []).append(scores)
            ours.append(cache.get((options.lab, options.max_model_bytes, *of),
                                  lambda: coppice(options, data, public, test, repetition)))
        row, entry = compare(name, ours, learners)
        (class_rows if data.classes else number_rows).append(row)
        found.append(entry)
        print(" ".join(row), file=sys.stderr)
    print(f"{options.public_rows} public rows, {options.repeats} repetitions.\n")
    print_table(["set", "accuracy", "best", "its accuracy", "points", "log loss", "best", "its log loss", "difference",
                 "calibration error", "its floor"], class_rows)
    print_table(["set", "RMSE", "best", "its RMSE", "difference"], number_rows)
    print_summary(found)


if __name__ == "__main__":
    main()
