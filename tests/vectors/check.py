#!/usr/bin/env python3
"""Runs every vector file of a folder through the second device: check.py [FOLDER]

Prints how many cases of each file hold, names those that do not, and fails if there are any.
"""

import json
import pathlib
import sys

import device
import ed25519
import hpke
import journal
from device import Refused, sha256
from randomize import MECHANISMS, NAMES, Stream

HERE = pathlib.Path(__file__).resolve().parent


def data(case, key):
    return bytes.fromhex(case.get(key, ""))


def stream_of(case):
    return Stream(data(case, "prefix"), data(case, "seed"))


def outcome(call):
    """Returns the status of a call, and its result."""
    try:
        return "OK", call()
    except Refused as refused:
        return refused.status, None


def check_mechanism(file):
    kind = MECHANISMS[file["mechanism"]]
    for case in file["cases"]:
        stream, mechanism = stream_of(case), kind(case["epsilon_nanos"], case["leaves"], case["classes"])
        for _ in range(case.get("start", 0)):
            stream.below(1 << 16)
        column = device.draw(data(case, "ticket"), 1, mechanism.columns)[1]
        if "place" in case:
            mechanism.window = case["reach"], case["half_width"]
            payload = mechanism.randomize_number(0, case["place"], column, stream)
        else:
            payload = mechanism.randomize(case["leaf"], case["label"], column, stream)
        made = (column, payload.hex(), stream.below(1 << 16))
        yield made == (case["column"], case["payload"], case["next_word"]), case


def check_tickets(file):
    for case in file["cases"]:
        ticket = data(case, "ticket")
        trees = {count: device.draw(ticket, int(count), 1)[0] for count in case["tree_of"]}
        columns = {count: device.draw(ticket, 1, int(count))[1] for count in case["column_of"]}
        yield trees == case["tree_of"] and columns == case["column_of"], case


def check_reports(file):
    studies = {}
    for case in file["studies"]:
        trees = [bytes.fromhex(tree) for tree in case["trees"]]
        terms = device.read_terms(data(case, "terms"))
        studies[case["study"]] = terms, [device.read_tree(tree) for tree in trees]
        root = device.merkle_root(trees).hex()
        yield sha256(data(case, "terms")).hex() == case["fingerprint"] and root == terms["forest_root"], case
    for case in file["cases"]:
        (terms, trees), ticket, stream = studies[case["study"]], data(case, "ticket"), stream_of(case)
        status, made = outcome(lambda: device.make_report(terms, trees, case["row"], ticket, stream))
        found = {"status": status, "next_word": stream.below(1 << 16)}
        if made:
            tree, payload, shown = made
            report = device.report_bytes(ticket, payload, shown).hex()
            found |= {"tree": tree, "payload": payload.hex(), "public_values": shown.hex(), "report": report}
        wanted = {key: case[key] for key in case if key not in ("study", "row", "ticket", "seed")}
        yield found == wanted, case


def check_terms(file):
    for case in file["terms"]:
        terms = data(case, "terms")
        yield sha256(terms).hex() == case["fingerprint"] and device.read_terms(terms) == case["values"], case
    for case in file["forests"]:
        trees = [data(tree, "tree") for tree in case["trees"]]
        yield device.merkle_root(trees).hex() == case["root"], case
        for index, tree in enumerate(case["trees"]):
            path = device.merkle_path(trees, index).hex()
            yield path == tree["path"] and device.read_tree(trees[index]) == tree["nodes"], tree
    for case in file["proofs"]:
        leaf, path, root = (data(case, key) for key in ("tree", "path", "root"))
        yield device.path_leads(leaf, case["index"], case["count"], path, root) == case["holds"], case


def check_manifests(file):
    terms = data(file, "terms")
    read = device.read_terms(terms)
    for case in file["keys"]:
        key = ed25519.public_key(data(case, "seed"))
        yield key.hex() == case["key"] and sha256(key)[:16].hex() == case["key_id"], case
    for case in file["cases"]:
        trust = device.Trust(data(case, "pin"), case.get("demand_pin", False), case.get("min_reports", 0))
        for offer in case["offers"]:
            signed = data(offer, "manifest") if "manifest" in offer else None
            arguments = offer["curator"], read, sha256(terms), signed, case["now"]
            yield outcome(lambda: trust.admit(*arguments))[0] == offer["status"], {"name": case["name"]} | offer


def take_step(kept, step):
    """What a device does to its journal."""
    if step["do"] == "see":
        kept.see(step["curator"].encode(), *(data(step, key) for key in ("manifest", "key", "root")))
    if step["do"] == "answer":
        texts = {"subject", "study"}
        kept.answer([
            {name: value if isinstance(value, int) else value.encode() if name in texts else data(answer, name)
             for name, value in answer.items()}
            for answer in step["answers"]
        ])  # fmt: skip
    if step["do"] == "deliver":
        kept.deliver(step["study"].encode(), [subject.encode() for subject in step["subjects"]])
    if step["do"] == "forget":
        kept.forget(step["now"])
    if step["do"] == "choose":
        kept.choose(step["opted_out"])


def check_journal(file):
    kept = journal.Journal()
    for step in file["steps"]:
        take_step(kept, step)
        read = outcome(lambda: journal.read_file(kept.file))
        waiting = step["undelivered"]
        yield kept.file.hex() == step["file"] and read == ("OK", (len(kept.file), waiting)) and kept.waiting() == waiting, step
    for case in file["files"]:
        status, read = outcome(lambda: journal.read_file(data(case, "file")))
        yield status == case["status"] and (read is None or read[0] == case["left"]), case


