#!/usr/bin/env python3
"""Tests what `deploy/quickstart.sh --keep` leaves running: quickstart_test.py BIN_DIR SOURCE_DIR

It works in a checkout of its own, with the programs of BIN_DIR and a build that only notes what it was asked for.
The daemon runs on, serves its console, and lists its studies only with the token; a second --keep says what runs;
once stopped, it starts again with its data, and without a console it says how to call it with curl.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from eventually import eventually  # noqa: E402

BIN, SOURCE = map(pathlib.Path, sys.argv[1:3])
LIST = "coppice.v1.StudyService/ListStudies"


def path_without_node(folder):
    """Makes a PATH with all of this machine's programs except node and npm."""
    folder.mkdir()
    for place in os.environ["PATH"].split(":"):
        for program in pathlib.Path(place).glob("*"):
            if program.name not in ("node", "npm") and not os.path.lexists(folder / program.name):
                (folder / program.name).symlink_to(program)
    return str(folder)


class Checkout:
    def __init__(self, root):
        self.root = root
        for folder in ("deploy", "build/release/bin", "build/release/share/coppice/console/assets", "node"):
            (root / folder).mkdir(parents=True)
        for script in ("quickstart.sh", "make-certs.sh"):
            shutil.copy(SOURCE / "deploy" / script, root / "deploy")
        self.add_program("deploy/build.sh", f'echo "$*" >>{root}/asked')
        for program in ("coppiced", "coppice", "coppice-lab", "coppice-relay"):
            shutil.copy(BIN / program, root / "build/release/bin")
        self.console = root / "build/release/share/coppice/console"
        (self.console / "index.html").write_text("<!doctype html><title>The console</title>")
        for program in ("node", "npm"):
            self.add_program("node/" + program, "exit 0")
        self.without_node = path_without_node(root / "programs")

    def add_program(self, name, text):
        (self.root / name).write_text("#!/bin/sh\n" + text + "\n")
        (self.root / name).chmod(0o755)

    def quickstart(self, *flags, node=True):
        path = f"{self.root}/node:{self.without_node}" if node else self.without_node
        # Only the synthetic table is within reach.
        done = subprocess.run([self.root / "deploy/quickstart.sh", *flags], capture_output=True, text=True, check=False,
                              env=os.environ | {"PATH": path}, timeout=1500)
        assert done.returncode == 0, done.stderr[-4000:]
        return done

    def kept(self, node=True):
        """Returns what --keep prints, the JSON of its last line, and its stderr."""
        done = self.quickstart("--keep", node=node)
        return done.stdout, json.loads(done.stdout.splitlines()[-1]), done.stderr

    def asked(self):
        text = (self.root / "asked").read_text()
        (self.root / "asked").unlink()
        return text


class KeptQuickstart(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="coppice-quickstart-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.checkout = Checkout(folder)
        self.pid_file = folder / "build/quickstart/pid"
        self.addCleanup(self.stop)

    def stop(self):
        if self.pid_file.exists():
            pid = int(self.pid_file.read_text())
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                return
            eventually(lambda: not os.path.exists(f"/proc/{pid}/exe"), lambda: "the daemon does not stop")

    def get(self, uses, path="", body=None, headers=None):
        context = ssl.create_default_context(cafile=uses["ca"])
        request = urllib.request.Request(uses["http"] + path, data=body, headers=headers or {})
        try:
            with urllib.request.urlopen(request, context=context, timeout=300) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def studies(self, uses):
        token = pathlib.Path(uses["token_file"]).read_text().strip()
        status, answer = self.get(uses, LIST, b"{}", {"Content-Type": "application/json", "Authorization": "Bearer " + token})
        self.assertEqual(status, 200, answer)
        return sorted(study["name"] for study in json.loads(answer)["studies"])

    def test_it_runs_on_and_starts_again_with_what_it_had(self):
        text, uses, _ = self.checkout.kept()
        self.assertEqual(self.checkout.asked(), "programs console\n")
        self.assertRegex(text, r"synthetic +\S+ +smooth \(default\)")
        self.assertIn("console     " + uses["console"], text)
        self.assertRegex(uses["console"], r"^https://localhost:\d+/$")
        self.assertIn(pathlib.Path(uses["token_file"]).read_text().strip(), text)
        self.assertIn(f"kill $(cat {uses['pid_file']})", text)
        for private in ("token", "token.header", "policy.json"):
            self.assertEqual(os.stat(self.pid_file.parent / private).st_mode & 0o077, 0, private)
        self.assertEqual(self.get(uses), (200, "<!doctype html><title>The console</title>"))
        self.assertEqual(self.get(uses, LIST, b"{}", {"Content-Type": "application/json"})[0], 401)
        studies = self.studies(uses)
        self.assertIn("studies/synthetic-auto", studies)
        pid = self.pid_file.read_text()

        again, same, said = self.checkout.kept()
        self.assertIn("it runs already", said)
        self.assertEqual((same, self.pid_file.read_text()), (uses, pid))
        self.assertNotIn("synthetic", again)
        self.assertFalse((self.checkout.root / "asked").exists(), "it builds nothing under a daemon that runs")

        self.stop()
        shutil.rmtree(self.checkout.console)
        text, uses, said = self.checkout.kept(node=False)
        self.assertEqual(self.checkout.asked(), "programs\n")
        self.assertIn("it runs again, with what it had", said)
        self.assertEqual(self.studies(uses), studies)
        self.assertEqual(uses["console"], "")
        self.assertIn("apt-get install nodejs npm", text)
        curl = re.search(r"^ +(curl .*\\\n.*)$", text, re.MULTILINE).group(1)
        answer = subprocess.run(["bash", "-euc", curl + " --silent"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(sorted(study["name"] for study in json.loads(answer)["studies"]), studies)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
