"""Budgets: what is charged, when it is durable, and who shares it."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import coppice
from coppice import BudgetAccountant, BudgetExhausted, CoppiceError

SCHEMA = coppice.declare_schema(["x"], bounds=(0, 1), classes=["no", "yes"])
CHARGE = """
import sys, warnings
import numpy as np, coppice
warnings.simplefilter("ignore")
rows = np.random.default_rng(0).random((200, 1))
accountant = coppice.BudgetAccountant(float(sys.argv[2]), path=sys.argv[1])
estimator = coppice.PrivateTreeClassifier(epsilon=0.5, bounds=(0, 1), classes=[0, 1], accountant=accountant)
charged = 0
while True:
    try:
        estimator.fit(rows, rows[:, 0] > 0.5)
        charged += 1
        print(charged, flush=True)
    except coppice.BudgetExhausted:
        break
"""


def charge(accountant, epsilon):
    """Charge a fit as the estimators do, without its rows."""
    import numpy as np

    from coppice import _core

    table = _core.Table(SCHEMA, [np.array([0.1, 0.9])], np.array([0.0, 1.0]))
    _core.train(table, "auto", epsilon, "0", {}, accountant._core, f"fit-{time.monotonic_ns()}")


def start(path, budget):
    return subprocess.Popen(
        [sys.executable, "-c", CHARGE, str(path), str(budget)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": 1, "delta": 1}, "below 1|1"),
        ({"epsilon": 1, "composition": "magic"}, "magic"),
        ({"epsilon": 1, "neighbours": "friends"}, "friends"),
        ({"epsilon": 1, "composition": "zcdp"}, "delta"),
    ],
)
def test_wrong_caps_name_themselves(wrong, message):
    with pytest.raises(ValueError, match=message):
        BudgetAccountant(**wrong)


def test_what_does_not_fit_is_refused_and_changes_nothing():
    accountant = BudgetAccountant(1)
    charge(accountant, 0.75)
    with pytest.raises(BudgetExhausted, match="0.25 is left"):
        charge(accountant, 0.5)
    charge(accountant, 0.25)
    assert accountant.spent == (1.0, 0.0)
    assert accountant.left == (0.0, 0.0)
    assert accountant.fits == 2
    assert list(accountant.to_frame()["kind"]) == [
        "opened", "reserved", "settled", "reserved", "settled"
    ]


def test_sums_are_exact():
    accountant = BudgetAccountant(1)
    for _ in range(10):
        charge(accountant, 0.1)
    assert accountant.spent == (1.0, 0.0)
    with pytest.raises(BudgetExhausted):
        charge(accountant, 0.01)


def test_an_algorithm_for_other_neighbours_is_refused(people, declared):
    accountant = BudgetAccountant(5, neighbours="change_label")
    estimator = coppice.PrivateTreeClassifier(
        classes=["stays", "leaves"], accountant=accountant, **declared
    )
    with pytest.raises(ValueError, match="change_label"):
        estimator.fit(people[["age", "plan", "member"]], people["label"])
    assert accountant.fits == 0


def test_zcdp_has_room_for_more_small_fits():
    basic, zcdp = BudgetAccountant(1, 1e-6), BudgetAccountant(1, 1e-6, composition="zcdp")
    for accountant in (basic, zcdp):
        with pytest.raises(BudgetExhausted):
            while True:
                charge(accountant, 0.02)
    assert zcdp.fits > 2 * basic.fits


class TestFiles:
    def test_another_session_goes_on(self, tmp_path):
        path = tmp_path / "budget"
        charge(BudgetAccountant(2, path=path), 1.5)
        again = BudgetAccountant(2, path=path)
        assert again.spent == (1.5, 0.0)
        with pytest.raises(BudgetExhausted):
            charge(again, 1)
        assert path.stat().st_mode & 0o777 == 0o600

    def test_the_cap_cannot_be_changed(self, tmp_path):
        BudgetAccountant(2, path=tmp_path / "budget")
        with pytest.raises(ValueError, match="cannot be changed"):
            BudgetAccountant(3, path=tmp_path / "budget")
        with pytest.raises(ValueError, match="cannot be changed"):
            BudgetAccountant(2, neighbours="change_label", path=tmp_path / "budget")

    def test_a_file_that_was_edited_is_refused(self, tmp_path):
        path = tmp_path / "budget"
        charge(BudgetAccountant(2, path=path), 1)
        charge(BudgetAccountant(2, path=path), 0.5)
        whole = json.loads(path.read_text())
        keys = list(whole["records"])

        def written(records):
            path.write_text(json.dumps(whole | {"records": records}))
            return pytest.raises(CoppiceError)

        first = whole["records"][keys[1]]
        flipped = first[:60] + ("A" if first[60] != "A" else "B") + first[61:]
        for records in (
            {k: v for k, v in whole["records"].items() if k != keys[1]},
            whole["records"] | {keys[1]: flipped},
            whole["records"] | {keys[1]: 5},
            [],
        ):
            with written(records):
                BudgetAccountant(2, path=path)
        for text in ("", "{", "[]", '{"format": "coppice.budget", "version": 99, "records": {}}'):
            path.write_text(text)
            with pytest.raises((CoppiceError, OSError)):
                BudgetAccountant(2, path=path)

    def test_a_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(OSError, match="nowhere"):
            BudgetAccountant(2, path=tmp_path / "nowhere" / "budget")

    def test_processes_never_spend_more_together(self, tmp_path):
        path = tmp_path / "budget"
        workers = [start(path, 10) for _ in range(3)]
        charged = [len(worker.communicate(timeout=600)[0].split()) for worker in workers]
        assert all(worker.returncode == 0 for worker in workers)
        assert sum(charged) == 20
        assert BudgetAccountant(10, path=path).spent == (10.0, 0.0)

    def test_a_killed_process_leaves_a_whole_file(self, tmp_path):
        path = tmp_path / "budget"
        seen = 0
        for _ in range(3):
            worker = start(path, 1000)
            lines = [worker.stdout.readline() for _ in range(5)]
            worker.send_signal(signal.SIGKILL)
            lines += worker.stdout.readlines()
            worker.wait()
            seen += len([line for line in lines if line.endswith("\n")])
            accountant = BudgetAccountant(1000, path=path)
            assert seen * 0.5 <= accountant.spent[0] <= seen * 0.5 + 3 * 0.5 * 2
            assert [p.name for p in tmp_path.iterdir() if "budget" not in p.name] == []


def test_a_page_and_a_line_for_people():
    accountant = BudgetAccountant(2)
    charge(accountant, 0.5)
    assert "0.5 of 2" in repr(accountant)
    assert "<iframe" in accountant._repr_html_()
