#!/usr/bin/env python3
"""What the programs do at a terminal, in a pipe, and in shells: width, colors, Ctrl-C, completion, manual pages.

Reads COPPICE_BIN_DIR, and COPPICE_SHARE_DIR for the pages and scripts that the build made.
"""

import json
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import unittest
from fcntl import ioctl

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import missing_package  # noqa: E402
from eventually import port_of  # noqa: E402

BIN = pathlib.Path(os.environ["COPPICE_BIN_DIR"])
SHARE = pathlib.Path(os.environ["COPPICE_SHARE_DIR"])
PROGRAMS = ["coppice", "coppice-lab", "coppice-relay", "coppiced"]
PAGES = {
    "man/man1/{}.1": ["manual"],
    "bash-completion/completions/{}": ["completion", "bash"],
    "zsh/site-functions/_{}": ["completion", "zsh"],
    "fish/vendor_completions.d/{}.fish": ["completion", "fish"],
}


def run(program, *arguments, stdin=None, env=None):
    return subprocess.run([BIN / program, *arguments], input=stdin, capture_output=True, text=True,
                          env={**os.environ, **(env or {})}, check=False)


class Terminal:
    """A program whose stdin, stdout and stderr are one terminal."""

    def __init__(self, arguments, columns, env=None):
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            environment = {**os.environ, "TERM": "xterm", **(env or {})}
            ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.execve(arguments[0], [str(a) for a in arguments], environment)
        self.text = ""

    def read_until(self, pattern=None):
        """Until the text matches, or to the end."""
        while pattern is None or not re.search(pattern, self.text):
            try:
                piece = os.read(self.descriptor, 4096)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            self.text += piece.decode()
        return self.text.replace("\r\n", "\n")

    def type(self, text):
        os.write(self.descriptor, text.encode())

    def wait(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def at_terminal(*arguments, columns=80, env=None):
    terminal = Terminal([BIN / "coppice", *arguments], columns, env)
    text = terminal.read_until()
    return terminal.wait(), text


class DaemonTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.log = open(cls.folder / "log", "w")
        cls.daemon = subprocess.Popen(
            [BIN / "coppiced", "--data-dir", cls.folder / "store", "--insecure", "--listen",
             "127.0.0.1:0", "--port-file", cls.folder / "port"], stderr=cls.log)
        port = port_of(cls.daemon, cls.folder / "port", cls.folder / "log")
        cls.server = ["--server", f"127.0.0.1:{port}", "--insecure"]
        rows = cls.folder / "rows"
        run("coppice-lab", "synthesize", "--output-dir", rows, "--synthetic",
            "private=40000,public=30,test=20")
        cls.public, cls.private = rows / "public.csv", rows / "private.csv"
        cls.schema = rows / "schema.json"
        os.environ["XDG_STATE_HOME"] = str(cls.folder / "state")
        cls.coppice("study", "create", "--study", "first", "--public", cls.public, "--schema",
                    cls.schema, "--epsilon", "2")

    @classmethod
    def tearDownClass(cls):
        cls.daemon.terminate()
        cls.daemon.wait()
        cls.log.close()
        shutil.rmtree(cls.folder)

    @classmethod
    def coppice(cls, *arguments, **options):
        done = run("coppice", *arguments, *cls.server, **options)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done

    def test_a_table_fits_the_terminal_or_is_blocks(self):
        wide = at_terminal("study", "list", *self.server, columns=120)[1]
        self.assertRegex(wide, r"\x1b\[1mstudy  state +received .*\x1b\[0m\nfirst +open")
        narrow = at_terminal("study", "list", *self.server, columns=40)[1]
        self.assertRegex(narrow, r"^study +first\nstate +open\nreceived +0\n")
        piped = self.coppice("study", "list", env={"COLUMNS": "40"}).stdout
        self.assertRegex(piped, r"^study  state +received [^\x1b]*\nfirst +open")

    def test_colors_are_for_terminals_that_want_them(self):
        code, text = at_terminal("study", "show", "--study", "none", *self.server)
        self.assertEqual(code, 1)
        self.assertRegex(text, "^\x1b\\[31mcoppice:\x1b\\[0m there is no study none")
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            text = at_terminal("study", "list", *self.server, columns=120, env=env)[1]
            self.assertNotIn("\x1b", text)

    def test_json_is_printed_if_asked_for_and_only_then(self):
        for command in (["study", "list"], ["study", "show", "--study", "first"], ["study", "key"],
                        ["model", "list"], ["dataset", "list"], ["train", "list"],
                        ["train", "algorithms"], ["endpoint", "list"], ["health"]):
            for line in self.coppice(*command, "--json").stdout.splitlines():
                self.assertIsInstance(json.loads(line), dict, command)
            self.assertNotIn("{", self.coppice(*command).stdout, command)
        failed = run("coppice", "study", "show", "--study", "none", "--json", *self.server)
        self.assertEqual(failed.returncode, 1)
        self.assertEqual(json.loads(failed.stdout)["error"]["code"], "NOT_FOUND")

    def test_a_dash_is_stdin_or_stdout(self):
        self.coppice("study", "create", "--study", "piped", "--public", "-", "--schema",
                     self.schema, "--epsilon", "2", stdin=self.public.read_text())
        self.coppice("collect", "simulate", "--study", "piped", "--data", "-", "--limit", "10",
                     stdin=self.private.read_text())
        self.coppice("model", "build", "--study", "piped", "--model", "m")
        exported = self.coppice("model", "export", "--model", "m", "--output", "-").stdout
        self.assertEqual(json.loads(exported)["name"], "models/m")
        verified = run("coppice", "model", "verify", "--file", "-", "--json", stdin=exported)
        self.assertEqual(json.loads(verified.stdout)["verified"], True, verified.stderr)
        predicted = self.coppice("model", "predict", "--model", "m", "--data", "-",
                                 stdin=self.public.read_text())
        self.assertEqual(len(predicted.stdout.splitlines()), 31)

    def test_rows_answer_a_second_time_only_when_told(self):
        self.coppice("study", "create", "--study", "once", "--public", self.public, "--schema",
                     self.schema, "--epsilon", "2")
        simulate = ["collect", "simulate", "--study", "once", "--data", self.private]
        first = self.coppice(*simulate, "--limit", "10", "--json")
        journal = json.loads(first.stdout)["journal"]
        self.assertEqual(first.stderr, f"the journal is {journal}\n")
        second = run("coppice", *simulate, "--limit", "10", *self.server)
        self.assertEqual(second.returncode, 1)
        self.assertEqual(second.stderr,
                         "coppice: these rows have already answered study once; name their journal with "
                         f"--journal {journal} to continue, or give --again to let "
                         "every device spend its epsilon once more\n")
        on = json.loads(self.coppice(*simulate, "--limit", "20", "--journal", journal,
                                     "--json").stdout)
        self.assertEqual((on["answered_before"], on["accepted"]), (10, 10))
        again = json.loads(self.coppice(*simulate, "--limit", "10", "--again", "--json").stdout)
        self.assertEqual(again["accepted"], 10)

    def test_ctrl_c_says_that_the_job_goes_on(self):
        self.coppice("dataset", "create", "--dataset", "d", "--data", self.private, "--schema",
                     self.schema, "--epsilon-total", "10")
        watch = Terminal(
            [BIN / "coppice", "train", "submit", "--dataset", "d", "--job", "j", "--algorithm",
             "lazybb", "--epsilon", "2", "--set", "learner=top_down", "--set", "splits=64",
             "--set", "rounds=999", "--wait", *self.server], columns=80)
        watch.read_until("j running")
        watch.type("\x03")
        text = watch.read_until()
        self.assertEqual(watch.wait(), -signal.SIGINT)
        self.assertIn("\njob j is still running: `coppice train watch --job j` follows it, "
                      "`coppice train cancel --job j` ends it\n", text)
        shown = json.loads(self.coppice("train", "show", "--job", "j", "--json").stdout)
        self.assertEqual(shown["state"], "running")
        self.coppice("train", "cancel", "--job", "j")

    def test_a_finished_job_says_what_is_true(self):
        self.coppice("dataset", "create", "--dataset", "e", "--data", self.private, "--schema",
                     self.schema, "--epsilon-total", "10")
        self.coppice("train", "submit", "--dataset", "e", "--job", "done", "--algorithm", "spe",
                     "--epsilon", "0.7", "--wait")
        job = json.loads(self.coppice("train", "show", "--job", "done", "--json").stdout)
        self.assertEqual((job["state"], job["progress"], job["epsilon"]), ("done", 1.0, 0.7))
        self.assertNotIn("rho", json.dumps(job))
        dataset = self.coppice("dataset", "show", "--dataset", "e", "--json").stdout
        self.assertNotIn("rho", dataset)


class ReferenceTest(unittest.TestCase):
    def test_pages_and_scripts_are_what_the_programs_print(self):
        for program in PROGRAMS:
            for path, command in PAGES.items():
                made = (SHARE / path.format(program)).read_text()
                self.assertEqual(made, run(program, *command).stdout, path.format(program))

    def test_every_command_and_flag_of_help_is_in_the_manual(self):
        manual = run("coppice", "manual").stdout.replace("\\-", "-")
        for verb in (["study", "create"], ["collect", "simulate"], ["train", "submit"], ["health"]):
            self.assertIn(".SS coppice " + " ".join(verb) + "\n", manual)
            for flag in re.findall(r"^  (--[a-z-]+)", run("coppice", *verb, "--help").stdout, re.M):
                self.assertIn(f"\\fB{flag}\\fR", manual, verb)

    def test_man_takes_the_pages_without_a_warning(self):
        if shutil.which("groff") is None:
            missing_package.skip("groff is not installed: tests/packages.txt")
        for program in PROGRAMS:
            page = SHARE / f"man/man1/{program}.1"
            shown = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z", page],
                                   capture_output=True, text=True, check=True)
            self.assertEqual(shown.stderr, "", program)

    def test_mandoc_finds_no_error(self):
        if shutil.which("mandoc") is None:
            missing_package.skip("mandoc is not installed: tests/packages.txt")
        for program in PROGRAMS:
            page = SHARE / f"man/man1/{program}.1"
            found = subprocess.run(["mandoc", "-Tlint", "-Werror", page], capture_output=True,
                                   text=True, check=False)
            self.assertEqual((found.returncode, found.stdout), (0, ""), program)

    def complete(self, program, *words):
        script = SHARE / f"bash-completion/completions/{program}"
        function = "_" + program.replace("-", "_")
        line = f"source '{script}'; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); {function}; " \
               "printf '%s\\n' \"${COMPREPLY[@]}\""
        done = subprocess.run(["bash", "-c", line, "bash", program, *words], capture_output=True,
                              text=True, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash_completes_nouns_verbs_flags_and_names(self):
        self.assertEqual(self.complete("coppice", "stu"), ["study"])
        self.assertEqual(self.complete("coppice", "study", "cr"), ["create"])
        self.assertEqual(self.complete("coppice", "study", "create", "--sch"), ["--schema"])
        self.assertEqual(self.complete("coppice", "model", "show", "--format", "s"), ["svg"])
        self.assertEqual(self.complete("coppice", "model", "show", "--format", "=", "s"), ["svg"])
        self.assertEqual(self.complete("coppice", "study", "create", "--schema", "sch"), [])
        self.assertEqual(self.complete("coppice", "study", "create", "--strict", "--epsil"),
                         ["--epsilon"])
        self.assertEqual(self.complete("coppice-lab", "loc"), ["local"])
        self.assertEqual(self.complete("coppice-relay", "--admit"), ["--admit-all"])
        self.assertEqual(self.complete("coppice-relay", "keyg"), ["keygen"])
        self.assertEqual(self.complete("coppiced", "--data-"), ["--data-dir"])
        self.assertEqual(self.complete("coppiced", "repair", "--dry"), ["--dry-run"])

    def test_zsh_and_fish_take_their_scripts(self):
        for shell, path in (("zsh", "zsh/site-functions/_{}"),
                            ("fish", "fish/vendor_completions.d/{}.fish")):
            if shutil.which(shell) is None:
                missing_package.skip(f"{shell} is not installed: tests/packages.txt")
            for program in PROGRAMS:
                checked = subprocess.run([shell, "-n", SHARE / path.format(program)],
                                         capture_output=True, text=True, check=False)
                self.assertEqual((checked.returncode, checked.stderr), (0, ""), program)

    def test_fish_completes(self):
        if shutil.which("fish") is None:
            missing_package.skip("fish is not installed: tests/packages.txt")
        script = SHARE / "fish/vendor_completions.d/coppice.fish"
        for line, wanted in (("coppice stu", "study"), ("coppice study cr", "create"),
                             ("coppice study create --sch", "--schema"),
                             ("coppice model show --format s", "svg")):
            done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"],
                                  capture_output=True, text=True, check=True)
            self.assertEqual([l.split("\t")[0] for l in done.stdout.splitlines()], [wanted])


if __name__ == "__main__":
    sys.exit(unittest.main())
