"""Connections: what is refused before anything is sent, and what errors say."""

import pathlib
import socketserver
import subprocess
import sys
import threading

import coppice
import pytest
from coppice import remote
from coppice.remote._calls import printable
from coppice.remote._channel import ConnectOptions
from coppice.v1 import dataset_pb2, training_pb2
from curator import Curator, CuttingProxy, free_port, interrupt_once


@pytest.mark.parametrize("server", ["", "host", "host:", "host:0", "host:65536", "::1:80", "a/b:1", "h:1x"])
def test_an_address_has_a_host_and_a_port(server):
    with pytest.raises(ValueError, match="HOST:PORT"):
        coppice.connect(server)


@pytest.mark.parametrize("server", ["127.0.0.1:1", "[::1]:1", "localhost:1"])
def test_insecure_is_for_this_machine(server):
    coppice.connect(server, insecure=True).close()


@pytest.mark.parametrize(
    "options, why",
    [
        ({"insecure": True}, "loopback"),
        ({"cert": "a.crt"}, "go together"),
        ({"token": "a", "token_file": "b"}, "one of them"),
        ({"token": "two words"}, "one token"),
        ({"token": ""}, "one token"),
        ({"timeout": 0}, "above 0"),
    ],
)
def test_options_that_do_not_go_together(options, why):
    with pytest.raises(ValueError, match=why):
        coppice.connect("curator.example:8443", **options)


def test_insecure_shows_no_token():
    with pytest.raises(ValueError, match="show the token"):
        coppice.connect("127.0.0.1:1", insecure=True, token="secret")
    with pytest.raises(ValueError, match="no CA"):
        coppice.connect("127.0.0.1:1", insecure=True, ca="ca.crt")


def test_files_are_looked_at_first(curator, tmp_path):
    with pytest.raises(FileNotFoundError):
        coppice.connect(curator.server, ca=tmp_path / "none.crt")
    with pytest.raises(ValueError, match="ca: .* is not a PEM file"):
        coppice.connect(curator.server, ca=curator.folder / "policy.json")


def test_nobody_answers(curator):
    with coppice.connect(f"127.0.0.1:{free_port()}", ca=curator.ca) as client:
        with pytest.raises(remote.UnavailableError, match="nobody answers at 127.0.0.1:.*check the address") as caught:
            client.studies.list()
    assert isinstance(caught.value, ConnectionError) and isinstance(caught.value, coppice.RemoteError)
    assert caught.value.request_id is None


def test_a_server_that_is_not_to_be_trusted(curator, tmp_path):
    other = tmp_path / "other"
    make_certs = pathlib.Path(__file__).resolve().parents[3] / "deploy/make-certs.sh"
    subprocess.run([make_certs, other], check=True, capture_output=True)
    # It does not get better by trying again, for which there would be an hour.
    with coppice.connect(curator.server, ca=other / "ca.crt", timeout=3600) as client:
        with pytest.raises(remote.UnavailableError, match="cannot trust .* `ca`"):
            client.studies.list()


def test_a_proxy_that_is_down_is_not_taken_for_the_curator(curator, monkeypatch):
    port = free_port()
    monkeypatch.setenv("https_proxy", f"http://ann:s3cr3t@127.0.0.1:{port}")
    with coppice.connect("curator.invalid:8443", ca=curator.ca, timeout=5) as client:
        with pytest.raises(remote.UnavailableError, match="nobody answers at the proxy 127.0.0.1:") as caught:
            client.studies.list()
    assert "(https_proxy), which leads to curator.invalid:8443" in str(caught.value)
    assert "set no_proxy=curator.invalid" in str(caught.value)
    assert "s3cr3t" not in str(caught.value)
    monkeypatch.setenv("no_proxy", "*")
    with coppice.connect("curator.invalid:8443", ca=curator.ca, timeout=5) as client:
        with pytest.raises(remote.UnavailableError, match="nobody answers at curator.invalid:8443: .*check the name"):
            client.studies.list()


