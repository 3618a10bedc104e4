"""What frames hold and what is easily read as something else: one table, and every door that takes rows.

Each case is walked through each door of `DOORS`. A door that is added there meets all cases, and a case that is
added to `CASES` all doors. Texts as files have them are those of tests/support/awkward_values.json, which other
doors walk, too.
"""

import dataclasses
import datetime
import decimal
import fractions
import functools
import json
import math
import pathlib
import re
import ssl
import urllib.error
import urllib.request
import warnings
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import arrow_maker as make
import coppice
import duckdb_arrow
import gdal_arrow
from coppice import PrivateTreeClassifier, _core
from coppice._arrow import as_arrow_table
from coppice._arrow_cells import kind_of
from coppice.remote import _tables
from curator import Curator, free_port

NUMBER = {"name": "x", "type": "numeric", "min": 0, "max": 100}
WHOLE = {**NUMBER, "integer": True}
WIDE = {**NUMBER, "max": 2**60}
LETTER = {"name": "x", "type": "categorical", "values": ["a", "b"]}
DIGIT = {"name": "x", "type": "categorical", "values": ["1", "2"]}
FLAG = {"name": "x", "type": "categorical", "values": ["False", "True"]}
DAY = {"name": "x", "type": "categorical", "values": ["2024-01-05", "2024-02-17"]}
CODE = {"name": "x", "type": "categorical", "values": ["01010", "94110"]}

MISSING = None
OTHER = ["other"]


class Refused(str):
    """A part of the error, as a regular expression."""


NO_NUMBER = Refused("column 'x' must hold numbers; row 0, counted from 0, holds (a text|something else)")
NOT_FINITE = Refused("column 'x'.* row 0.*(finite number|not finite)")
A_TIME = Refused("column 'x' must hold numbers; row 0, counted from 0, holds a time")
A_MOMENT = Refused("column 'x' must hold categories; row 0, counted from 0, holds a time")
# Of the JSON door, which takes rows as messages have them: numbers, and codes of categories.
NULL = Refused(r'rows\.columns\[0\]\.values\[0\] is null; a missing number is "NaN"')
OTHER_TYPE = Refused(r"the field rows\.columns\[0\]\.values\[0\] has a value of another type")
NO_JSON = Refused("does not parse as JSON")
OUT_OF_BOUNDS = Refused(r"feature \"x\" must be missing or (a whole number )?in \[0, ")
NO_CODE = Refused(r"feature \"x\" must be missing or a category number")

NOTES = {"clamped": "outside their bounds", "rounded": "rounded to whole ones", "unknown": "no category",
         "inexact": "beyond 2\\^53"}


@dataclasses.dataclass
class Case:
    """A cell under a feature.

    Attributes
    ----------
    value : what it is read as: a number, a category, OTHER, MISSING or Refused
    json : what the JSON door reads, which is given what `json.dumps` makes of the cell
    note : which warning goes with it
    dtype : pandas' type of the column; found by pandas if not given
    """

    feature: dict
    cell: Any
    value: Any
    json: Any
    note: str = ""
    dtype: Any = None

    def column(self):
        return pd.Series([self.cell, self.cell], dtype=self.dtype, name="x")


DAY_OF_2024 = datetime.date(2024, 1, 5)
MOMENT = pd.Timestamp("2024-01-05 12:00")

