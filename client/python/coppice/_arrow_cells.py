"""Reads a column of an Arrow array: as an array, as one with a mask, or as distinct values.

What a buffer holds is checked as far as the interface lets a reader: it says where buffers begin, and not how
long they are. So a column's counts, offsets and codes are checked against each other, and a producer is trusted
to have as many bytes as it says. A cell's value is never quoted.
"""

from __future__ import annotations

import ctypes
import datetime
import decimal
import re
from typing import Any, NoReturn, Optional, Union

import numpy as np
import numpy.typing as npt

from coppice import _core
from coppice._arrow_structs import LARGEST, ArrayStruct, Field, Owned, refuse
from coppice._cells import LARGEST_WHOLE, Coded, distinct_of, with_mask

# An array, which may have a mask, or distinct values.
ArrowColumn = Union[npt.NDArray[Any], Coded]

_NUMBERS = {
    **{"c": "i1", "C": "u1", "s": "i2", "S": "u2", "i": "i4", "I": "u4", "l": "i8", "L": "u8"},
    **{"e": "f2", "f": "f4", "g": "f8"},
}
# By the format: of offsets.
_TEXTS = {"u": "i4", "z": "i4", "U": "i8", "Z": "i8"}
_VIEWS = ("vu", "vz")
# A view is its length and, up to twelve bytes, the text itself; beyond, a prefix, a buffer and an offset.
_VIEW = np.dtype([("length", "i4"), ("prefix", "V4"), ("buffer", "i4"), ("offset", "i4")])
_INLINE, _INLINE_AT = 12, 4

_UNITS = {"s": "s", "m": "ms", "u": "us", "n": "ns"}
_PER_DAY_MS = 86_400_000

# Their storage is what they mean. Others, such as periods, are stored as numbers that need their type.
_PLAIN_EXTENSIONS = ("", "arrow.json", "arrow.bool8")

# A dictionary with more values than this, and than cells, is cut to those that cells have.
_MANY = 4096

# Powers of ten up to here are float64.
_EXACT_POWERS = 22


def kind_of(field: Field) -> str:
    """Return the kind of a column as NumPy's types have it: "b", "i", "u", "f", "M", "m", or "O" for others."""
    if field.values is not None or field.extension not in _PLAIN_EXTENSIONS:
        return "O"
    if field.format == "b" or field.extension == "arrow.bool8":
        return "b"
    if field.format in _NUMBERS:
        return _NUMBERS[field.format][0]
    return {"d:": "f", "ts": "M", "tD": "m"}.get(field.format[:2], "O")


def read_cells(array: ArrayStruct, field: Field, begin: int, count: int, owner: Owned) -> ArrowColumn:
    """Return `count` cells from place `begin` of a column's array.

    Parameters
    ----------
    owner : Owned
        What keeps the memory. An array that is a view of it keeps the owner.

    Raises
    ------
    ValueError
        For a type that no schema can mean, with its name, and for an array that contradicts itself.
    """
    return _Cells(array, field, begin, count, owner).read()


