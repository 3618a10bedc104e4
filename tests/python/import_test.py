"""What importing the package costs and needs."""

import subprocess
import sys

HEAVY = ["numpy", "pandas", "sklearn", "grpc", "google.protobuf", "matplotlib"]


def run(program):
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout


def test_importing_loads_nothing_heavy():
    loaded = run(f"import sys, coppice; print([name for name in {HEAVY} if name in sys.modules])")
    assert loaded == "[]\n"


def test_it_works_without_any_of_them():
    block = f"import sys; [sys.modules.__setitem__(name, None) for name in {HEAVY}]; "
    said = run(
        block + "import coppice; "
        "print(coppice.Schema.from_json('{\"features\": [{\"name\": \"x\", \"type\": \"numeric\", \"min\": 0, "
        "\"max\": 1}], \"label\": \"y\", \"classes\": [\"a\", \"b\"]}').label)"
    )
    assert said == "y\n"


def test_every_name_is_there():
    run("import coppice; [getattr(coppice, name) for name in dir(coppice)]")


def test_a_name_that_is_not_there_says_so():
    assert "no attribute" in run(
        "import coppice\ntry:\n  coppice.Forest\nexcept AttributeError as error:\n  print(error)"
    )