CASES = {
    "an integer": Case(NUMBER, 42, 42, 42),
    "a small integer": Case(NUMBER, 42, 42, 42, dtype="uint8"),
    "a float": Case(NUMBER, 42.5, 42.5, 42.5),
    "a float32": Case(NUMBER, 42.5, 42.5, 42.5, dtype="float32"),
    "a nullable integer": Case(NUMBER, 42, 42, 42, dtype="Int64"),
    "a nullable float": Case(NUMBER, 42.5, 42.5, 42.5, dtype="Float64"),
    "a number of a sparse column": Case(NUMBER, 42.0, 42, 42, dtype=pd.SparseDtype("float64")),
    "a number of a category": Case(NUMBER, 42, 42, 42, dtype="category"),
    "a number as an object": Case(NUMBER, 42, 42, 42, dtype=object),
    "a decimal": Case(NUMBER, decimal.Decimal("42.5"), 42.5, 42.5),
    "a fraction": Case(NUMBER, fractions.Fraction(85, 2), 42.5, OTHER_TYPE),
    "a text of a number": Case(NUMBER, "42", 42, 42),
    "a text of a number of pandas' texts": Case(NUMBER, "42", 42, 42, dtype="string"),
    "bytes of a number": Case(NUMBER, b"42", 42, OTHER_TYPE),
    "a text of a number between blanks": Case(NUMBER, " 42 ", 42, OTHER_TYPE),
    "a text that Python takes for a number": Case(NUMBER, "1_0", NO_NUMBER, OTHER_TYPE),
    "true as a number": Case(NUMBER, True, 1, OTHER_TYPE, dtype=object),
    "a bool as a number": Case(NUMBER, True, 1, OTHER_TYPE),
    "a nullable bool as a number": Case(NUMBER, True, 1, OTHER_TYPE, dtype="boolean"),
    "NaN": Case(NUMBER, math.nan, MISSING, NO_JSON),
    "NaN as an object": Case(NUMBER, math.nan, MISSING, NO_JSON, dtype=object),
    "None": Case(NUMBER, None, MISSING, NULL),
    "NA": Case(NUMBER, pd.NA, MISSING, OTHER_TYPE),
    "NA of nullable integers": Case(NUMBER, pd.NA, MISSING, OTHER_TYPE, dtype="Int64"),
    "NaT": Case(NUMBER, pd.NaT, MISSING, OTHER_TYPE),
    "NaT as an object": Case(NUMBER, pd.NaT, MISSING, OTHER_TYPE, dtype=object),
    "an empty text": Case(NUMBER, "", MISSING, OTHER_TYPE),
    "the text NaN": Case(NUMBER, "NaN", NO_NUMBER, MISSING),
    "the text inf": Case(NUMBER, "inf", NO_NUMBER, OTHER_TYPE),
    "a private text": Case(NUMBER, "HIV positive", NO_NUMBER, OTHER_TYPE),
    "a mapping": Case(NUMBER, {"a": 1}, NO_NUMBER, OTHER_TYPE),
    "an infinite number": Case(NUMBER, math.inf, NOT_FINITE, NO_JSON),
    "a whole number beyond floats": Case(NUMBER, 10**400, NOT_FINITE, NO_JSON, dtype=object),
    "a number above the bounds": Case(NUMBER, 1e300, 100, OUT_OF_BOUNDS, note="clamped"),
    "a number below the bounds": Case(NUMBER, -5, 0, OUT_OF_BOUNDS, note="clamped"),
    "a fraction among whole numbers": Case(WHOLE, 2.5, 3, OUT_OF_BOUNDS, note="rounded"),
    "a whole number beyond 2^53": Case(WIDE, 2**53 + 1, 2**53, 2**53, note="inexact"),
    "a whole number beyond 2^53 as an object": Case(WIDE, 2**53 + 1, 2**53, 2**53, note="inexact", dtype=object),
    "a text of a whole number beyond 2^53": Case(WIDE, str(2**53 + 1), 2**53, 2**53, note="inexact"),
    "a date": Case(NUMBER, DAY_OF_2024, A_TIME, OTHER_TYPE),
    "a time of day": Case(NUMBER, datetime.time(12), A_TIME, OTHER_TYPE),
    "a datetime": Case(NUMBER, datetime.datetime(2024, 1, 5), A_TIME, OTHER_TYPE, dtype=object),
    "a datetime64": Case(NUMBER, MOMENT, A_TIME, OTHER_TYPE),
    "a datetime64 as an object": Case(NUMBER, np.datetime64("2024-01-05"), A_TIME, OTHER_TYPE, dtype=object),
    "a Timestamp as an object": Case(NUMBER, MOMENT, A_TIME, OTHER_TYPE, dtype=object),
    "a Timestamp of a zone": Case(NUMBER, MOMENT.tz_localize("Europe/Paris"), A_TIME, OTHER_TYPE),
    "a Timestamp of a category": Case(NUMBER, MOMENT, A_TIME, OTHER_TYPE, dtype="category"),
    "a timedelta64": Case(NUMBER, pd.Timedelta(days=3), A_TIME, OTHER_TYPE),
    "a timedelta as an object": Case(NUMBER, datetime.timedelta(days=3), A_TIME, OTHER_TYPE, dtype=object),
    "a period": Case(NUMBER, pd.Period("2024-01"), A_TIME, OTHER_TYPE),
    "an interval": Case(NUMBER, pd.Interval(0, 1), NO_NUMBER, OTHER_TYPE),
    "a category": Case(LETTER, "b", "b", OTHER_TYPE),
    "a category of pandas' texts": Case(LETTER, "b", "b", OTHER_TYPE, dtype="string"),
    "a category of pandas' categories": Case(LETTER, "b", "b", OTHER_TYPE, dtype="category"),
    "bytes of a category": Case(LETTER, b"b", "b", OTHER_TYPE),
    "no category": Case(LETTER, None, MISSING, NULL),
    "NaN for a category": Case(LETTER, math.nan, MISSING, NO_JSON, dtype=object),
    "NA for a category": Case(LETTER, pd.NA, MISSING, OTHER_TYPE, dtype="string"),
    "an empty category": Case(LETTER, "", MISSING, OTHER_TYPE),
    "an unknown category": Case(LETTER, "c", OTHER, OTHER_TYPE, note="unknown"),
    "a category in other letters": Case(LETTER, "B", OTHER, OTHER_TYPE, note="unknown"),
    "a category between blanks": Case(LETTER, " b ", OTHER, OTHER_TYPE, note="unknown"),
    "a number where texts are declared": Case(LETTER, 1, OTHER, "b", note="unknown"),
    "a code beyond the categories": Case(LETTER, 3, OTHER, NO_CODE, note="unknown"),
    "a fraction where texts are declared": Case(LETTER, 0.5, OTHER, NO_CODE, note="unknown"),
    "an integer category": Case(DIGIT, 1, "1", "2"),
    "a float category": Case(DIGIT, 1.0, "1", "2"),
    "a decimal category": Case(DIGIT, decimal.Decimal("1"), "1", "2"),
    "a text of a float for an integer category": Case(DIGIT, "1.0", OTHER, "2", note="unknown"),
    "a bool where 1 is declared": Case(DIGIT, True, "1", OTHER_TYPE),
    "a bool category": Case(FLAG, True, "True", OTHER_TYPE),
    "a bool category as an object": Case(FLAG, True, "True", OTHER_TYPE, dtype=object),
    "a nullable bool category": Case(FLAG, True, "True", OTHER_TYPE, dtype="boolean"),
    "no bool": Case(FLAG, pd.NA, MISSING, OTHER_TYPE, dtype="boolean"),
    "1 for a bool": Case(FLAG, 1, "True", "True"),
    "1.0 for a bool": Case(FLAG, 1.0, "True", "True"),
    "the text True for a bool": Case(FLAG, "True", "True", OTHER_TYPE),
    "the text 1 for a bool": Case(FLAG, "1", OTHER, "True", note="unknown"),
    "a day": Case(DAY, DAY_OF_2024, "2024-01-05", OTHER_TYPE),
    "a period of a day": Case(DAY, pd.Period("2024-01-05"), "2024-01-05", OTHER_TYPE),
    "a text of a day": Case(DAY, "2024-01-05", "2024-01-05", OTHER_TYPE),
    "a Timestamp where days are declared": Case(DAY, MOMENT.normalize(), A_MOMENT, OTHER_TYPE),
    "a Timestamp of a zone where days are declared": Case(DAY, MOMENT.tz_localize("UTC"), A_MOMENT, OTHER_TYPE),
    "a Timestamp as an object where days are declared": Case(DAY, MOMENT, A_MOMENT, OTHER_TYPE, dtype=object),
    "NaT where days are declared": Case(DAY, pd.NaT, MISSING, OTHER_TYPE),
    "a code with a leading zero": Case(CODE, "01010", "01010", NO_CODE),
    "a code that lost its leading zero": Case(CODE, 1010, OTHER, NO_CODE, note="unknown"),
}

