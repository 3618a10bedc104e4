"""GDAL's layers as a producer of Arrow that nobody here wrote. Its release of 2022 knows no capsules, so they are made here."""

import ctypes

import arrow_maker as make


class Layer:
    """A layer of OGR as an Arrow stream: each struct and each release callback is GDAL's."""

    def __init__(self, layer, batch_rows=65_536):
        self._stream = layer.GetArrowStream(["INCLUDE_FID=NO", f"MAX_FEATURES_IN_BATCH={batch_rows}"])

    def __arrow_c_stream__(self, requested_schema=None):
        held = make.Stream()

        @make.GET
        def get_schema(_, out):
            _move(self._stream.GetSchema(), make.Schema, out)
            return 0

        @make.GET
        def get_next(_, out):
            array = self._stream.GetNextRecordBatch()
            if array is None:
                make.Array.from_address(out).release = None
            else:
                _move(array, make.Array, out)
            return 0

        @make.RELEASE
        def release(address):
            make.Stream.from_address(address).release = None
            self._stream = None  # a layer has one at a time

        self._kept = (held, get_schema, get_next, release)
        for name, callback in (("get_schema", get_schema), ("get_next", get_next), ("release", release)):
            setattr(held, name, ctypes.cast(callback, ctypes.c_void_p))
        return make.capsule_of(held, b"arrow_array_stream")


def _move(wrapped, kind, out):
    """Moves a struct out of GDAL's wrapper, which then has nothing to release."""
    held = kind.from_address(int(wrapped._getPtr()))
    ctypes.memmove(out, ctypes.addressof(held), ctypes.sizeof(kind))
    held.release = None
