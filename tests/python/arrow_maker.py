"""Makes tables as Arrow's C data interface hands them over: sound ones of every type, and ones that are wrong.

It has definitions of its own of the interface's structs, and knows nothing of how the package reads them. Buffers
are spoilt when they are released, so that whoever reads them later reads something else, and each release is counted.
"""

import ctypes
import dataclasses
import datetime
import decimal
import itertools
import struct
from typing import Any, Optional

RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
GET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
LAST_ERROR = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
DESTRUCTOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Schema(ctypes.Structure):
    _fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p),
                ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64), ("children", ctypes.c_void_p),
                ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]


class Array(ctypes.Structure):
    _fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.c_void_p),
                ("children", ctypes.c_void_p), ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p),
                ("private_data", ctypes.c_void_p)]


class Stream(ctypes.Structure):
    _fields_ = [("get_schema", ctypes.c_void_p), ("get_next", ctypes.c_void_p), ("get_last_error", ctypes.c_void_p),
                ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]


KINDS = {b"arrow_schema": Schema, b"arrow_array": Array, b"arrow_array_stream": Stream}

_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi))
_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))


@DESTRUCTOR
def _destroy(capsule):
    """Releases what nobody took."""
    name = _capsule_name(capsule)
    held = KINDS[name].from_address(_capsule_pointer(capsule, name))
    if held.release:
        RELEASE(held.release)(ctypes.addressof(held))


# Whoever holds a struct may call it after all else is gone: producers stay until the process ends.
_PRODUCERS = []


def capsule_of(held, name, producer):
    _PRODUCERS.append(producer)
    return _new_capsule(ctypes.addressof(held), name, ctypes.cast(_destroy, ctypes.c_void_p))


@dataclasses.dataclass
class Cells:
    """A column, or a batch of columns. What is not given follows from the rest."""

    format: Any
    length: int
    buffers: list
    null_count: int = -1
    offset: int = 0
    name: Optional[str] = "x"
    children: list = dataclasses.field(default_factory=list)
    dictionary: Optional["Cells"] = None
    metadata: Optional[bytes] = None
    n_buffers: Optional[int] = None
    n_children: Optional[int] = None
    array_children: Optional[list] = None  # None in it: a pointer to nothing
    no_dictionary: bool = False            # in the array
    no_buffers: bool = False


