"""A second device, written from docs/protocol.md in pure Python.

It reads terms and trees, judges manifests, makes reports and keeps a journal, all on bytes, without a network or a
file. A call refuses by raising Refused, with the status that docs/protocol.md gives.
"""

import hashlib
import math
import re
import struct

import ed25519
from randomize import MECHANISMS, NAMES, varint

DATA_LOSS, DECLINED, INVALID = "DATA_LOSS", "FAILED_PRECONDITION", "INVALID_ARGUMENT"
ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
MISSING = math.nan


class Refused(Exception):
    def __init__(self, status, why):
        super().__init__(why)
        self.status = status


def sha256(data):
    return hashlib.sha256(data).digest()


# Messages: a list of (number, value), where a value is a whole number or bytes.


def read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Refused(DATA_LOSS, "a number that does not end")
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def read_fields(data):
    fields, at = [], 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 0:
            value, at = read_varint(data, at)
        elif key & 7 in (1, 2):
            size, at = (8, at) if key & 7 == 1 else read_varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            raise Refused(DATA_LOSS, "a field of no kind that messages here have")
        if at > len(data) or not key >> 3:
            raise Refused(DATA_LOSS, "a field that does not end")
        fields.append((key >> 3, value))
    return fields


class Message:
    def __init__(self, data):
        self.fields = read_fields(data)

    def all(self, number):
        return [value for n, value in self.fields if n == number]

    def last(self, number, default):
        return (self.all(number) or [default])[-1]

    def number(self, number):
        return self.last(number, 0)

    def data(self, number):
        return self.last(number, b"")

    def text(self, number):
        return self.data(number).decode()

    def double(self, number):
        return struct.unpack("<d", self.last(number, bytes(8)))[0]

    def packed(self, number):
        values, data, at = [], b"".join(self.all(number)), 0
        while at < len(data):
            value, at = read_varint(data, at)
            values.append(value)
        return values


def write_fields(*fields):
    """Leaves out zeros and empty bytes, as messages do."""
    data = b""
    for number, value in fields:
        if value and isinstance(value, bytes):
            data += varint(number << 3 | 2) + varint(len(value)) + value
        elif value:
            data += varint(number << 3) + varint(value)
    return data


# Terms and trees.


def read_feature(data):
    message = Message(data)
    feature = {"name": message.text(1)}
    if message.all(2):
        numeric = Message(message.data(2))
        feature |= {"min": numeric.double(1), "max": numeric.double(2), "unit": numeric.text(3),
                    "integer": bool(numeric.number(4))}  # fmt: skip
    else:
        feature["values"] = [value.decode() for value in Message(message.data(3)).all(1)]
    return feature | {"public": bool(message.number(4))}


def read_schema(data):
    message = Message(data)
    schema = {"features": [read_feature(feature) for feature in message.all(1)], "label": message.text(2),
              "classes": [name.decode() for name in message.all(3)]}  # fmt: skip
    if message.all(4):
        target = Message(message.data(4))
        schema["target"] = {"min": target.double(1), "max": target.double(2), "unit": target.text(3)}
    return schema


def read_terms(data):
    message = Message(data)
    terms = {"study": message.text(1), "schema": read_schema(message.data(2)), "trees": message.number(3),
             "epsilon_nanos": message.number(4), "mechanism": NAMES[message.number(5) - 1],
             "forest_root": message.data(6).hex()}  # fmt: skip
    if message.all(7):
        ends = Message(message.data(7))
        terms["rounding"] = {"low": ends.double(1), "high": ends.double(2)}
    if message.all(9):
        window = Message(message.data(9))
        terms["window"] = {"reach": window.number(1), "half_width": window.number(2)}
    return terms | ({"joined_by": message.text(8)} if message.all(8) else {})


def read_tree(data):
    """Reads nodes in preorder."""
    message = Message(data)
    features, categories, missing_left = (iter(message.packed(number)) for number in (2, 4, 5))
    thresholds = iter(struct.unpack(f"<{len(message.data(3)) // 8}d", message.data(3)))
    nodes = []
    for kind in message.packed(1):
        node = {"kind": ["leaf", "numeric", "category", "missing"][kind - 1]}
        if kind != 1:
            node["feature"] = next(features)
        if kind in (2, 3):
            node |= {"threshold": next(thresholds)} if kind == 2 else {"category": next(categories)}
            node["missing_left"] = bool(next(missing_left))
        nodes.append(node)
    return nodes


