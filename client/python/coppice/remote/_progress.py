"""Progress: a line on stderr that a terminal or a notebook updates."""

from __future__ import annotations

import html
import sys
from typing import Any, Optional, Protocol

_WIDTH = 30


class Bar(Protocol):
    """Shows progress."""

    def show(self, share: float, note: str) -> None:
        """Show the share that is done, from 0 to 1."""

    def close(self) -> None:
        """Show nothing further."""


def make_bar(title: str, progress: Optional[bool]) -> Bar:
    """Return a bar.

    Parameters
    ----------
    progress : bool or None
        False shows nothing; None shows it to people: in a notebook, or if stderr is a terminal.
    """
    if progress is False:
        return _Silent()
    if _in_notebook():
        return _NotebookBar(title)
    if progress or sys.stderr.isatty():
        return _TerminalBar(title)
    return _Silent()


def _in_notebook() -> bool:
    # Whoever is in a notebook has loaded IPython.
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")


class _Silent:
    def show(self, share: float, note: str) -> None:
        pass

    def close(self) -> None:
        pass


class _TerminalBar:
    def __init__(self, title: str) -> None:
        self._title = title
        self._widest = 0

    def show(self, share: float, note: str) -> None:
        full = int(_WIDTH * share)
        line = f"{self._title} [{'#' * full}{'.' * (_WIDTH - full)}] {share:4.0%} {note}"
        self._widest = max(self._widest, len(line))
        sys.stderr.write("\r" + line.ljust(self._widest))
        sys.stderr.flush()

    def close(self) -> None:
        if self._widest:
            sys.stderr.write("\n")


class _NotebookBar:
    def __init__(self, title: str) -> None:
        self._title = title
        self._handle: Any = None

    def show(self, share: float, note: str) -> None:
        from IPython.display import HTML, display

        page = HTML(
            f"{html.escape(self._title)} <progress value='{share:.3f}' max='1'></progress> "
            f"{share:.0%} {html.escape(note)}"
        )
        if self._handle is None:
            self._handle = display(page, display_id=True)
        else:
            self._handle.update(page)

    def close(self) -> None:
        pass
