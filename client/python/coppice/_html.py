"""Whole HTML pages within a notebook."""

from __future__ import annotations

import html


def frame(page: str, height: int = 480) -> str:
    """Return markup that shows a page in a frame of its own, so that no style leaks out of it.

    Parameters
    ----------
    page : str
        A whole HTML document.
    height : int
        In pixels; what is below scrolls.
    """
    return (
        f'<iframe srcdoc="{html.escape(page)}" sandbox="" title="Coppice" '
        f'style="width:100%;height:{height}px;border:0"></iframe>'
    )
