"""What a test in Python does on a machine that lacks something that it needs, such as a package."""

import os
import unittest

IN_CI = bool(os.environ.get("CI"))


def skip(advice):
    """Skips the test of unittest or pytest that runs. In continuous integration everything is installed, and a skipped
    test would pass unnoticed: there it fails. Real data that is missing is another matter: tests skip without it.

    A script skips itself with the exit code 77 instead, of which run_test makes the same.
    """
    if IN_CI:
        raise AssertionError(f"{advice}; tests/run.sh installs what tests need, and with CI set nothing is skipped")
    raise unittest.SkipTest(advice)
