#!/usr/bin/python3
"""Whoever keeps the daemon's threads busy must not be able to hide what is refused meanwhile.

A trainer asks for more jobs than the daemon has threads and room for, each of which is planned and then refused for want
of budget, and a device tries what it may not. Every attempt must be in the audit log.
"""

import concurrent.futures

from curator import ADMIN, MODELS, TRAINING, Curator, eventually, fill_dataset, make_token, outcome_of

JOBS = 400  # more than the daemon's threads and what may wait for them
REFUSALS = 40


def refused_entries(client):
    entries, first = 0, 0
    while True:
        page = client.call(ADMIN, "ReadAuditLog", first=first)
        entries += sum(entry.actor == "thief" and entry.action == "ModelService/BuildModel" and
                       entry.outcome == "PERMISSION_DENIED" for entry in page.entries)
        if not page.entries or page.entries[-1].sequence + 1 >= page.head.entries:
            return entries
        first = page.entries[-1].sequence + 1


def main():
    noisy_token, noisy = make_token("noisy", ["trainer"])
    thief_token, thief = make_token("thief", ["device"])
    ops_token, ops = make_token("ops", ["admin"])
    with Curator(policy={"tokens": [noisy, thief, ops]}) as curator:
        owner, attacker, admin = curator.client(noisy_token), curator.client(thief_token), curator.client(ops_token)
        fill_dataset(owner, "many", rows=1, classes=[f"class{i}" for i in range(64)], epsilon_nanos=10**6)
        spec = {"dataset": "datasets/many", "algorithm": "lazybb", "epsilon_nanos": 10**9, "settings": {"rounds": "99"}}

        def submit(number):
            return outcome_of(lambda: owner.call(TRAINING, "SubmitJob", request_id=f"job-{number}", spec=spec))

        assert submit("first") == "RESOURCE_EXHAUSTED"  # the client now knows the method, and may be shared
        with concurrent.futures.ThreadPoolExecutor(JOBS) as threads:
            jobs = [threads.submit(submit, number) for number in range(JOBS)]
            for _ in range(REFUSALS):
                assert outcome_of(lambda: attacker.call(MODELS, "BuildModel", study="studies/x")) == "PERMISSION_DENIED"
            busy = sum(not job.done() for job in jobs)
            print(f"{REFUSALS} calls were refused, and {busy} of {JOBS} others are still under way")
        eventually(lambda: outcome_of(lambda: refused_entries(admin)) == REFUSALS,
                   lambda: f"{refused_entries(admin)} of {REFUSALS} refusals are in the audit log")


if __name__ == "__main__":
    main()
