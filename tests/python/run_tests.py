#!/usr/bin/python3
"""Runs some of these tests: run_tests.py FILE... Exit code 77, with what is missing, where they cannot run."""

import importlib.util
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
BIN = pathlib.Path(os.environ.get("COPPICE_BIN_DIR", HERE.parents[1] / "build/release/bin"))
RUN_TEST = BIN.parent / "tests/run_test"
NEEDED = ["grpc", "matplotlib", "pandas", "pytest", "sklearn"]


def main():
    # Ends curators and relays even if this process is killed, as CTest does by itself.
    if not os.environ.get("COPPICE_TEST_KEPT") and os.access(RUN_TEST, os.X_OK):
        os.execv(RUN_TEST, [RUN_TEST, sys.executable, *sys.argv])
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print("skipped: no", ", ".join(missing), "here; tests/python/packages.txt lists the packages", file=sys.stderr)
        return 77
    import pytest

    files = [str(HERE / name) for name in sys.argv[1:]]
    return pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", str(HERE), *files])


sys.exit(main())
