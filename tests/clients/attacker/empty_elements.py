#!/usr/bin/python3
"""The largest messages that each method takes, of empty elements, of deep nesting and of unknown fields.

Two bytes of an empty element take fifty to a hundred once they are parsed: 62 MiB became 3 GiB, on the threads that
answer everybody. They go to every method that reflection names, over gRPC and over HTTP, as bytes and as JSON. The
daemon stays within 600 MiB, and honest calls are answered before the hostile ones end.
"""

import http.client
import re
import ssl
import threading

import grpc

from curator import STUDIES, Curator
from wire_bytes import field

MIB = 2**20
MOST_MIB = 600
MESSAGE_BYTES = 62 * MIB
PROBE_BYTES = 2 * MIB  # above the limits of nearly all methods
AT_A_TIME = 2  # as many bodies stopped the HTTP port of a machine with two processors

# What a sender may see: that the message is wrong or too large, or an answer. Never a broken connection.
EXPECTED = {"OK", "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED", "NOT_FOUND", "UNIMPLEMENTED", "FAILED_PRECONDITION",
            "CANCELLED", "DEADLINE_EXCEEDED"}


def path_to_list(message, depth=0):
    """The fields that lead to the nearest list of messages or texts, the list last; none if there is none."""
    for candidate in message.fields:
        if candidate.label == candidate.LABEL_REPEATED and candidate.type in (
                candidate.TYPE_MESSAGE, candidate.TYPE_STRING, candidate.TYPE_BYTES):
            return [candidate]
    for part in message.fields:
        if depth < 4 and part.type == part.TYPE_MESSAGE and part.label != part.LABEL_REPEATED:
            below = path_to_list(part.message_type, depth + 1)
            if below:
                return [part] + below
    return []


