#!/usr/bin/python3
"""Our classifier beside others on adult, on the same rows: time, memory, accuracy, and lines of a user's code.

  PYTHONPATH=build/release/python docs/python_side_by_side.py DATA_DIR [--epsilon E] [--repeats N]

DATA_DIR holds adult/. Each system runs in a process of its own. Memory is what the process held at most, less what it
held before its first line. HistGradientBoosting is not private; it says what privacy costs. diffprivlib is skipped
where it cannot be imported.
"""

import argparse
import inspect
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import time
import warnings


def coppice(train, test, schema, epsilon):
    import coppice

    model = coppice.PrivateTreeClassifier(epsilon=epsilon, schema=schema)
    yield model.fit(train.drop(columns="label"), train["label"])
    yield model.predict(test.drop(columns="label"))


def diffprivlib(train, test, schema, epsilon):
    import numpy as np
    from diffprivlib.models import RandomForestClassifier
    from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

    numbers = [f["name"] for f in schema["features"] if f["type"] == "numeric"]
    texts = [f for f in schema["features"] if f["type"] == "categorical"]
    low = np.array([f["min"] for f in schema["features"] if f["type"] == "numeric"])
    high = np.array([f["max"] for f in schema["features"] if f["type"] == "numeric"])
    ones = OneHotEncoder(categories=[f["values"] for f in texts], handle_unknown="ignore", sparse_output=False)
    ones.fit([[f["values"][0] for f in texts]])

    def encode(rows):
        scaled = (rows[numbers].to_numpy().clip(low, high) - low) / (high - low)
        return np.hstack([scaled, ones.transform(rows[[f["name"] for f in texts]].fillna("").to_numpy())])

    columns = encode(train[:1]).shape[1]
    classes = np.array(sorted(schema["classes"]))
    model = RandomForestClassifier(
        epsilon=epsilon, bounds=(np.zeros(columns), np.ones(columns)), classes=np.arange(len(classes))
    )
    yield model.fit(encode(train), np.searchsorted(classes, train["label"]))
    yield classes[model.predict(encode(test))]


def hist_gradient_boosting(train, test, schema, epsilon):
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    texts = [f["name"] for f in schema["features"] if f["type"] == "categorical"]
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = make_pipeline(
        make_column_transformer((codes, texts), remainder="passthrough"),
        HistGradientBoostingClassifier(categorical_features=list(range(len(texts)))),
    )
    yield model.fit(train.drop(columns="label"), train["label"])
    yield model.predict(test.drop(columns="label"))


SYSTEMS = {
    "coppice.PrivateTreeClassifier": coppice,
    "diffprivlib RandomForestClassifier": diffprivlib,
    "HistGradientBoosting, not private": hist_gradient_boosting,
}


def lines_of(system):
    """Lines that are code, without the function's own."""
    source = inspect.getsource(system).splitlines()[1:]
    return sum(1 for line in source if line.strip())


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(name, folder, epsilon):
    """One system, once."""
    import pandas as pd

    warnings.simplefilter("ignore")
    schema = json.loads((folder / "schema.json").read_text())
    train, test = (pd.read_csv(folder / f"adult_{part}.csv", na_values=["", "?"]) for part in ("train", "test"))
    before = peak_megabytes()
    steps = SYSTEMS[name](train, test, schema, epsilon)
    begun = time.perf_counter()
    try:
        next(steps)
    except ModuleNotFoundError as error:
        return {"skipped": str(error)}
    fitted = time.perf_counter()
    predicted = next(steps)
    return {
        "fit_seconds": fitted - begun,
        "predict_seconds": time.perf_counter() - fitted,
        "megabytes": peak_megabytes() - before,
        "accuracy": float((predicted == test["label"]).mean()),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--system", choices=SYSTEMS, help="run one, once, and print JSON")
    flags = parser.parse_args()
    folder = flags.data / "adult"
    if not folder.is_dir():
        parser.error(f"there is no folder {folder}")
    if flags.system:
        print(json.dumps(run(flags.system, folder, flags.epsilon)))
        return
    print(f"adult, ε = {flags.epsilon:g}, {flags.repeats} runs each, medians\n")
    print("| system | accuracy | fit, s | predict, s | memory, MB | lines |\n|---|---|---|---|---|---|")
    for name, system in SYSTEMS.items():
        command = [sys.executable, __file__, str(flags.data), "--epsilon", str(flags.epsilon), "--system", name]
        runs = [json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout) for _ in range(flags.repeats)]
        if "skipped" in runs[0]:
            print(f"| {name} | skipped: {runs[0]['skipped']} | | | | |")
            continue
        median = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        print(f"| {name} | {median['accuracy']:.4f} | {median['fit_seconds']:.2f} | {median['predict_seconds']:.3f} "
              f"| {median['megabytes']:.0f} | {lines_of(system)} |")


main()