TEXTS = pathlib.Path(__file__).resolve().parents[1] / "support/awkward_values.json"
TEXT_CASES = {one["name"]: one for one in json.loads(TEXTS.read_text())["reading"]} if TEXTS.exists() else {}


def text_case(one):
    """A row of the file as a case. Formats of numbers and texts for a missing value are of files alone."""
    is_of_files = "number_format" in one["feature"] or "missing" in one
    feature = {"name": "x", **{key: value for key, value in one["feature"].items() if key != "number_format"}}
    value = Refused("must hold numbers") if is_of_files or "refusal" in one else one["value"]
    if is_of_files and re.fullmatch(r"\d+(\.\d+)?", one["cell"]):
        value = float(one["cell"])
    return Case(feature, one["cell"], value, json=None, note=one.get("note", ""))


def schema_of(feature):
    return {"label": "y", "classes": ["no", "yes"], "features": [feature]}


ANSWERS = ["no", "yes"]


def plain_rows(feature):
    """Rows that nothing is awkward about."""
    cells = feature.get("values", [0, 1])
    return pd.DataFrame({"x": (cells * 50)[:60], "y": (ANSWERS * 30)})


# ---- containers


def as_array(column):
    cells = np.empty((len(column), 1), dtype=object)
    cells[:, 0] = column.tolist() if column.dtype == object else column
    return cells if column.dtype == object else np.asarray(column).reshape(-1, 1)


