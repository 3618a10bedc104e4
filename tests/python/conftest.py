"""What the tests of the Python package share."""

import os
import pathlib
import signal
import sys

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))  # for curator.py
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))  # for eventually.py

SOURCE = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def people() -> pd.DataFrame:
    """Rows of numbers, categories, bools and missing values, whose label two columns tell well."""
    draw = np.random.default_rng(7)
    rows = 4000
    age = draw.integers(18, 90, rows).astype(float)
    plan = draw.choice(["basic", "plus", "gold"], rows)
    score = 0.05 * (age - 50) + 1.5 * (plan == "gold") + draw.normal(0, 0.7, rows)
    frame = pd.DataFrame(
        {
            "age": age,
            "plan": plan,
            "member": draw.random(rows) < 0.5,
            "label": np.where(score > 0, "stays", "leaves"),
            "spends": np.clip(40 + 0.5 * age + 20 * (plan == "gold") + draw.normal(0, 5, rows), 0, 120),
        }
    )
    frame.loc[::40, "age"] = np.nan
    frame.loc[::55, "plan"] = None
    return frame


@pytest.fixture
def ctrl_c():
    """Python's own handler, which a process in the background of a shell lacks."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def alarm():
    """Let a test say after how many seconds a call in the main thread hangs."""

    def hangs(*_):
        raise TimeoutError("the call hangs")

    before = signal.signal(signal.SIGALRM, hangs)
    yield signal.alarm
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def declared() -> dict:
    return {"bounds": {"age": (18, 90)}, "categories": {"plan": ["basic", "plus", "gold"]}}


@pytest.fixture(scope="session")
def data_dir() -> pathlib.Path:
    """Real data, where the machine has them."""
    folder = pathlib.Path(os.environ.get("COPPICE_DATA_DIR", SOURCE / "../shared/data"))
    if not folder.is_dir():
        pytest.skip(f"there is no data in {folder}: set COPPICE_DATA_DIR")
    return folder