class Producer:
    """Hands out one stream, or one array, and watches what becomes of it.

    Attributes
    ----------
    made, released : how many structs there were, and how often one was released
    told : the stream's error, if it has one
    """

    def __init__(self, batches, *, types=None, schema_error=0, next_error=0, after=0, told=b"the disk is on fire",
                 without=(), no_schema=False):
        self.made = self.released = self.doubly = 0
        self._batches, self._types = list(batches), types or batches[0]
        self._schema_error, self._next_error, self._after = schema_error, next_error, after
        self._told = ctypes.create_string_buffer(told) if told is not None else None
        self._without, self._no_schema = without, no_schema
        self._kept = []  # callbacks, structs and buffers
        self._alive = set()

    # ---- structs

    def _releases(self, held, spoil=()):
        number = len(self._kept)
        self._alive.add(number)
        self.made += 1

        @RELEASE
        def release(address):
            moved = type(held).from_address(address)
            if number in self._alive:
                self._alive.discard(number)
                self.released += 1
                for buffer in spoil:
                    ctypes.memset(buffer, 0xAA, len(buffer))
            else:
                self.doubly += 1
            moved.release = None

        self._kept.append((held, release, spoil))
        held.release = ctypes.cast(release, ctypes.c_void_p)

    def _keep(self, thing):
        self._kept.append(thing)
        return ctypes.addressof(thing)

    def _pointers(self, things):
        return self._keep((ctypes.c_void_p * max(1, len(things)))(*things))

    def _fill_schema(self, held, cells, is_child=False):
        held.format = cells.format.encode() if isinstance(cells.format, str) else cells.format
        held.name = None if cells.name is None else cells.name.encode()
        if cells.metadata is not None:
            held.metadata = self._keep(ctypes.create_string_buffer(cells.metadata))
        children = [self._child(Schema, one, self._fill_schema) for one in cells.children]
        held.n_children, held.children = len(children), self._pointers(children) if children else None
        if cells.dictionary is not None:
            held.dictionary = self._child(Schema, cells.dictionary, self._fill_schema)
        if not is_child:
            self._releases(held)

    def _child(self, kind, cells, fill):
        made = kind()
        fill(made, cells, True)
        return self._keep(made)

    def _fill_array(self, held, cells, is_child=False, spoil=None):
        spoil = [] if spoil is None else spoil
        pointers = []
        for buffer in cells.buffers:
            if buffer is not None:
                buffer = ctypes.create_string_buffer(buffer, len(buffer) + 1)
                spoil.append(buffer)
            pointers.append(None if buffer is None else ctypes.addressof(buffer))
        held.length, held.null_count, held.offset = cells.length, cells.null_count, cells.offset
        held.n_buffers = len(pointers) if cells.n_buffers is None else cells.n_buffers
        held.buffers = None if cells.no_buffers else self._pointers(pointers)
        given = cells.children if cells.array_children is None else cells.array_children
        fill = lambda made, one, _: self._fill_array(made, one, True, spoil)
        children = [None if one is None else self._child(Array, one, fill) for one in given]
        held.n_children = len(children) if cells.n_children is None else cells.n_children
        held.children = self._pointers(children) if children else None
        if cells.dictionary is not None and not cells.no_dictionary:
            held.dictionary = self._child(Array, cells.dictionary, fill)
        if not is_child:
            self._releases(held, spoil)

    # ---- what is handed out

    def stream(self):
        held, left = Stream(), iter(self._batches)
        count = itertools.count()

        @GET
        def get_schema(_, out):
            if not self._schema_error and not self._no_schema:
                self._fill_schema(Schema.from_address(out), self._types)
            return self._schema_error

        @GET
        def get_next(_, out):
            if self._next_error and next(count) == self._after:
                return self._next_error
            batch = next(left, None)
            if batch is None:
                Array.from_address(out).release = None
            else:
                self._fill_array(Array.from_address(out), batch)
            return 0

        @LAST_ERROR
        def get_last_error(_):
            return None if self._told is None else ctypes.addressof(self._told)

        for name, callback in (("get_schema", get_schema), ("get_next", get_next), ("get_last_error", get_last_error)):
            if name not in self._without:
                setattr(held, name, ctypes.cast(callback, ctypes.c_void_p))
            self._kept.append(callback)
        self._releases(held)
        return capsule_of(held, b"arrow_array_stream", self)

    def array(self):
        schema, array = Schema(), Array()
        self._fill_schema(schema, self._types)
        self._fill_array(array, self._batches[0])
        return capsule_of(schema, b"arrow_schema", self), capsule_of(array, b"arrow_array", self)

    def schema(self):
        held = Schema()
        self._fill_schema(held, self._types)
        return capsule_of(held, b"arrow_schema", self)


class _Handed:
    """A table or a column of Arrow."""

    def __init__(self, *batches, **more):
        self.producer = Producer(batches, **more)


class ByStream(_Handed):
    def __arrow_c_stream__(self, requested_schema=None):
        assert requested_schema is None
        return self.producer.stream()


class ByArray(_Handed):
    def __arrow_c_array__(self, requested_schema=None):
        assert requested_schema is None
        return self.producer.array()


def table(*columns, **more):
    """A batch of columns, each as long as the first."""
    length = more.pop("length", columns[0].length if columns else 0)
    return Cells("+s", length, [None], null_count=0, name="", children=list(columns), **more)


# ---- columns of every type


