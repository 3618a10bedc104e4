"""Rows of a query in a real PostgreSQL."""

import pathlib
import sys

import numpy as np
import pandas as pd
import pytest

import coppice

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import missing_package  # noqa: E402
import postgres_server  # noqa: E402


@pytest.fixture(scope="module")
def database():
    if not postgres_server.is_installed():
        missing_package.skip("no PostgreSQL server: tests/packages.txt has it")
    server = postgres_server.PostgresServer()
    server.execute(
        "CREATE TABLE people (id int, age int, height float8, plan text, member bool, code text, left_us bool);"
        "INSERT INTO people SELECT g, CASE WHEN g % 10 > 0 THEN g % 90 END, g / 7.0, (ARRAY['basic', 'gold'])[g % 2 + 1],"
        "g % 3 = 0, CASE g % 4 WHEN 0 THEN NULL WHEN 1 THEN 'NA' WHEN 2 THEN '007' ELSE 'é, \"x\"' END, g % 7 = 0 "
        "FROM generate_series(1, 2000) g"
    )
    yield server.uri
    server.stop()


def test_types_are_those_of_the_columns(database):
    frame = coppice.read_postgres(database, "SELECT * FROM people ORDER BY id;")
    assert list(frame.columns) == ["id", "age", "height", "plan", "member", "code", "left_us"]
    assert len(frame) == 2000
    assert frame["id"].dtype == np.int64 and frame["id"].tolist() == list(range(1, 2001))
    assert frame["age"].isna().sum() == 200
    assert frame["height"].tolist() == [row / 7.0 for row in range(1, 2001)], "to the last digit"
    assert frame["member"].dtype == bool and frame["member"].sum() == 666
    assert frame["code"].dtype == object and frame["code"].isna().sum() == 500
    assert set(frame["code"].dropna()) == {"NA", "007", 'é, "x"'}


def test_a_query_may_have_no_rows_and_columns_no_values(database):
    frame = coppice.read_postgres(database, "SELECT 1 AS x, true AS b, 'a' AS t WHERE false")
    assert len(frame) == 0 and list(frame.columns) == ["x", "b", "t"]
    frame = coppice.read_postgres(database, "SELECT NULL::int AS x, NULL::bool AS b, NULL::text AS t")
    assert frame.isna().all().all()
    assert frame["x"].dtype == np.float64 and frame["b"].dtype == pd.BooleanDtype()


def test_the_rows_train_a_model(database):
    frame = coppice.read_postgres(database, "SELECT age, plan, member, left_us FROM people")
    model = coppice.PrivateTreeClassifier(
        epsilon=4, bounds={"age": (0, 90)}, categories={"plan": ["basic", "gold"], "member": [False, True]},
        classes=[False, True], accountant=coppice.BudgetAccountant(4),
    ).fit(frame[["age", "plan", "member"]], frame["left_us"])
    assert set(model.predict(frame[["age", "plan", "member"]])) <= {False, True}


def test_errors_hold_no_value_and_no_password(database):
    with pytest.raises(ValueError, match='column "t" has the type timestamp'):
        coppice.read_postgres(database, "SELECT now() AS t")
    with pytest.raises(ValueError, match="2 columns 'x'"):
        coppice.read_postgres(database, "SELECT 1 AS x, 2 AS x")
    with pytest.raises(ValueError, match="refuses the query"):
        coppice.read_postgres(database, "DELETE FROM people RETURNING id")
    with pytest.raises(coppice.CoppiceError, match="22P02") as caught:
        coppice.read_postgres(database, "SELECT code::int AS x FROM people")
    assert "007" not in str(caught.value) and "NA" not in str(caught.value)
    with pytest.raises(coppice.CoppiceError, match="time is over"):
        coppice.read_postgres(database, "SELECT pg_sleep(60)::text AS x", timeout=0.05)
    with pytest.raises(OSError) as refused:
        coppice.read_postgres("postgresql://u:hidden@localhost:1/d", "SELECT 1 AS x")
    assert "hidden" not in str(refused.value)
