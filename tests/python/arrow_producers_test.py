"""Tables by Arrow from producers that nobody here wrote: DuckDB, also from Parquet, and GDAL."""

import math
import pathlib
import re
import warnings

import numpy as np
import pytest

import coppice
import duckdb_arrow
import gdal_arrow
from coppice import PrivateTreeClassifier, _rows
from coppice._arrow import arrow_parts, as_arrow_table
from coppice.schema import as_schema
from curator import Curator
from gdal_arrow import Layer

HERE = pathlib.Path(__file__).resolve().parent

SCHEMA = {
    "label": "label",
    "classes": ["leaves", "stays"],
    "features": [
        {"name": "age", "type": "numeric", "min": 18, "max": 90},
        {"name": "plan", "type": "categorical", "values": ["basic", "plus", "gold"]},
        {"name": "member", "type": "categorical", "values": ["False", "True"]},
    ],
}
FEATURES = [feature["name"] for feature in SCHEMA["features"]]


@pytest.fixture(scope="module")
def database():
    return duckdb_arrow.database()


@pytest.fixture(scope="module")
def gdal():
    return gdal_arrow.gdal()


@pytest.fixture(scope="module")
def files(people, tmp_path_factory, database):
    """The same rows as CSV and, by DuckDB, as Parquet."""
    folder = tmp_path_factory.mktemp("people")
    people.to_csv(folder / "people.csv", index=False)
    database.run(f"COPY ({from_csv(folder)}) TO '{folder / 'people.parquet'}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")
    return folder


def from_csv(folder):
    return f"SELECT age, plan, member, label, spends FROM read_csv('{folder / 'people.csv'}', types = {{'age': 'DOUBLE', 'member': 'BOOLEAN'}})"


def quietly(call, *arguments, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*arguments, **more)


def same_columns(given, people):
    schema = as_schema(SCHEMA)
    expected = _rows.Rows(people, schema).columns
    found = _rows.Rows(given, schema).columns
    return all(np.array_equal(*pair, equal_nan=True) for pair in zip(found, expected))


# ---- DuckDB

ONE = {"name": "x", "type": "numeric", "min": -1e30, "max": 1e30}


def category(*values):
    return {"name": "x", "type": "categorical", "values": list(values)}


