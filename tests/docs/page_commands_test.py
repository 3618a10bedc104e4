#!/usr/bin/env python3
"""Runs the shell commands of the pages, as they stand there, against a daemon of this build.

Each command of a block, and each indented one, is run, or stands in NOT_RUN with what runs it instead, or with why
nothing can. README.md, docs/tutorial.md and docs/protocol.md have scripts of their own in tests/integration, docs/jvm.md in tests/jvm.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from commands_test import BINARIES, FENCE, ROOT, missing_package
from eventually import port_of  # beside missing_package.py

OWN_SCRIPT = {"README.md", "docs/jvm.md", "docs/tutorial.md", "docs/protocol.md"}
DATA = pathlib.Path(os.environ.get("COPPICE_DATA_DIR", ROOT.parent / "shared/data"))

# What makes a line of an indented block a command, and not a drawing or an output.
COMMAND = re.compile(r"^(?:[A-Z_]+=\S+ )*(?:[\w./]*/)?(?:coppice(?:d|-lab|-relay|-research)? |(?:deploy|docs|tests|build)/\S|cmake -|curl |"
                     r"apt-get |systemctl |python3 |cc )")

# Commands that research_commands_test.py runs.
RESEARCH = r"(?:[A-Z_]+=(?!/path/to)\S+ )*(?:docs/research/\S+\.(?:sh|py) |build/release/bin/\w+_bench\b|build/release/tests/noise_coverage)"

# Commands that are not run here, by how they begin: what runs them, or why nothing does.
NOT_RUN = {
    r"deploy/packages\.sh|apt-get install": "tests/deploy/packages_test.py builds and installs the packages",
    r"systemctl ": "there is no systemd in a test; tests/fleet/supervised_test.sh upgrades a fleet one by one",
    r"deploy/build\.sh|cmake --preset": "it is how this was built",
    r"cc device\.c": "tests/deploy/packages_test.py builds the sample by the same line",
    r"coppice collect (simulate|resume) .*--relay ": "deploy/quickstart.sh and tests/integration/relay_test.cc do",
    r"(PGPASSFILE=\S+ )?coppiced .*postgresql://|echo 'db\.example": "tests/integration/postgres_test.cc and fleet_test.cc do",
    r"coppice-relay --config": "tests/server/relay/daemon checks the file that is shipped, tests/integration/relay_program_test.cc runs it",
    r"PYTHONPATH=/path/to/package ": "it needs packages of others, from the network; tests/docs/benchmark_test.py runs the script with our systems",
    r"PYTHONPATH=build/release/python docs/python_side_by_side\.py": "tests/python/documents_test.py runs it where there is data",
    r"build/release/tests/fleet_fault_run": "tests/fleet runs fewer schedules, for minutes, and needs PostgreSQL",
    RESEARCH: "tests/docs/research_commands_test.py runs it at its smallest size",
}

# Placeholders of the pages, and counts that would take minutes.
STAND_INS = [
    ("HOST:PORT", "$COPPICE_SERVER"), ("--ca FILE", "--ca $COPPICE_CA"), (" --token-file FILE", ""),
    ("/etc/coppice", "etc"), ("/var/lib/coppice", "lib"), ("/tmp/coppice", "tmp-coppice"), (" …", " --check-config"),
    ("coppiced --key-file", "coppiced --data-dir keyed --insecure --key-file"), ("ed25519:...", "$RELAY_PIN"), ("m-91c0", "first-tree"),
    ("--data thin.csv --test thin_test.csv", "--data adult/adult_train.csv --test adult/adult_test.csv"),
    ("--trials 4000000", "--trials 20000"), ("--trials 200000", "--trials 20000"), ("--repeats 100", "--repeats 1"),
    ("--repeats 400", "--repeats 1"), ("--repeats 20", "--repeats 1"), ("--repeats 10", "--repeats 1"), ("--grid ", ""),
    ("--schedules 5000", "--schedules 3"),
]

SET_UP = r"""
mkdir -p etc lib rows
coppice-lab synthesize --output-dir rows --synthetic private=2000,public=200,test=200
cp rows/*.csv rows/schema.json . && cp private.csv rows.csv
coppice study create --study first --public public.csv --schema schema.json --epsilon 2
coppice collect simulate --study first --data private.csv
coppice model build --study first --model first-tree
coppice model export --model first-tree --output model.json
coppice study key --pem > curator.pem
coppice-relay keygen --data-dir relay > pin
"""

# What one page wants beside that.
PAGES = {
    "docs/web.md": f'ln -s "{ROOT}/client" client\n',
    "docs/terminal.md": r"""
awk 'BEGIN { srand(3); print "customer,plan,spent,churn,rent"; split("basic plus gold", plan, " ")
  for (i = 0; i < 400; ++i) printf "c%d,%s,%.2f,%s,%.2f\n", i, plan[1 + i % 3], 90 * rand(), rand() < .4 ? "yes" : "no", 900 * rand() }' > all.csv
cut -d, -f2-4 all.csv > public.csv && cut -d, -f1-3 all.csv > customers.csv && cut -d, -f1,4 all.csv > answers.csv && cut -d, -f2,3,5 all.csv > rents.csv
coppice schema infer --data public.csv --rows public --label churn --output inferred.json
coppice schema infer --data rents.csv --rows public --target rent --output rents.json
python3 -c 'import json; s = json.load(open("inferred.json")); [f.update(public=True) for f in s["features"]]; json.dump(s, open("schema.json", "w"))'
coppice study create --study s-4f2a --by plan --public public.csv --schema schema.json --epsilon 4
coppice collect simulate --study s-4f2a --data public.csv --allow-in-clear plan,spent
""",
}
# Stand-ins of one page.
PAGE_STAND_INS = {
    "docs/terminal.md": [("--data private.csv --public public.csv", "--data public.csv --public public.csv"),
                         ("--data private.csv --schema schema.json --reserve", "--data public.csv --schema schema.json --reserve"),
                         ("--study rents --public public.csv --schema schema.json", "--study rents --public rents.csv --schema rents.json"),
                         ("source <(coppice completion bash)", "coppice completion bash > completion"), ("| man -l -", "> manual")],
}


def blocks(page):
    """The shell of a page, a block each: what stands in a fence of `sh`, and indented commands."""
    fenced, before, block = None, "", []
    for line in page.read_text(encoding="utf-8").splitlines():
        if FENCE.match(line):
            if block:
                yield "\n".join(block)
            fenced, block = (None if fenced is not None else line.strip().strip("`~")), []
        elif fenced is not None:
            if fenced == "sh":
                block.append(line)
        elif line.startswith("    ") and (not before.strip() or before.startswith("    ")):
            if COMMAND.match(line.strip()) or block:
                block.append(line.strip())
            if block and not line.endswith("\\"):
                yield "\n".join(block)
                block = []
        before = line
    if block:
        yield "\n".join(block)


def commands(block):
    """A block's commands, a line each with what continues it; a here-document or a loop stays with what it is part of."""
    command = []
    for line in block.splitlines():
        command.append(line)
        if not line.endswith("\\"):
            yield "\n".join(command)
            command = []


def reason_not_to_run(command):
    return next((reason for start, reason in NOT_RUN.items() if re.match(start, command, re.DOTALL)), None)


def with_stand_ins(command, page):
    for text, stand_in in PAGE_STAND_INS.get(page, []) + STAND_INS:
        command = command.replace(text, stand_in)
    if re.match(r"coppiced --(?!help)", command) and "--check-config" not in command:
        command = re.sub(r"\s*(&|#.*)?$", " --check-config", command, count=1)  # a daemon would not end
    return command


class Stage:
    """A folder with rows, certificates and a daemon, as a reader has them who followed the tutorial."""

    def __enter__(self):
        try:
            self.set_up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def set_up(self):
        self.folder, self.daemon = pathlib.Path(tempfile.mkdtemp()), None
        for name in ("deploy", "docs"):
            (self.folder / name).symlink_to(ROOT / name)
        (self.folder / "build").mkdir()
        (self.folder / "build/release").symlink_to(BINARIES.parent)
        if (DATA / "adult").is_dir():
            (self.folder / "adult").symlink_to(DATA / "adult")
        self.environment = {**os.environ, "PATH": f"{BINARIES}:{os.environ['PATH']}", "HOME": str(self.folder),
                            "XDG_STATE_HOME": str(self.folder / "state"), "TMPDIR": str(self.folder)}
        subprocess.run([ROOT / "deploy/make-certs.sh", self.folder / "certs"], check=True, capture_output=True)
        with open(self.folder / "log", "wb") as log:
            self.daemon = subprocess.Popen(
                [BINARIES / "coppiced", "--data-dir", "store", "--listen", "127.0.0.1:0", "--port-file", "port",
                 "--tls-cert", "certs/server.crt", "--tls-key", "certs/server.key"], cwd=self.folder, stderr=log)
        port = port_of(self.daemon, self.folder / "port", self.folder / "log")
        self.environment["COPPICE_SERVER"] = f"127.0.0.1:{port}"
        self.environment["COPPICE_CA"] = str(self.folder / "certs/ca.crt")
        self.run(SET_UP)
        self.environment["RELAY_PIN"] = (self.folder / "pin").read_text(encoding="utf-8").split()[0]

    def __exit__(self, *_):
        if self.daemon is not None:
            self.daemon.terminate()
            self.daemon.wait(timeout=600)
        shutil.rmtree(self.folder)

    def run(self, script):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.folder, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=1500, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{script}\n{done.stdout}{done.stderr}")


class PageCommandsTest(unittest.TestCase):
    def setUp(self):
        if not (BINARIES / "coppice").is_file():
            missing_package.skip(f"there are no programs in {BINARIES}; build them, or set COPPICE_BIN_DIR")

    def run_page(self, page, found):
        """How many of the commands ran, and what is wrong."""
        wrong = []
        with Stage() as stage:
            stage.run(PAGES.get(page, ""))
            for command in found:
                try:
                    stage.run(with_stand_ins(command, page))
                except AssertionError as error:
                    wrong.append(f"{page}: {error}")
        return len(found), wrong

    def test_every_command_runs(self):
        ran, left, wrong = 0, {}, []
        for path in sorted((ROOT / "docs").rglob("*.md")):
            page = str(path.relative_to(ROOT))
            found = []
            for command in (command for block in blocks(path) for command in commands(block) if command.strip("# ")):
                reason = None if page not in OWN_SCRIPT else "tests/integration has a script for the page"
                reason = reason or reason_not_to_run(command)
                if reason is None and "adult/" in command and not (DATA / "adult").is_dir():
                    reason = f"there is no {DATA / 'adult'}"
                if reason is None:
                    found.append(command)
                else:
                    left[reason] = left.get(reason, 0) + 1
            if found:
                ran_here, wrong_here = self.run_page(page, found)
                ran += ran_here
                wrong += wrong_here
                print(f"{page}: {ran_here} commands ran", flush=True)
        for reason, number in left.items():
            print(f"{number:3} not run here: {reason}")
        self.assertEqual(wrong, [], "\n\n".join(wrong))
        self.assertGreater(ran, 30, "the pages have lost their commands, or this test no longer finds them")


if __name__ == "__main__":
    unittest.main()