def goes_left(node, value):
    if math.isnan(value):
        return node["kind"] == "missing" or node["missing_left"]
    if node["kind"] == "numeric":
        return value < node["threshold"]
    return node["kind"] == "category" and value == node["category"]


def find_leaves(nodes, row, follows):
    """Returns the leaves that `row` can reach if it decides only at the features for which `follows` is true."""
    reached, leaf = [], 0

    def walk(at, on_the_way):
        nonlocal leaf
        if nodes[at]["kind"] == "leaf":
            if on_the_way:
                reached.append(leaf)
            leaf += 1
            return at + 1
        feature = nodes[at]["feature"]
        both = feature not in follows
        left = not both and goes_left(nodes[at], row[feature])
        at = walk(at + 1, on_the_way and (both or left))
        return walk(at, on_the_way and (both or not left))

    walk(0, True)
    return reached


def merkle_root(leaves):
    if len(leaves) == 1:
        return sha256(b"\0" + leaves[0])
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b"\1" + merkle_root(leaves[:half]) + merkle_root(leaves[half:]))


def merkle_path(leaves, index):
    if len(leaves) == 1:
        return b""
    half = 1 << (len(leaves) - 1).bit_length() - 1
    if index < half:
        return merkle_path(leaves[:half], index) + merkle_root(leaves[half:])
    return merkle_path(leaves[half:], index - half) + merkle_root(leaves[:half])


def path_leads(leaf, index, count, path, root):
    if index >= count or len(path) % 32:
        return False
    node, last, reached = index, count - 1, sha256(b"\0" + leaf)
    for at in range(0, len(path), 32):
        sibling = path[at : at + 32]
        if last == 0:
            return False
        if node & 1 or node == last:
            reached = sha256(b"\1" + sibling + reached)
            while node and not node & 1:
                node, last = node >> 1, last >> 1
        else:
            reached = sha256(b"\1" + reached + sibling)
        node, last = node >> 1, last >> 1
    return last == 0 and reached == root


# Reports.


def draw(ticket, trees, columns):
    digest = sha256(b"coppice.v1.tree" + ticket)
    tree_bits, column_bits = (int.from_bytes(digest[at : at + 8], "big") for at in (0, 8))
    return tree_bits * trees >> 64, column_bits * columns >> 64


def read_number(text):
    """Returns the finite decimal number that the text spells, or MISSING."""
    spelt = re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text.strip(" \t\n\v\f\r"), re.ASCII)
    number = float(spelt[0]) if spelt else MISSING
    return MISSING if math.isinf(number) else number + 0.0


def clamp(number, low, high):
    return min(max(number, low), high)


def encode_value(feature, text):
    if not text:
        return MISSING
    if "values" in feature:
        values = feature["values"]
        return float(values.index(text) if text in values else len(values))
    number = read_number(text)
    if math.isnan(number):
        return MISSING
    number = clamp(number, feature["min"], feature["max"])
    if feature["integer"] and number != math.trunc(number):
        away = abs(number - math.trunc(number)) >= 0.5
        number = math.trunc(number) + (math.copysign(1, number) if away else 0) + 0.0
    return number


def place_of(terms, row):
    """Returns where the row's number lies between the ends of the terms' range; the middle if it has none."""
    number = read_number(row.get(terms["schema"]["label"], ""))
    if math.isnan(number):
        return 0.5
    low, high = terms["rounding"]["low"], terms["rounding"]["high"]
    bounds = terms["schema"]["target"]
    return (clamp(clamp(number, bounds["min"], bounds["max"]), low, high) - low) / (high - low)


def shown_values(features, nodes, row):
    public = [i for i, feature in enumerate(features) if feature["public"]]
    if len(public) < len(features):
        asked = {node["feature"] for node in nodes if node["kind"] != "leaf"}
        public = [i for i in public if i in asked]
    missing = bytes.fromhex("000000000000f87f")
    return b"".join(missing if math.isnan(row[i]) else struct.pack("<d", row[i] + 0.0) for i in public)


