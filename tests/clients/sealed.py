"""Seals reports for a curator and opens its answers, written from docs/protocol.md alone."""

import hashlib
import os
import secrets
import struct
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../vectors"))

import hpke  # noqa: E402

STUDIES = "coppice.v1.StudyService"
REPORTS = "coppice.v1.ReportService"
INFO = b"coppice.v1.direct_reports\0"
LABEL = b"coppice.v1.direct_outcomes"
STEP = 64


def open_envelope(envelope):
    size = int.from_bytes(envelope[:4], "big")
    content, padding = envelope[4 : 4 + size], envelope[4 + size :]
    assert len(envelope) >= 4 + size and not padding.strip(b"\0"), "this is no envelope"
    return content


def envelope(content, size):
    return (struct.pack(">I", len(content)) + content).ljust(size, b"\0")


def key_id(suite, key):
    """The id of a sealing key."""
    kem_and_kdf = b"\x00\x20\x00\x01"
    return hashlib.sha256(b"coppice.v1.sealing_key\0" + kem_and_kdf + struct.pack(">H", suite) + key).digest()[:16]


def message_bytes(study, report_bytes, reports):
    """The length that a message is padded to. `study` is the id."""
    size = 4 + 10 + len(study) + 34 + reports * (46 + report_bytes)
    return (size + STEP - 1) // STEP * STEP


class Message:
    """A message of reports, sealed for a key, and what opens its answer."""

    def __init__(self, suite, key, content, size):
        self.suite, self.key_id = suite, key_id(suite, key)
        self.encapsulated, self.ciphertext, self._exporter = hpke.seal_with_secret(
            suite, key, INFO + self.key_id, b"", envelope(content, size), secrets.token_bytes(32))

    def fields(self):
        return dict(key_id=self.key_id, encapsulated=self.encapsulated, ciphertext=self.ciphertext)

    def outcomes(self, sealed_outcomes):
        """The numbers of the outcomes; None if this is not the curator's answer to this message."""
        opened = hpke.open_answer(self.suite, self._exporter, self.encapsulated, LABEL, sealed_outcomes)
        return None if opened is None else list(opened)


def report_bytes_of(client, name):
    """What a report of the study is padded to, by its manifest."""
    signed = client.call(STUDIES, "GetManifest", name=name).manifest
    return client.message("coppice.v1.Manifest", signed.manifest).report_bytes


def sealed_reports(client, name, fingerprint, reports):
    """A message of reports, sealed for the key of the curator at the other end of a ReflectedClient. `name` is
    "studies/ID"."""
    client.describe(REPORTS)
    content = client.encoded("coppice.v1.SealedReports", study=name, fingerprint=fingerprint, reports=reports)
    keys = client.call(STUDIES, "GetCuratorKeys")
    size = message_bytes(name.removeprefix("studies/"), report_bytes_of(client, name), len(reports))
    return Message(keys.direct_suite, keys.direct_key, content, size)


def submit(client, name, fingerprint, reports):
    """Sends reports, and returns the numbers of their outcomes."""
    message = sealed_reports(client, name, fingerprint, reports)
    return message.outcomes(client.call(REPORTS, "SubmitReports", **message.fields()).sealed_outcomes)