DUCKDB_TYPES = {
    **{f"{type}": (f"7::{type}", ONE, 7.0) for type in
       ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE")},
    "BOOLEAN": ("true", category("False", "True"), 1),
    "BOOLEAN as a number": ("true", ONE, 1.0),
    "a small DECIMAL": ("1.25::DECIMAL(4,2)", ONE, 1.25),
    "a large DECIMAL": ("1234567890123456789012345678.5::DECIMAL(38,1)", ONE, 1234567890123456789012345678.5),
    "VARCHAR": ("'naïve'", category("a", "naïve"), 1),
    "a long VARCHAR": ("'more than twelve bytes'", category("more than twelve bytes", "a"), 0),
    "VARCHAR of a number": ("'-2.5e3'", ONE, -2500.0),
    "an unknown VARCHAR": ("'b'", category("a"), 1),
    "BLOB": ("'b'::BLOB", category("a", "b"), 1),
    "ENUM": ("'b'::ENUM('a', 'b')", category("b", "a"), 0),
    "UUID": ("'258415f5-dce3-4f0f-bbec-53d14a5452c2'::UUID", category("258415f5-dce3-4f0f-bbec-53d14a5452c2", "a"), 0),
    "DATE": ("DATE '2024-01-31'", category("a", "2024-01-31"), 1),
    "an early DATE": ("DATE '1899-12-31'", category("1899-12-31"), 0),
    "TIME": ("TIME '12:30:00'", category("12:30:00"), 0),
    "NULL": ("NULL", ONE, math.nan),
    "no VARCHAR": ("NULL::VARCHAR", category("a"), math.nan),
    "an empty VARCHAR": ("''", category("a"), math.nan),
}


@pytest.mark.parametrize("name", DUCKDB_TYPES)
def test_a_type_of_duckdb_is_read(name, database):
    sql, feature, expected = DUCKDB_TYPES[name]
    schema = as_schema({"label": "y", "classes": ["no", "yes"], "features": [feature]})
    (column,) = _rows.Rows(database.query(f"SELECT CASE WHEN i = 1 THEN NULL ELSE {sql} END AS x FROM range(3) t(i)"), schema).columns
    assert np.array_equal(column, [expected, math.nan, expected], equal_nan=True)


@pytest.mark.parametrize("sql", ["INTERVAL 3 DAYS", "[1, 2]", "{'a': 1}", "MAP {'a': 1}", "TIMESTAMP '2024-01-31 12:00:00'",
                                 "TIMESTAMPTZ '2024-01-31 12:00:00+00'", "'secret'", "123::BIGNUM"])
def test_a_type_of_duckdb_that_is_no_number_is_refused(sql, database):
    schema = as_schema({"label": "y", "classes": ["no", "yes"], "features": [ONE]})
    with pytest.raises(ValueError, match="column 'x'") as error:
        _rows.Rows(database.query(f"SELECT {sql} AS x"), schema)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("source", ["csv", "parquet", "enum"])
def test_rows_of_duckdb_are_those_of_the_frame(source, database, files, people):
    sql = f"FROM '{files / 'people.parquet'}'" if source == "parquet" else from_csv(files)
    if source == "enum":
        sql = f"SELECT * REPLACE (plan::ENUM('plus', 'gold', 'basic') AS plan) FROM ({sql})"
    table = as_arrow_table(database.query(sql))
    assert len(table._pieces) > 1 and table.shape == people.shape
    assert same_columns(table, people)


def test_a_fit_takes_rows_of_duckdb(database, files, people):
    fit = lambda X, y: quietly(PrivateTreeClassifier(schema=SCHEMA, epsilon=math.inf).fit, X, y)
    sql = f"SELECT {{}} FROM '{files / 'people.parquet'}'"
    by_duckdb = fit(database.query(sql.format("age, plan, member")), database.query(sql.format("label")))
    by_frame = fit(people[FEATURES], people["label"])
    assert (by_duckdb.predict_proba(people[FEATURES]) == by_frame.predict_proba(people[FEATURES])).all()
    assert (by_frame.predict(database.query(sql.format("age, plan, member"))) == by_frame.predict(people[FEATURES])).all()


def test_the_program_of_the_page_runs(database, files, people, monkeypatch):
    monkeypatch.chdir(files)
    database.run(f"COPY (SELECT row_number() OVER () AS id, * FROM ({from_csv(files)})) TO '{files / 'numbered.parquet'}' (FORMAT parquet)")
    page = (HERE.parents[1] / "docs/python.md").read_text()
    (program,) = (text for text in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S) if "train_from_parquet" in text)
    names = {"coppice": coppice}
    exec(program, names)
    query = lambda sql: database.query(sql.replace("people.parquet", str(files / "numbered.parquet")))
    fitted = quietly(names["train_from_parquet"], query)
    assert set(fitted.predict(people[FEATURES])) <= {"leaves", "stays"}


def test_a_query_runs_as_its_rows_are_asked_for(database):
    relation = database.query("SELECT i AS x FROM range(1000000) t(i)")
    parts = arrow_parts(relation)
    first = next(parts)
    assert len(first) == 65_536 and relation.chunks <= 33
    rest = [len(part) for part in parts]
    assert 65_536 + sum(rest) == 1_000_000 and set(rest[:-1]) == {65_536}


# DuckDB's tasks stop one another at an error, and now and then the one that was stopped is heard first.
BROKEN = "their producer stopped with an error: .*(the view is broken|Interrupted)"


def failing(rows):
    """A query that fails after some of its rows."""
    return f"SELECT CASE WHEN i = {rows - 1} THEN error('the view is broken') ELSE 20 END AS age, 'basic' AS plan, true AS member, " \
           f"'stays' AS label FROM range({rows}) t(i)"


def test_a_query_that_fails_is_told(database):
    with pytest.raises(ValueError, match=BROKEN):
        as_arrow_table(database.query(failing(1_000_000)))


@pytest.fixture(scope="module")
def client():
    curator = Curator()
    with coppice.connect(curator.server, ca=curator.ca, token=curator.tokens["ops"]) as connected:
        yield connected
    curator.end()


