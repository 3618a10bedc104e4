"""Rows are read alike for a fit, for predictions and for a curator, and their owner is told what that changed."""

import math
import time
import warnings

import numpy as np
import pandas as pd
import pytest

import coppice
from coppice import PrivateTreeClassifier, PrivateTreeRegressor
from coppice.remote._tables import Table

SCHEMA = {
    "label": "stays",
    "classes": ["no", "yes"],
    "features": [
        {"name": "age", "type": "numeric", "min": 0, "max": 100, "integer": True},
        {"name": "land", "type": "categorical", "values": ["Belgium", "Italy", "Spain"]},
    ],
}


def people(rows=400):
    draw = np.random.default_rng(2)
    frame = pd.DataFrame({"age": draw.integers(0, 100, rows).astype(float), "land": draw.choice(["Belgium", "Italy", "Spain"], rows)})
    frame["stays"] = np.where((frame["age"] > 50) ^ (frame["land"] == "Spain"), "yes", "no")
    return frame


FEATURES = ["age", "land"]
PEOPLE = people()


def quietly(call, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*arguments)


@pytest.fixture(scope="module")
def fitted():
    return quietly(PrivateTreeClassifier(epsilon=math.inf, schema=SCHEMA).fit, PEOPLE[FEATURES], PEOPLE["stays"])


@pytest.fixture(scope="module")
def regressor():
    estimator = PrivateTreeRegressor(
        epsilon=math.inf, bounds={"age": (0, 100)}, categories={"land": ["Belgium", "Italy", "Spain"]}, target_bounds=(0, 100)
    )
    return quietly(estimator.fit, PEOPLE[FEATURES], PEOPLE["age"])


def predicting(fitted, regressor):
    """All that reads rows and predicts or explains."""
    model, answers = fitted.model_, PEOPLE["stays"][:3]
    return {
        "predict": fitted.predict,
        "predict_proba": fitted.predict_proba,
        "predict_interval": fitted.predict_interval,
        "score": lambda rows: fitted.score(rows, answers),
        "predict of a regressor": regressor.predict,
        "score of a regressor": lambda rows: regressor.score(rows, [1, 2, 3]),
        "predict of a model": model.predict,
        "predict_proba of a model": model.predict_proba,
        "predict_arrays of a model": model.predict_arrays,
        "explain": model.explain,
        "to a curator": lambda rows: Table(rows, model.schema, labelled=False),
    }


CALLS = list(predicting(*[type("Any", (), {"__getattr__": lambda *_: None, "model_": type("M", (), {"__getattr__": lambda *_: None})()})()] * 2))


@pytest.mark.parametrize("call", CALLS)
def test_what_reading_changes_is_told(call, fitted, regressor):
    rows = pd.DataFrame({"age": [1e9, -3.0, 20.0], "land": ["Portugal", "Spain", None]})
    read = predicting(fitted, regressor)[call]
    with pytest.warns(RuntimeWarning) as told:
        read(rows)
    (warning,) = [one for one in told if one.category is RuntimeWarning]
    assert "of 3 rows, 2 numbers outside their bounds" in str(warning.message)
    assert "1 values are no category of theirs" in str(warning.message)
    assert warning.filename == __file__ or "sklearn" in warning.filename
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        read(pd.DataFrame({"age": [1.0, np.nan, 20.0], "land": ["Italy", "Spain", None]}))


def test_rounding_is_told(fitted):
    with pytest.warns(RuntimeWarning, match="1 numbers were rounded to whole ones"):
        fitted.predict(pd.DataFrame({"age": [1.5], "land": ["Spain"]}))


def test_fit_and_predict_tell_the_same(fitted):
    rows = PEOPLE.assign(age=PEOPLE["age"] * 3, land=PEOPLE["land"].replace("Italy", "Portugal"))
    estimator = PrivateTreeClassifier(epsilon=math.inf, schema=SCHEMA)
    messages = []
    for read in (lambda: estimator.fit(rows[FEATURES], rows["stays"]), lambda: fitted.predict(rows[FEATURES]),
                 lambda: Table(rows, fitted.model_.schema, labelled=True)):
        with pytest.warns(RuntimeWarning) as told:
            read()
        messages.append([str(one.message) for one in told if one.category is RuntimeWarning])
    assert messages[0] == messages[1] == messages[2] and len(messages[0]) == 1


MISSING = PEOPLE[FEATURES].head(60).copy()
MISSING.loc[::3, "land"] = np.nan
MISSING.loc[1::3, "age"] = np.nan

