#!/usr/bin/python3
"""Datasets without a row whose schemas are megabytes of names: they count for a quota, and go when they are deleted."""

from curator import DATASETS, Curator, cap, make_token, outcome_of

FEATURES = 16
VALUES = 2500
NAME_BYTES = 60
DATASETS_MADE = 8
LEFT_MIB = 12  # of all eight after their deletion; their schemas are some 20 MiB as messages, and more in memory


def huge_schema(number):
    values = [f"{number}-{value}-".ljust(NAME_BYTES, "x") for value in range(VALUES)]
    features = [{"name": f"f{feature}", "categorical": {"values": values}} for feature in range(FEATURES)]
    return {"features": features, "label": "y", "classes": ["no", "yes"]}


def make(client, number):
    return outcome_of(lambda: client.call(DATASETS, "CreateDataset", request_id=f"r{number}", dataset_id=f"d{number}",
                                          schema=huge_schema(number), cap=cap()))


def counts_for_the_quota():
    token, entry = make_token("lab", ["trainer"])
    quota = {"bytes": FEATURES * VALUES * NAME_BYTES * 3 // 2, "datasets": 2}
    with Curator(policy={"tokens": [entry], "quotas": {"*": quota}}) as curator:
        client = curator.client(token)
        assert make(client, 0).dataset.name == "datasets/d0"
        assert make(client, 1) == "RESOURCE_EXHAUSTED", "schemas do not count"
        client.call(DATASETS, "DeleteDataset", name="datasets/d0")
        assert make(client, 1).dataset.name == "datasets/d1", "a deleted schema still counts"


def goes_with_the_dataset():
    token, entry = make_token("lab", ["trainer"])
    with Curator(policy={"tokens": [entry]}) as curator:
        curator.stop()
        curator.start()
        empty = curator.peak_mib()
        client = curator.client(token)
        for number in range(DATASETS_MADE):
            assert make(client, number).dataset.name
        for number in range(DATASETS_MADE):
            client.call(DATASETS, "DeleteDataset", name=f"datasets/d{number}")
        curator.stop()
        curator.start()
        left = curator.peak_mib()
        print(f"a start takes {empty:.0f} MiB without datasets, {left:.0f} MiB with {DATASETS_MADE} deleted ones")
        assert left < empty + LEFT_MIB, "the schemas of deleted datasets stay"


def main():
    counts_for_the_quota()
    goes_with_the_dataset()


if __name__ == "__main__":
    main()
