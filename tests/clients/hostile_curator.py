#!/usr/bin/python3
"""A hostile curator, and what the shipped programs let it learn: devices whose rows it cannot foresee, answers that
belong to another curator, and texts that must not reach a terminal.

run.sh runs it, and sets COPPICE_SERVER, COPPICE_CA and COPPICE_BIN_DIR. Each scenario is a function that raises
AssertionError; docs/threat-model.md names them.
"""

import asyncio
import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
from concurrent import futures

import grpc

import http2

BIN = os.environ["COPPICE_BIN_DIR"]
CA = os.environ["COPPICE_CA"]
CERTS = os.path.dirname(CA)
CURATOR = os.environ["COPPICE_SERVER"]
STEERING = b"\x1b]0;OWNED\x07\x1b[31mred\x1b[0m\xc2\x9b31m"


def run(program, *arguments):
    return subprocess.run([os.path.join(BIN, program), *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=600, check=False)


def coppice(*arguments, server=CURATOR):
    return run("coppice", *arguments, "--server", server, "--ca", CA, "--json")


def answer_of(process):
    assert process.returncode == 0, process.stderr.decode()
    return json.loads(process.stdout.splitlines()[-1])


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def create_study(folder, study, classes, epsilon="1", server=CURATOR):
    """Creates a study of one numeric feature whose public rows have the given classes."""
    schema = {"features": [{"name": "x", "type": "numeric", "min": 0, "max": 10}], "label": "status",
              "classes": classes}
    rows = "".join(f"{i % 10}.5,{classes[i % 10 > 4]}\n" for i in range(60))
    answer_of(coppice("study", "create", "--study", study,
                      "--public", write(folder, "public.csv", "x,status\n" + rows),
                      "--schema", write(folder, "schema.json", json.dumps(schema)),
                      "--epsilon", epsilon, server=server))


def accepted(study):
    return answer_of(coppice("study", "show", "--study", study))["accepted"]


def every_row_is_answered(folder):
    """The curator asks for classes and types that only some rows fit, and counts who answers."""
    create_study(folder, "silence", ["hiv", "zzz"])
    rows = [["x=3", "status=hiv"], ["x=3", "status=healthy"], [], ["x=a text", "status=hiv"],
            ["x=", "status="], ["x=1e999"], ["age=70", "sex=f"]]
    for number, row in enumerate(rows):
        device = run("coppice_device_example", CURATOR, CA, "silence",
                     os.path.join(folder, f"device-{number}.journal"), *row)
        assert device.returncode == 0, device.stderr.decode()
        assert device.stdout == b"1 delivered, 0 waiting, 0 refused\n", device.stdout
    assert accepted("silence") == len(rows)

    table = write(folder, "private.csv", "x,status\n3,hiv\n3,healthy\nseven,hiv\n,\n")
    counts = answer_of(coppice("collect", "simulate", "--study", "silence", "--data", table))
    assert counts["accepted"] == 4, counts
    assert accepted("silence") == len(rows) + 4


def an_own_schema_comes_first(folder):
    """A device with a schema of its own declines a study of other classes, whatever its row."""
    create_study(folder, "other", ["hiv", "zzz"])
    own = {"features": [{"name": "x", "type": "numeric", "min": 0, "max": 10}], "label": "status",
           "classes": ["healthy", "hiv"]}
    schema = write(folder, "own.json", json.dumps(own))
    for row in ("3,hiv", "3,healthy"):
        table = write(folder, "own.csv", f"x,status\n{row}\n")
        declined = coppice("collect", "simulate", "--study", "other", "--data", table,
                           "--schema", schema)
        assert declined.returncode == 1 and b"its classes" in declined.stderr, declined.stderr
    assert accepted("other") == 0

    # A strict refusal comes before any call: nobody listens at the address.
    table = write(folder, "own.csv", "x,status\n3,zzz\n")
    strict = coppice("collect", "simulate", "--study", "other", "--data", table, "--schema", schema,
                     "--strict", server="127.0.0.1:1")
    assert strict.returncode == 1 and b"own.csv:2" in strict.stderr, strict.stderr


class SecondDaemon:
    """Another curator, with keys of its own."""

    def __init__(self, folder, data="second"):
        port_file = os.path.join(folder, f"{data}.port")
        if os.path.exists(port_file):
            os.remove(port_file)
        self._daemon = subprocess.Popen(
            [os.path.join(BIN, "coppiced"), "--data-dir", os.path.join(folder, data), "--listen",
             "127.0.0.1:0", "--port-file", port_file, "--tls-cert",
             os.path.join(CERTS, "server.crt"), "--tls-key", os.path.join(CERTS, "server.key")],
            stderr=subprocess.DEVNULL)
        for _ in range(600):
            if os.path.exists(port_file) and os.path.getsize(port_file) > 0:
                break
            threading.Event().wait(0.1)
        with open(port_file, encoding="ascii") as file:
            self.server = "127.0.0.1:" + file.read().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._daemon.terminate()
        self._daemon.wait(60)


class LosingServer:
    """Passes every call on to the curator but reports, which it loses: they wait in the journal."""

    def __init__(self, curator):
        self._curator = curator

    def __enter__(self):
        def read(name):
            with open(os.path.join(CERTS, name), "rb") as file:
                return file.read()

        self._to_curator = grpc.secure_channel(self._curator, grpc.ssl_channel_credentials(read("ca.crt")))
        self._server = grpc.server(futures.ThreadPoolExecutor(4))
        self._server.add_generic_rpc_handlers([self])
        credentials = grpc.ssl_server_credentials([(read("server.key"), read("server.crt"))])
        self.server = "127.0.0.1:%d" % self._server.add_secure_port("127.0.0.1:0", credentials)
        self._server.start()
        return self

    def __exit__(self, *_):
        self._server.stop(None)

    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: self._answer(details.method, request, context))

    def _answer(self, method, request, context):
        if method.endswith("/SubmitReports"):
            context.abort(grpc.StatusCode.INTERNAL, "lost")
        return self._to_curator.unary_unary(method)(request, timeout=60)