def sealing_key_id(aead, key):
    return sha256(b"coppice.v1.sealing_key\0" + bytes([0, 0x20, 0, 1, 0, aead]) + key)[:16]


def sealed_info(case):
    key_id = sealing_key_id(case["aead"], hpke.public_key(data(case, "secret")))
    return b"coppice.v1.sealed_report\0" + data(case, "fingerprint") + key_id


def open_report(case):
    arguments = (data(case, key) for key in ("ticket", "encapsulated", "ciphertext"))
    opened = hpke.open_sealed(case["aead"], data(case, "secret"), sealed_info(case), *arguments)
    if opened is None or len(opened) != 2 + case["payload_bytes"]:
        raise Refused("INVALID_ARGUMENT", "does not open")
    size = int.from_bytes(opened[:2], "big")
    if size > case["payload_bytes"] or any(opened[2 + size :]):
        raise Refused("INVALID_ARGUMENT", "is not padded so")
    return opened[2 : 2 + size].hex()


def check_sealed(file):
    for case in file["keys"]:
        key = hpke.public_key(data(case, "secret"))
        yield key.hex() == case["public"] and sealing_key_id(case["aead"], key).hex() == case["key_id"], case
    for case in file["sealed"]:
        payload, key = data(case, "payload"), hpke.public_key(data(case, "secret"))
        plaintext = len(payload).to_bytes(2, "big") + payload.ljust(case["payload_bytes"], b"\0")
        ticket, ephemeral = data(case, "ticket"), data(case, "ephemeral")
        made = hpke.seal(case["aead"], key, sealed_info(case), ticket, plaintext, ephemeral)
        yield tuple(part.hex() for part in made) == (case["encapsulated"], case["ciphertext"]), case
    for case in file["sealed"] + file["opened"]:
        yield outcome(lambda: open_report(case)) == (case["status"], case.get("payload")), case


def direct_info(case):
    return b"coppice.v1.direct_reports\0" + sealing_key_id(case["aead"], hpke.public_key(data(case, "secret")))


def opened_message(case):
    """The content of a message, and the exporter secret that opens its answer."""
    parts = (data(case, key) for key in ("encapsulated", "ciphertext"))
    opened = hpke.open_with_secret(case["aead"], data(case, "secret"), direct_info(case), b"", *parts)
    if opened is None:
        raise Refused("INVALID_ARGUMENT", "does not open")
    plaintext, exporter = opened
    size = int.from_bytes(plaintext[:4], "big")
    if len(plaintext) % 64 or 4 + size > len(plaintext) or any(plaintext[4 + size :]):
        raise Refused("INVALID_ARGUMENT", "is not padded so")
    return plaintext[4 : 4 + size], exporter


def open_answer(case):
    label = b"coppice.v1.direct_outcomes"
    exporter = opened_message(case)[1]
    outcomes = hpke.open_answer(case["aead"], exporter, data(case, "encapsulated"), label, data(case, "answer"))
    if outcomes is None:
        raise Refused("INVALID_ARGUMENT", "does not open")
    return outcomes.hex()


def check_direct_messages(file):
    for case in file["sealed"]:
        key, content = hpke.public_key(data(case, "secret")), data(case, "content")
        bytes_of_all = 4 + 44 + len(case["study"]) + case["reports"] * (46 + case["report_bytes"])
        plaintext = (len(content).to_bytes(4, "big") + content).ljust((bytes_of_all + 63) // 64 * 64, b"\0")
        made = hpke.seal(case["aead"], key, direct_info(case), b"", plaintext, data(case, "ephemeral"))
        yield tuple(part.hex() for part in made) == (case["encapsulated"], case["ciphertext"]), case
        yield sealing_key_id(case["aead"], key).hex() == case["key_id"], case
    for case in file["sealed"] + file["opened"]:
        yield outcome(lambda: opened_message(case)[0].hex()) == (case["status"], case.get("content")), case
    for case in file["answers"]:
        yield outcome(lambda: open_answer(case)) == (case["status"], case.get("outcomes")), case


CHECKS = {f"{name}.json": check_mechanism for name in NAMES} | {
    "tickets.json": check_tickets,
    "reports.json": check_reports,
    "terms.json": check_terms,
    "manifests.json": check_manifests,
    "journal.json": check_journal,
    "sealed.json": check_sealed,
    "direct_messages.json": check_direct_messages,
}
FEWEST_CASES = 15


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    total = failed = 0
    for name, check in CHECKS.items():
        results = list(check(json.loads((folder / name).read_text(encoding="utf-8"))))
        wrong = [case for held, case in results if not held]
        for case in wrong[:3]:
            print(f"{name}: differs: {json.dumps(case)[:500]}")
        print(f"{name}: {len(results) - len(wrong)} of {len(results)} cases hold")
        total, failed = total + len(results), failed + len(wrong)
        if len(results) < FEWEST_CASES:
            sys.exit(f"{name}: has too few cases to check anything")
    unknown = {path.name for path in folder.glob("*.json")} - set(CHECKS)
    if unknown:
        sys.exit(f"nothing checks {', '.join(sorted(unknown))}")
    print(f"{total - failed} of {total} cases hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