def as_lists(column):
    return [[cell] for cell in column]


def as_mapping(column):
    return {"x": column}


class ArrowRows:
    """A table of Arrow, which can be asked for several times."""

    def __init__(self, *columns):
        self._columns = columns
        self._producer = make.Producer([make.table(*columns)])

    def __arrow_c_stream__(self, requested_schema=None):
        return self._producer.stream()

    def assign(self, y):
        return ArrowRows(*self._columns, make.column_of(y, "y"))

    @property
    def kind(self):
        return kind_of(as_arrow_table(self)._fields[0])


def as_arrow(column):
    """As PyArrow converts a column, or pandas by PyArrow; skips the case if Arrow has no such type."""
    try:
        if isinstance(column.dtype, pd.CategoricalDtype):
            return ArrowRows(make.coded(column.cat.codes.tolist(), make.column_of(column.cat.categories.tolist()), "c"))
        formats = {"uint8": "C", "float32": "f"}
        if str(column.dtype) in formats:
            return ArrowRows(make.numbers(formats[str(column.dtype)], column.tolist()))
        return ArrowRows(make.column_of(column.tolist()))
    except make.HasNoType as error:
        pytest.skip(f"Arrow has no type for {error}")


class DuckRows:
    """A query of DuckDB."""

    def __init__(self, sql):
        self._sql = sql

    def __arrow_c_stream__(self, requested_schema=None):
        return duckdb_arrow.database().query(self._sql).__arrow_c_stream__()

    def assign(self, y):
        return DuckRows(self._sql.replace(" FROM", f", unnest([{', '.join(map(literal, y))}]) AS y FROM"))


LITERALS = {
    bool: lambda cell: str(cell).upper(),
    int: lambda cell: f"{cell}" if abs(cell) < 2**63 else None,
    float: lambda cell: f"'{cell}'::DOUBLE",
    decimal.Decimal: lambda cell: f"'{cell}'::DECIMAL(18, {max(0, -cell.as_tuple().exponent)})",
    str: lambda cell: "'" + cell.replace("'", "''") + "'",
    bytes: lambda cell: "'" + "".join(f"\\x{byte:02X}" for byte in cell) + "'::BLOB",
    pd.Timestamp: lambda cell: f"TIMESTAMP{'TZ' if cell.tzinfo else '_NS'} '{cell}'",
    datetime.datetime: lambda cell: f"TIMESTAMP '{cell}'",
    datetime.date: lambda cell: f"DATE '{cell}'",
    datetime.time: lambda cell: f"TIME '{cell}'",
}


def literal(cell):
    """A cell as SQL has it; None where DuckDB has no such type."""
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return "NULL"
    return next((write(cell) for kind, write in LITERALS.items() if isinstance(cell, kind)), None)


def as_duckdb(column):
    """The cells as a query of DuckDB; skips the case if it has no such type."""
    written = literal(column.tolist()[0])
    if written is None:
        pytest.skip("DuckDB has no such type")
    types = {"uint8": "UTINYINT", "float32": "FLOAT"}
    if isinstance(column.dtype, pd.CategoricalDtype) and isinstance(column[0], str):
        written += f"::ENUM({', '.join(map(literal, column.cat.categories))})"
    elif str(column.dtype) in types:
        written += f"::{types[str(column.dtype)]}"
    return DuckRows(f"SELECT unnest([{written}, {written}]) AS x FROM range(1)")


class GdalRows:
    """A layer of GDAL."""

    def __init__(self, columns):
        self._columns, self._source = columns, gdal_arrow.new_source()
        self._layer = gdal_arrow.fill_layer(self._source, columns)
        if self._layer is None:
            pytest.skip("GDAL has no such type")

    def __arrow_c_stream__(self, requested_schema=None):
        return gdal_arrow.Layer(self._layer).__arrow_c_stream__()

    def assign(self, y):
        return GdalRows({**self._columns, "y": y})


def as_gdal(column):
    return GdalRows({"x": [None if cell is pd.NA or cell is pd.NaT else cell for cell in column.tolist()]})


# ---- doors, which return the table of what they read


class Seen(Exception):
    """Ends a call once it has read its rows."""