def test_an_upload_takes_rows_of_duckdb(client, database, files, people):
    dataset = client.datasets.create(database.query(f"FROM '{files / 'people.parquet'}'"), SCHEMA, 1, progress=False)
    assert (dataset.state, dataset.rows) == ("ready", len(people))
    model = dataset.train(epsilon=1).wait(progress=False).model()
    predicted = model.predict(database.query(from_csv(files)), progress=False)
    assert predicted.equals(model.predict(people, progress=False))


def test_an_upload_goes_on_after_a_query_that_failed(client, database):
    with pytest.raises(ValueError, match=BROKEN):
        client.datasets.create(database.query(failing(300_000)), SCHEMA, 1, dataset_id="broken", progress=False)
    dataset = client.dataset("broken")
    assert dataset.state == "uploading" and 0 < dataset.rows < 300_000
    whole = "SELECT 20 AS age, 'basic' AS plan, true AS member, 'stays' AS label FROM range(300000)"
    assert dataset.upload(database.query(whole), progress=False).rows == 300_000


def test_a_row_far_into_a_query_is_named(client, database):
    sql = "SELECT CASE WHEN i = 70000 THEN 'secret' ELSE '20' END AS age, 'basic' AS plan, true AS member, 'stays' AS label FROM range(100000) t(i)"
    with pytest.raises(ValueError, match="begins with row 65,536: column 'age' must hold numbers; row 4464, counted from 0") as error:
        client.datasets.create(database.query(sql), SCHEMA, 1, progress=False)
    assert "secret" not in str(error.value)


# ---- GDAL


def test_rows_of_gdal_are_those_of_the_frame(gdal, files, people):
    opened = gdal.OpenEx(str(files / "people.csv"), open_options=["AUTODETECT_TYPE=YES"])
    table = as_arrow_table(Layer(opened.GetLayer(0), batch_rows=1000))
    assert len(table._pieces) == 4 and table.shape == people.shape
    assert same_columns(table, people)


@pytest.mark.parametrize("rows", [1, 3, 65_536])
def test_types_of_gdal_are_read(rows, gdal):
    from osgeo import ogr

    source = gdal_arrow.new_source()
    layer = source.CreateLayer("rows", None, ogr.wkbPoint)
    values = {"small": (ogr.OFTInteger, ogr.OFSTInt16, -3), "whole": (ogr.OFTInteger, None, 2**30), "long": (ogr.OFTInteger64, None, 2**53),
              "real": (ogr.OFTReal, None, 1.5), "single": (ogr.OFTReal, ogr.OFSTFloat32, 2.5), "flag": (ogr.OFTInteger, ogr.OFSTBoolean, 1),
              "day": (ogr.OFTDate, None, "2024/01/31"), "time": (ogr.OFTTime, None, "12:30:00"), "word": (ogr.OFTString, None, "naïve")}
    for name, (type, subtype, _) in values.items():
        field = ogr.FieldDefn(name, type)
        if subtype is not None:
            field.SetSubType(subtype)
        layer.CreateField(field)
    layer.CreateField(ogr.FieldDefn("list", ogr.OFTIntegerList))
    for is_empty in (False, True, False):
        feature = ogr.Feature(layer.GetLayerDefn())
        for name, (_, _, value) in values.items():
            if not is_empty:
                feature.SetField(name, value)
        layer.CreateFeature(feature)
    codes = {"flag": ["False", "True"], "day": ["2024-01-31"], "time": ["12:30:00"], "word": ["a", "naïve"]}
    features = [{"name": name, "type": "categorical", "values": codes[name]} if name in codes else {**ONE, "name": name} for name in values]
    schema = as_schema({"label": "y", "classes": ["no", "yes"], "features": features})
    expected = [codes[name].index(str({"flag": True, "day": "2024-01-31"}.get(name, value))) if name in codes else value
                for name, (_, _, value) in values.items()]
    found = _rows.Rows(Layer(layer, rows), schema).columns
    for column, value in zip(found, expected):
        assert np.array_equal(column, [value, math.nan, value], equal_nan=True)
    for name, told in (("list", r"has the Arrow type '\+l'"), ("wkb_geometry", "has the Arrow type ogc.wkb")):
        with pytest.raises(ValueError, match=told):
            _rows.Rows(Layer(layer), as_schema({"label": "y", "classes": ["no", "yes"], "features": [{**ONE, "name": name}]}))