def simulate_without_delivery(*arguments, server=CURATOR):
    with LosingServer(server) as losing:
        simulated = coppice("collect", "simulate", *arguments, server=losing.server)
    assert simulated.returncode == 1 and b"collect resume" in simulated.stderr, simulated.stderr


def waiting(journal):
    rows = run("coppice", "collect", "history", "--journal", journal, "--json").stdout.splitlines()
    return sum(json.loads(row).get("waiting", 0) for row in rows)


def answers_go_to_their_own_curator(folder):
    """Resumed at the wrong address, answers are neither sent nor forgotten."""
    create_study(folder, "mine", ["no", "yes"])
    table = write(folder, "mine.csv", "who,x,status\nann,3,no\nbob,8,yes\n")
    journal = os.path.join(folder, "mine.journal")
    simulate_without_delivery("--study", "mine", "--data", table, "--journal", journal, "--id-column", "who")
    assert waiting(journal) == 2

    with SecondDaemon(folder) as second:
        create_study(folder, "mine", ["no", "yes"], server=second.server)
        wrong = coppice("collect", "resume", "--journal", journal, server=second.server)
        assert wrong.returncode == 1 and b"another curator" in wrong.stderr, wrong.stderr
        assert waiting(journal) == 2
        assert answer_of(coppice("study", "show", "--study", "mine",
                                 server=second.server))["rejected"] == {}

    counts = answer_of(coppice("collect", "resume", "--journal", journal))
    assert counts["accepted"] == 2 and counts["waiting"] == 0, counts


def an_unknown_study_ends_nothing(folder):
    """A curator that does not know a study, as it went back to before it was made, ends no device's answer."""
    with SecondDaemon(folder, "before"):
        pass
    shutil.copytree(os.path.join(folder, "before"), os.path.join(folder, "after"))
    table = write(folder, "gone.csv", "x,status\n3,no\n8,yes\n")
    journal = os.path.join(folder, "gone.journal")
    with SecondDaemon(folder, "after") as after:
        create_study(folder, "gone", ["no", "yes"], server=after.server)
        simulate_without_delivery("--study", "gone", "--data", table, "--journal", journal, server=after.server)
    with SecondDaemon(folder, "before") as before:
        resumed = coppice("collect", "resume", "--journal", journal, server=before.server)
        assert resumed.returncode == 1 and b"--end-unknown" in resumed.stderr, resumed.stderr
        assert waiting(journal) == 2
        ended = coppice("collect", "resume", "--journal", journal, "--end-unknown", server=before.server)
        assert ended.returncode == 0, ended.stderr
    assert waiting(journal) == 0


class RudeServer:
    """Refuses every call with a text that steers a terminal."""

    def __enter__(self):
        self._loop = asyncio.new_event_loop()
        started = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(started,))
        self._thread.start()
        assert started.wait(60)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self, started):
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(os.path.join(CERTS, "server.crt"), os.path.join(CERTS, "server.key"))
        tls.set_alpn_protocols(["h2"])
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._refuse, "127.0.0.1", 0, ssl=tls))
        self.server = "127.0.0.1:%d" % server.sockets[0].getsockname()[1]
        started.set()
        self._loop.run_forever()

    async def _refuse(self, reader, writer):
        quoted = "".join(f"%{byte:02X}" for byte in STEERING).encode()
        headers = http2.header_block([(b":status", b"200"), (b"content-type", b"application/grpc"),
                                      (b"grpc-status", b"3"), (b"grpc-message", quoted),
                                      (b"x-request-id", b"id-of-this-call")])
        try:
            await reader.readexactly(len(http2.PREFACE))
            writer.write(http2.frame(http2.SETTINGS, 0, 0))
            while True:
                head = await reader.readexactly(9)
                await reader.readexactly(int.from_bytes(head[:3], "big"))
                if head[3] == http2.SETTINGS and not head[4] & http2.ACK:
                    writer.write(http2.frame(http2.SETTINGS, http2.ACK, 0))
                if head[3] == http2.DATA and head[4] & http2.END_STREAM:
                    writer.write(http2.frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM,
                                             int.from_bytes(head[5:9], "big"), headers))
                await writer.drain()
        except (OSError, EOFError):
            pass


def no_words_steer_a_terminal(folder):
    """Error texts of a server are printed without control characters."""
    with RudeServer() as rude:
        for spoken_to in (
                coppice("study", "show", "--study", "s", server=rude.server),
                coppice("model", "list", server=rude.server),
                run("coppice_device_example", rude.server, CA, "s",
                    os.path.join(folder, "rude.journal"), "x=3")):
            assert spoken_to.returncode == 1 and b"OWNED" in spoken_to.stderr, spoken_to.stderr
            for text in (spoken_to.stdout, spoken_to.stderr):
                assert not any(steering in text for steering in (b"\x1b", b"\x07", b"\xc2\x9b")), text


SCENARIOS = [every_row_is_answered, an_own_schema_comes_first, answers_go_to_their_own_curator,
             an_unknown_study_ends_nothing, no_words_steer_a_terminal]


def main():
    failed = 0
    for scenario in SCENARIOS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                scenario(folder)
                print(f"  {scenario.__name__}: held")
            except AssertionError as error:
                failed += 1
                print(f"hostile_curator.py: {scenario.__name__}: {error}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