def fitted_table(fit):
    """What a fit hands to the trainer."""

    def stop(table, *_):
        raise Seen(table)

    with mock.patch.object(_core, "train", stop), pytest.raises(Seen) as seen:
        fit()
    return seen.value.args[0]


def fit_by_schema(rows, case):
    return fitted_table(lambda: PrivateTreeClassifier(schema=schema_of(case.feature), epsilon=math.inf).fit(rows, ANSWERS))


def fit_by_bounds(rows, case):
    is_number = case.feature["type"] == "numeric"
    declared = {"bounds": {"x": (0, case.feature["max"])}} if is_number else {"categories": {"x": case.feature["values"]}}
    estimator = PrivateTreeClassifier(classes=ANSWERS, epsilon=math.inf, **declared)
    return fitted_table(lambda: estimator.fit(rows, ANSWERS))


def simulated(rows, case):
    def stop(public, private, *_):
        raise Seen(private)

    with mock.patch.object(_core, "simulate", stop), pytest.raises(Seen) as seen:
        coppice.simulate(plain_rows(case.feature), rows.assign(y=ANSWERS), schema=schema_of(case.feature), epsilon=1)
    return seen.value.args[0]


@functools.lru_cache
def fitted_to(feature):
    rows = plain_rows(json.loads(feature))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PrivateTreeClassifier(epsilon=math.inf, schema=schema_of(json.loads(feature))).fit(rows[["x"]], rows["y"])


def predicted(call):
    def door(rows, case):
        fitted, read = fitted_to(json.dumps(case.feature)), []
        spied = _core.Model.predict

        def spy(model, columns):
            read.append(columns)
            return spied(model, columns)

        with mock.patch.object(_core.Model, "predict", spy):
            call(fitted, rows)
        return _core.Table(fitted.model_.schema, read[0])

    return door


def sent(call):
    """What goes to the daemon, which took it."""

    def door(rows, case, daemon):
        read = []
        daemon.model(case.feature)  # made before anything is watched
        spied = _tables.encode_features

        def spy(table, schema):
            read.append((spied(table, schema), schema))
            return read[-1][0]

        with mock.patch.object(_tables, "encode_features", spy):
            call(daemon, rows, case)
        (columns, _), schema = read[0]
        return _core.Table(schema, columns)

    door.needs_daemon = True
    return door


def upload(daemon, rows, case):
    dataset = daemon.client.datasets.create(rows.assign(y=ANSWERS), schema_of(case.feature), 1, progress=False)
    assert dataset.rows == 2


def over_network(daemon, rows, case):
    assert len(daemon.model(case.feature).predict(rows)) == 2


def frame(column):
    return pd.DataFrame({"x": column})


DOORS = {
    "fit by a schema, GDAL": (as_gdal, fit_by_schema),
    "upload, GDAL": (as_gdal, sent(upload)),
    "fit by a schema, DuckDB": (as_duckdb, fit_by_schema),
    "predict, DuckDB": (as_duckdb, predicted(lambda fitted, rows: fitted.predict(rows))),
    "upload, DuckDB": (as_duckdb, sent(upload)),
    "fit by a schema, Arrow": (as_arrow, fit_by_schema),
    "fit by bounds, Arrow": (as_arrow, fit_by_bounds),
    "study in this process, Arrow": (as_arrow, simulated),
    "predict, Arrow": (as_arrow, predicted(lambda fitted, rows: fitted.predict_proba(rows))),
    "upload, Arrow": (as_arrow, sent(upload)),
    "predict over the network, Arrow": (as_arrow, sent(over_network)),
    "fit by a schema, frame": (frame, fit_by_schema),
    "fit by a schema, array": (as_array, fit_by_schema),
    "fit by a schema, lists": (as_lists, fit_by_schema),
    "fit by a schema, mapping": (as_mapping, fit_by_schema),
    "fit by bounds, frame": (frame, fit_by_bounds),
    "study in this process": (frame, simulated),
    "predict, frame": (frame, predicted(lambda fitted, rows: fitted.predict(rows))),
    "predict, array": (as_array, predicted(lambda fitted, rows: fitted.predict_proba(rows))),
    "predict, lists": (as_lists, predicted(lambda fitted, rows: fitted.score(rows, ANSWERS))),
    "predict of a model, frame": (frame, predicted(lambda fitted, rows: fitted.model_.predict(rows))),
    "predict of a model, array": (as_array, predicted(lambda fitted, rows: fitted.model_.predict_proba(rows))),
    "upload": (frame, sent(upload)),
    "predict over the network, frame": (frame, sent(over_network)),
    "predict over the network, lists": (as_lists, sent(over_network)),
    "predict over the network, mapping": (as_mapping, sent(over_network)),
}


