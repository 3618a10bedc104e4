"""The notebook runs as it stands, and is kept without outputs."""

import pathlib

import coppice
import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "docs/notebooks/first_steps.ipynb"


@pytest.fixture
def notebook():
    return nbformat.read(NOTEBOOK, as_version=4)


def test_it_has_no_outputs(notebook):
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None
    assert NOTEBOOK.stat().st_size < 20_000


def test_it_runs(notebook, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(coppice.__file__).resolve().parents[1]))
    resources = {"metadata": {"path": tmp_path}}
    ran = NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute()
    outputs = [output for cell in ran.cells if cell.cell_type == "code" for output in cell.outputs]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert {"image/png", "text/html"} <= kinds
    warned = [output.text for output in outputs if output.output_type == "stream" and output.name == "stderr"]
    assert warned == []
