#!/usr/bin/python3
"""The largest requests that the relay's methods take, of empty elements, of groups and of unknown fields.

Anybody reaches a relay's port, and two bytes of an unknown field take a hundred once they are parsed. Hundreds of such
requests go to every method at once, over gRPC and, in JSON too, over HTTP. The relay stays within 64 MiB more than
before, and deals on meanwhile.
"""

import concurrent.futures
import http.client
import re
import threading

import grpc

from curator import ROOT, Curator
from deployment import Deployment

RELAY, HEALTH = "coppice.v1.RelayService", "grpc.health.v1.Health"
MOST_BYTES = (1 << 17) + 1024  # what the transport takes: a sealed report
BRIEF_BYTES = 1024
AT_A_TIME = 100  # a connection has 128 calls
MOST_MORE_MIB = 64
REFUSED = {"INVALID_ARGUMENT", "RESOURCE_EXHAUSTED"}


def methods():
    """Every method that the relay serves, with the most bytes of a request."""
    with open(f"{ROOT}/proto/coppice/v1/relay.proto") as file:
        names = re.findall(r"^  rpc (\w+)\(", file.read(), re.MULTILINE)
    assert "SubmitSealedReport" in names, names
    sizes = {f"/{RELAY}/{name}": MOST_BYTES if name == "SubmitSealedReport" else BRIEF_BYTES for name in names}
    return sizes | {f"/{HEALTH}/Check": BRIEF_BYTES, f"/{HEALTH}/Watch": BRIEF_BYTES}


def hostile(size):
    return {
        "empty elements": b"\x0a\x00" * (size // 2),
        "deep groups": b"\x7b" * (size // 2) + b"\x7c" * (size // 2),
        "groups": b"\x7b\x7c" * (size // 2),
        "unknown fields": b"\x78\x01" * (size // 2),
        "unknown texts": b"\x7a\x00" * (size // 2),
    }


def start(channel, path, body):
    kind = channel.unary_stream if path.endswith("/Watch") else channel.unary_unary
    call = kind(path, request_serializer=bytes, response_deserializer=bytes)
    return call(body, timeout=300) if path.endswith("/Watch") else call.future(body, timeout=300)


def code_of(call, path):
    try:
        next(iter(call)) if path.endswith("/Watch") else call.result()
        call.cancel()
        return "OK"
    except grpc.RpcError as error:
        return error.code().name


class Honest(threading.Thread):
    """Asks for the relay's terms until it is told to stop, and counts the answers."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self._channel, self._done, self.answers = grpc.insecure_channel(address), threading.Event(), 0

    def run(self):
        ask = self._channel.unary_unary(f"/{RELAY}/GetRelayTerms", request_serializer=bytes,
                                        response_deserializer=bytes)
        while not self._done.is_set():
            assert ask(b"\x0a\x0fstudies/relayed", timeout=300)
            self.answers += 1

    def stop(self):
        self._done.set()
        self.join()


def attack(deployment, honest):
    """Returns how many hostile requests were sent."""
    before = deployment.relay_peak_mib()
    channel = grpc.insecure_channel(deployment.relay_address, options=[("grpc.use_local_subchannel_pool", 1)])
    sent = 0
    for path, size in methods().items():
        for body_size in {size, MOST_BYTES}:
            for what, body in hostile(body_size).items():
                calls = [start(channel, path, body) for _ in range(AT_A_TIME)]
                codes = {code_of(call, path) for call in calls}
                # Up to a thousand unknown fields may be a later version's.
                few = what.startswith("unknown") and body_size == BRIEF_BYTES
                assert codes <= (REFUSED | {"OK", "NOT_FOUND"} if few else REFUSED), f"{what} to {path}: {codes}"
                assert honest.is_alive(), f"{what} to {path}: an honest call failed"
                grown = deployment.relay_peak_mib() - before
                assert grown < MOST_MORE_MIB, f"{what} to {path}: the relay took {grown:.0f} MiB more"
                sent += AT_A_TIME
    return sent, deployment.relay_peak_mib() - before


def hostile_json(size):
    def repeated(before, part, after):
        return (before + part * ((size - len(before) - len(after)) // len(part)) + after).encode()

    return {
        "deep lists": repeated('{"study":', "[", ""),
        "lists of nothing": repeated('{"study":[', "{},", "{}]}"),
        "a field many times": repeated("{", '"study":"",', '"study":""}'),
        "unknown fields": repeated("{", '"x":{},', '"x":{}}'),
        "escapes": repeated('{"nobody":"', "\\u00ff", '"}'),
    }


def post(address, path, kind, body):
    """Returns the status; 0 if the connection ended first."""
    line = http.client.HTTPConnection(address, timeout=300)
    try:
        line.request("POST", path, body, {"Content-Type": f"application/{kind}"})
        return line.getresponse().status
    except (http.client.HTTPException, OSError):
        return 0
    finally:
        line.close()


def attack_http(deployment, honest):
    """The same over HTTP."""
    before, sent = deployment.relay_peak_mib(), 0
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        for path, size in methods().items():
            if RELAY not in path:
                continue  # health is over gRPC alone
            for body_size in {size, MOST_BYTES}:
                bodies = [("proto", body) for body in hostile(body_size).values()]
                bodies += [("json", body) for body in hostile_json(2 * body_size).values()]
                for kind, body in bodies:
                    posts = [pool.submit(post, deployment.relay_http, path, kind, body) for _ in range(AT_A_TIME)]
                    statuses = {done.result() for done in posts}
                    # Up to a thousand unknown fields may be a later version's: then the study is not found. Where the head
                    # says that a body is too long, the connection may end before all of it is sent.
                    refused = {400, 404, 429} | ({0} if body_size > size else set())
                    assert statuses <= refused, f"{kind} to {path}: {statuses}"
                    assert honest.is_alive(), f"{kind} to {path}: an honest call failed"
                    grown = deployment.relay_peak_mib() - before
                    assert grown < MOST_MORE_MIB, f"{kind} to {path}: the relay took {grown:.0f} MiB more"
                    sent += AT_A_TIME
    return sent, deployment.relay_peak_mib() - before


def main():
    with Curator() as curator:
        deployment = Deployment(curator)
        deployment.start_relay()
        try:
            honest = Honest(deployment.relay_address)
            honest.start()
            sent, grown = attack(deployment, honest)
            sent_http, grown_http = attack_http(deployment, honest)
            assert honest.answers > 0, "no honest call was answered while hostile ones were read"
            honest.stop()
        finally:
            deployment.stop_relay()
    print(f"{sent} hostile requests to every method of the relay: {grown:.0f} MiB more; {sent_http} over HTTP: "
          f"{grown_http:.0f} MiB more; {honest.answers} honest answers")


main()
