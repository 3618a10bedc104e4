#!/usr/bin/python3
"""A device is lured to a server that passes its challenge on to the curator, and so shows the curator's own proof. The
server wants the reports that wait for the curator, or at least to know of which study they are, and that the device
believes them delivered.

It also watches the line to the curator: two offers, two reports of different trees.
"""

import json
import struct
import subprocess

import grpc

from curator import BIN, Curator
from lure import KEYS, OFFER, SUBMIT, Lure

STUDY = "hiv-status-of-the-clinic"
SHOWN = 7.25  # a public value, which a report has in the clear
PEOPLE = ["ann", "bob"]


class Device:
    def __init__(self, curator):
        self.folder, self.certs, self.journal = curator.folder, curator.certs, f"{curator.folder}/devices.journal"

    def run(self, *arguments, server=None):
        if server is not None:
            arguments += ("--server", server, "--ca", f"{self.certs}/ca.crt")
        done = subprocess.run([f"{BIN}/coppice", *arguments, "--json"], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def answer(self, server):
        return self.run("collect", "simulate", "--study", STUDY, "--data", f"{self.folder}/rows.csv", "--journal",
                        self.journal, "--id-column", "who", "--show", "shown", "--curator-key",
                        f"{self.folder}/curator.pem", server=server)

    def resume(self, server):
        return self.run("collect", "resume", "--journal", self.journal, server=server)

    def delivered(self):
        code, text = self.run("collect", "history", "--journal", self.journal, "--answers")
        assert code == 0, text
        lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        return sum(line.get("delivered") is True for line in lines)


def write_rows(folder):
    with open(f"{folder}/schema.json", "w") as file:
        json.dump({"features": [{"name": "x", "type": "numeric", "min": 0, "max": 10},
                                {"name": "shown", "type": "numeric", "min": 0, "max": 10, "public": True}],
                   "label": "status", "classes": ["no", "yes"]}, file)
    with open(f"{folder}/public.csv", "w") as file:
        file.write("x,shown,status\n" + "".join(f"{i % 10}.5,{i % 7},{'no' if i % 10 < 5 else 'yes'}\n"
                                                for i in range(60)))
    with open(f"{folder}/rows.csv", "w") as file:
        file.write("who,x,shown,status\n" + "".join(f"{who},3,{SHOWN},yes\n" for who in PEOPLE))


def check_shows_nothing(requests, secrets):
    """Nothing that a report or its study is known by is in the messages, in any place."""
    assert requests, "nothing was sent"
    for request in requests:
        for secret in secrets:
            assert secret not in request, f"a message shows {secret!r}"
    assert len({len(request) for request in requests}) == 1, "messages of one study differ in length"


def main():
    with Curator() as curator:
        write_rows(curator.folder)
        device, lure = Device(curator), Lure(curator)
        code, text = device.run("study", "create", "--study", STUDY, "--public", f"{curator.folder}/public.csv",
                                "--schema", f"{curator.folder}/schema.json", "--epsilon", "2", "--mechanism",
                                "symmetric_unary", "--trees", "5", server=curator.address)
        assert code == 0, text
        code, text = device.run("study", "key", "--pem", server=curator.address)
        with open(f"{curator.folder}/curator.pem", "w") as file:
            file.write(json.loads(text)["pem"] if text.startswith("{") else text)

        # The answers wait, as the line to the curator was bad. Whoever carried the offers knows the tickets.
        lure.lie = lambda request: grpc.StatusCode.INTERNAL
        said = device.answer(lure.address)
        offers = [answer for method, answer in lure.answers if method.endswith(OFFER)]
        assert offers and lure.requests(SUBMIT) and device.delivered() == 0, said
        secrets = [STUDY.encode(), struct.pack("<d", SHOWN), *(who.encode() for who in PEOPLE)]
        check_shows_nothing(lure.requests(SUBMIT), secrets)

        # Later the device is lured. What the server says makes it believe nothing, and name no study.
        recorded = lure.requests(SUBMIT)[0]
        client = curator.client()
        client.describe("coppice.v1.ReportService")
        own = client.message("coppice.v1.SubmitReportsRequest", recorded)
        authentic = client.call("coppice.v1.ReportService", "SubmitReports", key_id=own.key_id,
                                encapsulated=own.encapsulated, ciphertext=own.ciphertext).SerializeToString()
        lies = [b"\x0a\x02\x01\x01", b"\x0a\x22" + bytes(34), b"", b"\xff", authentic,
                grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT]
        for lie in lies:
            lure.forget()
            lure.lie = lambda request, lie=lie: lie
            device.resume(lure.address)
            assert device.delivered() == 0, f"the device believes {lie!r}"
            assert {method for method, _ in lure.seen} <= {"/coppice.v1.StudyService" + KEYS,
                                                           "/coppice.v1.ReportService" + SUBMIT}, lure.seen
            check_shows_nothing(lure.requests(SUBMIT), secrets)
            for _, request in lure.seen:
                assert STUDY.encode() not in request, "the device names its study to whoever is there"

        # With a key of its own in the proof it gets nothing at all.
        def swap_key(method, answer):
            if not method.endswith(KEYS):
                return answer
            keys = client.message("coppice.v1.GetCuratorKeysResponse", answer)
            keys.direct_key = bytes([9]) + bytes(31)
            return keys.SerializeToString()

        lure.forget()
        lure.change, lure.lie = swap_key, lambda request: None
        device.resume(lure.address)
        assert lure.requests(KEYS) and not lure.requests(SUBMIT), "reports are sealed for a key that nobody proved"

        # All that is left is to pass everything on, and then the curator has the reports.
        lure.forget()
        lure.change = lambda method, answer: answer
        code, text = device.resume(lure.address)
        assert code == 0, text
        assert device.delivered() == len(PEOPLE), text
        check_shows_nothing(lure.requests(SUBMIT), secrets)
        counts = client.call("coppice.v1.StudyService", "GetStudy", name=f"studies/{STUDY}").study.counts
        assert sum(count.reports for count in counts if count.outcome == 1) == len(PEOPLE), counts
        check_lengths_of_offers(client)
        log = curator.log()
        assert not any(secret.decode(errors="replace") in log for secret in secrets[2:]), "the log names people"
        lure.stop()
    print("a lured device shows nothing, and believes only its curator")


def check_lengths_of_offers(client):
    """Offers of all five trees have one length, in protobuf and in JSON."""
    from google.protobuf import json_format

    trees, lengths = set(), set()
    while len(trees) < 5:
        offer = client.call("coppice.v1.StudyService", "GetOffer", name=f"studies/{STUDY}", tickets=1)
        trees.add(offer.tree)
        lengths.add((offer.ByteSize(), len(json_format.MessageToJson(offer))))
    assert len(lengths) == 1, lengths


main()