def bits(values):
    packed = bytearray((len(values) + 7) // 8)
    for place, value in enumerate(values):
        packed[place // 8] |= bool(value) << place % 8
    return bytes(packed)


def validity(values):
    """A bitmap where something is missing, and None where nothing is."""
    return bits([value is not None for value in values]) if None in values else None


NUMBERS = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q", "e": "e", "f": "f", "g": "d"}


def numbers(format, values, **more):
    packed = b"".join(struct.pack("<" + NUMBERS[format], 77 if value is None else value) for value in values)
    return Cells(format, len(values), [validity(values), packed], **more)


def stored_as(format, kind, values, **more):
    """A type that is stored as numbers: days, times, moments."""
    return dataclasses.replace(numbers(kind, values, **more), format=format)


def bools(values, **more):
    return Cells("b", len(values), [validity(values), bits(values)], **more)


def nulls(count, **more):
    return Cells("n", count, [], null_count=count, **more)


def _bytes(value):
    return b"" if value is None else value.encode() if isinstance(value, str) else value


def texts(format, values, **more):
    cells = [_bytes(value) for value in values]
    ends = list(itertools.accumulate(map(len, cells), initial=0))
    offsets = struct.pack(f"<{len(ends)}{'i' if format in 'uz' else 'q'}", *ends)
    return Cells(format, len(values), [validity(values), offsets, b"".join(cells)], **more)


def views(values, format="vu", **more):
    """Texts as views; long ones lie in two buffers by turns."""
    packed, far = b"", [b"", b""]
    for place, cell in enumerate(map(_bytes, values)):
        if len(cell) <= 12:
            packed += struct.pack("<i12s", len(cell), cell)
        else:
            packed += struct.pack("<i4sii", len(cell), cell[:4], place % 2, len(far[place % 2]))
            far[place % 2] += cell
    sizes = struct.pack("<2q", *map(len, far))
    return Cells(format, len(values), [validity(values), packed, *far, sizes], **more)


def of_one_length(length, values, **more):
    packed = b"".join(b"\0" * length if value is None else _bytes(value).ljust(length, b"\0") for value in values)
    return Cells(f"w:{length}", len(values), [validity(values), packed], **more)


def decimals(values, precision=38, scale=0, bits=128, **more):
    """Whole numbers, which stand for themselves divided by ten to the `scale`."""
    packed = b"".join((0 if value is None else value).to_bytes(bits // 8, "little", signed=True) for value in values)
    format = f"d:{precision},{scale}" + ("" if bits == 128 else f",{bits}")
    return Cells(format, len(values), [validity(values), packed], **more)


def coded(codes, values, kind="i", **more):
    """A dictionary of `values`, which is a column."""
    return dataclasses.replace(numbers(kind, codes, **more), dictionary=values)


def metadata(**pairs):
    packed = struct.pack("<i", len(pairs))
    for name, value in pairs.items():
        for text in (name.replace("__", ":").encode(), value.encode()):
            packed += struct.pack("<i", len(text)) + text
    return packed


def extension(cells, name):
    return dataclasses.replace(cells, metadata=metadata(ARROW__extension__name=name))


# ---- columns of what Python and pandas hold


class HasNoType(Exception):
    """Arrow has no type for what a column holds."""


_EPOCH = datetime.datetime(1970, 1, 1)


def column_of(values, name="x", **more):
    """The column that PyArrow makes of these values, None where one is missing: by the first that is there."""
    values = [None if _is_missing(value) else value for value in values]
    first = next((value for value in values if value is not None), None)
    make = next((make for kind, make in _MAKERS if isinstance(first, kind)), None)
    if make is None:
        raise HasNoType(type(first))
    try:
        return make(values, name=name, **more)
    except (struct.error, OverflowError):
        raise HasNoType(first) from None


def _is_missing(value):
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA
        return True


def _times(format, unit, count):
    def make(values, **more):
        return stored_as(format, "l", [None if value is None else round(count(value) * unit) for value in values], **more)

    return make


def _exact_decimals(values, **more):
    scale = max(-value.as_tuple().exponent for value in values if value is not None)
    return decimals([None if value is None else int(value.scaleb(scale)) for value in values], 38, scale, **more)


def _seconds(value):
    return (value.replace(tzinfo=None) - _EPOCH).total_seconds()


_MAKERS = [
    (type(None), lambda values, **more: nulls(len(values), **more)),
    (bool, bools),
    (int, lambda values, **more: numbers("l", values, **more)),
    (float, lambda values, **more: numbers("g", values, **more)),
    (decimal.Decimal, _exact_decimals),
    (str, lambda values, **more: views(values, **more)),
    (bytes, lambda values, **more: texts("z", values, **more)),
    (datetime.datetime, _times("tsu:", 10**6, _seconds)),
    (datetime.date, lambda values, **more: stored_as(
        "tdD", "i", [None if value is None else (value - _EPOCH.date()).days for value in values], **more)),
    (datetime.time, _times("ttu", 10**6, lambda value: value.hour * 3600 + value.minute * 60 + value.second)),
    (datetime.timedelta, _times("tDu", 10**6, datetime.timedelta.total_seconds)),
]


def is_whole(producer):
    """Whether all that was handed out was released once."""
    return producer.released == producer.made and producer.doubly == 0
