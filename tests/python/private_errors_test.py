"""A secret in the rows is in no error, in nothing that an error was raised from, in no warning and not on stderr."""

import collections
import datetime
import decimal
import math
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import arrow_maker as make
import coppice
from coppice import Device, Journal, Policy, PrivateTreeClassifier, PrivateTreeRegressor, Privatizer
from coppice.local import LocalTreeClassifier, LocalTreeRegressor
from curator import SCHEMA, Curator, customers

WORD = "HIV-positive-in-1987"
NUMBER = 918273.645  # not whole, and in no other number here
SECRETS = (WORD, "918273")


class Raises:
    """A value whose every use raises an error that quotes it."""

    def __init__(self, *methods):
        self.methods = methods

    def _use(self, name):
        if name in self.methods:
            raise ValueError(f"{WORD} is no number")

    def __float__(self):
        self._use("float")
        return 1.0

    def __str__(self):
        self._use("str")
        return WORD

    def __repr__(self):
        return WORD

    def __eq__(self, other):
        self._use("eq")
        return self is other

    def __hash__(self):
        self._use("hash")
        return 7

    def __bool__(self):
        self._use("bool")
        return True


class RaisesAsTable:
    """A container that cannot be read, and says of what."""

    def __array__(self, dtype=None):
        raise ValueError(f"{WORD} is no array")


class RaisesAsFrame:
    def to_pandas(self):
        raise KeyError(WORD)


CELLS = {
    "text": WORD,
    "bytes": WORD.encode(),
    "bytes that are no text": WORD.encode() + b"\xff",
    "text that is no UTF-8": WORD + "\udcff",
    "number": NUMBER,
    "number beyond float64": int(NUMBER) ** 100,
    "text of a number": str(NUMBER),
    "complex": complex(NUMBER, 1),
    "decimal": decimal.Decimal(f"sNaN{int(NUMBER)}"),
    "list": [WORD],
    "mapping": {WORD: NUMBER},
    "array": np.array([NUMBER, NUMBER]),
    "Timestamp": pd.Timestamp("1987-01-01") + pd.Timedelta(NUMBER, "s"),
    "datetime": datetime.datetime.fromtimestamp(NUMBER * 1000),
    "timedelta64": np.timedelta64(int(NUMBER), "s"),
    "interval": pd.Interval(0, NUMBER),
    "infinite": math.inf,
    **{f"object that raises in {method}": Raises(method) for method in ("float", "str", "eq", "hash", "bool")},
    "object that raises in all": Raises("float", "str", "eq", "hash", "bool"),
}

FEATURES = ["age", "plan", "calls"]
ROWS = customers(60)
NUMBERS = ROWS[["age", "calls"]]


def put(frame, column, cell):
    """The frame with a cell in its row 3."""
    values = frame[column].astype(object).tolist()
    values[3] = cell
    made = frame.copy()
    made[column] = pd.Series(values, index=frame.index, dtype=object)
    return made


CONTAINERS = {
    "a frame": lambda frame: frame,
    "a table of Arrow": lambda frame: make.ByStream(make.table(*(make.column_of(frame[name].tolist(), name) for name in frame))),
    "a frame of inferred types": lambda frame: frame.infer_objects(),
    "an array": lambda frame: frame.to_numpy(),
    "lists": lambda frame: frame.values.tolist(),
    "a mapping": lambda frame: {name: frame[name].tolist() for name in frame},
    "mappings": lambda frame: frame.to_dict("records"),
    "one dimension": lambda frame: frame.to_numpy().ravel(),
    "one dimension in a list": lambda frame: frame.to_numpy().ravel().tolist(),
    "three dimensions": lambda frame: frame.to_numpy()[:, :, None],
    "a Series": lambda frame: frame.iloc[:, 0],
    "ragged lists": lambda frame: [row[: 1 + i % 2] for i, row in enumerate(frame.values.tolist())],
    "a ragged mapping": lambda frame: {name: frame[name].tolist()[:i + 5] for i, name in enumerate(frame)},
    "a generator": lambda frame: iter(frame.values.tolist()),
    "a text of it": lambda frame: frame.to_csv() + WORD,
    "an array of one type": lambda frame: np.array([[str(value) for value in row] for row in range(3) for row in [[WORD, NUMBER]]]),
    "complex numbers": lambda frame: np.full((len(frame), frame.shape[1]), complex(NUMBER, 1)),
    "times": lambda frame: np.full((len(frame), frame.shape[1]), np.datetime64(int(NUMBER) * 1000, "s")),
    "a sparse matrix": lambda frame: scipy.sparse.csr_matrix(np.full((len(frame), frame.shape[1]), NUMBER)),
    "records": lambda frame: np.array([(WORD, NUMBER)] * 4, dtype=[("age", "U30"), ("calls", "f8")]),
    "None": lambda frame: None,
    "an array that cannot be read": lambda frame: RaisesAsTable(),
    "a table that cannot be read": lambda frame: RaisesAsFrame(),
    "a deque": lambda frame: collections.deque(frame.values.tolist()),
}