def expected(door, case, column):
    """By bounds a type tells whether a column holds numbers: without a schema nothing else does."""
    if not door.startswith("fit by bounds") or case.feature["type"] != "numeric":
        return case.value, case.note
    kind = as_arrow(column).kind if door.endswith("Arrow") else column.dtype.kind
    if kind == "b":
        return "True", ""
    if kind in "mM":
        return Refused("column 'x' holds times"), ""
    if kind not in "iuf":
        return Refused("categories are public"), ""
    return (2.5, "") if case.feature.get("integer") else (case.value, case.note)


def decode(table, feature):
    code = table.column(0)[0]
    if math.isnan(code):
        return MISSING
    if isinstance(feature, list):
        return [*feature, OTHER][int(code)]
    return code


class Daemon:
    """A curator, whose models are made when a door asks for them."""

    def __init__(self):
        self.port = free_port()
        self.curator = Curator("--http-listen", f"127.0.0.1:{self.port}")
        self.client = coppice.connect(self.curator.server, ca=self.curator.ca, token=self.curator.tokens["ops"])
        self.model = lambda feature: self._model(json.dumps(feature))
        self._context = ssl.create_default_context(cafile=self.curator.ca)

    @functools.lru_cache
    def _model(self, feature):
        feature = json.loads(feature)
        dataset = self.client.datasets.create(plain_rows(feature), schema_of(feature), 1, progress=False)
        return dataset.train(epsilon=1).wait(progress=False).model()

    def post(self, method, body):
        """Answer a call as JSON, or raise its error as ValueError."""
        request = urllib.request.Request(
            f"https://127.0.0.1:{self.port}/coppice.v1.{method}", body.encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {self.curator.tokens['ops']}"},
        )
        try:
            with urllib.request.urlopen(request, context=self._context, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            told = json.load(error)["message"]
        raise ValueError(told)


@pytest.fixture(scope="module")
def daemon():
    made = Daemon()
    yield made
    made.client.close()
    made.curator.end()


def check(door, case, daemon):
    column = case.column()
    contain, read = DOORS[door]
    value, note = expected(door, case, column)
    arguments = (contain(column), case, *([daemon] if hasattr(read, "needs_daemon") else []))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        if isinstance(value, Refused):
            with pytest.raises(ValueError, match=value) as error:
                read(*arguments)
            assert str(case.cell) not in str(error.value) or len(str(case.cell)) < 5
            return
        table = read(*arguments)
    names = ["False", "True"] if value == "True" else case.feature.get("values")
    assert decode(table, names) == value
    messages = " ".join(str(one.message) for one in told if one.category is RuntimeWarning)
    assert re.search(NOTES[note], messages) if note else messages == ""


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", CASES)
def test_a_cell_is_read_alike_at_every_door(name, door, daemon):
    check(door, CASES[name], daemon)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", TEXT_CASES)
def test_a_text_is_read_as_a_file_has_it(name, door, daemon):
    check(door, text_case(TEXT_CASES[name]), daemon)


def append_json(daemon, cell, feature):
    """Append one row, whose cell is given as JSON."""
    dataset = daemon.client.datasets.create(None, schema_of(feature), 1, progress=False)
    rows = f'{{"columns": [{{"values": [{cell}]}}], "labels": [0]}}'
    daemon.post("DatasetService/AppendRows", f'{{"dataset": "datasets/{dataset.id}", "rows": {rows}}}')
    assert dataset.refresh().rows == 1


@pytest.mark.parametrize("name", CASES)
def test_json_takes_numbers_as_messages_have_them(name, daemon):
    case = CASES[name]
    cell = json.dumps(case.cell, default=str)
    if isinstance(case.json, Refused):
        with pytest.raises(ValueError, match=case.json) as error:
            append_json(daemon, cell, case.feature)
        assert str(case.cell) not in str(error.value) or len(str(case.cell)) < 5
        return
    append_json(daemon, cell, case.feature)
    model = daemon.model(case.feature)
    answer = daemon.post("ModelService/Predict", f'{{"name": "models/{model.id}", "rows": [{{"values": [{cell}]}}]}}')
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same = model.predict(pd.DataFrame({"x": [case.json]}), probabilities=True)
    assert answer["predictions"][0]["probabilities"] == [same["p(no)"][0], same["p(yes)"][0]]
