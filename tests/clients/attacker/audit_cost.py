#!/usr/bin/python3
"""Whoever repeats calls that cost nothing must not make everybody's next write slower.

Calls on datasets and jobs wait in the audit log until their day is over, so a trainer can pile up thousands of records
there. What a write then takes is compared with what it took at first, in the daemon's processor time.
"""

from curator import DATASETS, TRAINING, Curator, cap, fill_dataset, make_token, outcome_of, schema

REPEATED = 3000
FAILED = 900  # below the 1,000 of a name that are entered a day
MEASURED = 150
MOST = 3  # times what a write took at first; reading and hashing all records would be tens of times that


def write_seconds(curator, client, name):
    """Returns the processor time of a call that changes something."""
    before = curator.processor_seconds()
    for i in range(MEASURED):
        client.call(DATASETS, "CreateDataset", request_id=f"{name}-{i}", schema=schema(), cap=cap())
    return (curator.processor_seconds() - before) / MEASURED


def main():
    noisy_token, noisy = make_token("noisy", ["trainer"])
    quiet_token, quiet = make_token("quiet", ["trainer"])
    with Curator(policy={"tokens": [noisy, quiet]}) as curator:
        attacker, owner = curator.client(noisy_token), curator.client(quiet_token)
        fill_dataset(attacker, "mine", rows=20)
        attacker.call(TRAINING, "SubmitJob", request_id="job", job_id="job",
                      spec={"dataset": "datasets/mine", "algorithm": "rdt", "epsilon_nanos": 10**6,
                            "settings": {"trees": "1", "depth": "1"}})
        while attacker.call(TRAINING, "GetJob", name="jobs/job").job.state < 3:
            pass
        write_seconds(curator, owner, "warm")
        at_first = write_seconds(curator, owner, "first")
        for _ in range(REPEATED):
            attacker.call(TRAINING, "CancelJob", name="jobs/job")
        for i in range(FAILED):
            refused = outcome_of(lambda: attacker.call(DATASETS, "DeleteDataset", name=f"datasets/none-{i}"))
            assert refused == "NOT_FOUND"
        later = write_seconds(curator, owner, "later")
        print(f"a write takes {1000 * at_first:.2f} ms at first, {1000 * later:.2f} ms after "
              f"{REPEATED + FAILED} calls that cost nothing")
        assert later < MOST * at_first + 0.001, "a write costs more the more records wait"


if __name__ == "__main__":
    main()
