"""A curator and perhaps a relay, both with TLS and a door for HTTP, for devices in other languages."""

import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile

from eventually import eventually, http_port, port_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("COPPICE_BIN_DIR", ROOT / "build/release/bin"))
CROWD = 1000  # the smallest batch there is

SCHEMA = {
    "label": "left", "classes": ["no", "yes"],
    "features": [{"name": "age", "type": "numeric", "min": 18, "max": 90, "integer": True},
                 {"name": "plan", "type": "categorical", "values": ["basic", "größer 🌳"]}],
}


def run(*command, **settings):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **settings)


def told(*command, **settings):
    done = run(*command, **settings)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def rows(number):
    draw = random.Random(1)
    lines = [f"{draw.randint(18, 90)},{draw.choice(['basic', 'größer 🌳'])},{draw.choice(['no', 'yes'])}" for _ in range(number)]
    return "\n".join(["age,plan,left", *lines]) + "\n"


class Daemons:
    """A folder with a curator and perhaps a relay, both with TLS and a door for HTTP. They end with the tests."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="coppice-daemons-"))
        self.programs = []
        certs = self.folder / "certs"
        told(ROOT / "deploy/make-certs.sh", certs)
        self.ca, self.tls = certs / "ca.crt", ["--tls-cert", certs / "server.crt", "--tls-key", certs / "server.key"]
        (self.folder / "schema.json").write_text(json.dumps(SCHEMA))
        (self.folder / "public.csv").write_text(rows(100))
        (self.folder / "crowd.csv").write_text(rows(CROWD))
        grpc, http = self.start("coppiced", "--data-dir", self.folder / "store")
        self.server, self.curator = f"localhost:{grpc}", f"localhost:{http}"
        self.key = self.folder / "curator.pem"
        self.key.write_text(self.coppice("study", "key", "--pem"))

    def start(self, program, *flags):
        port_file, log = self.folder / f"{program}.port", self.folder / f"{program}.log"
        with open(log, "wb") as file:
            started = subprocess.Popen(
                [str(part) for part in [BIN / program, *flags, *self.tls, "--listen", "127.0.0.1:0", "--http-listen",
                                        "127.0.0.1:0", "--port-file", port_file]], stderr=file)
        self.programs.append(started)
        return port_of(started, port_file, log), http_port(started, lambda: log.read_text(errors="replace"))

    def start_relay(self, study, tickets, deal="1h", collect="2h"):
        told_key = told(BIN / "coppice-relay", "keygen", "--data-dir", self.folder / "relay")
        self.relay_key = self.folder / "relay.key"
        self.relay_key.write_text(told_key.split("\n")[0])
        self.create(study, "--relay-key", self.relay_key.read_text(), "--min-batch", CROWD)
        token, entry = told(BIN / "coppice-relay", "token", "--name", "all", "--tickets", 100000).splitlines()
        self.token = self.folder / "token"
        for path, text in ((self.token, token), (self.folder / "devices", entry)):
            path.touch(mode=0o600)
            path.write_text(text + "\n")
        grpc, http = self.start("coppice-relay", "--data-dir", self.folder / "relay", "--curator", self.server, "--curator-ca", self.ca,
                                "--curator-key", self.key, "--study", study, "--tickets", tickets, "--admission",
                                self.folder / "devices", "--deal", deal, "--collect", collect)
        self.relay_grpc, self.relay = f"localhost:{grpc}", f"localhost:{http}"
        eventually(lambda: run(BIN / "coppice", "health", "--server", self.relay_grpc, "--ca", self.ca).returncode == 0)

    def crowd(self, study):
        told(BIN / "coppice", "collect", "simulate", "--study", study, "--data", self.folder / "crowd.csv", "--curator-key", self.key,
             "--relay", self.relay_grpc, "--relay-key", self.relay_key.read_text(), "--relay-ca", self.ca, "--relay-token-file",
             self.token, "--journal", self.folder / "crowd.journal")

    def coppice(self, *command):
        return told(BIN / "coppice", *command, "--server", self.server, "--ca", self.ca)

    def create(self, study, *flags):
        self.coppice("study", "create", "--study", study, "--public", self.folder / "public.csv", "--schema", self.folder / "schema.json",
                     "--epsilon", 1, *flags)

    def study(self, study):
        return json.loads(self.coppice("study", "show", "--study", study, "--json"))

    def end(self):
        for program in self.programs:
            program.kill()
            program.wait()
        shutil.rmtree(self.folder)
