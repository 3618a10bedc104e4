#!/usr/bin/env python3
"""A check of the tests: changes the privacy kernel and the local mechanisms one token at a time.

Each change, a mutant, is an integer or whole floating-point literal one larger; a comparison with
its boundary moved or negated; a sign, shift, increment, connective or truth value turned around.
The tests of these folders are run on each until one fails: that mutant is killed. One that passes
them all survives, and shows a gap in the tests unless it changes nothing that matters; those are
listed, with the reason, in survivors.txt. Mutants that do not compile are not counted.

The check fails if a survivor is not listed, if a listed mutant is killed or no longer exists, or
if fewer than 95 % of the mutants are killed.

  tests/mutation/check.py                                     the whole check
  tests/mutation/check.py --file common/ldp/steps.h           one file's mutants
  tests/mutation/check.py --line "while (true)"               those of the lines that hold this text
  tests/mutation/check.py --list                              prints the mutants, and runs nothing
  tests/mutation/check.py --static                            only checks that each listed mutant exists

To list a survivor, add the three lines that are printed for it to survivors.txt, and a fourth that
says why no test can find it:

  common/ldp/laplace_noise.cc
  - constexpr size_t kChunk = 512;
  + constexpr size_t kChunk = 513;
  : only speed: how many are drawn at a time

The comment after a line is no part of it.

All mutants of a file that can be are compiled together and told apart by an environment variable
(switch.h); the others, such as those of constants, are compiled one by one.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True  # leaves nothing in the source tree

import mutants as changes
from build import ROOT, Builder, CompileError, Variant
from report import report, stale_entries

# The sources to change, and the tests that must notice: these globs pick up new files. They leave out tests that are
# slow or need more than the library's folders.
SOURCES = ["common/privacy/*.cc", "common/privacy/*.h", "common/ldp/*.cc", "common/ldp/*.h", "common/ldp/payload/*.cc",
           "common/ldp/payload/*.h"]
TESTS = ["tests/common/privacy/*_test.cc", "tests/common/ldp/*_test.cc", "tests/privacy/*_test.cc"]
LIBRARY = re.compile(r"common/(base|crypto|privacy|ldp)/")
QUICK_SECONDS = 0.5  # tests this quick run first
MAX_TEST_SECONDS = 5

# Limits are in processor seconds, several times what a test takes unchanged, so that a busy machine kills no mutant.
# The wall clock only ends tests that sleep.
MIN_SECONDS = 2
SLOWEST_FACTOR = 8
MAX_WALL_SECONDS = 120
MAX_MEMORY_KIB = 4 << 20


def glob(patterns):
    return sorted(str(path.relative_to(ROOT)) for pattern in patterns
                  for path in ROOT.glob(pattern))


class CheckError(Exception):
    """The whole check is worthless."""


class Check:
    def __init__(self, work, files, jobs):
        self.builder = Builder(work)
        self.tests = [test for test in glob(TESTS)
                      if all(source == test or LIBRARY.match(source)
                             for source in self.builder.sources_of(test))
                      and any(self.builder.affected(file, test) for file in files)]
        self.jobs = jobs
        self.seconds = {}  # each test's processor time, unchanged
        self.kills = Counter()
        self.results = {}  # mutant -> "killed by x", "time-out in x", "survived", "not compiled"
        self.took = {}
        self.lock = threading.Lock()
        self.started = time.monotonic()

    def each(self, function, items):
        with ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(function, items))

    # -- running one test ----------------------------------------------------------------------

    def run(self, program, seconds, mutant=0):
        """Runs a test; returns "passed", "killed" or "time-out", and its processor time."""
        limits = (f"ulimit -c 0; ulimit -v {MAX_MEMORY_KIB}; ulimit -t {max(1, round(seconds))}; "
                  'exec "$0" --gtest_break_on_failure --gtest_brief=1')
        child = subprocess.Popen(["/bin/sh", "-c", limits, str(program)], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 env=dict(os.environ, COPPICE_MUTANT=str(mutant), COPPICE_SOURCE_DIR=str(ROOT)))
        asleep = threading.Timer(MAX_WALL_SECONDS, os.kill, (child.pid, signal.SIGKILL))
        asleep.start()
        _, status, usage = os.wait4(child.pid, 0)
        asleep.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        ended = {0: "passed", -signal.SIGKILL: "time-out", -signal.SIGXCPU: "time-out"}
        return ended.get(child.returncode, "killed"), usage.ru_utime + usage.ru_stime

    def limit(self, test):
        return MIN_SECONDS + SLOWEST_FACTOR * self.seconds[test]

    # -- before any mutant is counted ----------------------------------------------------------

    def prepare(self):
        """Checks that every test passes on the unchanged library, or its failures would say nothing."""
        self.builder.precompile(self.tests)
        sources = {source for test in self.tests for source in self.builder.sources_of(test)}
        # The tests come first, as they take longest.
        self.each(lambda source: self.builder.compile(self.builder.base, source),
                  sorted(sources, key=lambda source: (source not in self.tests, source)))

        def measure(test):
            program = self.builder.link(self.builder.base, test)
            outcome, self.seconds[test] = self.run(program, MAX_WALL_SECONDS)
            return test, outcome
        for test, outcome in self.each(measure, self.tests):
            if outcome != "passed":
                raise CheckError(f"{test}: {outcome}")
        slow = [test for test in self.tests if self.seconds[test] > MAX_TEST_SECONDS]
        self.tests = [test for test in self.tests if test not in slow]
        self.say(f"{len(self.tests)} tests pass unchanged"
                 + (f"; left out, because slow: {', '.join(slow)}" if slow else ""))

    def switched(self, file, all_of_file):
        """Returns a variant with as many of the mutants as compile together, and those mutants."""
        text = (ROOT / file).read_text()
        together = [m for m in all_of_file if m.change.switched and not is_constant(text, m)]
        # The tests are compiled when they are needed.
        affected = sorted({source for test in self.tests
                           for source in self.builder.affected(file, test) if source != test})
        while together:
            variant = Variant(f"all/{file}", file, changes.switched_source(text, together))
            shutil.rmtree(self.builder.work / variant.name, ignore_errors=True)
            try:
                for source in affected:
                    self.builder.compile(variant, source)
            except CompileError as error:
                together = without_blamed(together, text, rf"{re.escape(file)}:(\d+):", str(error))
                continue
            return variant, together
        return None, []

    def program(self, variant, test):
        """Links the test; it must pass when all mutants are present and none is chosen."""
        program = self.builder.link(variant, test)
        if variant.name.startswith("all/") and self.seconds[test] < QUICK_SECONDS:
            with variant.lock_of("pass " + test):
                if test not in variant.passed:
                    if self.run(program, MAX_WALL_SECONDS)[0] != "passed":
                        raise CheckError(f"{test} fails on {variant.file} with no mutant chosen")
                    variant.passed.add(test)
        return program

    # -- the mutants ---------------------------------------------------------------------------

    def tests_for(self, file):
        """Returns the tests that can notice, the likeliest and quickest first."""
        own = Path(file).stem
        able = [test for test in self.tests if self.builder.affected(file, test)]
        return sorted(able, key=lambda test: (
            self.seconds[test] > QUICK_SECONDS, -self.kills[file, test],
            not Path(test).stem.startswith(own), len(self.builder.affected(file, test)),
            self.seconds[test]))

    def judge(self, mutant, variant, number):
        for test in self.tests_for(mutant.file):
            try:
                program = self.program(variant, test)
            except CompileError:
                # Among several mutants, others may be the ones that do not compile.
                return self.judge_alone(mutant) if number else "not compiled"
            outcome, _ = self.run(program, self.limit(test), number)
            if outcome != "passed":
                with self.lock:
                    self.kills[mutant.file, test] += 1
                return f"{outcome} by {Path(test).stem}"
        return "survived"

    def judge_alone(self, mutant):
        variant = Variant(f"alone/{mutant.file}.{mutant.number}", mutant.file,
                          mutant.apply((ROOT / mutant.file).read_text()))
        try:
            return self.judge(mutant, variant, 0)
        finally:
            shutil.rmtree(self.builder.work / variant.name, ignore_errors=True)

    def run_all(self, by_file, chosen):
        """Judges the chosen mutants, file by file, several at a time."""
        def one_file(file):
            variant, together = self.switched(file, by_file[file])
            return [(m, variant if m in together else None) for m in by_file[file] if m in chosen]
        work = [item for items in self.each(one_file, by_file) for item in items]
        self.say(f"{sum(1 for _, v in work if v)} of {len(work)} mutants are compiled together")

        def one(item):
            mutant, variant = item
            start = time.monotonic()
            result = (self.judge(mutant, variant, mutant.number) if variant
                      else self.judge_alone(mutant))
            with self.lock:
                self.results[mutant] = result
                self.took[mutant] = time.monotonic() - start
                if len(self.results) % 50 == 0:
                    self.say(f"{len(self.results)} of {len(work)}")
        self.each(one, work)

    def say(self, text):
        print(f"[{time.monotonic() - self.started:4.0f} s] {text}", flush=True)


def line_of(text, mutant):
    return text.count("\n", 0, mutant.change.start) + 1


def without_blamed(together, text, place, errors):
    """Leaves out the mutants of the lines that do not compile, to be compiled alone."""
    for blames in (place + r"\d+: error", place):
        blamed = {int(number) for number in re.findall(blames, errors)}
        left = [mutant for mutant in together if line_of(text, mutant) not in blamed]
        if len(left) < len(together):
            return left
    return []


def is_constant(text, mutant):
    """True if the statement shows that the compiler needs its value."""
    start = max(text.rfind(mark, 0, mutant.change.start) for mark in ";{}")
    # `uint64_t{1}` is one brace of the same statement.
    while start > 0 and text[start] in "{}" and text[start - 1] not in " \n)":
        start = max(text.rfind(mark, 0, start) for mark in ";{}")
    statement = text[start + 1:mutant.change.start]
    return re.search(r"\b(constexpr|enum|using|virtual)\b", statement) is not None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", action="append", help="only this file's mutants (repeatable)")
    parser.add_argument("--line", help="only mutants of source lines with this text")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    parser.add_argument("--static", action="store_true",
                        help="only check survivors.txt against the sources")
    parser.add_argument("--verbose", action="store_true", help="print what became of each mutant")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N",
                        help="mutants at a time (default: one a processor)")
    arguments = parser.parse_args()

    wrong = changes.self_test()
    if wrong:
        sys.exit("mutants.py gives other mutants of its sample than it should:\n" +
                 "\n".join(wrong))

    files = glob(SOURCES)
    by_file = {file: changes.mutants_of(file, (ROOT / file).read_text()) for file in files}
    stale = stale_entries(mutant for mutants in by_file.values() for mutant in mutants)
    if stale:
        sys.exit("\n\n".join(stale))
    if arguments.static:
        return
    for file in arguments.file or []:
        if file not in by_file:
            sys.exit(f"no such file: {file}; there are\n  " + "\n  ".join(files))
    by_file = {file: mutants for file, mutants in by_file.items()
               if mutants and (not arguments.file or file in arguments.file)}
    chosen = {mutant for mutants in by_file.values() for mutant in mutants
              if not arguments.line or arguments.line in mutant.line}
    by_file = {file: mutants for file, mutants in by_file.items() if chosen & set(mutants)}
    if arguments.list:
        for mutants in by_file.values():
            for mutant in mutants:
                if mutant in chosen:
                    print(mutant)
        return
    # Removes the folder even if the check is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    with tempfile.TemporaryDirectory(prefix="coppice-mutation-") as work:
        check = Check(work, list(by_file), arguments.jobs)
        try:
            check.prepare()
            check.run_all(by_file, chosen)
        except (CheckError, CompileError) as error:
            sys.exit(f"the unchanged library does not build or pass:\n{error}")
    if arguments.verbose:
        for mutant, result in check.results.items():
            print(f"{mutant}\n: {result}, {check.took[mutant]:.1f} s")
    whole = not arguments.file and not arguments.line
    if not report(check.results, time.monotonic() - check.started, whole):
        sys.exit(1)


if __name__ == "__main__":
    main()
