"""Builds the tests against the library with one file replaced, and no object twice."""

import functools
import os
import re
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent

# Compiles without NDEBUG, so that Abseil's and the library's bounds are checked: they find a mutant that reads past an
# end as the sanitizers would. As in a build with our warnings, a function that ends without a return does not compile.
COMPILE = [os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-Werror=return-type",
           "-D_GLIBCXX_ASSERTIONS"]
LINK = [os.environ.get("CXX", "c++"), "-fuse-ld=gold"]
LIBRARIES = ["-lgtest_main", "-lgmock", "-lgtest", "-Wl,--as-needed", "-lcrypto", "-lpthread"]

INCLUDE = re.compile(r'^#include\s+([<"])([^>"]+)[>"]', re.MULTILINE)


class CompileError(Exception):
    """Carries the compiler's output."""


@dataclass
class Variant:
    """The sources with one file replaced, or unchanged."""
    name: str
    file: str = ""
    text: str = ""
    passed: set = field(default_factory=set)  # tests that pass on it with no mutant chosen
    locks: dict = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def lock_of(self, key):
        with self.lock:
            return self.locks.setdefault(key, threading.Lock())


class Builder:
    def __init__(self, work):
        self.work = Path(work)
        self.includes = {}
        self.base = Variant("base")
        self.libraries = LIBRARIES + [f"-l{path.name[3:-3]}" for path in absl_libraries()]
        (self.work / "switch.h").write_text((HERE / "switch.h").read_text())

    # -- what depends on what ------------------------------------------------------------------

    def direct_includes(self, file):
        if file not in self.includes:
            self.includes[file] = INCLUDE.findall((ROOT / file).read_text())
        return self.includes[file]

    @functools.cache
    def reachable(self, file):
        """Returns the file and all of our files that it includes, directly or not."""
        found, todo = set(), [file]
        while todo:
            one = todo.pop()
            if one in found:
                continue
            found.add(one)
            todo += [name for _, name in self.direct_includes(one) if (ROOT / name).is_file()]
        return found

    @functools.cache
    def sources_of(self, test):
        """Returns what a test is linked from: itself, and the sources of every header that it needs."""
        found, todo = set(), [test]
        while todo:
            one = todo.pop()
            if one in found:
                continue
            found.add(one)
            todo += [source for header in self.reachable(one) for source in self.sources_behind(header)]
        return sorted(found)

    @functools.cache
    def sources_behind(self, header):
        """Returns x.cc for x.h; for a header without one, the sources of its folder that include it."""
        own = ROOT / re.sub(r"\.h$", ".cc", header)
        if own.suffix != ".cc" or not header.endswith(".h"):
            return []
        if own.is_file():
            return [str(own.relative_to(ROOT))]
        if header.startswith("tests/"):  # helpers of tests are all in their headers
            return []
        beside = (str(path.relative_to(ROOT)) for path in own.parent.glob("*.cc"))
        return [source for source in beside
                if header in (name for _, name in self.direct_includes(source))]

    @functools.cache
    def affected(self, file, test):
        return [source for source in self.sources_of(test) if file in self.reachable(source)]

    # -- building ------------------------------------------------------------------------------

    def precompile(self, tests):
        """Precompiles the outside headers, which take most of the time, once for the library and once for the tests."""
        self.run(COMPILE + ["-c", str(HERE / "switch.cc"), "-o", str(self.work / "switch.o")])
        sources = {source for test in tests for source in self.sources_of(test)}

        def one(name, wanted):
            headers = {(mark, header) for source in wanted for file in self.reachable(source)
                       for mark, header in self.direct_includes(file)
                       if not (ROOT / header).is_file() and not header.startswith("openssl/")}
            lines = [f"#include {mark}{header}{'>' if mark == '<' else mark}\n"
                     for mark, header in sorted(headers)]
            header = self.work / f"{name}.h"
            header.write_text("".join(lines) + '#include "switch.h"\n')
            self.run(COMPILE + ["-x", "c++-header", str(header), "-o", f"{header}.gch"])
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(one, ("library", "tests"), (sources - set(tests), set(tests))))

    def run(self, command):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise CompileError(done.stderr)

    def compile(self, variant, source):
        """Returns the object of a source; the variant's own if it is affected."""
        if not variant.file or variant.file not in self.reachable(source):
            if variant is not self.base:
                return self.compile(self.base, source)
        target = self.work / variant.name / (source + ".o")
        with variant.lock_of(source):
            if target.exists():
                return target
            target.parent.mkdir(parents=True, exist_ok=True)
            path = ROOT / source
            overlay = []
            if variant.file:
                replaced = self.work / variant.name / "include" / variant.file
                if not replaced.exists():
                    replaced.parent.mkdir(parents=True, exist_ok=True)
                    partial = replaced.with_name(f"{replaced.name}.{threading.get_ident()}")
                    partial.write_text(variant.text)
                    partial.rename(replaced)
                overlay = ["-I", str(self.work / variant.name / "include")]
                path = replaced if source == variant.file else path
            headers = self.work / ("tests.h" if source.startswith("tests/") else "library.h")
            partial = target.with_suffix(".partial")
            self.run(COMPILE + ["-include", str(headers)] + overlay +
                     ["-I", str(ROOT), "-c", str(path), "-o", str(partial)])
            partial.rename(target)
        return target

    def link(self, variant, test):
        if variant is not self.base and not self.affected(variant.file, test):
            return self.link(self.base, test)
        target = self.work / variant.name / "bin" / Path(test).stem
        with variant.lock_of("link " + test):
            if target.exists():
                return target
            objects = [self.compile(variant, source) for source in self.sources_of(test)]
            target.parent.mkdir(parents=True, exist_ok=True)
            partial = target.with_suffix(".partial")
            objects.append(self.work / "switch.o")
            self.run(LINK + [str(one) for one in objects] + ["-o", str(partial)] + self.libraries)
            partial.rename(target)
        return target


def absl_libraries():
    """Abseil is many small libraries; the linker takes those that are needed."""
    where = subprocess.run([LINK[0], "-print-file-name=libabsl_base.so"],
                           capture_output=True, text=True)
    return sorted(Path(where.stdout.strip()).parent.glob("libabsl_*.so"))
