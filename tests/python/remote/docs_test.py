"""Every line of the page about curators over the network runs as it stands."""

import json
import re

import matplotlib
import pytest
from curator import ROOT, SCHEMA, Curator, customers

PARTS = re.compile(r"^```python\n(.*?)^```$|^<!-- devices answer (\S+) -->$", re.DOTALL | re.MULTILINE)
DOCUMENT = ROOT / "docs/python-remote.md"


@pytest.fixture
def curator():
    """A curator of its own: the page chooses ids."""
    started = Curator()
    yield started
    started.end()


def test_the_page_runs(curator, tmp_path, monkeypatch):
    matplotlib.use("Agg")
    rows = customers(5000).drop(columns="spent")
    for name, part in (("public", rows[:200]), ("private", rows[200:3200]), ("test", rows[3200:])):
        part.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "ca.crt").write_bytes(curator.ca.read_bytes())
    (tmp_path / "token").touch(mode=0o600)
    (tmp_path / "token").write_text(curator.tokens["ops"])
    monkeypatch.chdir(tmp_path)
    names = {}
    page = DOCUMENT.read_text().replace("curator.example:8443", curator.server)
    for code, study in PARTS.findall(page):
        if study:
            curator.simulate(study, rows[200:3200])
        else:
            exec(compile(code, str(DOCUMENT), "exec"), names)
    assert names["leavers"].id == "leavers"
    assert (tmp_path / "plan.png").exists()
