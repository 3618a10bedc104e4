"""What went wrong once in the hands of somebody who was not careful, or not friendly."""

import fcntl
import json
import math
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import traceback
import warnings

import numpy as np
import pandas as pd
import pytest

import coppice
from coppice import BudgetAccountant, PrivateTreeClassifier, PrivateTreeRegressor

ROWS = np.random.default_rng(3).random((300, 2))
LABELS = (ROWS[:, 0] > 0.5).astype(int)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def estimator(**more):
    return PrivateTreeClassifier(**{"epsilon": 1, "bounds": (0, 1), "classes": [0, 1], **more})


def run(program, *arguments):
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=600,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


class TestBudgets:
    def test_a_fork_does_not_copy_a_budget_in_memory(self):
        accountant = BudgetAccountant(1)

        def fit(answers):
            try:
                estimator(accountant=accountant).fit(ROWS, LABELS)
                answers.put("fitted")
            except coppice.CoppiceError as error:
                answers.put(str(error))

        context = multiprocessing.get_context("fork")
        answers = context.Queue()
        child = context.Process(target=fit, args=(answers,))
        child.start()
        assert "belongs to the process" in answers.get(timeout=300)
        child.join()
        assert accountant.fits == 0

    def test_a_child_opens_a_file_anew(self, tmp_path):
        accountant = BudgetAccountant(1, path=tmp_path / "budget")
        context = multiprocessing.get_context("fork")
        child = context.Process(target=lambda: estimator(accountant=accountant).fit(ROWS, LABELS))
        child.start()
        child.join()
        assert child.exitcode == 0 and accountant.spent == (1.0, 0.0)

    def test_two_names_of_a_file_are_one_budget(self, tmp_path):
        accountant = BudgetAccountant(1, path=tmp_path / "real")
        (tmp_path / "link").symlink_to(tmp_path / "real")
        estimator(accountant=accountant).fit(ROWS, LABELS)
        with pytest.raises(coppice.BudgetExhausted):
            estimator(accountant=BudgetAccountant(1, path=tmp_path / "link")).fit(ROWS, LABELS)
        os.link(tmp_path / "real", tmp_path / "twin")
        with pytest.raises(ValueError, match="second name"):
            BudgetAccountant(1, path=tmp_path / "twin")

    def test_nothing_beside_the_file_is_needed(self, tmp_path):
        estimator(accountant=BudgetAccountant(1, path=tmp_path / "budget")).fit(ROWS, LABELS)
        assert [path.name for path in tmp_path.iterdir()] == ["budget"]

    def test_processes_that_begin_together_make_one_budget(self, tmp_path):
        program = (
            "import sys, warnings, numpy as np, coppice\n"
            "warnings.simplefilter('ignore')\n"
            "rows = np.random.default_rng(1).random((50, 1))\n"
            "a = coppice.BudgetAccountant(1000, path=sys.argv[1])\n"
            "for _ in range(15): coppice.PrivateTreeClassifier(epsilon=1, bounds=(0, 1), classes=[0, 1],"
            " accountant=a).fit(rows, rows[:, 0] > .5)\n"
        )
        done = []
        workers = [
            threading.Thread(target=lambda: done.append(run(program, str(tmp_path / "budget")))) for _ in range(3)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert [worker.returncode for worker in done] == [0, 0, 0], done[0].stderr
        assert BudgetAccountant(1000, path=tmp_path / "budget").spent == (45.0, 0.0)

    def test_a_file_that_is_gone_or_older_is_refused(self, tmp_path):
        path = tmp_path / "budget"
        accountant = BudgetAccountant(3, path=path)
        before = path.read_text()
        estimator(accountant=accountant).fit(ROWS, LABELS)
        whole = json.loads(path.read_text())
        cut = whole | {"records": dict(list(whole["records"].items())[:-1])}
        for text in (before, json.dumps(cut), None):
            path.unlink()
            if text is not None:
                path.write_text(text)
            with pytest.raises((coppice.CoppiceError, OSError)):
                estimator(accountant=accountant).fit(ROWS, LABELS)
        assert not path.exists()
        for text in ('{"format": "coppice.budget", "version": 1}', json.dumps(whole | {"records": {}})):
            path.write_text(text)
            with pytest.raises(coppice.CoppiceError):
                BudgetAccountant(3, path=path)

    def test_a_pickle_makes_no_budget_and_needs_none_to_predict(self, tmp_path):
        fitted = estimator(accountant=BudgetAccountant(1, path=tmp_path / "budget")).fit(ROWS, LABELS)
        data = pickle.dumps(fitted)
        (tmp_path / "budget").unlink()
        loaded = pickle.loads(data)
        assert (loaded.predict(ROWS) == fitted.predict(ROWS)).all()
        with pytest.raises(FileNotFoundError):
            loaded.fit(ROWS, LABELS)

    @pytest.mark.parametrize("cap, epsilon, fits", [(0.3, 0.1, 3), (0.6, 0.2, 3), (0.57, 0.19, 3), (1.2, 0.4, 3)])
    def test_decimals_are_what_they_say(self, cap, epsilon, fits):
        accountant = BudgetAccountant(cap)
        for _ in range(fits):
            estimator(epsilon=epsilon, accountant=accountant).fit(ROWS, LABELS)
        assert accountant.left == (0.0, 0.0)

    def test_an_empty_path_is_refused(self):
        with pytest.raises(ValueError, match="path"):
            BudgetAccountant(1, path="")


class TestPrivacy:
    def test_infinity_as_text_says_that_nothing_is_private(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error", coppice.PrivacyWarning)
            with pytest.raises(coppice.PrivacyWarning, match="nothing is private"):
                estimator(epsilon="inf").fit(ROWS, LABELS)

    def test_no_error_quotes_a_value(self):
        frame = pd.DataFrame({"a": ["SECRET-VALUE", "1"], "b": [1.0, 2.0]})
        try:
            estimator(bounds={"a": (0, 1), "b": (0, 1)}, categories={}, schema=None).fit(
                frame.assign(a=frame["a"].astype("object")), [0, 1]
            )
        except ValueError:
            assert "SECRET" not in traceback.format_exc()
        schema = coppice.declare_schema(["a", "b"], bounds=(0, 1), classes=[0, 1])
        with pytest.raises(ValueError, match="'a' must hold numbers"):
            try:
                PrivateTreeClassifier(schema=schema).fit(frame, [0, 1])
            except ValueError:
                assert "SECRET" not in traceback.format_exc()
                raise

    def test_rows_of_devices_are_read_by_the_rules_of_tables(self):
        from coppice.schema import text_row

        class Broken:
            def __str__(self):
                raise RuntimeError("the sensor is cold")

        assert text_row(
            {"a": math.nan, "b": pd.NA, "c": None, "d": 1.0, "e": True, "f": np.float32(2), "g": "\udcff",
             "h": Broken(), "i": 0.5, "j": np.int64(7), "k": "text"}
        ) == {"d": "1", "e": "True", "f": "2", "i": "0.5", "j": "7", "k": "text"}

    def test_what_is_no_row_spends_nothing(self, tmp_path):
        journal = coppice.Journal(str(tmp_path / "journal"))
        device = coppice.Device("localhost:1", coppice.Policy(1), journal, insecure=True)
        for wrong in (None, "text", 5, ["age"]):
            with pytest.raises(TypeError, match="mapping"):
                device.answer("study", wrong)
        assert journal.entries() == []


class TestProcesses:
    def test_no_policy_and_no_journal_are_errors(self, tmp_path):
        journal = coppice.Journal(str(tmp_path / "journal"))
        for policy, kept in ((None, journal), (coppice.Policy(1), None)):
            with pytest.raises(TypeError):
                coppice.Device("localhost:1", policy, kept, insecure=True)

    def test_a_process_may_end_while_a_thread_fits(self):
        done = run(
            "import threading, warnings, numpy as np, coppice\n"
            "warnings.simplefilter('ignore')\n"
            "rows = np.random.default_rng(1).random((200_000, 20))\n"
            "def fit():\n"
            "  while True:\n"
            "    coppice.PrivateTreeClassifier(epsilon=1, bounds=(0, 1), classes=[0, 1])"
            ".fit(rows, rows[:, 0] > .5, progress=lambda done: fits.set())\n"
            "fits = threading.Event()\n"
            "threading.Thread(target=fit, daemon=True).start()\n"
            "fits.wait()\n"
        )
        assert done.returncode == 0, done.stderr


class TestTypes:
    def test_float32_rows_and_labels(self):
        rows = np.array([[1, 0.2], [2, 0.4], [3, 0.9]] * 60)
        make = lambda: PrivateTreeClassifier(
            epsilon=math.inf, bounds={1: (0, 1)}, categories={0: [1, 2, 3]}, classes=[0, 1]
        )
        labels = (rows[:, 0] == 2).astype(int)
        fitted = make().fit(rows, labels)
        assert fitted.score(rows, labels) == 1.0
        assert fitted.score(rows.astype(np.float32), labels) == 1.0
        assert make().fit(rows.astype(np.float32), labels.astype(np.float32)).score(rows, labels) == 1.0

    def test_bools_and_what_stands_for_them(self):
        frame = pd.DataFrame({"flag": [True, False] * 100})
        labels = np.where(frame["flag"], "yes", "no")
        fitted = PrivateTreeClassifier(epsilon=math.inf, classes=["no", "yes"]).fit(frame, labels)
        for rows in (frame, frame.astype(int), frame.astype("boolean"), frame.astype(float)):
            assert fitted.score(rows, labels) == 1.0

    @pytest.mark.parametrize("classes", [["False", "True"], ["0", "1"]])
    def test_bool_labels_by_a_schema_of_texts(self, classes):
        schema = coppice.declare_schema(["x0", "x1"], bounds=(0, 1), classes=classes)
        fitted = PrivateTreeClassifier(epsilon=math.inf, schema=schema).fit(ROWS, LABELS.astype(bool))
        assert fitted.score(ROWS, LABELS.astype(bool)) == 1.0

    def test_a_model_gives_numbers_back_as_numbers(self):
        fitted = estimator(epsilon=math.inf).fit(ROWS, LABELS)
        again = PrivateTreeClassifier.from_model(fitted.model_)
        frame = pd.DataFrame(ROWS, columns=["x0", "x1"])
        assert again.score(frame, LABELS) == 1.0

    def test_columns_of_any_name(self):
        for names in ([0.5, 1.5], [-1, -2], [("a", 1), ("b", 2)], ["²", "x"]):
            frame = pd.DataFrame(ROWS)
            frame.columns = names
            estimator().fit(frame, LABELS).predict(frame)

    def test_fitted_to_an_array_it_takes_a_frame_by_position(self):
        fitted = estimator().fit(ROWS, LABELS)
        frame = pd.DataFrame(ROWS, columns=["one", "two"])
        assert (fitted.predict(frame) == fitted.predict(ROWS)).all()


class TestLostWork:
    def test_a_failed_refit_leaves_the_estimator_as_it_was(self):
        fitted = estimator(accountant=BudgetAccountant(1)).fit(ROWS, LABELS)
        before = fitted.predict(ROWS)
        fitted.set_params(classes=["a", "b", "c"])
        with pytest.raises(coppice.BudgetExhausted):
            fitted.fit(ROWS, np.array(["a", "b"])[LABELS])
        assert (fitted.predict(ROWS) == before).all()

    def test_a_model_that_was_paid_for_outlives_a_warning(self):
        accountant = BudgetAccountant(9)
        estimator(accountant=accountant).fit(ROWS, LABELS)
        second = estimator(accountant=accountant)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(coppice.PrivacyWarning, match="2 fits"):
                second.fit(ROWS, LABELS)
        assert second.predict(ROWS).shape == (300,)

    def test_progress_is_looked_at_before_the_charge(self):
        accountant = BudgetAccountant(1)
        with pytest.raises(TypeError):
            estimator(accountant=accountant).fit(ROWS, LABELS, progress=np.ones(300))
        assert accountant.fits == 0

    def test_ctrl_c_while_the_end_is_noted(self, tmp_path):
        """Somebody else has the file, so that the settlement waits."""
        accountant = BudgetAccountant(1, path=tmp_path / "budget")
        held = []

        def hold(done):
            if not held:
                held.append(open(tmp_path / "budget"))
                fcntl.flock(held[0], fcntl.LOCK_EX)
                threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()

        with pytest.raises(KeyboardInterrupt):
            estimator(accountant=accountant).fit(ROWS, LABELS, progress=hold)
        held[0].close()
        assert accountant.spent == (1.0, 0.0)

    def test_numbers_that_are_cut_are_told(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            with pytest.raises(RuntimeWarning, match="to be predicted"):
                PrivateTreeRegressor(bounds=(0, 1), target_bounds=(0, 0.5)).fit(ROWS, ROWS[:, 0])
