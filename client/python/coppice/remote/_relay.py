"""What a study asks of its relay."""

from __future__ import annotations

import base64
import binascii
import os
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from pathlib import Path
from typing import Optional, Union

from coppice.remote._units import Number, delta_atto
from coppice.v1 import study_pb2

RelayKey = Union[bytes, str, "os.PathLike[str]"]

_PIN = "ed25519:"
_KEY_BYTES = 32
# An Ed25519 key as SubjectPublicKeyInfo is these bytes and the key.
_DER_PREFIX = bytes.fromhex("302a300506032b6570032100")
_PEM = ("-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----")


def set_relay(
    settings: study_pb2.StudySettings,
    relay_key: Optional[RelayKey],
    min_batch: Optional[int],
    dishonest: Optional[Number],
    relay_delta: Optional[Number],
) -> None:
    """Take a study's reports through a relay, if there is a key of one."""
    if relay_key is None and min_batch is None:
        return
    if relay_key is None or min_batch is None:
        raise ValueError("relay_key, min_batch: give both or none")
    settings.relay.relay_key = _key_bytes(relay_key)
    set_batches(settings, min_batch, dishonest, relay_delta)


def set_batches(
    settings: study_pb2.StudySettings,
    min_batch: Optional[int],
    dishonest: Optional[Number],
    relay_delta: Optional[Number],
) -> None:
    """Ask a plan about batches of a relay, which needs no key, if there is a smallest one."""
    if min_batch is None:
        return
    settings.relay.min_batch = min_batch
    if dishonest is not None:
        settings.relay.dishonest_millionths = _millionths(dishonest)
    if relay_delta is not None:
        settings.relay.delta_atto = delta_atto(relay_delta, "relay_delta")


def honest_reports(relay: study_pb2.RelaySettings) -> int:
    """Return how many reports of the smallest batch are assumed to be honest."""
    dishonest = -(-relay.min_batch * relay.dishonest_millionths // 10**6)
    return int(relay.min_batch - dishonest)


def _key_bytes(key: RelayKey) -> bytes:
    if isinstance(key, bytes):
        raw: Optional[bytes] = key
    elif isinstance(key, str) and key.startswith(_PIN):
        raw = _decode(key[len(_PIN) :])
    else:
        raw = _read(Path(key).read_text(encoding="utf-8-sig", errors="replace").strip())
    if raw is None or len(raw) != _KEY_BYTES:
        raise ValueError(
            "relay_key: must be 'ed25519:...' as `coppice-relay keygen` prints it, or a file of a "
            "public key"
        )
    return raw


def _read(text: str) -> Optional[bytes]:
    if text.startswith(_PIN):
        return _decode(text[len(_PIN) :])
    if not (text.startswith(_PEM[0]) and text.endswith(_PEM[1])):
        return None
    der = _decode("".join(text[len(_PEM[0]) : -len(_PEM[1])].split()))
    if der is None or not der.startswith(_DER_PREFIX):
        return None
    return der[len(_DER_PREFIX) :]


def _decode(text: str) -> Optional[bytes]:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _millionths(share: Number) -> int:
    try:
        decimal = Decimal(str(share))
    except InvalidOperation:
        decimal = Decimal("NaN")
    if decimal.is_finite() and 0 <= decimal < 1:
        millionths = int((decimal * 10**6).to_integral_value(ROUND_CEILING))
        if millionths < 10**6:
            return millionths
    raise ValueError(f"dishonest={share}: must be from 0 to 0.999999")
