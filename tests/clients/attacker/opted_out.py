#!/usr/bin/python3
"""A device's owner opts out while answers wait for a bad line. Somebody, or a job that nobody stopped, resumes the
journal, or answers with it again. A server in between sees every call that is made."""

import os
import sys

import grpc

from curator import ROOT, Curator
from lure import SUBMIT, Lure
from terminal import answer, make_study, run

sys.path.insert(0, os.path.join(ROOT, "tests/vectors"))

from journal import HEADER, choice_body, frame, sha256  # noqa: E402


def opt_out(path):
    """Appends the owner's choice to a journal, as the libraries for C and Python do."""
    with open(path, "rb") as file:
        data = file.read()
    at, previous = len(HEADER), sha256(data[: len(HEADER)])
    while at < len(data):
        end = at + 16 + int.from_bytes(data[at : at + 4], "little")
        _, previous = frame(previous, data[at + 8 : end - 8])
        at = end
    with open(path, "ab") as file:
        file.write(frame(previous, choice_body(1))[0])


def main():
    with Curator() as curator:
        make_study(curator)
        lure, journal = Lure(curator), f"{curator.folder}/devices.journal"
        lure.lie = lambda request: grpc.StatusCode.UNAVAILABLE
        code, text, _ = answer(curator, lure.address, journal, "--timeout", 5)
        assert code == 1 and lure.requests(SUBMIT), text
        lure.lie = lambda request: None

        opt_out(journal)
        before = os.path.getsize(journal)
        at = ("--server", lure.address, "--ca", f"{curator.certs}/ca.crt")
        for attempt in (lambda: run("collect", "resume", "--journal", journal, *at),
                        lambda: run("collect", "resume", "--end-unknown", "--journal", journal, *at),
                        lambda: answer(curator, lure.address, journal)):
            lure.forget()
            code, text, _ = attempt()
            assert code == 1 and "opted out" in text, text
            assert not lure.seen, [method for method, _ in lure.seen]
            assert os.path.getsize(journal) == before

        # The terminal says the same, and changes it. Nothing was lost: the owner may change her mind.
        code, text, _ = run("collect", "history", "--journal", journal)
        assert code == 0 and '"opted_out":true' in text, text
        code, text, _ = run("collect", "opt-out", "--journal", journal)
        assert code == 0 and '"opted_out":true' in text and os.path.getsize(journal) == before, text
        code, text, _ = run("collect", "opt-out", "--undo", "--journal", journal)
        assert code == 0 and '"opted_out":false' in text, text
        code, text, _ = run("collect", "resume", "--journal", journal, *at)
        assert code == 0, text
        assert len(lure.requests(SUBMIT)) == 1, [method for method, _ in lure.seen]
        lure.stop()
    print("a journal whose owner opted out calls nobody")


main()
