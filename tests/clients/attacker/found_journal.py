#!/usr/bin/python3
"""Somebody finds a device's journal when all is delivered, and has from curator and relay together every ticket that
was dealt: the list that the relay forgets, who had which. Then somebody finds a journal that lost all but its first
bytes, and has its devices answer again.

Flash, snapshots and backups may keep what a file had before (docs/threat-model.md); here only the file is looked at.
"""

import glob
import json
import os
import subprocess

from curator import BIN, Curator, die_with_parent, eventually

DEVICES = 1000  # the smallest batch there is
WAITING, DELIVERED, SEEN, FINAL, CHOICE, ENCRYPTED = range(1, 7)
HEADER_BYTES = 20
TICKET_BYTES = 32


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


def record_kinds(journal):
    """The kinds of the records in a journal's bytes."""
    kinds, at = [], HEADER_BYTES
    while at < len(journal):
        kinds.append(journal[at + 8])
        at += 16 + int.from_bytes(journal[at : at + 4], "little")
    return kinds


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
        port = f"{self.folder}/relay-port"
        self.relay = subprocess.Popen(
            [f"{BIN}/coppice-relay", "--data-dir", f"{self.folder}/relay", "--listen", "127.0.0.1:0", "--insecure",
             "--port-file", port, "--admit-all", "--curator", self.curator.address, "--curator-ca",
             f"{self.curator.certs}/ca.crt", "--curator-key", self.key, "--study", "relayed", "--tickets", str(DEVICES),
             "--deal", "1h", "--collect", "2h"], stderr=subprocess.DEVNULL, preexec_fn=die_with_parent)
        eventually(lambda: os.path.exists(port) and os.path.getsize(port))
        with open(port) as file:
            self.relay_address = "127.0.0.1:" + file.read().strip()
        eventually(lambda: run(f"{BIN}/coppice", "health", "--server", self.relay_address, "--insecure").returncode == 0)

    def dealt_tickets(self):
        """What the relay has of tickets on its disk before it freezes the deal."""
        found = glob.glob(f"{self.folder}/relay/studies/relayed/epochs/*/tickets")
        assert found, "the relay's folder has no list of tickets"
        tickets = set()
        for path in found:
            with open(path, "rb") as file:
                data = file.read()
            tickets |= {data[at : at + TICKET_BYTES] for at in range(0, len(data) - TICKET_BYTES + 1)}
        return tickets

    def simulate(self, study, journal, *flags):
        return run(f"{BIN}/coppice", "collect", "simulate", "--study", study, "--data", f"{self.folder}/rows.csv",
                   "--id-column", "who", "--journal", journal, "--curator-key", self.key, "--json", *flags)

    def received(self, study):
        return json.loads(told(f"{BIN}/coppice", "study", "show", "--study", study, "--json", *self.at))["received"]


def look_for_tickets(journal, tickets):
    with open(journal, "rb") as file:
        data = file.read()
    kinds = set(record_kinds(data))
    assert kinds == {SEEN, FINAL, CHOICE}, kinds
    found = [at for at in range(len(data) - TICKET_BYTES + 1) if data[at : at + TICKET_BYTES] in tickets]
    assert not found, f"{len(found)} tickets are still in the journal"
    assert not os.path.exists(journal + ".new")
    for line in told(f"{BIN}/coppice", "collect", "history", "--journal", journal, "--answers", "--json").splitlines():
        secret = {"ticket", "payload", "ciphertext", "encapsulated"} & {
            name for answer in json.loads(line).get("answers", [json.loads(line)]) for name in answer}
        assert not secret, secret


def answer_with_cut_journals(deployment):
    journal = f"{deployment.folder}/direct.journal"
    with open(journal, "rb") as file:
        whole = file.read()
    before = deployment.received("direct")
    for size in (0, 19, 20, 21, 37):
        with open(journal, "wb") as file:
            file.write(whole[:size])
        again = deployment.simulate("direct", journal, *deployment.at)
        assert again.returncode == 1 and "DATA_LOSS" in again.stdout, (size, again.stdout, again.stderr)
        assert os.path.getsize(journal) == size
    assert deployment.received("direct") == before


def main():
    with Curator() as curator:
        deployment = Deployment(curator)
        deployment.start_relay()
        try:
            tickets = deployment.dealt_tickets()
            direct, relayed = f"{curator.folder}/direct.journal", f"{curator.folder}/relayed.journal"
            answered = deployment.simulate("direct", direct, *deployment.at)
            assert answered.returncode == 0, answered.stderr
            look_for_tickets(direct, tickets)
            answered = deployment.simulate("relayed", relayed, "--relay", deployment.relay_address, "--relay-key",
                                           deployment.relay_key, "--insecure")
            assert answered.returncode == 0, answered.stderr
            look_for_tickets(relayed, tickets)
            answer_with_cut_journals(deployment)
        finally:
            deployment.relay.kill()
            deployment.relay.wait()
    print("a found journal tells nobody's ticket, and one that was cut off answers nothing")


main()
