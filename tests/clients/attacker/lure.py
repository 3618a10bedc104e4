"""A server between a device and its curator, which passes on what it likes and changes the rest; and a curator's key of
its own, with which it signs what it likes."""

import hashlib
import os
import sys
from concurrent import futures

import grpc

from curator import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests/vectors"))

import ed25519  # noqa: E402

SUBMIT, KEYS, OFFER = "/SubmitReports", "/GetCuratorKeys", "/GetOffer"


class Lure:
    """A server with a certificate that the device accepts. `lie` answers SubmitReports: with bytes, with a status, or,
    if it returns None, as the curator does. All else is the curator's own answer, changed by `change`."""

    def __init__(self, curator):
        def read(name):
            with open(f"{curator.certs}/{name}", "rb") as file:
                return file.read()

        self._to_curator = grpc.secure_channel(curator.address, grpc.ssl_channel_credentials(read("ca.crt")))
        self.seen, self.answers, self.lie, self.change = [], [], lambda request: b"", lambda method, answer: answer
        self._server = grpc.server(futures.ThreadPoolExecutor(4))
        self._server.add_generic_rpc_handlers([self._handler()])
        credentials = grpc.ssl_server_credentials([(read("server.key"), read("server.crt"))])
        self.address = "127.0.0.1:%d" % self._server.add_secure_port("127.0.0.1:0", credentials)
        self._server.start()

    def _handler(self):
        lure = self

        class Handler(grpc.GenericRpcHandler):
            def service(self, details):
                return grpc.unary_unary_rpc_method_handler(
                    lambda request, context: lure.answer(details.method, request, context))

        return Handler()

    def answer(self, method, request, context):
        self.seen.append((method, request))
        said = self.lie(request) if method.endswith(SUBMIT) else None
        if isinstance(said, grpc.StatusCode):
            context.abort(said, "the lure says so")
        if said is not None:
            return said
        try:
            answer = self._to_curator.unary_unary(method)(request, timeout=60)
        except grpc.RpcError as error:
            context.abort(error.code(), error.details())
        self.answers.append((method, answer))
        return self.change(method, answer)

    def requests(self, method):
        return [request for called, request in self.seen if called.endswith(method)]

    def forget(self):
        self.seen, self.answers = [], []

    def stop(self):
        self._server.stop(None)


class Forger:
    """Signs other terms than the curator's as a curator would. A device without a pin believes the first key that it
    sees. `client` knows the curator's messages."""

    SEED = bytes(range(32))

    def __init__(self, client):
        self._client = client
        self.key = ed25519.public_key(self.SEED)

    def sign(self, offer, terms, **promises):
        """Makes `offer` one of these terms, which are bytes, with other promises than the curator's if any are given."""
        manifest = self._client.message("coppice.v1.Manifest", offer.manifest.manifest)
        manifest.fingerprint = offer.fingerprint = hashlib.sha256(terms).digest()
        manifest.key_id = hashlib.sha256(self.key).digest()[:16]
        for name, promise in promises.items():
            setattr(manifest, name, promise)
        offer.terms = terms
        offer.manifest.manifest = manifest.SerializeToString()
        offer.manifest.key = self.key
        offer.manifest.signature = ed25519.sign(self.SEED, b"coppice.v1.manifest\0" + offer.manifest.manifest)
        del offer.manifest.endorsements[:]
