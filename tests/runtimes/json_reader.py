"""Reads the output of `coppice model export --format json`, by docs/export.md alone."""

import math


def encode(feature, value):
    """Returns the value as the model knows it: None if missing, else a number, or a category or "other"."""
    if value is None or feature["type"] == "categorical":
        return value
    value = min(max(value, feature["min"]), feature["max"])
    if feature.get("integer"):
        value = math.copysign(math.floor(abs(value) + 0.5), value)
    return value


def derive(derived, features, row):
    total = 0.0
    for term in derived["terms"]:
        feature, value = features[term["feature"]], row[term["feature"]]
        if value is None:
            return None
        total += term["sign"] * ((value - feature["min"]) / (feature["max"] - feature["min"]))
    return total


def goes_left(node, value, features):
    if "is_missing" in node:
        return value is None
    if value is None:
        return node["missing"] == "left"
    if "below" in node:
        return value < node["below"]
    if "is" in node:
        return value == node["is"]
    return value not in features[node["feature"]]["values"]  # is_other


def leaf_of(tree, row, features):
    node = tree["nodes"][0]
    while "outputs" not in node:
        side = "left" if goes_left(node, row[node["feature"]], features) else "right"
        node = tree["nodes"][node[side]]
    return node


def predict(model, values):
    """Returns (label, probabilities), or a number. `values` has a value or None for each feature's name."""
    features = {feature["name"]: feature for feature in model["features"]}
    row = {name: encode(feature, values[name]) for name, feature in features.items()}
    for derived in model["derived"]:
        row[derived["name"]] = derive(derived, features, row)
    leaves = [leaf_of(tree, row, features) for tree in model["trees"]]
    p = [sum(column) for column in zip(*(leaf["outputs"] for leaf in leaves))]
    kind = model["leaf_kind"]
    if kind in ("probabilities", "additive"):
        p = [x / len(leaves) for x in p]
    label = leaves[0].get("label", model.get("classes", p)[p.index(max(p))])
    if kind == "scores" and "classes" in model:
        p = [math.exp(x - max(p)) for x in p]
    elif kind == "scores" or kind == "additive":
        p = [min(max(x, 0.0), 1.0) for x in p]
    elif kind == "weights":
        p = [max(x, 0.0) for x in p]
    if "target" in model:
        share = p[1] if kind == "scores" else p[1] / sum(p) if sum(p) > 0 else 0.5
        return model["target"]["min"] + (model["target"]["max"] - model["target"]["min"]) * share
    return label, [x / sum(p) if sum(p) > 0 else 1 / len(p) for x in p]