def randomize(terms, leaves, leaf, row, ticket, stream):
    """Hides the row's label, or its number, in one of so many leaves."""
    classes, text = terms["schema"]["classes"], row.get(terms["schema"]["label"], "")
    mechanism = MECHANISMS[terms["mechanism"]](terms["epsilon_nanos"], leaves, len(classes) or 2)
    if "window" in terms:
        mechanism.window = terms["window"]["reach"], terms["window"]["half_width"]
    column = draw(ticket, 1, mechanism.columns)[1]
    if "target" in terms["schema"]:
        return mechanism.randomize_number(leaf, place_of(terms, row), column, stream)
    label = classes.index(text) if text in classes else stream.below(len(classes))
    return mechanism.randomize(leaf, label, column, stream)


def make_report(terms, trees, row, ticket, stream):
    """Returns the number of the ticket's tree, the payload and the values shown. `row` has texts by column."""
    number = draw(ticket, terms["trees"], 1)[0]
    if "joined_by" in terms:
        shown = row.get(terms["joined_by"], "").encode()
        if not 1 <= len(shown) <= 64:
            raise Refused(INVALID, "the row has no id that the study can be joined by")
        return number, randomize(terms, 1, 0, row, ticket, stream), shown
    features, nodes = terms["schema"]["features"], trees[number]
    encoded = [encode_value(feature, row.get(feature["name"], "")) for feature in features]
    leaves = find_leaves(nodes, encoded, {i for i, feature in enumerate(features) if feature["public"]})
    (own,) = find_leaves(nodes, encoded, range(len(features)))
    payload = randomize(terms, len(leaves), leaves.index(own), row, ticket, stream)
    return number, payload, shown_values(features, nodes, encoded)


def report_bytes(ticket, payload, shown):
    return write_fields((1, ticket), (2, payload), (3, shown))


# Manifests.

# Fields by their numbers. This device answers curators themselves, and no relay: those of a relay must be left out.
PROMISES = {1: "study", 2: "fingerprint", 3: "epsilon_nanos", 4: "mechanism", 5: "expires", 6: "min_reports",
            7: "sequence", 8: "issued", 9: "key_id", 10: "public_features", 11: "relay_suite", 12: "relay_key",
            13: "min_batch", 14: "relayed_bytes", 15: "direct_suite", 16: "direct_key", 17: "report_bytes"}  # fmt: skip
BYTES = (1, 2, 9, 12, 16)
MAX_REPORT_BYTES = (1 << 20) - 1024


def read_manifest(data):
    message = Message(data)
    values = [message.data(number) if number in BYTES else message.number(number) for number in PROMISES]
    promise = dict(zip(PROMISES.values(), values))
    relayed = promise["relay_suite"] in (1, 3) and len(promise["relay_key"]) == 32
    relayed = relayed and promise["min_batch"] > 0 and 0 < promise["relayed_bytes"] <= 65535
    direct = promise["direct_suite"] in (1, 3) and len(promise["direct_key"]) == 32
    direct = direct and 0 < promise["report_bytes"] <= MAX_REPORT_BYTES
    is_good = (
        len(data) <= 256
        and write_fields(*enumerate(values, 1)) == data
        and ID.fullmatch(promise["study"].decode(errors="replace"))
        and len(promise["fingerprint"]) == 32
        and len(promise["key_id"]) == 16
        and 10**7 <= promise["epsilon_nanos"] <= 2 * 10**10
        and 1 <= promise["mechanism"] <= len(NAMES)
        and max(promise["expires"], promise["issued"]) < 1 << 63
        and promise["sequence"] > 0
        and (relayed or not any(values[10:14]))
        and (direct or not any(values[14:17]))
        and relayed != direct
    )
    if not is_good:
        raise Refused(DATA_LOSS, "the manifest is malformed")
    return promise


