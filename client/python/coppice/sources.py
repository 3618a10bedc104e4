"""Rows from where they lie."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from coppice import _core

if TYPE_CHECKING:
    import pandas as pd

_HALF_A_DAY = 43_200.0


class _Rows(io.RawIOBase):
    """The CSV of a query, as a file."""

    def __init__(self, query: _core.PostgresQuery) -> None:
        super().__init__()
        self._query = query

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        read = self._query.read(len(buffer))
        buffer[: len(read)] = read
        return len(read)


def read_postgres(uri: str, query: str, *, timeout: float = _HALF_A_DAY) -> pd.DataFrame:
    """Return the rows of a query in a PostgreSQL database, all of one moment.

    The query runs in a transaction that can write nothing. Texts, enumerations, UUIDs and dates become texts;
    integers and numeric types become numbers, booleans stay booleans, and NULL and NaN are missing. A type without
    a place, such as a time stamp, is an error before the query runs.

    Parameters
    ----------
    uri : str
        ``postgresql://USER@HOST/DATABASE``, as libpq takes it. It adds what ``PGPASSWORD``, ``PGPASSFILE`` and
        ``PGSERVICE`` say.
    query : str
        One SELECT.
    timeout : float, optional
        Seconds that the database lets the query take, its rows included.

    Returns
    -------
    DataFrame
        It is held in memory. A larger table goes to a curator by ``coppice dataset create --from``.

    Raises
    ------
    ValueError
        If the database refuses the query, or a column has a type without a place.
    CoppiceError
        If a value cannot be computed, or the time is over. No message holds a value of a row.
    OSError
        If the database cannot be reached or goes away.
    """
    import pandas as pd

    rows = _core.PostgresQuery(uri, query, timeout)
    names = [name for name, _ in rows.columns]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"the query has {names.count(name)} columns {name!r}")
    frame = pd.read_csv(
        io.BufferedReader(_Rows(rows), 1 << 20),
        names=names,
        header=0,
        index_col=False,
        dtype={name: "object" for name, kind in rows.columns if kind == "text"},
        true_values=["True"],
        false_values=["False"],
        keep_default_na=False,
        na_values=[""],
        float_precision="round_trip",
        low_memory=False,
        encoding="utf-8",
    )
    for name, kind in rows.columns:
        if kind == "boolean":
            frame[name] = frame[name].astype("boolean" if frame[name].isna().any() else bool)
        elif kind == "number" and frame[name].isna().all():
            frame[name] = frame[name].astype("float64")
    return frame
