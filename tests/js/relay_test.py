#!/usr/bin/env python3
"""The npm package @coppice/device in Node, through a real relay, in a crowd of other devices."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from daemons import CROWD, Daemons  # noqa: E402
from eventually import eventually  # noqa: E402

JS = pathlib.Path(os.environ.get("COPPICE_JS_DIR", ROOT / "build/js"))


class RelayTest(unittest.TestCase):
    def setUp(self):
        self.at = Daemons()
        self.addCleanup(self.at.end)

    def visit(self, **options):
        line = ["node", str(ROOT / "tests/js/visitor.mjs"), json.dumps(options)]
        environment = os.environ | {"NODE_EXTRA_CA_CERTS": str(self.at.ca), "COPPICE_JS_DIR": str(JS)}
        done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment)
        said = [line for line in done.stderr.splitlines() if len(line) < 1000]  # and not the bundle, which is one line
        self.assertEqual(done.returncode, 0, said)
        return json.loads(done.stdout.splitlines()[-1])

    def test_a_device_in_a_crowd(self):
        self.at.start_relay("crowd", CROWD + 1)
        device = {"folder": str(self.at.folder / "js-journal"), "key": json.loads(self.at.coppice("study", "key", "--json"))["pin"],
                  "relay": f"https://{self.at.relay}", "relayKey": self.at.relay_key.read_text(),
                  "token": self.at.token.read_text().strip(), "study": "crowd", "maxSendDelaySeconds": 2,
                  "row": {"age": 33, "plan": "größer 🌳", "left": "yes"}}
        said = self.visit(**device)
        self.assertEqual((said["answer"]["code"], said["answeredNow"], said["stored"]), ("ok", True, 1), said)
        again = self.visit(**device)
        self.assertEqual((again["answeredNow"], again["stored"]), (False, 0), again)
        self.at.crowd("crowd")
        eventually(lambda: self.at.study("crowd")["accepted"] == CROWD + 1, lambda: str(self.at.study("crowd")))


if __name__ == "__main__":
    if not (JS / "integrity.txt").exists():
        print("the package is not built (deploy/build.sh js): it is not tested", file=sys.stderr)
        sys.exit(77)
    unittest.main()