def texts_of(error, seen=()):
    """All that anybody who logs the error may see of it."""
    if error is None or error in seen:
        return []
    own = [str(error), repr(error), *map(str, getattr(error, "__notes__", []))]
    return own + texts_of(error.__cause__, (*seen, error)) + texts_of(error.__context__, (*seen, error))


def check(call, capfd):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            call()
            texts = []
        except Exception as error:
            texts = texts_of(error)
    texts += [str(warning.message) for warning in told]
    out, err = capfd.readouterr()
    for text in (*texts, out, err):
        assert not any(secret in text for secret in SECRETS), text[:500]


@pytest.fixture(scope="module")
def fitted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier = PrivateTreeClassifier(epsilon=math.inf, schema=SCHEMA).fit(ROWS[FEATURES], ROWS["left"])
        by_bounds = classifier_by_bounds().fit(NUMBERS, ROWS["left"])
        regressor = regressor_by_bounds().fit(NUMBERS, ROWS["spent"])
    return classifier, by_bounds, regressor


def classifier_by_bounds():
    return PrivateTreeClassifier(epsilon=math.inf, bounds=(0, 100), classes=["no", "yes"])


def regressor_by_bounds():
    return PrivateTreeRegressor(epsilon=math.inf, bounds=(0, 100), target_bounds=(0, 200))


NUMBER_SCHEMA = {"label": "spent", "target_min": 0, "target_max": 200, "features": SCHEMA["features"]}


def readers_of_rows(fitted):
    """Every call of this process that takes rows: of all features, or of the two numbers alone."""
    classifier, by_bounds, regressor = fitted
    left, spent = ROWS["left"], ROWS["spent"]
    local = {"X_public": NUMBERS, "y_public": left}
    return {
        "fit by a schema": (FEATURES, lambda X: PrivateTreeClassifier(epsilon=math.inf, schema=SCHEMA).fit(X, left)),
        "fit by bounds": (NUMBERS, lambda X: classifier_by_bounds().fit(X, left)),
        "fit by categories": (FEATURES, lambda X: PrivateTreeClassifier(
            bounds=(0, 100), categories={"plan": ["basic"], 1: ["plus"]}, classes=["no", "yes"]).fit(X, left)),
        "fit of a regressor": (NUMBERS, lambda X: regressor_by_bounds().fit(X, spent)),
        "fit of a study": (NUMBERS, lambda X: LocalTreeClassifier(bounds=(0, 100), classes=["no", "yes"]).fit(X, left, **local)),
        "fit of a study's public rows": (NUMBERS, lambda X: LocalTreeRegressor(bounds=(0, 100), target_bounds=(0, 200)).fit(
            NUMBERS, spent, X_public=X, y_public=spent)),
        "predict": (FEATURES, classifier.predict),
        "predict by bounds": (NUMBERS, by_bounds.predict),
        "predict_proba": (FEATURES, classifier.predict_proba),
        "predict_interval": (FEATURES, classifier.predict_interval),
        "score": (FEATURES, lambda X: classifier.score(X, left)),
        "predict of a regressor": (NUMBERS, regressor.predict),
        "score of a regressor": (NUMBERS, lambda X: regressor.score(X, spent)),
        "predict of a model": (FEATURES, classifier.model_.predict),
        "predict_proba of a model": (FEATURES, classifier.model_.predict_proba),
        "explain": (FEATURES, classifier.model_.explain),
        "simulate": ("all", lambda X: coppice.simulate(ROWS, X, schema=SCHEMA, epsilon=1)),
        "simulate numbers": ("all", lambda X: coppice.simulate(X, ROWS, schema=NUMBER_SCHEMA, epsilon=1)),
    }


NAMES_OF_READERS = list(readers_of_rows([type("Any", (), {"__getattr__": lambda self, name: self})()] * 3))


def rows_for(columns):
    return ROWS if isinstance(columns, str) else ROWS[list(columns)]


@pytest.mark.parametrize("reader", NAMES_OF_READERS)
def test_no_cell_is_quoted(reader, fitted, capfd):
    columns, read = readers_of_rows(fitted)[reader]
    rows = rows_for(columns)
    for cell in CELLS.values():
        for column in rows:
            for container in CONTAINERS.values():
                try:
                    held = container(put(rows, column, cell))
                except Exception:
                    continue  # pandas itself cannot hold it so
                check(lambda: read(held), capfd)


