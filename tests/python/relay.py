"""A relay of this machine for tests: coppice-relay with TLS, for studies of a curator of curator.py."""

import json
import pathlib
import subprocess
import tempfile

from curator import BIN, ROOT, SCHEMA, customers
from eventually import eventually

TICKETS = 1000  # the smallest batch there is


class Relay:
    """Deals TICKETS tickets of each study, which it makes, to one token. It ends with the tests."""

    def __init__(self, curator, *studies):
        self.curator = curator
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="relay-", dir=curator.folder))
        subprocess.run([ROOT / "deploy/make-certs.sh", self.folder / "certs"], check=True, capture_output=True)
        self.ca = self.folder / "certs/ca.crt"
        self.key = printed([BIN / "coppice-relay", "keygen", "--data-dir", self.folder / "data"]).split("\n")[0]
        self.curator_key = self.folder / "curator.pem"
        self.curator_key.write_text(printed(
            [BIN / "coppice", "study", "key", "--pem", "--server", curator.server, "--ca", curator.ca]))
        for study in studies:
            self._make(study)
        self.token_file = self.folder / "token"
        token, entry = printed(
            [BIN / "coppice-relay", "token", "--name", "all", "--tickets", "5000"]).splitlines()
        for path, text in ((self.token_file, token), (self.folder / "devices", entry)):
            path.touch(mode=0o600)
            path.write_text(text + "\n")
        self.process = None
        self._start(studies)

    @property
    def server(self):
        return "127.0.0.1:" + (self.folder / "port").read_text().strip()

    def _make(self, study):
        rows, schema = self.folder / "public.csv", self.folder / "schema.json"
        customers(100).to_csv(rows, index=False)
        schema.write_text(json.dumps(SCHEMA))
        self.curator.describe("study", "create", "--study", study, "--public", rows, "--schema", schema,
                              "--epsilon", "2", "--mechanism", "signed_hadamard", "--depth", "3",
                              "--relay-key", self.key, "--min-batch", str(TICKETS))

    def _start(self, studies):
        names = [part for study in studies for part in ("--study", study)]
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                [BIN / "coppice-relay", "--data-dir", self.folder / "data", "--listen", "127.0.0.1:0",
                 "--port-file", self.folder / "port", "--tls-cert", self.folder / "certs/server.crt",
                 "--tls-key", self.folder / "certs/server.key", "--admission", self.folder / "devices",
                 "--curator", self.curator.server, "--curator-ca", self.curator.ca, "--curator-key",
                 self.curator_key, "--curator-token-file", self.curator.folder / "relay.token",
                 *names, "--tickets", str(TICKETS), "--deal", "1h", "--collect", "2h"], stderr=log)
        eventually(self._is_ready, self.log)

    def _is_ready(self):
        if self.process.poll() is not None:
            raise RuntimeError(self.log())
        if not (self.folder / "port").exists() or not (self.folder / "port").read_text().strip():
            return False
        return subprocess.run([BIN / "coppice", "health", "--server", self.server, "--ca", self.ca],
                              capture_output=True).returncode == 0

    def log(self):
        return (self.folder / "log").read_text()

    def simulate(self, study, rows):
        """Let each row answer a study once, at the terminal."""
        data = self.folder / "devices.csv"
        rows.to_csv(data, index=False)
        return json.loads(printed(
            [BIN / "coppice", "collect", "simulate", "--study", study, "--data", data, "--curator-key",
             self.curator_key, "--relay", self.server, "--relay-key", self.key, "--relay-ca", self.ca,
             "--relay-token-file", self.token_file, "--journal", self.folder / f"{study}.journal", "--json"]))

    def end(self):
        self.process.kill()
        self.process.wait()


def printed(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
