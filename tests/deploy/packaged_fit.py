"""A data scientist's first steps, with nothing but the package and what it recommends."""

import warnings

import numpy as np
import pandas as pd

import coppice

warnings.simplefilter("ignore")
draw = np.random.default_rng(1)
rows = pd.DataFrame({"age": draw.integers(18, 90, 3000), "plan": draw.choice(["basic", "gold"], 3000)})
rows["label"] = np.where(rows["age"] + 20 * (rows["plan"] == "gold") > 60, "stays", "leaves")
schema = coppice.declare_schema(["age", "plan"], bounds={"age": (18, 90)}, categories={"plan": ["basic", "gold"]},
                                classes=["leaves", "stays"])
estimator = coppice.PrivateTreeClassifier(epsilon=2, schema=schema).fit(rows[["age", "plan"]], rows["label"])
assert estimator.score(rows[["age", "plan"]], rows["label"]) > 0.9
model = coppice.simulate(rows[:300], rows[300:], schema=schema, epsilon=4)
assert (model.predict(rows) == rows["label"]).mean() > 0.7
coppice.connect  # gRPC is there
print("fitted and simulated")
