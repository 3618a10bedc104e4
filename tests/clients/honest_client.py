#!/usr/bin/python3
"""A client that works on while others attack: it calls health and GetStudy and sends a report every tenth of a second,
over a new connection every second. It says "ready" when it has begun, ends when its input does, and prints what
happened as JSON.
"""

import json
import os
import select
import sys
import time

import grpc

import reflected
import sealed
from device import ACCEPTED, checked_terms, direct_report, sample_study
from reflected import ReflectedClient

STUDIES = "coppice.v1.StudyService"
STUDY = "studies/attacked"
PERIOD_SECONDS = 0.1
CONNECTION_SECONDS = 1


def connect():
    # Channels to one server share a connection unless told otherwise.
    return ReflectedClient(os.environ["COPPICE_SERVER"], os.environ["COPPICE_CA"],
                           [("grpc.use_local_subchannel_pool", 1)])


class Tally:
    def __init__(self):
        self.calls, self.slowest_seconds, self.failures = 0, 0.0, []

    def time(self, name, call):
        begin = time.monotonic()
        try:
            result = call()
        except grpc.RpcError as error:
            self.failures.append(f"{name}: {error.code()} {error.details()}")
            result = None
        self.calls += 1
        self.slowest_seconds = max(self.slowest_seconds, time.monotonic() - begin)
        return result


def make_round(client, tally):
    if tally.time("health", client.healthy) is False:
        tally.failures.append("health: not SERVING")
    tally.time("GetStudy", lambda: client.call(STUDIES, "GetStudy", name=STUDY))
    offer = tally.time("GetOffer", lambda: client.call(STUDIES, "GetOffer", name=STUDY))
    if offer is None:
        return
    report = direct_report(*checked_terms(client, offer), offer.tickets[0])
    outcomes = tally.time("SubmitReports", lambda: sealed.submit(client, STUDY, offer.fingerprint, [report]))
    if outcomes is not None and outcomes != [ACCEPTED]:
        tally.failures.append(f"SubmitReports: {outcomes}")


def main():
    client = connect()
    client.call(STUDIES, "CreateStudy", **sample_study("attacked"))
    make_round(client, Tally())
    print("ready", flush=True)
    reflected.DEADLINE_SECONDS = 60
    tally, connected = Tally(), time.monotonic()
    while not select.select([sys.stdin], [], [], PERIOD_SECONDS)[0]:
        if time.monotonic() - connected > CONNECTION_SECONDS:
            client.close()
            client, connected = connect(), time.monotonic()
        make_round(client, tally)
    print(json.dumps(vars(tally)), flush=True)


if __name__ == "__main__":
    main()
