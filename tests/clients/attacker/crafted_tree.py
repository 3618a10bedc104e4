#!/usr/bin/python3
"""A curator signs terms for a tree that takes as much memory as one may for its bytes. The devices that have room for
it answer, and take no more than they set aside; so silence does not tell who had the ticket."""

import os
import sys

from curator import ROOT, Curator
from lure import OFFER, Forger, Lure
from terminal import answer, make_study

sys.path.insert(0, os.path.join(ROOT, "tests/vectors"))

from device import merkle_root, write_fields  # noqa: E402

SPLITS = 300_000
MEMORY_PER_BYTE = 64  # kMemoryPerOfferByte of client/device/deal.h
LEAF, MISSING_SPLIT = 1, 4


def balanced(splits):
    """The kinds of a tree's nodes in preorder: each split asks whether the first feature is missing, which takes the
    fewest bytes."""
    kinds, waiting = bytearray(), [splits]
    while waiting:
        left = waiting.pop()
        if left == 0:
            kinds.append(LEAF)
            continue
        kinds.append(MISSING_SPLIT)
        waiting += [left - 1 - (left - 1) // 2, (left - 1) // 2]
    return bytes(kinds)


def main():
    tree = write_fields((1, balanced(SPLITS)), (2, bytes(SPLITS)))
    with Curator() as curator:
        make_study(curator, "--mechanism", "direct")
        client = curator.client()
        client.describe("coppice.v1.StudyService")
        lure, forger = Lure(curator), Forger(client)
        lure.lie = lambda request: None
        code, text, usual = answer(curator, lure.address, f"{curator.folder}/honest")
        assert code == 0, text

        def craft(method, answered):
            if not method.endswith(OFFER):
                return answered
            offer = client.message("coppice.v1.GetOfferResponse", answered)
            terms = client.message("coppice.v1.Terms", offer.terms)
            terms.trees, terms.forest_root = 1, merkle_root([tree])
            forger.sign(offer, terms.SerializeToString(), report_bytes=8)
            offer.forest[:] = [tree]
            return offer.SerializeToString()

        lure.change = craft
        journal = f"{curator.folder}/crafted"
        code, text, peak = answer(curator, lure.address, journal)
        most = MEMORY_PER_BYTE * len(tree) / 2**20 + 16  # and gRPC's copies
        assert "declined" not in text and '"rows":2' in text, text
        assert peak - usual < most, f"{peak - usual:.0f} MiB for {len(tree)} bytes, more than {most:.0f}"
        lure.stop()
    print(f"a tree of {len(tree)} bytes takes {peak - usual:.0f} MiB, at most {most:.0f}")


main()
