#!/usr/bin/env python3
"""The jar coppice-device on a JVM: alone, with a real curator and a real relay, and killed.

    jvm_test.py [CLASS...]

COPPICE_BUILD_DIR has bin/, jvm/ and tests/; COPPICE_JAVA and COPPICE_JAVAC are the JDK's programs.
"""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from daemons import BIN, CROWD, Daemons, run, told  # noqa: E402
from eventually import eventually  # noqa: E402

BUILD = pathlib.Path(os.environ.get("COPPICE_BUILD_DIR", ROOT / "build/release"))
JVM, TESTS = BUILD / "jvm", BUILD / "tests"
JAVA, JAVAC = os.environ.get("COPPICE_JAVA", "java"), os.environ.get("COPPICE_JAVAC", "javac")
# Each JVM lives for a second: the second compiler and several collectors would cost more than they give.
JAVA_FLAGS = ["-Xcheck:jni", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dsun.jnu.encoding=UTF-8", f"-Djava.library.path={JVM}", "-cp"]
TEST_PATH = f"{JVM}/coppice-device.jar:{TESTS}/jvm_tests.jar"


def java(*arguments, path=TEST_PATH):
    return [JAVA, *JAVA_FLAGS, path, *(str(argument) for argument in arguments)]


class JvmDaemons(Daemons):
    def device(self, journal, study, is_relayed=False):
        """A command line of KilledDevice."""
        line = ["KilledDevice", self.folder / journal, self.key, self.relay if is_relayed else self.curator, self.ca, study]
        return java(*line, *([self.relay_key, self.token] if is_relayed else []))


class DaemonsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.at = JvmDaemons()
        cls.addClassCleanup(cls.at.end)

    def answer(self, journal, study, is_relayed=False):
        """A visit that nobody disturbs; returns what it tells."""
        done = run(*self.at.device(journal, study, is_relayed))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("state 1 0\nclosed", done.stdout, done.stderr)
        self.assertNotIn("WARNING", done.stdout)  # of -Xcheck:jni
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def kill(self, journal, study, step, wait, is_relayed=False):
        """Starts a visit, kills it `wait` seconds after its step of this number, and returns what it told until then."""
        with subprocess.Popen(self.at.device(journal, study, is_relayed), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True) as device:
            lines = [device.stdout.readline().strip() for _ in range(step)]
            time.sleep(wait)
            device.send_signal(signal.SIGKILL)
            return lines + device.stdout.read().split("\n")

    def kill_and_resume(self, study, number, is_relayed=False):
        """Devices that are killed at a step, each one at another moment, and come back. Each answers once."""
        draw = random.Random(study)
        steps = 14 if not is_relayed else 13
        for device in range(number):
            journal = f"{study}-{device}"
            before = self.kill(journal, study, 1 + device * steps // number, draw.random() * .02, is_relayed)
            after = self.answer(journal, study, is_relayed)
            # What was on disk is not answered again: an answer is acknowledged once its call is there to be carried.
            delivers = "/coppice.v1.RelayService/SubmitSealedReport" if is_relayed else "/coppice.v1.StudyService/GetCuratorKeys"
            if f"carry {delivers}" in before:
                self.assertNotIn("read", after, (before, after))


class AloneTest(unittest.TestCase):
    def test_journals_handles_texts_and_errors(self):
        with tempfile.TemporaryDirectory() as folder:
            journals = pathlib.Path(folder) / "journals"
            journals.mkdir()
            for number, file in enumerate(json.loads((ROOT / "tests/vectors/journal.json").read_text())["files"]):
                path = journals / f"{number}.{file['status']}"
                path.touch(mode=0o600)
                path.write_bytes(bytes.fromhex(file["file"]))
            done = run(*java("DeviceTest", folder, journals), env=os.environ | {"LC_ALL": "C.UTF-8"})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(done.stderr, "")
            self.assertNotIn("WARNING", done.stdout)  # of -Xcheck:jni

    def test_every_vector(self):
        done = run(*java("VectorsTest", TESTS / "libcoppice_vectors_jni.so", ROOT / "tests/vectors"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_jar_is_for_java_11_and_needs_nothing(self):
        """Its classes are of version 55, and name no class but its own and the base module's."""
        jdeps = pathlib.Path(shutil.which(JAVAC)).resolve().with_name("jdeps")
        told_needs = told(jdeps, "--multi-release", "base", "-summary", JVM / "coppice-device.jar")
        self.assertEqual(told_needs.strip(), "coppice-device.jar -> java.base")
        with tempfile.TemporaryDirectory() as folder:
            shutil.unpack_archive(JVM / "coppice-device.jar", folder, "zip")
            versions = {path.read_bytes()[7] for path in pathlib.Path(folder).rglob("*.class")}
            self.assertEqual(versions, {55})


class CuratorTest(DaemonsTest):
    def test_a_device_answers_once(self):
        self.at.create("once")
        first = self.answer("once", "once")
        self.assertIn("read", first)
        self.assertNotIn("read", self.answer("once", "once"))
        self.assertEqual(self.at.study("once")["accepted"], 1)

    def test_two_processes_have_one_journal(self):
        self.at.create("two")
        line = self.at.device("two", "two")
        line.insert(1, "-Dwaits=true")
        with subprocess.Popen(line, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as first:
            self.assertEqual(first.stdout.readline(), "open\n")
            second = run(*self.at.device("two", "two"))
            first.stdin.write("\n")
            first.stdin.flush()
            self.assertIn("state 1 0", first.stdout.read())
        self.assertNotEqual(second.returncode, 0)
        self.assertIn("CoppiceException$Unavailable", second.stderr)
        self.assertEqual(self.at.study("two")["accepted"], 1)

    def test_another_authority_is_not_trusted(self):
        self.at.create("authority")
        told(ROOT / "deploy/make-certs.sh", self.at.folder / "others")
        line = self.at.device("authority", "authority")
        line[line.index(str(self.at.ca))] = str(self.at.folder / "others/ca.crt")
        # It tries for a minute, as if the network failed: so it is not waited for.
        with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as device:
            self.assertEqual(device.stdout.readline() + device.stdout.readline(), "open\ncarry /coppice.v1.StudyService/GetOffer\n")
            time.sleep(1)
            device.kill()
            self.assertEqual(device.stdout.read(), "")

    def test_what_a_program_may_do_wrong(self):
        self.at.create("callbacks")
        done = run(*java("CallbackTest", self.at.folder, self.at.key, self.at.curator, self.at.ca, "callbacks"))
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("5 answered\n", "", 0))
        self.assertEqual(self.at.study("callbacks")["accepted"], 5)

    def test_killed_devices_answer_once(self):
        self.at.create("killed")
        self.kill_and_resume("killed", 6)
        self.assertEqual(self.at.study("killed")["accepted"], 6)


class RelayTest(DaemonsTest):
    def test_a_device_in_a_crowd(self):
        self.at.start_relay("crowd", CROWD + 1)
        told_steps = self.answer("crowd-device", "crowd", is_relayed=True)
        self.assertIn("taken /coppice.v1.RelayService/SubmitSealedReport", told_steps)
        self.at.crowd("crowd")
        eventually(lambda: self.at.study("crowd")["accepted"] == CROWD + 1, lambda: str(self.at.study("crowd")))


class KillsTest(DaemonsTest):
    DEVICES = 50

    def test_killed_devices_answer_once(self):
        self.at.create("killed")
        self.kill_and_resume("killed", self.DEVICES)
        self.assertEqual(self.at.study("killed")["accepted"], self.DEVICES)

    def test_killed_devices_answer_a_relay_once(self):
        # A ticket that was taken and lost has no report, so the batch goes when its time is over.
        self.at.start_relay("relayed", CROWD + 3 * self.DEVICES, "8m", "9m")
        self.kill_and_resume("relayed", self.DEVICES, is_relayed=True)
        self.at.crowd("relayed")
        eventually(lambda: self.at.study("relayed")["accepted"] > 0, seconds=1800)
        eventually(lambda: self.at.study("relayed")["accepted"] == CROWD + self.DEVICES, lambda: str(self.at.study("relayed")))


# What the page says of a schema that has changed: the device declines, with its own columns declared.
CHANGED = r"""
sed 's/"max": 90/"max": 99/' survey.json > changed.json
coppice study create --study changed --public public.csv --schema changed.json --epsilon 1
java -Djava.library.path=build/release/jvm -cp $jar:classes SurveyDevice curator.pem localhost:8444 certs/ca.crt changed device.journal
"""


class PageTest(unittest.TestCase):
    """Runs the commands of docs/jvm.md, as they stand there, but for ports that are free and a daemon that ends."""

    def test_commands(self):
        page = (ROOT / "docs/jvm.md").read_text(encoding="utf-8")
        commands = "\n".join(block for block in re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
        self.assertIn("SurveyDevice", commands)
        commands += CHANGED
        commands = re.sub(r"^deploy/build\.sh.*\n", "", commands, flags=re.MULTILINE)  # this is how it was built
        for written, free in (("8443", "0 --port-file port"), ("8444", "0")):
            commands = commands.replace(f"127.0.0.1:{written}", f"127.0.0.1:{free}")
        commands = commands.replace("localhost:8443", "localhost:$(cat port)").replace(
            "localhost:8444", "localhost:$(sed -n 's/.* http listen=.*port=//p' daemon.log)")
        commands = re.sub(r" &$", " 2> daemon.log & trap 'kill $!' EXIT; until test -s port; do sleep .1; done", commands, flags=re.MULTILINE)
        with tempfile.TemporaryDirectory() as folder:
            for name in ("deploy", "client"):
                (pathlib.Path(folder) / name).symlink_to(ROOT / name)
            (pathlib.Path(folder) / "build").mkdir()
            (pathlib.Path(folder) / "build/release").symlink_to(BUILD)
            path = os.pathsep.join([str(BIN), str(pathlib.Path(shutil.which(JAVAC)).resolve().parent), os.environ["PATH"]])
            done = run("bash", "-euc", commands, cwd=folder, env=os.environ | {"PATH": path})
        self.assertEqual(done.returncode, 0, commands + done.stdout + done.stderr)
        said = re.search(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL).group(1)
        self.assertIn(said, done.stdout)
        self.assertIn("opted out", done.stdout)
        self.assertIn('"age"', done.stderr)
        self.assertNotIn("answered changed", done.stdout)


if __name__ == "__main__":
    unittest.main()
