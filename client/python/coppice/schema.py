"""Schemas from a file, a dict, or bounds and categories given with a table.

A schema is public. So nothing in this module reads a value of a row unless the caller asks by name
(`classes="from y"`, `categories="from dtypes"`), and then it says so.
"""

from __future__ import annotations

import datetime
import json
import math
import numbers
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional, Union

from coppice._core import Schema

Pair = tuple[float, float]
Bounds = Union[Pair, Mapping[Any, Pair], Sequence[Pair]]
Categories = Union[str, Mapping[Any, Sequence[Any]]]
SchemaLike = Union[Schema, Mapping[str, Any], str, "os.PathLike[str]"]

FROM_DTYPES = "from dtypes"
FROM_Y = "from y"

# Where a schema file says that bounds, categories and classes come from.
_DECLARED = "declared"
_PRIVATE_ROWS = "from private rows"
_UNSAID_ROWS = "from these rows"


class LeakWarning(UserWarning):
    """Something public was read from private rows, because the caller asked for it."""


def as_schema(given: SchemaLike) -> Schema:
    """Return the schema that a `Schema`, a dict, JSON text or the path of a file stands for.

    Raises
    ------
    ValueError
        With everything that is wrong in it.
    """
    if isinstance(given, Schema):
        return given
    if isinstance(given, Mapping):
        return Schema.from_json(json.dumps(dict(given), default=_plain))
    text = os.fspath(given)
    return Schema.from_json(text) if text.lstrip().startswith("{") else Schema.from_file(text)


def _plain(value: Any) -> Any:
    """Return a number of NumPy as Python's."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a schema cannot hold {value!r}")


def text_of(value: Any) -> str:
    """Write a category or a class as schemas have it: whole numbers without a point, bytes as UTF-8."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
        if float(value).is_integer():
            return str(int(value))
    return str(value)


def is_missing(value: Any) -> bool:
    """Tell whether a value means missing: None, NaN, NaT, pandas.NA or an empty text."""
    if value is None:
        return True
    try:
        return bool(value != value) or value in ("", b"")
    except TypeError:  # pandas.NA has no truth
        return True
    except Exception:  # an array has several
        return False


def is_time(value: Any) -> bool:
    """Tell a date, a time or a duration, of Python, NumPy or pandas."""
    # By the name, so that neither NumPy nor pandas is loaded, and nothing of the value is looked at.
    is_other = type(value).__name__ in ("datetime64", "timedelta64", "Period")
    return is_other or isinstance(value, (datetime.date, datetime.time, datetime.timedelta))


def is_moment(value: Any) -> bool:
    """Tell a time whose text depends on what holds it. A day's, a time of day's and a period's do not."""
    is_plain = type(value) in (datetime.date, datetime.time) or type(value).__name__ == "Period"
    return is_time(value) and not is_plain


def text_row(row: Any) -> dict[str, str]:
    """Write a device's row as text. What is missing, and what has no text, is left out."""
    text = {}
    for name, value in row.items():
        try:
            if not is_missing(value):
                named, written = str(name), text_of(value)
                named.encode()
                written.encode()
                text[named] = written
        except Exception:
            continue  # an error would tell what the row holds
    return text


def declare_schema(
    columns: Sequence[str],
    *,
    bounds: Optional[Bounds] = None,
    categories: Optional[Categories] = None,
    classes: Optional[Sequence[Any]] = None,
    target_bounds: Optional[Pair] = None,
    label: str = "label",
    dtypes: Optional[Any] = None,
    classes_from_rows: bool = False,
) -> Schema:
    """Declare a schema by bounds and categories.

    Parameters
    ----------
    columns : sequence of str
        Names of the features, in order.
    bounds : pair, mapping or sequence of pairs, optional
        `(low, high)` for every numeric feature, or one pair per name, or one per column.
    categories : mapping or "from dtypes", optional
        The values of each categorical feature. "from dtypes" takes those of pandas' categorical types,
        which are private wherever pandas found them in the rows.
    classes : sequence, optional
        What is predicted: two or more classes.
    target_bounds : pair, optional
        What is predicted: a number in this range.
    label : str
        Name of what is predicted.
    dtypes : sequence, Arrow schema or Arrow table, optional
        pandas' types of the columns, which tell numbers from categories; or those of Arrow, by name, of
        which no row is read.
    classes_from_rows : bool
        Whether the classes were read from private rows. The schema is marked then, as it is where
        categories come from types, and certificates say that no epsilon covers these columns.

    Returns
    -------
    Schema
    """
    names = [str(name) for name in columns]
    types = _types_of(names, dtypes)
    values = _values_by_name(names, types, categories)
    numeric = [name for name in names if name not in values]
    limits = _bounds_by_name(names, numeric, bounds)
    origins = {
        name: _UNSAID_ROWS if categories == FROM_DTYPES and hasattr(dtype, "categories") else _DECLARED
        for name, dtype in zip(names, types)
    }
    features: list[dict[str, Any]] = [
        {"name": name, "type": "categorical", "values": values[name], "bounds": origins[name]}
        if name in values
        else {"name": name, "type": "numeric", "min": limits[name][0], "max": limits[name][1]}
        for name in names
    ]
    label = _free_name(label, set(names))
    declared: dict[str, Any] = {"features": features, "label": label}
    if target_bounds is not None:
        declared["target_min"], declared["target_max"] = _as_pair(target_bounds, "target_bounds")
    else:
        declared["classes"] = _texts_of(classes or [], "classes")
        declared["bounds"] = _PRIVATE_ROWS if classes_from_rows else _DECLARED
    return as_schema(declared)


