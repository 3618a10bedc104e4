"""Time per tree of a boosting trainer against XGBoost's `hist`, one thread, on the same bins.

Both are timed in turns, in processor time; reading, binning and XGBoost's own quantisation of the
bin indices (done in a first tree) are not counted. docs/research/boost_speed.sh runs it.

  boost_speed.py BENCH NAME DEPTH TREES ROUNDS -- FLAGS OF boost_bench...
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import xgboost


def read_bins(path):
    with open(path, "rb") as file:
        rows, columns, bins = numpy.fromfile(file, numpy.uint64, 3).astype(int)
        values = numpy.empty((rows, columns), numpy.float32)
        for column in range(columns):
            values[:, column] = numpy.fromfile(file, numpy.uint16, rows)
        labels = numpy.fromfile(file, numpy.uint8, rows)
    return values, labels, bins


def main():
    split = sys.argv.index("--")
    bench, name, depth, trees, rounds = sys.argv[1:split]
    depth, trees, rounds, flags = int(depth), int(trees), int(rounds), sys.argv[split + 1:]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bins")
        subprocess.run([bench, *flags, "--dump", path], check=True)
        values, labels, bins = read_bins(path)
    # Bin indices are whole numbers, far enough apart for the sketch to keep every bin.
    data = xgboost.DMatrix(values, labels, nthread=1)
    del values
    booster = xgboost.Booster({"tree_method": "hist", "objective": "binary:logistic", "nthread": 1,
                               "max_depth": depth, "max_bin": max(256, 2 * bins), "lambda": 0.1,
                               "eta": 0.1, "min_child_weight": 0}, [data])
    booster.update(data, 0)
    done = 1
    ours, theirs = [], []
    memory = ""
    for _ in range(rounds):
        line = subprocess.run([bench, *flags], check=True, capture_output=True, text=True).stdout
        count, seconds, memory = line.split()
        ours.append(float(seconds))
        start = time.process_time()
        for _ in range(trees):
            booster.update(data, done)
            done += 1
        theirs.append((time.process_time() - start) / trees)
    mine, their = statistics.median(ours), statistics.median(theirs)
    ratios = [a / b for a, b in zip(ours, theirs)]
    print(f"| {name} | {count} | {1000 * mine:.2f} | {1000 * their:.2f} | {mine / their:.2f} "
          f"({min(ratios):.2f} to {max(ratios):.2f}) | {memory} |", flush=True)


main()