CONTAINERS = {
    "a list of lists": MISSING.values.tolist(),
    "a list of tuples": [tuple(row) for row in MISSING.values],
    "an array of objects": MISSING.to_numpy(),
    "a list of mappings": MISSING.to_dict("records"),
    "a mapping of columns": {name: MISSING[name].tolist() for name in FEATURES},
    "columns in another order": {name: MISSING[name].tolist() for name in reversed(FEATURES)},
    "pandas' own types": MISSING.convert_dtypes(),
    "categories": MISSING.astype({"land": "category"}),
    "an array with a mask": np.ma.masked_array(
        MISSING.fillna({"age": 7, "land": "Spain"}).to_numpy(), MISSING.isna().to_numpy()
    ),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_missing_values_are_missing_in_every_container(container, fitted):
    rows, expected = CONTAINERS[container], fitted.model_.predict_proba(MISSING)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert (fitted.model_.predict_proba(rows) == expected).all()
        table = Table(rows, fitted.model_.schema, labelled=False)
    assert all(np.array_equal(*pair, equal_nan=True) for pair in zip(table.columns, Table(MISSING, fitted.model_.schema, labelled=False).columns))
    if container != "columns in another order":  # which scikit-learn refuses
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            warnings.simplefilter("error", RuntimeWarning)
            assert (fitted.predict_proba(rows) == expected).all()


@pytest.mark.parametrize("container", CONTAINERS)
def test_rows_are_fitted_from_every_container(container):
    answers = PEOPLE["stays"].head(60)
    fit = lambda rows: quietly(PrivateTreeClassifier(epsilon=math.inf, schema=SCHEMA).fit, rows, answers)
    assert (fit(CONTAINERS[container]).model_.predict_proba(MISSING) == fit(MISSING).model_.predict_proba(MISSING)).all()


NUMBERS = np.random.default_rng(1).random((300, 2))
IS_HIGH = (NUMBERS[:, 0] > 0.5).astype(int)


def plain(**more):
    return PrivateTreeClassifier(**{"epsilon": math.inf, "bounds": (0, 1), "classes": [0, 1], **more})


@pytest.mark.parametrize("rows", [NUMBERS, pd.DataFrame(NUMBERS), pd.DataFrame(NUMBERS, columns=[7, 3]), pd.DataFrame(NUMBERS, columns=[0.5, 1.5])])
def test_columns_with_numbers_for_names_may_come_in_another_order(rows):
    fitted = quietly(plain().fit, rows, IS_HIGH)
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows)
    expected = fitted.predict_proba(frame)
    turned = frame.iloc[:, ::-1]
    assert fitted.score(frame, IS_HIGH) == 1.0
    assert (fitted.predict_proba(turned) == expected).all()
    assert (fitted.predict_proba(NUMBERS) == expected).all()


@pytest.mark.parametrize("labels", [[5, 6], [1, 2], [0, 0]])
def test_columns_with_other_numbers_for_names_are_refused(labels):
    for rows in (NUMBERS, pd.DataFrame(NUMBERS)):
        fitted = quietly(plain().fit, rows, IS_HIGH)
        with pytest.raises(ValueError, match="labels of columns|no column|several columns"):
            fitted.predict(pd.DataFrame(NUMBERS, columns=labels))


def test_whole_numbers_beyond_float64_are_told():
    schema = coppice.declare_schema(["x"], bounds=(0, 2**60), classes=[0, 1])
    rows = [[2**53 + 1], [2**53], [5]] * 20
    for held in (rows, pd.DataFrame(rows, columns=["x"]), np.array(rows, dtype=object), np.array(rows).astype(str)):
        with pytest.warns(RuntimeWarning, match="20 whole numbers beyond 2\\^53 were rounded"):
            quietly_private(PrivateTreeClassifier(epsilon=math.inf, schema=schema)).fit(held, [0, 1, 0] * 20)


def quietly_private(estimator):
    warnings.simplefilter("ignore", coppice.PrivacyWarning)
    return estimator


class Counted(str):
    """A name of a column that counts how often it is looked at."""

    looks = 0

    def __str__(self):
        Counted.looks += 1
        return str.__str__(self)

    def __eq__(self, other):
        Counted.looks += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def seconds(call):
    best = math.inf
    for _ in range(3):
        started = time.process_time()
        call()
        best = min(best, time.process_time() - started)
    return best


def wide(columns):
    names = [f"c{i}" for i in range(columns)]
    rows = np.random.default_rng(1).random((20, columns))
    return pd.DataFrame(rows, columns=names), {name: (0, 1) for name in names}


def test_names_are_looked_at_as_often_as_there_are_columns():
    """Some times each, and not once per pair of columns: 400 of them are 80,000 pairs."""
    frame, bounds = wide(400)
    frame.columns = pd.Index([Counted(name) for name in frame.columns], dtype=object)
    declared = {Counted(name): pair for name, pair in bounds.items()}
    Counted.looks = 0
    fitted = quietly(plain(bounds=declared).fit, frame, [0, 1] * 10)
    fitted.predict(frame)
    fitted.model_.explain(frame)
    assert fitted.feature_importances_.shape == (400,)
    assert Counted.looks < 50 * 400


@pytest.mark.parametrize("work", ["predict", "declare", "to a curator"])
def test_time_grows_with_the_columns_and_not_with_their_square(work):
    """Four times the columns take about four times as long; by their square it would be sixteen."""
    taken = []
    for columns in (1000, 4000):
        frame, bounds = wide(columns)
        model = quietly(plain(bounds=(0, 1)).fit, frame, [0, 1] * 10).model_ if work != "declare" else None
        call = {
            "predict": lambda: model.predict(frame),
            "declare": lambda: coppice.declare_schema(list(frame.columns), bounds=bounds, classes=[0, 1]),
            "to a curator": lambda: Table(frame, model.schema, labelled=False),
        }[work]
        taken.append(seconds(call))
    assert taken[1] < 10 * max(taken[0], 0.001)
