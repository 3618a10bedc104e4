#!/usr/bin/python3
"""Jobs of next to no epsilon make models of millions of leaves: what they cost, and whether the daemon still starts."""

import time

from curator import DATASETS, MODELS, TRAINING, Curator, await_job, fill_dataset, make_token, outcome_of

FEATURES = [f"f{i}" for i in range(14)]
MIB = 1 << 20
CACHE_MIB = 96
STARTS = 5  # the first writes out the database's log, another may join its files: the least is the daemon's own
# What a daemon takes with all models read, beyond one without any: the cache, and one model's message while it is read.
ROOM_MIB = CACHE_MIB + 100


def submit(client, job, trees, depth=14, **spec):
    return outcome_of(lambda: client.call(
        TRAINING, "SubmitJob", request_id=job, job_id=job,
        spec={"dataset": "datasets/rows", "algorithm": "rdt", "epsilon_nanos": 10**5,
              "settings": {"trees": str(trees), "depth": str(depth)}, **spec}))


def spent(client):
    return client.call(DATASETS, "GetDataset", name="datasets/rows").dataset.spent.epsilon_nanos


def get_model(client, model):
    return outcome_of(lambda: client.call(MODELS, "GetModel", name=f"models/{model}"))


def refuses_what_nobody_can_fetch():
    token, entry = make_token("lab", ["trainer"])
    with Curator(policy={"tokens": [entry]}) as curator:
        client = curator.client(token)
        fill_dataset(client, "rows", rows=10, features=FEATURES)
        assert submit(client, "huge", trees=256) == "INVALID_ARGUMENT"
        assert submit(client, "small", trees=4, max_model_bytes=1000) == "INVALID_ARGUMENT"
        assert spent(client) == 0, "a refused plan was charged"
        print("a plan of 2^22 leaves is refused, at no epsilon")


def counts_for_the_quota():
    token, entry = make_token("lab", ["trainer"])
    quotas = {"lab": {"models": 2, "model_bytes": 1000000}}
    with Curator(policy={"tokens": [entry], "quotas": quotas}) as curator:
        client = curator.client(token)
        fill_dataset(client, "rows", rows=10, features=FEATURES)
        assert submit(client, "large", trees=4) == "RESOURCE_EXHAUSTED"
        for job in "ab":
            submit(client, job, trees=1, depth=2)
            await_job(client, job)
        charged = spent(client)
        assert submit(client, "c", trees=1, depth=2) == "RESOURCE_EXHAUSTED"
        assert spent(client) == charged
        client.call(MODELS, "DeleteModel", name="models/a")
        submit(client, "c", trees=1, depth=2)
        await_job(client, "c")
        print("models count for their owner's quota")


def keeps_memory_and_start():
    token, entry = make_token("lab", ["trainer"])
    flags = ["--max-model-bytes", str(256 * MIB), "--model-cache-bytes", str(CACHE_MIB * MIB)]
    with Curator(*flags, policy={"tokens": [entry]}) as curator:
        client = curator.client(token)
        fill_dataset(client, "rows", rows=10, features=FEATURES)
        client.close()
        curator.stop(orderly=True)
        curator.start()
        empty = curator.peak_mib()
        client = curator.client(token)
        jobs = [f"j{i}" for i in range(4)]
        for job in jobs:  # each of 131,072 leaves: some 6 MiB as a message, and 30 in memory
            submit(client, job, trees=8)
            await_job(client, job)
        submit(client, "larger", trees=40)  # 655,360 leaves do not fit into the cache
        await_job(client, "larger")
        client.close()
        starts = []
        for seconds in range(STARTS):
            # What was written last is in the log, which a start writes out, and may be compacted in the
            # background: a start that is stopped at once leaves that to the next one.
            time.sleep(seconds)
            curator.stop(orderly=True)
            curator.start()
            starts.append(curator.peak_mib())
        started = min(starts)
        print(f"a start takes {empty:.0f} MiB without models, {started:.0f} MiB with five of 57 MiB")
        assert started < empty + 30, "a start reads models"
        client = curator.client(token)
        for _ in range(2):
            for job in jobs:
                assert get_model(client, job).model.name == f"models/{job}"
        read = curator.memory_mib()
        print(f"with every model read twice it takes {read:.0f} MiB")
        assert read < started + ROOM_MIB, "models stay in memory"
        assert get_model(client, "larger") == "FAILED_PRECONDITION", "more than the cache holds"
        assert get_model(client, "j0").model.name == "models/j0", "the others are there"
        client.call(MODELS, "DeleteModel", name="models/larger")


def main():
    refuses_what_nobody_can_fetch()
    counts_for_the_quota()
    keeps_memory_and_start()


if __name__ == "__main__":
    main()
