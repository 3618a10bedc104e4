"""Reads a column's cells, of NumPy, pandas, Arrow or Python: as numbers, or as codes of categories.

Whatever takes rows reads them here. Errors name the column and the row, and never quote a cell, because it
may be private. They are raised outside of `except`, so that no error that quotes a cell is their context.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Optional, Union

import numpy as np
import numpy.typing as npt

from coppice import _core
from coppice.schema import is_missing, is_moment, is_time, text_of

Column = npt.NDArray[np.float64]

# Every whole number up to here is a float64, and beyond it only some are.
LARGEST_WHOLE = 2.0**53

# What else a bool may be called, where its own name is not what was declared. A text has no other name.
_OTHER_NAMES = {"True": "1", "False": "0", "1": "True", "0": "False"}

# Types that NumPy turns into float64 as they are; None becomes NaN.
_PLAIN_TYPES = {float, int, bool, type(None), np.float64, np.float32, np.int64, np.int32, np.bool_}

# What a cell that is refused holds.
_TEXT = "a text that is no finite decimal number"
_NUMBER = "a number that is not real or not finite"
_OTHER = "something else: the argument must be a string or a real number"
_TIME = (
    "a time, whose number depends on a unit: turn the column into numbers first, such as days by "
    '(X[NAME] - pandas.Timestamp("1970-01-01")) / pandas.Timedelta(days=1)'
)
_MOMENT = (
    "a time, which is written in several ways: turn the column into texts first, such as "
    'X[NAME].dt.strftime("%Y-%m-%d")'
)
_NO_TEXT = "something that has no text"


class Coded:
    """A column whose values are written once: texts, categories and days of Arrow.

    Attributes
    ----------
    places : array of int
        The place of every cell's value in `distinct`; -1 where it is missing.
    distinct : list
        The values, in any order, also those that no cell has.
    """

    def __init__(self, places: npt.NDArray[Any], distinct: list[Any]) -> None:
        self.places = places
        self.distinct = distinct

    def __len__(self) -> int:
        return len(self.places)

    def cells(self) -> npt.NDArray[Any]:
        """Return the value of every cell, None where it is missing."""
        values = np.empty(len(self.distinct) + 1, dtype=object)
        values[:-1] = self.distinct
        return np.asarray(values[self.places])


class UnreadableCell(TypeError, ValueError):
    """A cell is neither a number nor a text; a TypeError, too, because scikit-learn expects one."""


def numbers_of(values: Any, what: str) -> Column:
    """Return numbers as they are, without a copy where they are float64, and NaN where one is missing.

    Parameters
    ----------
    values : Series, Coded or array of shape (rows,)
        Numbers, bools, or texts of decimal numbers.
    what : str
        What errors call it: "column 'age'".

    Raises
    ------
    ValueError
        For times, and for other texts.
    UnreadableCell
        For what is neither a number nor a text.
    """
    if isinstance(values, Coded):
        return _numbers_of_distinct(values, what)
    plain = getattr(getattr(values, "dtype", None), "numpy_dtype", None)
    if plain is not None and plain.kind in "biuf":  # pandas' types with a mask
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    cells = cells_of(values)
    if cells.dtype.kind in "biuf":
        return np.asarray(cells, dtype=np.float64)
    if cells.dtype.kind == "c":
        raise ValueError(f"{what} must hold real numbers. Complex data not supported")
    return _numbers_of_objects(cells.tolist() if cells.dtype.kind not in "mM" else list(cells), what)


def codes_of(values: Any, vocabulary: Sequence[str], what: str) -> Column:
    """Return positions in `vocabulary`: its length for a value that is not in it, NaN where one is missing.

    Each distinct value is looked up once.

    Parameters
    ----------
    values : Series, Coded or array of shape (rows,)
        Texts, numbers, bools or days.
    vocabulary : sequence of str
        The categories, or the classes.
    what : str
        What errors call it: "column 'plan'".

    Raises
    ------
    ValueError
        For times, apart from days, which are texts such as "2024-01-31".
    UnreadableCell
        For what has no text.
    """
    position = {text: float(place) for place, text in enumerate(vocabulary)}
    places, distinct = distinct_of(values)
    found = [_code(cell, position) for cell in distinct]
    return _spread(found, places, f"{what} must hold categories")


def _numbers_of_distinct(values: Coded, what: str) -> Column:
    return _spread([_number(cell) for cell in values.distinct], values.places, f"{what} must hold numbers")


def _spread(found: list[Union[float, str]], places: npt.NDArray[Any], what: str) -> Column:
    """Return what was found of each cell's distinct value, or refuse the first row whose value was refused."""
    # The last one is of the place -1, where a value is missing.
    refused = np.array([*(isinstance(one, str) for one in found), False])
    if refused.any() and refused[places].any():
        row = int(np.argmax(refused[places]))
        _refuse(what, row, str(found[places[row]]))
    numbers: Column = np.array([*(np.nan if isinstance(one, str) else one for one in found), np.nan])
    return np.asarray(numbers[places])


def cells_of(values: Any) -> npt.NDArray[Any]:
    """Return a column as an array, without a copy where it is one."""
    if isinstance(values, Coded):
        return values.cells()
    if isinstance(values, np.ma.MaskedArray):
        return without_mask(values)
    # Types of pandas' own, such as texts, periods and times with a zone, become objects.
    is_plain = isinstance(getattr(values, "dtype", None), np.dtype)
    return np.asarray(values) if is_plain else np.asarray(values, dtype=object)


