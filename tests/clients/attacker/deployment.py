"""A curator with a study of its own and one behind a relay, and that relay: without TLS, and for everybody."""

import json
import os
import subprocess

from curator import BIN, die_with_parent, eventually

from eventually import http_port  # found by curator.py

DEVICES = 1000  # the smallest batch there is


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


def told(*command):
    done = run(*command)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def write_rows(folder):
    with open(f"{folder}/schema.json", "w") as file:
        json.dump({"features": [{"name": "x", "type": "numeric", "min": 0, "max": 10}], "label": "y",
                   "classes": ["no", "yes"]}, file)
    with open(f"{folder}/public.csv", "w") as file:
        file.write("x,y\n" + "".join(f"{i % 10}.5,{'no' if i % 10 < 5 else 'yes'}\n" for i in range(60)))
    with open(f"{folder}/rows.csv", "w") as file:
        file.write("who,x,y\n" + "".join(f"person{i},{i % 10},{'yes' if i % 3 else 'no'}\n" for i in range(DEVICES)))


class Deployment:
    """A curator with a study of its own and one behind a relay, and that relay."""

    def __init__(self, curator):
        self.folder, self.curator = curator.folder, curator
        self.at = ["--server", curator.address, "--ca", f"{curator.certs}/ca.crt"]
        write_rows(self.folder)
        self.relay_key = told(f"{BIN}/coppice-relay", "keygen", "--data-dir", f"{self.folder}/relay").split("\n")[0]
        self.make("direct")
        self.make("relayed", "--relay-key", self.relay_key, "--min-batch", DEVICES)
        self.key = f"{self.folder}/curator.pem"
        with open(self.key, "w") as file:
            file.write(told(f"{BIN}/coppice", "study", "key", "--pem", *self.at))

    def make(self, study, *flags):
        told(f"{BIN}/coppice", "study", "create", "--study", study, "--public", f"{self.folder}/public.csv", "--schema",
             f"{self.folder}/schema.json", "--epsilon", 4, "--mechanism", "direct", "--depth", 1, *flags, *self.at)

    def start_relay(self):
        port, log_file = f"{self.folder}/relay-port", f"{self.folder}/relay-log"
        log = open(log_file, "wb")
        self.relay = subprocess.Popen(
            [f"{BIN}/coppice-relay", "--data-dir", f"{self.folder}/relay", "--listen", "127.0.0.1:0", "--insecure",
             "--port-file", port, "--admit-all", "--curator", self.curator.address, "--curator-ca",
             f"{self.curator.certs}/ca.crt", "--curator-key", self.key, "--study", "relayed", "--tickets", str(DEVICES),
             "--deal", "1h", "--collect", "2h", "--http-listen", "127.0.0.1:0"], stderr=log, preexec_fn=die_with_parent)
        eventually(lambda: os.path.exists(port) and os.path.getsize(port))
        log.close()  # the relay has it
        with open(port) as file:
            self.relay_address = "127.0.0.1:" + file.read().strip()
        self.relay_http = f"127.0.0.1:{http_port(self.relay, lambda: open(log_file).read())}"
        eventually(lambda: run(f"{BIN}/coppice", "health", "--server", self.relay_address, "--insecure").returncode == 0)

    def simulate(self, study, journal, *flags):
        return run(f"{BIN}/coppice", "collect", "simulate", "--study", study, "--data", f"{self.folder}/rows.csv",
                   "--id-column", "who", "--journal", journal, "--curator-key", self.key, "--json", *flags)

    def received(self, study):
        return json.loads(told(f"{BIN}/coppice", "study", "show", "--study", study, "--json", *self.at))["received"]

    def relay_peak_mib(self):
        with open(f"/proc/{self.relay.pid}/status") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM:"))

    def stop_relay(self):
        self.relay.kill()
        self.relay.wait()