def empty_elements(message, size):
    path = path_to_list(message)
    element = field(path[-1].number, b"")
    body = element * (size // len(element) - 8 * len(path))
    for part in reversed(path[:-1]):
        body = field(part.number, body)
    return body


def hostile_bytes(message, size):
    bodies = {"empty elements": empty_elements(message, size)} if path_to_list(message) else {}
    return bodies | {
        "deep groups": b"\x7b" * (size // 2) + b"\x7c" * (size // 2),
        "unknown groups": b"\x7b\x7c" * (size // 2),
        "unknown fields": b"\x78\x01" * (size // 2),
    }


def hostile_json(message, size):
    path = path_to_list(message)
    texts = {
        "deep lists": b'{"x":' + b"[" * (size // 2) + b"]" * (size // 2 - 16) + b"}",
        "unknown fields": b"{" + b'"x":1,' * (size // 6 - 2) + b'"x":1}',
    }
    if path:
        element = b"{}" if path[-1].type == path[-1].TYPE_MESSAGE else b'""'
        body = b"[" + (element + b",") * (size // 3 - 64) + element + b"]"
        for part in reversed(path):
            body = b'{"' + part.name.encode() + b'":' + body + b"}"
        texts["empty elements"] = body
    return texts


def call_of(client, service, method):
    kind = {(False, False): client.channel.unary_unary, (False, True): client.channel.unary_stream,
            (True, False): client.channel.stream_unary, (True, True): client.channel.stream_stream}
    return kind[(method.client_streaming, method.server_streaming)](
        f"/{service}/{method.name}", request_serializer=bytes, response_deserializer=bytes)


def send(client, service, method, body):
    """Returns the code and the words that answer."""
    call = call_of(client, service, method)
    request = iter([body]) if method.client_streaming else body
    try:
        answer = call(request, timeout=300)
        if method.server_streaming:
            next(iter(answer), None)
            answer.cancel()
        return "OK", ""
    except grpc.RpcError as error:
        return error.code().name, error.details() or ""


class Honest(threading.Thread):
    """Calls until it is told to stop, and counts its answers."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self._client, self._done = client, threading.Event()
        self.answers = 0

    def run(self):
        while not self._done.is_set():
            self._client.call(STUDIES, "ListStudies")
            self.answers += 1

    def stop(self):
        self._done.set()
        self.join()


def in_parallel(work, times):
    """What as many threads return that do the same."""
    results = []
    threads = [threading.Thread(target=lambda: results.append(work())) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def limit_of(client, service, method):
    """The size above which the method refuses messages, if that is below MESSAGE_BYTES."""
    for size in (PROBE_BYTES, MESSAGE_BYTES):
        told = re.search(r"larger than (\d+) bytes", send(client, service, method, bytes(size))[1])
        if told:
            return min(int(told.group(1)), MESSAGE_BYTES)
    return MESSAGE_BYTES


class Judge:
    def __init__(self, curator, honest):
        self._curator, self._honest = curator, honest
        self.sent = 0

    def attack(self, name, work):
        before = self._honest.answers
        for code in in_parallel(work, AT_A_TIME):
            assert code in EXPECTED, f"{name}: {code}"
        assert self._honest.is_alive(), f"{name}: an honest call failed"
        peak = self._curator.peak_mib()
        assert peak < MOST_MIB, f"{name}: the daemon took {peak:.0f} MiB"
        self.sent += AT_A_TIME
        return self._honest.answers - before


def attack_over_grpc(client, judge):
    """Returns how many honest calls were answered meanwhile, and the limit of each method."""
    answered, limits = 0, {}
    for service in client.services():
        if service.startswith("grpc."):
            continue  # below
        for method in client.describe(service).methods:
            size = limits[service, method.name] = limit_of(client, service, method)
            for what, body in hostile_bytes(method.input_type, size).items():
                answered += judge.attack(f"{what} to {method.name}",
                                         lambda body=body: send(client, service, method, body)[0])
    return answered, limits


def attack_standard_services(client, judge):
    def check(body):
        call = client.channel.unary_unary("/grpc.health.v1.Health/Check", request_serializer=bytes,
                                          response_deserializer=bytes)
        try:
            call(body, timeout=300)
            return "OK"
        except grpc.RpcError as error:
            return error.code().name

    def reflect(body):
        call = client.channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                            request_serializer=bytes, response_deserializer=bytes)
        try:
            next(iter(call(iter([body]), timeout=300)), None)
            return "OK"
        except grpc.RpcError as error:
            return error.code().name

    for body in (b"\x7b\x7c" * (MESSAGE_BYTES // 2), b"\x78\x01" * (MESSAGE_BYTES // 2)):
        for name, call in (("health", check), ("reflection", reflect)):
            code = call(body)
            assert code == "RESOURCE_EXHAUSTED", f"{name}: {code}"
            judge.attack(name, lambda call=call, body=body: call(body))


def attack_over_http(curator, client, judge, limits):
    context = ssl.create_default_context(cafile=f"{curator.certs}/ca.crt")
    port = int(re.search(r" http listen=.*port=(\d+)", curator.log()).group(1))

    def post(path, body, kind):
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=300)
        try:
            connection.request("POST", path, body, {"Content-Type": kind})
            response = connection.getresponse()
            words = response.read().decode(errors="replace")
        except OSError:
            return "RESOURCE_EXHAUSTED"  # refused while it was sent
        finally:
            connection.close()
        code = re.search(r'"code":"(\w+)"', words)
        return code.group(1).upper() if code else "OK"

    answered = 0
    for service in client.services():
        if service.startswith("grpc."):
            continue
        for method in client.describe(service).methods:
            if method.client_streaming:
                continue
            path = f"/{service}/{method.name}"
            streams = method.server_streaming
            prefix = "application/connect+" if streams else "application/"
            size = limits[service, method.name]
            for kind, bodies in ((prefix + "json", hostile_json(method.input_type, size)),
                                 (prefix + "proto", hostile_bytes(method.input_type, size))):
                for what, body in bodies.items():
                    if streams:
                        body = b"\0" + len(body).to_bytes(4, "big") + body
                    answered += judge.attack(f"{what} to {method.name} over HTTP",
                                             lambda body=body, kind=kind: post(path, body, kind))
    return answered


def main():
    with Curator("--http-listen", "127.0.0.1:0") as curator:
        client = curator.client()
        honest = Honest(curator.client())
        honest.start()
        judge = Judge(curator, honest)
        over_grpc, limits = attack_over_grpc(client, judge)
        attack_standard_services(client, judge)
        over_http = attack_over_http(curator, client, judge, limits)
        assert over_grpc > 0 and over_http > 0, "no honest call was answered while hostile ones were read"
        honest.stop()
        print(f"{judge.sent} hostile messages to every method: at most {curator.peak_mib():.0f} MiB of {MOST_MIB}, and "
              f"{over_grpc} honest answers before theirs over gRPC, {over_http} over HTTP")


main()
