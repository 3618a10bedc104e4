#!/usr/bin/python3
"""An owner asks for plans that take long, and for many at once, to make the daemon useless for others: a preview
charges nothing, and no quota counts it.
"""

from concurrent.futures import ThreadPoolExecutor

from curator import DATASETS, TRAINING, Curator, cap, fill_dataset, make_token, outcome_of, schema

EPSILON, DELTA = 10**9, 10**12
PREVIEWS = 200  # more than may wait


def preview(client, dataset, **settings):
    spec = {"dataset": f"datasets/{dataset}", "algorithm": "lazybb", "epsilon_nanos": EPSILON * 1000,
            "delta_atto": DELTA, "settings": settings}
    return outcome_of(lambda: client.call(TRAINING, "PreviewJob", spec=spec))


def make_dataset(client, name, classes):
    limit = dict(cap(EPSILON * 1000), delta_atto=DELTA)
    client.call(DATASETS, "CreateDataset", request_id=name, dataset_id=name, cap=limit,
                schema=schema(classes=[f"c{i}" for i in range(classes)]))
    rows = {"columns": [{"values": [0.5]}] * 2, "labels": [0]}
    client.call(DATASETS, "AppendRows", dataset=f"datasets/{name}", first_row=0, rows=rows, complete=True)


def check_work(curator, client):
    """The plan for the most classes and rounds, which is refused for its model's size, must not cost far more than
    that for three classes.
    """
    def cost(dataset):
        before = curator.processor_seconds()
        for _ in range(20):
            answer = preview(client, dataset, rounds="999")
            assert answer == "INVALID_ARGUMENT" or not isinstance(answer, str), answer
        return curator.processor_seconds() - before

    few, many = cost("few"), cost("many")
    print(f"20 plans of 999 rounds took the processor {few:.2f} s for 3 classes, {many:.2f} s for 4,096")
    assert many < 20 * few + 2, "a plan costs what its classes and rounds are"


def check_others(curator, noisy_token, quiet):
    """All that another owner calls is answered while previews come faster than they are."""
    clients = [curator.client(noisy_token) for _ in range(8)]
    with ThreadPoolExecutor(max_workers=32) as flood:
        asked = [flood.submit(preview, clients[i % len(clients)], "many", rounds="999") for i in range(PREVIEWS)]
        answers = []
        for i in range(5):
            answers += [
                outcome_of(lambda: quiet.call(DATASETS, "CreateDataset", request_id=f"x{i}", schema=schema(), cap=cap())),
                preview(quiet, "mine"),
                outcome_of(lambda: quiet.call(TRAINING, "SubmitJob", request_id=f"y{i}",
                                              spec={"dataset": "datasets/mine", "algorithm": "rdt",
                                                    "epsilon_nanos": 10**6}))]
        refused = [answer for answer in answers if isinstance(answer, str)]
        assert not refused, f"the quiet owner's calls met {refused}"
        floods = [one.result() for one in asked]
    unexpected = {answer for answer in floods if isinstance(answer, str)} - {"RESOURCE_EXHAUSTED", "INVALID_ARGUMENT"}
    assert not unexpected, unexpected


def main():
    noisy_token, noisy_entry = make_token("noisy", ["trainer"])
    quiet_token, quiet_entry = make_token("quiet", ["trainer"])
    with Curator(policy={"tokens": [noisy_entry, quiet_entry]}) as curator:
        noisy, quiet = curator.client(noisy_token), curator.client(quiet_token)
        make_dataset(noisy, "few", 3)
        make_dataset(noisy, "many", 4096)
        fill_dataset(quiet, "mine", 20)
        check_work(curator, noisy)
        check_others(curator, noisy_token, quiet)


main()
