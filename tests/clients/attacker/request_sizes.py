#!/usr/bin/python3
"""A device without a token asks for a ticket in a message of 62 MiB, which unfolds to gigabytes when it is parsed.

Field 6 of GetOfferRequest are submission tokens: two bytes make one, which is empty and takes 32 in memory.
"""

import grpc

from curator import DATASETS, STUDIES, Curator, make_token

MIB = 2**20
MESSAGE_MIB = 62
EMPTY_TOKEN = b"\x32\x00"
# What gRPC needs to take one message in, copies included. Parsed, the message takes over 1,000 MiB.
MOST_MIB = 6 * MESSAGE_MIB


def refusal_of(client, path, message):
    call = client.channel.unary_unary(path, request_serializer=bytes, response_deserializer=bytes)
    try:
        call(message, timeout=300, metadata=client._metadata)
    except grpc.RpcError as error:
        return error.code().name, error.details()
    return "OK", ""


def main():
    trainer, entry = make_token("team", ["trainer"])
    with Curator(policy={"anonymous": ["device"], "tokens": [entry]}) as curator:
        device, owner = curator.client(), curator.client(trainer)
        before = curator.memory_mib()
        bomb = EMPTY_TOKEN * (MESSAGE_MIB * MIB // len(EMPTY_TOKEN))
        for _ in range(3):
            code, words = refusal_of(device, f"/{STUDIES}/GetOffer", bomb)
            assert code == "RESOURCE_EXHAUSTED" and "larger than 65536 bytes" in words, (code, words)
        grown = curator.peak_mib() - before
        assert grown < MOST_MIB, f"three messages of {MESSAGE_MIB} MiB took {grown:.0f} MiB"
        # A thousand tokens, the most that a call may show, fit.
        tokens = (b"\x32\x20" + bytes(32)) * 1000
        code, words = refusal_of(device, f"/{STUDIES}/GetOffer", b"\x0a\x09studies/x" + tokens)
        assert code == "NOT_FOUND", (code, words)
        code, words = refusal_of(owner, f"/{DATASETS}/ListDatasets", bytes(64 * 1024 + 1))
        assert code == "RESOURCE_EXHAUSTED", (code, words)
        assert not owner.call(DATASETS, "ListDatasets").datasets
    print(f"messages of {MESSAGE_MIB} MiB were refused before they were parsed, in {grown:.0f} MiB")


main()
