"""The wheel, and one from the source distribution, in an environment of their own."""

import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
import warnings
import numpy as np
import coppice
from coppice.v1 import model_pb2
warnings.simplefilter("ignore")
rows = np.random.default_rng(1).random((2000, 3))
estimator = coppice.PrivateTreeClassifier(epsilon=5, bounds=(0, 1), classes=[0, 1]).fit(rows, rows[:, 0] > 0.5)
assert estimator.score(rows, rows[:, 0] > 0.5) > 0.9
print(coppice.__file__)
"""


def run(*command, **settings):
    done = subprocess.run(command, capture_output=True, text=True, **settings)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Without a flag `build` makes a source distribution first, and the wheel from that."""
    out = tmp_path_factory.mktemp("dist")
    environment = os.environ | {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_NOHASHDIR": "1"}
    environment.pop("PYTHONPATH", None)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, SOURCE / "client/python", env=environment)
    return out


def test_the_wheel_is_whole(built):
    (wheel,) = built.glob("coppice-*-cp311-cp311-linux_x86_64.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in ("coppice/__init__.py", "coppice/py.typed", "coppice/_core.pyi", "coppice/remote/client.py",
                   "coppice/v1/model_pb2.py", "coppice/v1/model_pb2_grpc.py"):
        assert wanted in names
    assert all(name.startswith("coppice") for name in names)
    assert any(name.startswith("coppice/_core.cpython-311") for name in names)


def test_it_trains_where_it_is_installed(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    run(sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", tmp_path / "venv")
    python = tmp_path / "venv/bin/python3"
    packages = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    zipfile.ZipFile(wheel).extractall(packages)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    assert str(tmp_path) in run(python, "-c", PROGRAM, env=environment, cwd=tmp_path)