class _Cells:
    """Some cells of one array."""

    def __init__(self, array: ArrayStruct, field: Field, begin: int, count: int, owner: Owned) -> None:
        self._array = array
        self._field = field
        self._count = count
        self._owner = owner
        if min(array.length, array.offset) < 0 or array.length + array.offset > LARGEST:
            self._refuse("has an impossible length or offset")
        if not -1 <= array.null_count <= array.length:
            self._refuse("has an impossible number of missing values")
        if begin + count > array.length:
            self._refuse(f"has {array.length} rows where its batch has more")
        self._first = array.offset + begin
        self._missing: Optional[npt.NDArray[np.bool_]] = None

    def _refuse(self, what: str) -> NoReturn:
        refuse(f"{what}, in column {self._field.name!r}")

    def read(self) -> ArrowColumn:
        field = self._field
        if field.extension not in _PLAIN_EXTENSIONS:
            raise ValueError(
                f"column {field.name!r} has the Arrow type {field.extension}, which is neither numbers nor "
                "categories here: convert it first"
            )
        if (field.values is None) != (not self._array.dictionary):
            self._refuse("has a dictionary in its type or in its values alone")
        if field.values is not None:
            return self._dictionary(field.values)
        if field.format == "n":
            return Coded(np.full(self._count, -1), [])
        return self._plain(field.format)

    def _plain(self, format: str) -> ArrowColumn:
        if format in _NUMBERS:
            numbers = self._numbers(_NUMBERS[format])
            return self._masked(numbers != 0 if self._field.extension == "arrow.bool8" else numbers)
        if format == "b":
            self._buffers(2)
            return self._masked(self._bits(1))
        if format in _TEXTS:
            return self._texts(_TEXTS[format])
        if format in _VIEWS:
            return self._views()
        if format.startswith("w:"):
            return self._texts_of_one_length(format)
        if format.startswith("d:"):
            return self._decimals(format)
        if format[:2] in ("td", "tt", "ts", "tD"):
            return self._times(format)
        raise ValueError(
            f"column {self._field.name!r} has the Arrow type {format!r}, which is neither numbers nor categories: "
            "leave it out, or convert it first"
        )

    # ---- buffers

    def _buffers(self, count: int) -> None:
        """Check the number of buffers, and read which cells are missing."""
        array = self._array
        if array.n_buffers != count or (self._count > 0 and not array.buffers):
            self._refuse(f"has {array.n_buffers} buffers where its type has {count}")
        if array.n_children != 0:
            self._refuse(f"has {array.n_children} columns inside a plain one")
        self._find_missing()

    def _find_missing(self) -> None:
        array = self._array
        if self._count == 0 or array.null_count == 0 or (array.null_count < 0 and not array.buffers[0]):
            return
        missing = ~self._bits(0)
        self._missing = missing if missing.any() else None

    def _view(self, buffer: int, type: Any, first: int, count: int) -> npt.NDArray[Any]:
        """Return cells of a buffer where they lie."""
        kind = np.dtype(type)
        if count == 0:
            return np.empty(0, dtype=kind)
        address = self._array.buffers[buffer]
        if not address:
            self._refuse("has rows and no buffer for them")
        if (first + count) * kind.itemsize > LARGEST:
            self._refuse("has more rows than memory holds")
        return view_of(address + first * kind.itemsize, kind, count, self._owner)

    def _bits(self, buffer: int) -> npt.NDArray[np.bool_]:
        """Return a bit per cell, the lowest of a byte first."""
        byte, skipped = divmod(self._first, 8)
        packed = self._view(buffer, np.uint8, byte, (skipped + self._count + 7) // 8 if self._count else 0)
        bits = np.unpackbits(packed, bitorder="little")[skipped : skipped + self._count]
        return bits.view(np.bool_)

    def _numbers(self, type: Any) -> npt.NDArray[Any]:
        self._buffers(2)
        return self._view(1, type, self._first, self._count)

    def _masked(self, cells: npt.NDArray[Any]) -> ArrowColumn:
        return cells if self._missing is None else with_mask(cells, self._missing)

    # ---- texts

    def _texts(self, offset_type: str) -> Coded:
        self._buffers(3)
        if self._count == 0:
            return Coded(np.empty(0, dtype=np.int64), [])
        offsets = self._view(1, offset_type, self._first, self._count + 1).astype(np.int64)
        if offsets[0] < 0 or (offsets[1:] < offsets[:-1]).any() or offsets[-1] > LARGEST:
            self._refuse("has offsets that do not rise")
        data = self._array.buffers[2]
        if not data and offsets[-1] > offsets[0]:
            self._refuse("has texts and no buffer for them")
        return self._distinct((data or 0) + offsets[:-1], np.diff(offsets))

    def _views(self) -> Coded:
        array = self._array
        if array.n_buffers < 3:
            self._refuse(f"has {array.n_buffers} buffers where its type has 3 or more")
        self._buffers(array.n_buffers)
        if self._count == 0:
            return Coded(np.empty(0, dtype=np.int64), [])
        views = self._view(1, _VIEW, self._first, self._count)
        lengths = views["length"].astype(np.int64)
        if self._missing is not None:
            lengths[self._missing] = 0
        if (lengths < 0).any():
            self._refuse("has a text of negative length")
        starts = np.arange(self._count, dtype=np.int64) * _VIEW.itemsize + _INLINE_AT
        starts += array.buffers[1] + self._first * _VIEW.itemsize
        far = np.flatnonzero(lengths > _INLINE)
        if len(far) > 0:
            starts[far] = self._far_starts(views[far], lengths[far])
        return self._distinct(starts, lengths)

    def _far_starts(self, views: npt.NDArray[Any], lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return where texts lie that are outside of their views."""
        buffers = self._array.n_buffers - 3
        which, offsets = views["buffer"].astype(np.int64), views["offset"].astype(np.int64)
        if (which < 0).any() or (which >= buffers).any():
            self._refuse("has a text in a buffer that it does not have")
        addresses = np.array([self._array.buffers[2 + place] or 0 for place in range(buffers)], dtype=np.int64)
        sizes = self._view(self._array.n_buffers - 1, np.int64, 0, buffers)
        if (offsets < 0).any() or (offsets + lengths > sizes[which]).any() or (addresses[which] == 0).any():
            self._refuse("has a text beyond the end of its buffer")
        return np.asarray(addresses[which] + offsets)

    def _texts_of_one_length(self, format: str) -> Coded:
        if not re.fullmatch(r"w:\d{1,9}", format):
            self._refuse(f"has the unknown type {format!r}")
        length = int(format[2:])
        self._buffers(2)
        if self._count == 0:
            return Coded(np.empty(0, dtype=np.int64), [])
        if length > 0:
            self._view(1, f"V{length}", self._first, self._count)  # which checks that it is there
        begin = (self._array.buffers[1] or 0) + self._first * length
        starts = begin + np.arange(self._count, dtype=np.int64) * length
        return self._distinct(starts, np.full(self._count, length, dtype=np.int64))

    def _distinct(self, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> Coded:
        places, found = _core.distinct_bytes(starts, lengths, self._missing)
        is_text = self._field.format in ("u", "U", "vu")
        return Coded(places, [_decoded(one) for one in found] if is_text else found)

    # ---- numbers and times

    def _decimals(self, format: str) -> ArrowColumn:
        """Return float64 where every number is one, to the last bit; texts otherwise, which are read alike."""
        said = re.fullmatch(r"d:(\d{1,3}),(-?\d{1,3})(?:,(32|64|128|256))?", format)
        if said is None:
            self._refuse(f"has the unknown type {format!r}")
        scale, words = int(said[2]), self._numbers(f"V{int(said[3] or 128) // 8}")
        whole = _whole_numbers(words, self._missing)
        if whole is not None and 0 <= scale <= _EXACT_POWERS and (np.abs(whole) <= int(LARGEST_WHOLE)).all():
            return self._masked(whole / 10.0**scale)  # both are exact, so the quotient is rounded once
        size = words.dtype.itemsize
        stored = words.tobytes()
        cells = [stored[begin : begin + size] for begin in range(0, len(stored), size)]
        seen: dict[bytes, int] = {}
        places = np.array([seen.setdefault(cell, len(seen)) for cell in cells], dtype=np.int64)
        if self._missing is not None:
            places[self._missing] = -1
        return Coded(places, [_decimal_text(int.from_bytes(one, "little", signed=True), scale) for one in seen])

    def _times(self, format: str) -> ArrowColumn:
        """Return days and times of day as Python's; moments and durations as NumPy's, which no column takes."""
        if format in ("tdD", "tdm"):
            return self._days(format)
        unit = _UNITS.get(format[2:3])
        if unit is None or (format[:2] == "ts") != (format[3:4] == ":"):
            self._refuse(f"has the unknown type {format!r}")
        if format[:2] == "tt":
            return self._times_of_day(unit)
        times = self._numbers("i8").astype(f"{'M8' if format[:2] == 'ts' else 'm8'}[{unit}]")
        if self._missing is not None:
            times[self._missing] = np.array("NaT", dtype=times.dtype)
        return times

    def _days(self, format: str) -> Coded:
        days = self._numbers("i4" if format == "tdD" else "i8").astype(np.int64)
        if format == "tdm":
            if (days % _PER_DAY_MS)[self._present()].any():
                self._refuse("has days that do not begin at midnight")
            days //= _PER_DAY_MS
        return self._python_values(days, _day)

    def _times_of_day(self, unit: str) -> Coded:
        since_midnight = self._numbers("i4" if unit in ("s", "ms") else "i8").astype(np.int64)
        return self._python_values(since_midnight, lambda number: _time_of_day(number, unit))

    def _present(self) -> Any:
        return slice(None) if self._missing is None else ~self._missing

    def _python_values(self, numbers: npt.NDArray[np.int64], convert: Any) -> Coded:
        distinct, places = np.unique(numbers, return_inverse=True)
        if self._missing is not None:
            places[self._missing] = -1
        used = np.zeros(len(distinct), dtype=bool)
        used[places[self._present()]] = True
        return Coded(places, [convert(int(one)) if is_used else None for one, is_used in zip(distinct, used)])

    # ---- dictionaries

    def _dictionary(self, values: Field) -> Coded:
        if self._field.format not in _NUMBERS or _NUMBERS[self._field.format][0] == "f":
            self._refuse(f"has a dictionary whose codes are of type {self._field.format!r}")
        if values.values is not None:
            self._refuse("has a dictionary of dictionaries")
        codes = self._numbers(_NUMBERS[self._field.format]).astype(np.int64)
        places, distinct = self._values_of_dictionary(values)
        wrong = (codes < 0) | (codes >= len(places))
        if wrong[self._present()].any():
            self._refuse("has a code that its dictionary does not have")
        if self._missing is not None:
            codes[self._missing] = len(places)
        found = np.append(places, -1)[codes]
        return Coded(found, distinct) if len(distinct) <= max(self._count, _MANY) else _used(found, distinct)

    def _values_of_dictionary(self, values: Field) -> tuple[npt.NDArray[Any], list[Any]]:
        """Return the place of each code's value, and the values; they are read once for all parts of a batch."""
        dictionary = self._array.dictionary.contents
        known = self._owner.dictionaries
        address = ctypes.addressof(dictionary)
        if address not in known:
            known[address] = distinct_of(read_cells(dictionary, values, 0, max(0, dictionary.length), self._owner))
        return known[address]


def _used(places: npt.NDArray[Any], distinct: list[Any]) -> Coded:
    """Return the cells without the values that none of them has."""
    used, moved = np.unique(places, return_inverse=True)
    absent = int(len(used) > 0 and used[0] < 0)
    return Coded(moved - absent, [distinct[place] for place in used[absent:]])


def view_of(address: int, type: np.dtype[Any], count: int, owner: Any) -> npt.NDArray[Any]:
    """Return memory as an array that cannot be written to and keeps `owner`."""
    return np.asarray(_Memory(address, type, count, owner))


class _Memory:
    """Memory as NumPy asks for it."""

    def __init__(self, address: int, type: np.dtype[Any], count: int, owner: Any) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "data": (address, True),
            "shape": (count,),
            "typestr": type.str,
            "descr": type.descr,
        }


def _decoded(text: bytes) -> Union[str, bytes]:
    """Return a text; bytes that are none are left to whoever reads the column, who knows the row."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text


def _whole_numbers(
    words: npt.NDArray[Any], missing: Optional[npt.NDArray[np.bool_]]
) -> Optional[npt.NDArray[np.int64]]:
    """Return integers of 4 to 32 bytes as int64, 0 where one is missing; None if one does not fit."""
    size = words.dtype.itemsize
    parts = np.ascontiguousarray(words).view("i4" if size == 4 else "i8").reshape(len(words), max(1, size // 8))
    cells = parts.astype(np.int64)
    if missing is not None:
        cells[missing] = 0
    if (cells[:, 1:] != (cells[:, :1] >> 63)).any() or (cells[:, 0] == np.iinfo(np.int64).min).any():
        return None
    return np.asarray(cells[:, 0])


def _decimal_text(whole: int, scale: int) -> str:
    """Write a decimal without zeros at its end, as a float64 of that value is written."""
    sign, digits, _ = decimal.Decimal(whole).as_tuple()
    text = format(decimal.Decimal((sign, digits, -scale)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _day(days: int) -> Any:
    """Return a date; NumPy's where Python's cannot be so early or late, so that it stays a time."""
    try:
        return datetime.date(1970, 1, 1) + datetime.timedelta(days)
    except OverflowError:
        return np.datetime64(days, "D")


def _time_of_day(number: int, unit: str) -> Any:
    """Return a time of day; NumPy's duration where Python's is not so fine or it is no time of a day."""
    microseconds, rest = divmod(number * {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}[unit], 1000)
    if rest != 0 or not 0 <= microseconds < 86_400 * 10**6:
        return np.timedelta64(number, unit)
    return (datetime.datetime.min + datetime.timedelta(microseconds=microseconds)).time()
