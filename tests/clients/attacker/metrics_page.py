#!/usr/bin/python3
"""An owner makes more datasets than the metrics page names, so that another owner's budget leaves it, and every alert
on it; and a page in the operator's browser tries to read the metrics.
"""

import http.client
import re

from curator import DATASETS, Curator, cap, fill_dataset, make_token, schema

NOISY = 520  # the page names 500 datasets


def main():
    noisy, noisy_entry = make_token("noisy", ["trainer"])
    hospital, hospital_entry = make_token("hospital", ["trainer"])
    policy = {"tokens": [noisy_entry, hospital_entry]}
    with Curator("--metrics-listen", "127.0.0.1:0", policy=policy) as curator:
        port = int(re.search(r"metrics port=(\d+)", curator.log()).group(1))

        def page(**headers):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            sent = {name.replace("_", "-"): text for name, text in headers.items()}
            connection.request("GET", "/metrics", headers=sent)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

        fill_dataset(curator.client(hospital), "patients", rows=10)
        owner = curator.client(noisy)
        for i in range(NOISY):
            owner.call(DATASETS, "CreateDataset", request_id=f"r{i}", dataset_id=f"0-{i}", schema=schema(), cap=cap(1))
        status, text = page()
        assert status == 200, status
        assert re.search(r'coppice_dataset_epsilon_left\{dataset="patients"\} 1\b', text), text[:2000]
        assert text.count("coppice_dataset_epsilon_left{") == 500
        assert f"coppice_datasets_unnamed {NOISY + 1 - 500}" in text

        assert page(Host="coppice-1:9464")[0] == 200
        for sent in ({"Host": "rebound.example.org"}, {"Origin": "https://example.org"},
                     {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}):
            status, text = page(**sent)
            assert status == 403 and "patients" not in text, (sent, status, text[:300])
    print("the other owner's budget stayed on the page, which no browser's page could read")


main()
