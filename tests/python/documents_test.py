"""The programs of docs/python.md run, one after another, as they stand; the comparison runs where there is data."""

import os
import pathlib
import re
import subprocess
import sys
import warnings

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def programs_of(name):
    return re.findall(r"^```python\n(.*?)^```$", (SOURCE / name).read_text(), re.M | re.S)


def test_the_programs_of_the_page_run(people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people.to_csv("people.csv", index=False)
    programs = programs_of("docs/python.md")
    assert len(programs) >= 5
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for program in programs:
            exec(program, names)
    assert (names["again"].predict_proba(names["test"][names["features"]])
            == names["estimator"].predict_proba(names["test"][names["features"]])).all()


def test_the_program_of_the_readme_runs(people, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people.to_csv("people.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for program in programs_of("README.md"):
            exec(program, {})
    assert "What was released" in capsys.readouterr().out


def test_the_comparison_runs(data_dir):
    if not (data_dir / "adult").is_dir():
        pytest.skip(f"there is no adult in {data_dir}")
    program = SOURCE / "docs/python_side_by_side.py"
    said = subprocess.run(
        [sys.executable, program, data_dir, "--repeats", "1"], check=True, capture_output=True, text=True,
        env=os.environ | {"OMP_NUM_THREADS": "2"},
    ).stdout
    ours = re.search(r"\| coppice.PrivateTreeClassifier \| ([\d.]+) \|", said)
    assert ours and float(ours.group(1)) > 0.84, said