def test_proxies_are_those_of_the_environment(monkeypatch):
    for name in ("grpc_proxy", "https_proxy", "http_proxy", "no_grpc_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    host = ConnectOptions("curator.example:8443")
    assert host.proxy is None
    monkeypatch.setenv("https_proxy", "http://ann:p%40ss@proxy:3128")
    proxy = host.proxy
    assert str(proxy) == "the proxy proxy:3128 (https_proxy)"
    assert proxy.authorization == "Basic YW5uOnBAc3M="
    assert "ss" not in repr(proxy).replace("https", "")
    assert ConnectOptions("127.0.0.1:1").proxy is None
    for excepted in ("*", " curator.example", "other,.example", "*.EXAMPLE"):
        monkeypatch.setenv("no_proxy", excepted)
        assert host.proxy is None, excepted
    for kept in ("", "other", "curator.example.org"):
        monkeypatch.setenv("no_proxy", kept)
        assert host.proxy is not None, kept
    for other in ("", "socks5://proxy:1", "https://proxy:1", "http://proxy:port"):
        monkeypatch.setenv("https_proxy", other)
        assert host.proxy is None, other


def test_files_with_a_byte_order_mark(curator, tmp_path):
    mark = b"\xef\xbb\xbf"
    token, ca = tmp_path / "token", tmp_path / "ca.crt"
    token.write_bytes(mark + curator.tokens["ops"].encode() + b"\r\n")
    token.chmod(0o600)
    ca.write_bytes(mark + pathlib.Path(curator.ca).read_bytes())
    with coppice.connect(curator.server, ca=ca, token_file=token) as client:
        assert client.studies.list() is not None


class PlainAnswer(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.recv(1 << 16)
        self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def test_a_server_without_tls(curator):
    plain = socketserver.ThreadingTCPServer(("127.0.0.1", 0), PlainAnswer)
    plain.daemon_threads = True
    threading.Thread(target=plain.serve_forever, daemon=True).start()
    with coppice.connect(f"127.0.0.1:{plain.server_address[1]}", ca=curator.ca) as client:
        with pytest.raises(remote.UnavailableError, match="speaks no TLS; check the port"):
            client.studies.list()
    plain.shutdown()
    plain.server_close()


def test_a_token_is_needed(curator):
    with coppice.connect(curator.server, ca=curator.ca) as client:
        with pytest.raises(remote.UnauthenticatedError) as caught:
            client.studies.list()
    assert isinstance(caught.value, PermissionError)
    with coppice.connect(curator.server, ca=curator.ca, token="coppice_unknown") as client:
        with pytest.raises(remote.UnauthenticatedError):
            client.studies.list()


def test_a_token_comes_from_a_file(curator):
    with coppice.connect(curator.server, ca=curator.ca, token_file=curator.folder / "ops.token") as client:
        assert client.studies.list() is not None


def test_a_token_that_others_may_read(curator, tmp_path):
    path = tmp_path / "token"
    path.write_text(curator.tokens["ops"])
    path.chmod(0o644)
    with pytest.warns(UserWarning, match="chmod o-rwx"):
        coppice.connect(curator.server, ca=curator.ca, token_file=path).close()


def test_a_token_is_not_shown():
    options = ConnectOptions("localhost:1", token="coppice_secret")
    assert "coppice_secret" not in repr(options)


def test_words_of_the_curator_steer_no_terminal_and_pass_for_no_others():
    assert printable("good\u202edab\u200b \x1b[2J \ud800 ε") == "good\ufffddab\ufffd \ufffd[2J ? ε"
    assert printable("x" * 3000) == "x" * 2000 + "..."


def test_a_role_has_its_calls(reader):
    with pytest.raises(remote.PermissionDeniedError):
        reader.studies.submission_tokens(1)


def test_a_client_certificate(curator):
    strict = Curator("--client-ca", curator.ca)
    strict.ca, certs = strict.certs / "ca.crt", curator.certs
    token = strict.tokens["ops"]
    with coppice.connect(strict.server, ca=strict.ca, token=token) as client:
        with pytest.raises(remote.UnavailableError, match="asks for client certificates; give `cert` and `key`"):
            client.studies.list()
    with_certificate = {"cert": certs / "client.crt", "key": certs / "client.key"}
    with coppice.connect(strict.server, ca=strict.ca, token=token, **with_certificate) as client:
        assert client.studies.list() is not None
    strict.end()


def test_a_deadline_expires(curator):
    with coppice.connect(curator.server, ca=curator.ca, token=curator.tokens["ops"], timeout=1e-6) as client:
        with pytest.raises(remote.DeadlineExceededError, match="did not answer in time") as caught:
            client.studies.list()
    assert isinstance(caught.value, TimeoutError)


def test_ctrl_c_ends_a_call(curator):
    proxy = CuttingProxy(curator.port)
    with coppice.connect(f"127.0.0.1:{proxy.port}", ca=curator.ca, token=curator.tokens["ops"]) as client:
        client.studies.list()
        proxy.stall_after = 0
        with pytest.raises(KeyboardInterrupt):
            interrupt_once(proxy.stalled)  # here, since a connection may send something by itself
            client.studies.list()
        proxy.stall_after = None
    proxy.close()


def test_a_stream_of_a_closed_client_is_an_error_and_no_hang(curator):
    client = coppice.connect(curator.server, ca=curator.ca, token=curator.tokens["ops"])
    caller = client._caller
    client.close()
    request = training_pb2.WatchJobRequest(name="jobs/none")
    with pytest.raises(ValueError, match="closed"):
        with caller.answers(request, training_pb2.WatchJobResponse, timeout=5) as answers:
            next(answers)
    with pytest.raises(ValueError, match="closed"):
        caller.send(iter([]), dataset_pb2.UploadRowsRequest, dataset_pb2.UploadRowsResponse, timeout=5)


def test_a_call_is_tried_again(curator):
    proxy = CuttingProxy(curator.port)
    proxy.refuse = 1
    with coppice.connect(f"127.0.0.1:{proxy.port}", ca=curator.ca, token=curator.tokens["ops"]) as client:
        assert client.studies.list() is not None
    proxy.close()


def test_after_close_there_is_no_call(curator):
    client = coppice.connect(curator.server, ca=curator.ca)
    client.close()
    with pytest.raises(ValueError, match="closed"):
        client.studies.list()


def test_importing_loads_little():
    program = (
        "import sys, coppice; coppice.connect; coppice.RemoteError;"
        "print([name for name in ('grpc', 'numpy', 'pandas', 'sklearn') if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert printed.stdout.strip() == "[]"


@pytest.mark.parametrize("name", [name for name in remote.__all__ if name.endswith("Error")])
def test_every_error_is_one_of_coppice(name):
    error = getattr(remote, name)("what; where; what to do")
    assert isinstance(error, coppice.CoppiceError) and isinstance(error, coppice.RemoteError)
    assert str(error) == "what; where; what to do"
