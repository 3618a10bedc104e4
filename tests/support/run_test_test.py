#!/usr/bin/env python3
"""A test that ends, however it does, leaves no process behind, and does not skip itself in continuous integration.

    run_test_test.py BUILD_DIR

Each test starts a real test with a mark in its environment, which all that it starts inherits, kills a process of it
once its server runs, and waits until no process has the mark.
"""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest
import uuid

import missing_package  # next to this file
from eventually import eventually

BUILD = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
RUN_TEST = BUILD / "tests/run_test"
POSTGRES = pathlib.Path("/usr/lib/postgresql/15/bin/initdb")


def unkept(**more):
    """The environment of a test that nobody keeps yet, as this one is."""
    kept = ("COPPICE_TEST_KEPT", "CI")
    return {name: value for name, value in os.environ.items() if name not in kept} | more


class MarkedTest:
    """A command, and the processes that it starts."""

    def __init__(self, *command):
        self._mark = f"COPPICE_MARK={uuid.uuid4()}"
        name, value = self._mark.split("=")
        places = {"COPPICE_SOURCE_DIR": str(SOURCE), "COPPICE_BIN_DIR": str(BUILD / "bin"),
                  "PYTHONPATH": str(BUILD / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
        self.process = subprocess.Popen(command, env=unkept(**{name: value}, **places), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)

    def names(self):
        """The name of each process of it, by number; what has ended and is only not waited for is left out."""
        found = {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self._mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found[int(folder.name)] = (folder / "comm").read_text().strip()
        return found

    def wait_until(self, holds, what):
        eventually(lambda: holds(self.names()), lambda: f"{what}: {self.names()}")

    def wait_for(self, server):
        self.wait_until(lambda names: server in names.values() or self.process.poll() is not None, f"no {server} runs")
        if self.process.poll() is not None:
            raise AssertionError(f"the test ended before its {server} ran")

    def end(self):
        for number in self.names():
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self.process.wait()


def parent_of(number):
    return int(pathlib.Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[1])


class EndedTest(unittest.TestCase):
    def start(self, *command):
        test = MarkedTest(*map(str, command))
        self.addCleanup(test.end)
        return test

    def assert_nothing_is_left(self, test):
        test.process.wait()
        test.wait_until(lambda names: not names, "processes are left behind")

    def test_postgres_ends_with_a_test_program_that_is_killed(self):
        if not POSTGRES.exists():
            missing_package.skip("PostgreSQL is not installed: tests/packages.txt")
        test = self.start(BUILD / "tests/postgres_integration_tests", "--file=postgres_test")
        test.wait_for("postgres")
        test.process.kill()
        self.assert_nothing_is_left(test)

    def test_a_daemon_ends_with_a_test_program_that_is_killed(self):
        test = self.start(BUILD / "tests/integration_tests", "--file=crash_test")
        test.wait_for("coppiced")
        test.process.kill()
        self.assert_nothing_is_left(test)

    def test_a_daemon_ends_with_a_script_that_is_killed(self):
        for runner in ([RUN_TEST], []):  # by CTest, or a person
            with self.subTest(runner=runner):
                test = self.start(*runner, SOURCE / "tests/clients/run.sh", "--", "tail", "-f", "/dev/null")
                test.wait_for("tail")
                self.assertIn("coppiced", test.names().values())
                test.process.kill()
                self.assert_nothing_is_left(test)

    def test_a_daemon_ends_with_a_test_in_python_that_is_killed(self):
        if not list((BUILD / "python/coppice").glob("_core*.so")):
            missing_package.skip("the Python package is not built here: deploy/build.sh release python")
        test = self.start("/usr/bin/python3", SOURCE / "tests/python/run_tests.py", "remote")
        test.wait_for("coppiced")
        test.process.kill()
        self.assert_nothing_is_left(test)

    def test_nothing_outlives_ctest(self):
        test = self.start("sh", "-c", f"{RUN_TEST} sh -c 'setsid sleep 100000 & sleep 100000'; true")
        test.wait_until(lambda names: list(names.values()).count("sleep") == 2, "the test does not start")
        test.process.kill()
        self.assert_nothing_is_left(test)

    def test_nothing_is_left_by_whichever_of_its_processes_is_killed(self):
        for steps in range(3):  # from the test itself to the process that CTest knows
            with self.subTest(steps=steps):
                test = self.start(RUN_TEST, "sh", "-c", "(setsid sleep 100000 &); exec tail -f /dev/null")
                test.wait_until(lambda names: {"sleep", "tail"} <= set(names.values()), "the test does not start")
                number = next(number for number, name in test.names().items() if name == "tail")
                for _ in range(steps):
                    number = parent_of(number)
                os.kill(number, signal.SIGKILL)
                self.assertEqual(test.process.wait(), -signal.SIGKILL)
                self.assert_nothing_is_left(test)

    def test_what_a_test_forgets_ends_with_it(self):
        test = self.start(RUN_TEST, "sh", "-c", "setsid sleep 100000 &")
        self.assert_nothing_is_left(test)
        self.assertEqual(test.process.returncode, 0)


class ExitCodeTest(unittest.TestCase):
    def code(self, script, **environment):
        done = subprocess.run([RUN_TEST, "sh", "-c", script], env=unkept(**environment), stderr=subprocess.PIPE,
                              check=False)
        return done.returncode, done.stderr.decode()

    def test_it_is_the_command_s(self):
        self.assertEqual(self.code("exit 0")[0], 0)
        self.assertEqual(self.code("exit 3")[0], 3)
        self.assertEqual(self.code("kill -SEGV $$")[0], -signal.SIGSEGV)

    def test_a_skip_fails_in_continuous_integration(self):
        self.assertEqual(self.code("exit 77"), (77, ""))
        self.assertEqual(self.code("exit 77", CI=""), (77, ""))
        code, said = self.code("exit 77", CI="true")
        self.assertEqual(code, 1)
        self.assertIn("CI is set", said)


class RegisteredTest(unittest.TestCase):
    def test_every_test_is_registered_by_coppice_test(self):
        for file in (SOURCE / "tests").rglob("CMakeLists.txt"):
            self.assertNotRegex(file.read_text(), re.compile(r"^\s*add_test\(", re.MULTILINE), file)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