class Trust:
    """What a device remembers of curators: a list of (address, manifest's bytes, promise, key, root)."""

    def __init__(self, pin=None, demand_pin=False, min_reports=0):
        self.pin, self.demand_pin, self.min_reports = pin, demand_pin, min_reports
        self.seen = []

    def last(self, wanted):
        return next((seen for seen in reversed(self.seen) if wanted(seen)), None)

    def of_study(self, study):
        return self.last(lambda seen: seen[2]["study"] == study)

    def root_for(self, address, study):
        seen = self.last(lambda seen: seen[0] == address) or self.of_study(study)
        return self.pin or (seen and seen[4])

    def led_to(self, root):
        seen = self.last(lambda seen: seen[4] == root)
        return seen[3] if seen else root

    def admit(self, address, terms, fingerprint, data, now):
        """`data` is the SignedManifest, or None if the curator left it out."""
        study = terms["study"].encode()
        signed = None if data is None else read_signed(data)
        if self.demand_pin and not self.pin:
            raise Refused(DECLINED, "no pin")
        if signed is None:
            seen = self.of_study(study)
            if not seen or seen[4] != self.root_for(address, study) or self.led_to(seen[4]) != seen[3]:
                raise Refused(DATA_LOSS, "the manifest is missing")
            _, manifest, promise, key, root = seen
        else:
            manifest, signature, key, chain = signed
            root = self.root_for(address, study) or key
            follow(self.led_to(root), chain, key, now)
            if not ed25519.verify(key, b"coppice.v1.manifest\0" + manifest, signature):
                raise Refused(DATA_LOSS, "the signature does not check")
            promise = read_manifest(manifest)
            if promise["key_id"] != sha256(key)[:16]:
                raise Refused(DATA_LOSS, "the manifest names another key")
        if promise["study"] == study and promise["fingerprint"] != fingerprint:
            raise Refused(DATA_LOSS, "the terms that came are not those that were signed")
        self.check(promise, terms, fingerprint, root, now)
        self.seen.append((address, manifest, promise, key, root))

    def check(self, promise, terms, fingerprint, root, now):
        public = sum(feature["public"] for feature in terms["schema"]["features"])
        wanted = {"study": terms["study"].encode(), "fingerprint": fingerprint, "public_features": public,
                  "epsilon_nanos": terms["epsilon_nanos"],
                  "mechanism": NAMES.index(terms["mechanism"]) + 1}  # fmt: skip
        if any(promise[name] != value for name, value in wanted.items()):
            raise Refused(DECLINED, "another study, or other terms")
        if not promise["direct_suite"]:
            raise Refused(DECLINED, "reports go through a relay")
        before = self.of_study(promise["study"])
        if before and ((not self.pin and before[4] != root) or is_looser(before[2], promise)):
            raise Refused(DECLINED, "another curator's before, or looser than before")
        if promise["expires"] and now >= promise["expires"]:
            raise Refused(DECLINED, "expired")
        if promise["min_reports"] < self.min_reports:
            raise Refused(DECLINED, "too few reports")


def is_looser(before, now):
    same = {name: now[name] for name in PROMISES.values() if name not in ("key_id", "direct_key")}
    return (
        (now["direct_suite"], now["report_bytes"]) != (before["direct_suite"], before["report_bytes"])
        or now["min_reports"] < before["min_reports"]
        or (before["expires"] and not 0 < now["expires"] <= before["expires"])
        or now["sequence"] < before["sequence"]
        or (now["sequence"] == before["sequence"] and any(before[name] != same[name] for name in same))
    )


def read_signed(data):
    message = Message(data)
    chain = [Message(step) for step in message.all(4)]
    sizes = [(message.data(2), 64), (message.data(3), 32)]
    for step in chain:
        sizes += [(step.data(1), 16), (step.data(2), 32), (step.data(4), 64)]
    if len(chain) > 8 or len(message.data(1)) > 256 or any(len(value) != size for value, size in sizes):
        raise Refused(DATA_LOSS, "the signed manifest is malformed")
    return message.data(1), message.data(2), message.data(3), chain


def follow(trusted, chain, signer, now):
    for step in chain:
        if trusted == signer:
            return
        if step.data(1) != sha256(trusted)[:16]:
            continue
        signed = b"coppice.v1.key\0" + step.data(2) + step.number(3).to_bytes(8, "big")
        if not ed25519.verify(trusted, signed, step.data(4)):
            raise Refused(DATA_LOSS, "an endorsement does not check")
        if step.number(3) > now:
            raise Refused(DECLINED, "an endorsement counts only later")
        trusted = step.data(2)
    if trusted != signer:
        raise Refused(DECLINED, "a key that the trusted one has not endorsed")
