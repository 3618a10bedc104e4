"""Shows pages in notebooks."""

from __future__ import annotations

import html


def frame(page: str, height: int = 420) -> str:
    """Return a whole HTML page as a frame, so that no style of either reaches the other."""
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" style="width:100%;height:{height}px;border:0" '
        'sandbox="" loading="lazy"></iframe>'
    )
