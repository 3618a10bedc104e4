"""DuckDB through its C interface, as a producer of Arrow that nobody here wrote.

The library comes with the package that tests/runtimes installs from npm, for Debian has none.
"""

import ctypes
import functools
import os
import pathlib

import arrow_maker as make
import missing_package
import node_packages

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = pathlib.Path(os.environ.get("COPPICE_BIN_DIR", HERE.parents[1] / "build/release/bin")).parent / "tools/runtimes"

_handle, _size, _text = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p


class _Result(ctypes.Structure):
    """`duckdb_result`, which is handed over by value."""

    _fields_ = [("columns", _size), ("rows", _size), ("changed", _size), ("column_data", _handle), ("message", _text),
                ("internal", _handle)]


_RESULT = ctypes.POINTER(_Result)
_FUNCTIONS = {
    "duckdb_open": (ctypes.c_int, _text, ctypes.POINTER(_handle)),
    "duckdb_connect": (ctypes.c_int, _handle, ctypes.POINTER(_handle)),
    "duckdb_query": (ctypes.c_int, _handle, _text, _RESULT),
    "duckdb_prepare": (ctypes.c_int, _handle, _text, ctypes.POINTER(_handle)),
    "duckdb_destroy_prepare": (None, ctypes.POINTER(_handle)),
    "duckdb_prepare_error": (_text, _handle),
    "duckdb_execute_prepared_streaming": (ctypes.c_int, _handle, _RESULT),
    "duckdb_result_error": (_text, _RESULT),
    "duckdb_destroy_result": (None, _RESULT),
    "duckdb_column_count": (_size, _RESULT),
    "duckdb_column_name": (_text, _RESULT, _size),
    "duckdb_column_logical_type": (_handle, _RESULT, _size),
    "duckdb_destroy_logical_type": (None, ctypes.POINTER(_handle)),
    "duckdb_result_get_arrow_options": (_handle, _RESULT),
    "duckdb_destroy_arrow_options": (None, ctypes.POINTER(_handle)),
    "duckdb_to_arrow_schema": (_handle, _handle, ctypes.POINTER(_handle), ctypes.POINTER(_text), _size, _handle),
    "duckdb_data_chunk_to_arrow": (_handle, _handle, _handle, _handle),
    "duckdb_fetch_chunk": (_handle, _Result),
    "duckdb_destroy_data_chunk": (None, ctypes.POINTER(_handle)),
    "duckdb_error_data_message": (_text, _handle),
    "duckdb_error_data_has_error": (ctypes.c_bool, _handle),
    "duckdb_destroy_error_data": (None, ctypes.POINTER(_handle)),
}


@functools.lru_cache
def _found():
    """The database, or why there is none."""
    reason = node_packages.install(HERE.parent / "runtimes", TOOLS, ("onnxruntime-node", "@duckdb/node-api"))
    found = sorted((TOOLS / "node_modules/@duckdb").glob("node-bindings-linux-*/libduckdb.so"))
    return Database(found[0]) if found else reason or "npm has no DuckDB for this machine"


def database():
    """The one database of this process; skips the test where there is no DuckDB."""
    found = _found()
    if isinstance(found, str):
        missing_package.skip(f"{found}: no DuckDB")
    return found


class Database:
    """A database in memory."""

    def __init__(self, library):
        self._library = ctypes.CDLL(str(library))
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments
        self._database, self._connection = _handle(), _handle()
        assert self.call("open", None, ctypes.byref(self._database)) == 0
        assert self.call("connect", self._database, ctypes.byref(self._connection)) == 0

    def call(self, name, *arguments):
        return getattr(self._library, f"duckdb_{name}")(*arguments)

    def run(self, sql):
        result = _Result()
        failed = self.call("query", self._connection, sql.encode(), ctypes.byref(result))
        told = self.call("result_error", ctypes.byref(result)) if failed else None
        self.call("destroy_result", ctypes.byref(result))
        if failed:
            raise RuntimeError(told.decode())

    def query(self, sql):
        """A relation, as DuckDB's own Python has it: the query runs when its rows are asked for."""
        return _Relation(self, self._connection, sql)


class _Relation:
    """A query, which runs into a stream: each array and each release callback is DuckDB's."""

    def __init__(self, database, connection, sql):
        self._database, self._connection, self._sql = database, connection, sql
        self._result, self.chunks = _Result(), 0

    def _run(self):
        prepared = _handle()
        call = self._database.call
        failed = call("prepare", self._connection, self._sql.encode(), ctypes.byref(prepared))
        told = call("prepare_error", prepared) if failed else None
        if not failed:
            failed = call("execute_prepared_streaming", prepared, ctypes.byref(self._result))
            told = call("result_error", ctypes.byref(self._result)) if failed else None
        call("destroy_prepare", ctypes.byref(prepared))
        if failed:
            raise RuntimeError((told or b"").decode())
        self._options = _handle(call("result_get_arrow_options", ctypes.byref(self._result)))

    def __arrow_c_stream__(self, requested_schema=None):
        self._run()
        held = make.Stream()

        @make.GET
        def get_schema(_, out):
            return self._fill_schema(out)

        @make.GET
        def get_next(_, out):
            return self._fill_next(out)

        @make.LAST_ERROR
        def get_last_error(_):
            return ctypes.cast(self._told, ctypes.c_void_p).value

        @make.RELEASE
        def release(address):
            make.Stream.from_address(address).release = None
            self._database.call("destroy_arrow_options", ctypes.byref(self._options))
            self._database.call("destroy_result", ctypes.byref(self._result))

        self._told = ctypes.c_char_p(b"")
        self._kept = (held, get_schema, get_next, get_last_error, release)
        for name, callback in (("get_schema", get_schema), ("get_next", get_next), ("get_last_error", get_last_error),
                               ("release", release)):
            setattr(held, name, ctypes.cast(callback, ctypes.c_void_p))
        return make.capsule_of(held, b"arrow_array_stream", self)

    def _fill_schema(self, out):
        call = self._database.call
        count = call("column_count", ctypes.byref(self._result))
        types = (_handle * count)(*(call("column_logical_type", ctypes.byref(self._result), i) for i in range(count)))
        names = (_text * count)(*(call("column_name", ctypes.byref(self._result), i) for i in range(count)))
        code = self._code(call("to_arrow_schema", self._options, types, names, count, out))
        for held in types:
            call("destroy_logical_type", ctypes.byref(_handle(held)))
        return code

    def _fill_next(self, out):
        call = self._database.call
        chunk = _handle(call("fetch_chunk", self._result))
        if not chunk:
            told = call("result_error", ctypes.byref(self._result))
            self._told = ctypes.c_char_p(told)
            make.Array.from_address(out).release = None
            return 5 if told else 0
        self.chunks += 1
        code = self._code(call("data_chunk_to_arrow", self._options, chunk, out))
        call("destroy_data_chunk", ctypes.byref(chunk))
        return code

    def _code(self, error):
        if not error or not self._database.call("error_data_has_error", error):
            return 0
        self._told = ctypes.c_char_p(self._database.call("error_data_message", error))
        return 5
