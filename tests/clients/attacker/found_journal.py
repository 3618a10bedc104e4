#!/usr/bin/python3
"""Somebody finds a device's journal when all is delivered, and has from curator and relay together every ticket that
was dealt: the list that the relay forgets, who had which. Then somebody finds a journal that lost all but its first
bytes, and has its devices answer again.

Flash, snapshots and backups may keep what a file had before (docs/threat-model.md); here only the file is looked at.
"""

import glob
import json
import os

from curator import BIN, Curator
from deployment import Deployment, told

WAITING, DELIVERED, SEEN, FINAL, CHOICE, ENCRYPTED = range(1, 7)
HEADER_BYTES = 20
TICKET_BYTES = 32


def record_kinds(journal):
    """The kinds of the records in a journal's bytes."""
    kinds, at = [], HEADER_BYTES
    while at < len(journal):
        kinds.append(journal[at + 8])
        at += 16 + int.from_bytes(journal[at : at + 4], "little")
    return kinds


def dealt_tickets(folder):
    """What the relay has of tickets on its disk before it freezes the deal."""
    found = glob.glob(f"{folder}/relay/studies/relayed/epochs/*/tickets")
    assert found, "the relay's folder has no list of tickets"
    tickets = set()
    for path in found:
        with open(path, "rb") as file:
            data = file.read()
        tickets |= {data[at : at + TICKET_BYTES] for at in range(0, len(data) - TICKET_BYTES + 1)}
    return tickets


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
            tickets = dealt_tickets(curator.folder)
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
            deployment.stop_relay()
    print("a found journal tells nobody's ticket, and one that was cut off answers nothing")


main()