@pytest.mark.parametrize("container", CONTAINERS)
def test_no_answer_is_quoted(container, fitted, capfd):
    classifier, _, regressor = fitted
    for cell in CELLS.values():
        for column, calls in {
            "left": (lambda y: classifier_by_bounds().fit(NUMBERS, y), lambda y: classifier.score(ROWS[FEATURES], y),
                     lambda y: PrivateTreeClassifier(schema=SCHEMA).fit(ROWS[FEATURES], y)),
            "spent": (lambda y: regressor_by_bounds().fit(NUMBERS, y), lambda y: regressor.score(NUMBERS, y),
                      lambda y: PrivateTreeRegressor(schema=NUMBER_SCHEMA).fit(ROWS[FEATURES], y),
                      lambda y: PrivateTreeRegressor(bounds=(0, 200)).fit(NUMBERS, y)),
        }.items():
            try:
                held = CONTAINERS[container](put(ROWS[[column]], column, cell))
            except Exception:
                continue
            for call in calls:
                check(lambda: call(held), capfd)


@pytest.mark.parametrize("cell", CELLS)
def test_no_series_of_answers_is_quoted(cell, fitted, capfd):
    for column, fit in (("left", classifier_by_bounds().fit), ("spent", regressor_by_bounds().fit)):
        answers = put(ROWS, column, CELLS[cell])[column]
        for held in (answers, answers.tolist(), answers.to_numpy(), answers.astype(str) if "raises" not in cell else answers):
            check(lambda: fit(NUMBERS, held), capfd)


class TestCurator:
    @pytest.fixture(scope="class")
    def client(self):
        curator = Curator()
        with coppice.connect(curator.server, ca=curator.ca, token=curator.tokens["ops"]) as client:
            yield client
        curator.end()

    @pytest.fixture(scope="class")
    def model(self, client):
        return client.datasets.create(customers(500), SCHEMA, 1, progress=False).train(epsilon=1).wait(progress=False).model()

    @pytest.mark.parametrize("cell", CELLS)
    @pytest.mark.parametrize("column", [*FEATURES, "left"])
    def test_no_cell_is_quoted(self, column, cell, client, model, capfd):
        rows = put(ROWS, column, CELLS[cell])
        calls = [
            lambda: client.datasets.create(rows, SCHEMA, 1, progress=False),
            lambda: client.datasets.create(iter([ROWS, rows]), SCHEMA, 1, progress=False),
            lambda: client.datasets.create(rows, SCHEMA, 1, unlabelled=True, progress=False),
            lambda: client.studies.create(rows, SCHEMA, 1),
            lambda: client.plan(rows, SCHEMA, epsilon=[1], devices=[1000]),
            lambda: model.predict(rows),
            lambda: model.explain(rows),
        ]
        for call in calls:
            check(call, capfd)

    @pytest.mark.parametrize("container", CONTAINERS)
    def test_no_container_is_quoted(self, container, client, model, capfd):
        held = CONTAINERS[container](put(ROWS, "plan", WORD))
        check(lambda: client.datasets.create(held, SCHEMA, 1, progress=False), capfd)
        check(lambda: model.predict(held), capfd)


class TestDevices:
    """A device's row is never refused for what it holds, so only a wrong call could quote it."""

    ROW = {"age": WORD, "plan": NUMBER, WORD: NUMBER, "left": [WORD]}

    @pytest.fixture
    def device(self, tmp_path):
        return Device("localhost:1", Policy(1), Journal(tmp_path / "journal"), insecure=True)

    def test_arguments_in_the_wrong_place_quote_no_row(self, device, capfd):
        for wrong in ((self.ROW, "study"), (5, self.ROW), ("study", self.ROW, 5), (self.ROW,), (self.ROW,) * 5):
            check(lambda: device.answer(*wrong), capfd)
            with pytest.raises(TypeError):
                device.answer(*wrong)
        for wrong in ([self.ROW], [list(self.ROW.values())], [WORD]):
            check(lambda: device.answer("study", wrong), capfd)
        check(lambda: device.answer("study", row=self.ROW), capfd)

    def test_no_text_of_a_row_is_printed(self, capfd):
        from coppice.schema import text_row

        check(lambda: text_row({**self.ROW, **CELLS}), capfd)


def test_a_program_prints_no_row_at_its_end():
    """With the traceback, as whoever runs it in a terminal or a pipeline sees it."""
    program = (
        "import coppice, sys\n"
        "word, number = sys.argv[1], float(sys.argv[2])\n"
        "coppice.PrivateTreeRegressor(bounds=(0, 1), target_bounds=(0, 1)).fit([[1], [number]], [1, word])\n"
    )
    done = subprocess.run([sys.executable, "-c", program, WORD, str(NUMBER)], capture_output=True, text=True, timeout=300)
    assert "y must hold numbers; row 1, counted from 0" in done.stderr
    assert not any(secret in done.stderr for secret in SECRETS)