def without_mask(masked: Any) -> npt.NDArray[Any]:
    """Return the array with NaN or None where it is masked."""
    mask: npt.NDArray[np.bool_] = np.ma.getmaskarray(masked)  # type: ignore[no-untyped-call]
    if not mask.any():
        return np.asarray(masked.data)
    cells = masked.data.astype(np.float64 if masked.dtype.kind in "biuf" else object)
    cells[mask] = np.nan if cells.dtype.kind == "f" else None
    return np.asarray(cells)


def with_mask(cells: npt.NDArray[Any], missing: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Return the array with a mask, so that integers stay integers."""
    return np.ma.MaskedArray(cells, missing)  # type: ignore[no-untyped-call]


def count_inexact(values: Any, numbers: Column, low: float, high: float) -> int:
    """Count whole numbers between `low` and `high` that float64 does not hold."""
    if max(-low, high) <= LARGEST_WHOLE:
        return 0
    cells = values.data if isinstance(values, np.ma.MaskedArray) else cells_of(values)
    if cells.dtype.kind == "f":
        return 0
    rows = np.flatnonzero((np.abs(numbers) >= LARGEST_WHOLE) & (numbers >= low) & (numbers <= high))
    return sum(_whole(cells[row]) not in (None, int(numbers[row])) for row in rows)


def _whole(cell: Any) -> Optional[int]:
    """Return the whole number that a cell is or writes; None for others."""
    if not isinstance(cell, (str, bytes)):
        return int(cell) if hasattr(cell, "__index__") else None
    digits = text_of(cell).strip()
    return int(digits) if digits.lstrip("+-").isdigit() else None


def _refuse(what: str, row: int, holds: str) -> NoReturn:
    kind = UnreadableCell if holds in (_OTHER, _NO_TEXT) else ValueError
    raise kind(f"{what}; row {row}, counted from 0, holds {holds}")


def _numbers_of_objects(cells: list[Any], what: str) -> Column:
    if set(map(type, cells)) <= _PLAIN_TYPES:
        try:
            return np.array(cells, dtype=np.float64)
        except OverflowError:
            pass  # found below, with its row
    numbers = np.empty(len(cells))
    for row, cell in enumerate(cells):
        number = _number(cell)
        if isinstance(number, str):
            _refuse(f"{what} must hold numbers", row, number)
        numbers[row] = number
    return numbers


def _number(cell: Any) -> Union[float, str]:
    """Return the number of a cell, or what it holds instead."""
    if isinstance(cell, (str, bytes)):
        return _number_of_text(cell)
    if is_missing(cell):
        return np.nan
    if is_time(cell):
        return _TIME
    if isinstance(cell, (complex, np.complexfloating)):
        return _NUMBER
    try:
        return float(cell)
    except OverflowError:
        return _NUMBER
    except Exception:  # which may quote the cell
        return _OTHER


def _number_of_text(cell: Union[str, bytes]) -> Union[float, str]:
    """Read a text as files are read."""
    try:
        text = text_of(cell)
        text.encode()
    except UnicodeError:
        return _TEXT
    if text == "":
        return np.nan
    number = _core.parse_number(text)
    return _TEXT if number is None else number


def _code(cell: Any, position: dict[str, float]) -> Union[float, str]:
    """Return the code of a cell, or what it holds instead."""
    if is_missing(cell):
        return np.nan
    if is_moment(cell):
        return _MOMENT
    try:
        text = text_of(cell)
    except Exception:  # which may quote the cell
        return _NO_TEXT
    if text not in position and not isinstance(cell, (str, bytes)):
        text = _OTHER_NAMES.get(text, text)
    return position.get(text, float(len(position)))


def distinct_of(values: Any) -> tuple[npt.NDArray[Any], list[Any]]:
    """Return the place of every cell's value among the distinct ones, -1 where it is missing, and these."""
    if isinstance(values, Coded):
        return values.places, values.distinct
    # An integer of such an array is a float without the mask.
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind != "O":
        distinct, places = np.unique(values.data, return_inverse=True)
        places[np.ma.getmaskarray(values)] = -1  # type: ignore[no-untyped-call]
        return places, list(distinct)
    if hasattr(values, "cat"):
        return values.cat.codes.to_numpy(), list(values.cat.categories)
    if hasattr(values, "factorize"):
        try:
            places, distinct = values.factorize()
            return places, list(distinct)
        except Exception:
            pass  # lists, say, are looked at one by one
    cells = cells_of(values)
    if cells.dtype.kind != "O":
        distinct, places = np.unique(cells, return_inverse=True)
        return places, list(distinct)
    return _distinct_objects(cells)


def _distinct_objects(cells: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], list[Any]]:
    seen: dict[Any, int] = {}
    distinct: list[Any] = []
    places = np.empty(len(cells), dtype=np.intp)
    for row, cell in enumerate(cells):
        try:
            place = seen.setdefault((type(cell), cell), len(distinct))
        except Exception:  # it has no hash
            place = len(distinct)
        if place == len(distinct):
            distinct.append(cell)
        places[row] = place
    return places, distinct
