"""A curator of this machine for tests: coppiced with TLS and a policy, and what they send to it.

COPPICE_BIN_DIR names the folder of coppiced and coppice.
"""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading

import numpy as np
import pandas as pd

from eventually import eventually, port_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("COPPICE_BIN_DIR", ROOT / "build/release/bin"))

SCHEMA = {
    "label": "left",
    "classes": ["no", "yes"],
    "features": [
        {"name": "age", "type": "numeric", "min": 18, "max": 90, "integer": True},
        {"name": "plan", "type": "categorical", "values": ["basic", "plus", "business"]},
        {"name": "calls", "type": "numeric", "min": 0, "max": 40},
    ],
}
NUMBER_SCHEMA = {
    "label": "spent",
    "target_min": 0,
    "target_max": 200,
    "features": SCHEMA["features"],
}


def customers(rows, seed=1):
    """Customers, of whom some left."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": random.integers(18, 81, rows),
            "plan": random.choice(["basic", "plus", "business"], rows),
            "calls": np.minimum(random.exponential(6, rows), 40),
        }
    )
    share = np.where(frame["calls"] > 7, 0.75, 0.15) + 0.1 * (frame["age"] < 30)
    frame["left"] = np.where(random.random(rows) < share, "yes", "no")
    frame["spent"] = np.clip(20 + 3 * frame["calls"] + random.normal(0, 5, rows), 0, 200)
    return frame


class Curator:
    """A daemon in a folder of its own, which ends with the tests."""

    def __init__(self, *flags):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="coppice-python-"))
        certs = self.folder / "certs"
        subprocess.run([ROOT / "deploy/make-certs.sh", certs], check=True, capture_output=True)
        self.ca = certs / "ca.crt"
        self.certs = certs
        self.tokens = {}
        entries = []
        for name, role in (("ops", "admin"), ("owner", "trainer"), ("reader", "analyst"), ("relay", "relay")):
            resources = ["--resource", "*"] if role in ("analyst", "relay") else []
            made = subprocess.run([BIN / "coppiced", "token", "--name", name, "--role", role,
                                   *resources],
                                  check=True, capture_output=True, text=True).stdout.splitlines()
            self.tokens[name] = made[0]
            entries.append(json.loads(made[1]))
        policy = {"anonymous": ["device"], "tokens": entries}
        (self.folder / "policy.json").write_text(json.dumps(policy))
        for name, token in self.tokens.items():
            path = self.folder / f"{name}.token"
            path.touch(mode=0o600)
            path.write_text(token + "\n")
        self.flags = flags
        self.port = free_port()
        self.daemon = None
        self.start()

    @property
    def server(self):
        return f"127.0.0.1:{self.port}"

    def start(self):
        port_file = self.folder / "port"
        port_file.unlink(missing_ok=True)
        with open(self.folder / "log", "ab") as log:
            self.daemon = subprocess.Popen(
                [BIN / "coppiced", "--data-dir", self.folder / "store", "--listen", self.server,
                 "--port-file", port_file, "--tls-cert", self.certs / "server.crt",
                 "--tls-key", self.certs / "server.key", "--policy", self.folder / "policy.json",
                 *self.flags], stderr=log)
        port_of(self.daemon, port_file, self.folder / "log")

    def stop(self):
        """End as a crash does: an orderly end waits for connections, up to ten seconds."""
        self.daemon.kill()
        self.daemon.wait()

    def end(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def describe(self, *command):
        """What the command line prints with --json."""
        connection = ["--server", self.server, "--ca", self.ca, "--token-file", self.folder / "ops.token"]
        printed = subprocess.run([BIN / "coppice", *command, "--json", *connection], check=True,
                                 capture_output=True, text=True).stdout
        return [json.loads(line) for line in printed.splitlines()]

    def simulate(self, study, rows):
        """Let each row answer a study once, by the path of a real device."""
        data, schema = self.folder / "devices.csv", self.folder / "schema.json"
        rows.to_csv(data, index=False)
        schema.write_text(json.dumps(SCHEMA))
        subprocess.run(
            [BIN / "coppice", "collect", "simulate", "--study", study, "--data", data, "--schema",
             schema, "--server", self.server, "--ca", self.ca, "--journal",
             self.folder / f"{study}.journal", "--json"], check=True, capture_output=True)


class CuttingProxy:
    """Passes bytes on to a server, and cuts connections once so many have come from the client."""

    def __init__(self, port):
        self.port = free_port()
        self.cut_after = None  # bytes; None: never
        self.cuts = 0
        self.stall_after = None  # bytes; None: never
        self.refuse = False
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.refuse:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self._to))
            pair = (client, server)
            threading.Thread(target=self._pass_up, args=pair, daemon=True).start()
            threading.Thread(target=self._pass_down, args=pair, daemon=True).start()

    def _pass_up(self, client, server):
        passed = 0
        while piece := receive(client):
            passed += len(piece)
            if self.cut_after is not None and passed > self.cut_after:
                self.cuts += 1
                break
            eventually(lambda up=passed: self.stall_after is None or up <= self.stall_after)
            server.sendall(piece)
        close(client, server)

    def _pass_down(self, client, server):
        while piece := receive(server):
            try:
                client.sendall(piece)
            except OSError:
                break
        close(client, server)

    def close(self):
        close(self._listener)


def receive(connection):
    try:
        return connection.recv(1 << 16)
    except OSError:
        return b""


def close(*connections):
    for connection in connections:
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        connection.close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
