"""What is shown of how far something is."""

import sys
import types

from coppice.remote import _progress


def test_nothing_where_nobody_looks(capsys):
    for progress in (False, None):  # stderr is no terminal here
        bar = _progress.make_bar("job", progress)
        bar.show(0.5, "running")
        bar.close()
    assert capsys.readouterr().err == ""


def test_a_line_at_a_terminal(capsys):
    bar = _progress.make_bar("job j", True)
    bar.show(0.5, "running, about 9 s left")
    bar.show(1, "done")
    bar.close()
    lines = capsys.readouterr().err.split("\r")
    assert lines[1].startswith("job j [###############...............]  50% running, about 9 s left")
    assert len(lines[2].rstrip("\n")) == len(lines[1]), "what was longer is written over"


def test_a_bar_in_a_notebook(monkeypatch):
    shown = []

    class Handle:
        update = shown.append

    display = types.ModuleType("IPython.display")
    display.HTML = str
    display.display = lambda page, display_id: shown.append(page) or Handle()
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    bar = _progress.make_bar("job <j>", None)
    bar.show(0.25, "running")
    bar.show(1, "done")
    bar.close()
    assert len(shown) == 2 and "job &lt;j&gt; <progress value='0.250'" in shown[0]