def _types_of(names: Sequence[str], dtypes: Any) -> list[Any]:
    """Return a type per column, None where none is known."""
    if dtypes is None:
        return [None] * len(names)
    from coppice import _arrow  # which loads NumPy

    if not _arrow.has_arrow_types(dtypes):
        return list(dtypes)
    found = _arrow.arrow_types(dtypes)
    without = [name for name in names if name not in found]
    if without:
        raise ValueError(f"dtypes has no column {_some(without)}")
    return [found[name] for name in names]


def _free_name(label: str, names: set[str]) -> str:
    while label in names:
        label += "_"
    return label


def _texts_of(values: Iterable[Any], what: str) -> list[str]:
    listed = list(values)
    if any(is_moment(value) for value in listed):
        raise ValueError(f"{what} are times, which are written in several ways: declare them as texts")
    return [text_of(value) for value in listed]


def _as_pair(given: Any, what: str) -> Pair:
    if not _is_pair(given):
        raise ValueError(f"{what} must be two numbers, the lower one first, not {given!r}")
    low, high = float(given[0]), float(given[1])
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"{what} must be two finite numbers, the lower one first, not {given!r}")
    return low, high


def _is_pair(given: Any) -> bool:
    try:
        low, high = given
        float(low), float(high)
    except (TypeError, ValueError):
        return False
    return not isinstance(given, (str, Mapping)) and not is_time(low) and not is_time(high)


def _by_name(names: Sequence[str], given: Mapping[Any, Any], what: str) -> dict[str, Any]:
    """Take keys that are names or positions."""
    known = set(names)
    result = {}
    for key, value in given.items():
        is_position = isinstance(key, numbers.Integral) and str(key) not in known
        name = names[int(key)] if is_position and 0 <= key < len(names) else str(key)
        if name not in known:
            raise ValueError(f"{what} names {key!r}, which is no column; there are {_some(names)}")
        result[name] = value
    return result


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _bounds_by_name(
    names: Sequence[str], numeric: Sequence[str], bounds: Optional[Bounds]
) -> dict[str, Pair]:
    if not numeric:
        return {}
    if bounds is None:
        lines = ", ".join(f"{name!r}: (LOW, HIGH)" for name in numeric[:3])
        more = ", ..." if len(numeric) > 3 else ""
        raise ValueError(
            "bounds are public and are never read off the rows: declare them by what you know of "
            f"the columns, as bounds={{{lines}{more}}} or, for all of them alike, bounds=(LOW, HIGH)"
        )
    if _is_pair(bounds):
        return {name: _as_pair(bounds, "bounds") for name in numeric}
    if isinstance(bounds, Mapping):
        found = _by_name(names, bounds, "bounds")
    else:
        pairs = list(bounds)
        if len(pairs) != len(names):
            raise ValueError(
                f"bounds has {len(pairs)} pairs and there are {len(names)} columns: give one per "
                "column, a mapping by name, or one pair for all"
            )
        found = dict(zip(names, pairs))
    without = [name for name in numeric if name not in found]
    if without:
        raise ValueError(f"bounds says nothing of {_some(without)}: add {without[0]!r}: (LOW, HIGH)")
    return {name: _as_pair(found[name], f"bounds[{name!r}]") for name in numeric}


def _values_by_name(
    names: Sequence[str], types: Sequence[Any], categories: Optional[Categories]
) -> dict[str, list[str]]:
    """Return the values of each categorical column."""
    if isinstance(categories, str):
        if categories != FROM_DTYPES:
            raise ValueError(f"categories must be a mapping or {FROM_DTYPES!r}, not {categories!r}")
        found = _values_of_dtypes(names, types)
    else:
        found = {
            name: _texts_of(values, f"categories of {name!r}")
            for name, values in _by_name(names, categories or {}, "categories").items()
        }
    without = []
    for name, dtype in zip(names, types):
        if name in found or dtype is None:
            continue
        if getattr(dtype, "kind", "O") == "b":
            found[name] = ["False", "True"]  # known by the type alone
        elif getattr(dtype, "kind", "O") in "mM":
            raise ValueError(f"column {name!r} holds times: turn them into numbers, such as days, first")
        elif getattr(dtype, "kind", "O") not in "iuf":
            without.append(name)
    if without:
        raise ValueError(
            "categories are public and are never read off the rows: declare those of "
            f"{_some(without)}, as categories={{{without[0]!r}: [VALUE, ...]}}; where the types of "
            f"the DataFrame list what is public, categories={FROM_DTYPES!r}"
        )
    return found


def _values_of_dtypes(names: Sequence[str], types: Sequence[Any]) -> dict[str, list[str]]:
    found = {
        name: _texts_of(dtype.categories, f"categories of {name!r}")
        for name, dtype in zip(names, types)
        if hasattr(dtype, "categories")
    }
    if found:
        warnings.warn(
            f"the categories of {_some(list(found))} are those of their types: where pandas found "
            "them in the rows, they tell which values occur",
            LeakWarning,
            stacklevel=2,
        )
    return found
