"""The structs of Arrow's C data interface, and who releases them.

Source: https://arrow.apache.org/docs/format/CDataInterface.html, CStreamInterface.html and, for the capsules,
CDataInterface/PyCapsuleInterface.html. The structs are the interface: no library is needed to read them.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Iterator
from typing import Any, NoReturn, Optional

_RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_GET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_LAST_ERROR = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)

# No process has more bytes than x86-64's or ARM's user space, so nothing in a sound table lies beyond.
LARGEST = 2**47

# More fields or pairs of metadata than any table has: a count above is taken for damage, not followed.
_MOST_FIELDS = 1_000_000


class SchemaStruct(ctypes.Structure):
    """`struct ArrowSchema`: a column's name and type."""


SchemaStruct._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(SchemaStruct))),
    ("dictionary", ctypes.POINTER(SchemaStruct)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


class ArrayStruct(ctypes.Structure):
    """`struct ArrowArray`: a column's cells, or a batch of columns."""


ArrayStruct._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrayStruct))),
    ("dictionary", ctypes.POINTER(ArrayStruct)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


class StreamStruct(ctypes.Structure):
    """`struct ArrowArrayStream`: batches of one type, which the producer makes when it is asked."""

    _fields_ = [
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.c_void_p),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


def refuse(what: str) -> NoReturn:
    """Raise the error for a table that breaks the interface's rules."""
    raise ValueError(f"rows: the Arrow table {what}: whatever made it does not keep to Arrow's C data interface")


class Owned:
    """A struct that is ours to release.

    Guarantee: its release callback is called once, at the latest with the last reference to this object or at
    the end of the process, and never for a struct that was released already.
    Threads: the callback runs in whichever thread lets go last.

    Attributes
    ----------
    struct : SchemaStruct, ArrayStruct or StreamStruct
        Not released until `release` is called.
    dictionaries : dict
        What was read of an array's dictionaries, by their addresses.
    """

    def __init__(self, struct: Any) -> None:
        self.struct = struct
        self.dictionaries: dict[int, tuple[Any, list[Any]]] = {}
        self.release = weakref.finalize(self, _release, struct)


def _release(struct: Any) -> None:
    if struct.release:
        _RELEASE(struct.release)(ctypes.addressof(struct))
    struct.release = None


def take(capsule: Any, kind: type[Any], name: str) -> Owned:
    """Move the struct out of a capsule, which is left as if it had been released.

    Raises
    ------
    TypeError
        For anything but a capsule of this name.
    ValueError
        For a capsule whose struct was taken before.
    """
    address = None
    try:
        address = _capsule_pointer(capsule, name.encode())
    except Exception:
        pass
    if not address:
        raise TypeError(f"rows: an Arrow table must come as a capsule {name!r}, and this is another object")
    given = kind.from_address(address)
    if not given.release:
        raise ValueError("rows: the Arrow table was read before: get it from its producer again")
    moved = kind()
    ctypes.memmove(ctypes.addressof(moved), address, ctypes.sizeof(kind))
    given.release = None
    return Owned(moved)


# Not as an attribute of `pythonapi`, whose argument types any library of the process may set.
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class Field:
    """A column's name and type, as Python has them.

    Attributes
    ----------
    name : str
    format : str
        The interface's name of the type: "i", "u", "tsn:UTC". Of a dictionary: that of its codes.
    values : Field, optional
        The type of the values, if this is a dictionary.
    children : int
        How many columns it is made of: those of a table, none of a plain column.
    extension : str
        The name of the extension type that it is stored for, or empty.
    """

    def __init__(self, struct: SchemaStruct) -> None:
        if struct.format is None:
            refuse("has a column without a type")
        self.name = (struct.name or b"").decode(errors="replace")
        self.format: str = struct.format.decode(errors="replace")
        self.values = Field(struct.dictionary.contents) if struct.dictionary else None
        if self.values is not None:
            self.values.name = self.name  # by which errors call it
        self.children = int(struct.n_children)
        if not 0 <= self.children <= _MOST_FIELDS or (self.children > 0 and not struct.children):
            refuse(f"has {self.children} columns in {self.name!r}")
        self.extension = _metadata(struct.metadata).get("ARROW:extension:name", "")


def fields_of(schema: Owned) -> tuple[Field, list[Field]]:
    """Return the type of a table, or of one column, and the fields of a table. Releases the struct."""
    try:
        whole = Field(schema.struct)
        if whole.format != "+s":
            return whole, []
        pointers = [schema.struct.children[place] for place in range(whole.children)]
        if not all(pointers):
            refuse("has a column without a type")
        return whole, [Field(pointer.contents) for pointer in pointers]
    finally:
        schema.release()


def _metadata(address: Optional[int]) -> dict[str, str]:
    """Return pairs of texts: their number, then each text's length and bytes, in this machine's order."""
    if not address:
        return {}
    at, texts = address + 4, []
    for _ in range(2 * _small_number(address)):
        length = _small_number(at)
        texts.append(ctypes.string_at(at + 4, length).decode(errors="replace"))
        at += 4 + length
    return dict(zip(texts[::2], texts[1::2]))


def _small_number(address: int) -> int:
    found = ctypes.c_int32.from_address(address).value
    if not 0 <= found <= _MOST_FIELDS:
        refuse("has damaged metadata")
    return found


class Stream:
    """Batches of a stream, one after another.

    Guarantee: the stream is released at its end, at the first error, and with this object.
    Errors: ValueError with the producer's own words where it gives an error.
    """

    def __init__(self, capsule: Any) -> None:
        self._owned = take(capsule, StreamStruct, "arrow_array_stream")
        schema = SchemaStruct()
        self._call("get_schema", schema)
        if not schema.release:
            self._end()
            refuse("has no types")
        self.whole, self.fields = fields_of(Owned(schema))

    def batches(self) -> Iterator[Owned]:
        """Return each batch, which is the caller's."""
        while True:
            array = ArrayStruct()
            self._call("get_next", array)
            if not array.release:
                break
            yield Owned(array)
        self._end()

    def _call(self, name: str, out: ctypes.Structure) -> None:
        stream = self._owned.struct
        callback = getattr(stream, name)
        if not callback:
            self._end()
            refuse(f"has no {name}")
        code = _GET(callback)(ctypes.addressof(stream), ctypes.addressof(out))
        if code == 0:
            return
        told = _LAST_ERROR(stream.get_last_error)(ctypes.addressof(stream)) if stream.get_last_error else None
        text = (told or os.strerror(code).encode()).decode(errors="replace")
        self._end()
        raise ValueError(f"rows: their producer stopped with an error: {text}")

    def _end(self) -> None:
        self._owned.release()
