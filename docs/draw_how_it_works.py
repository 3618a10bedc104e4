#!/usr/bin/env python3
"""Draws docs/how-it-works.svg: the two ways in, and what leaves the place where the rows are.

  docs/draw_how_it_works.py           writes docs/how-it-works.svg
  docs/draw_how_it_works.py --check   fails if it is not what would be written
"""

import html
import pathlib
import sys

PICTURE = pathlib.Path(__file__).resolve().parent / "how-it-works.svg"
WIDTH, HEIGHT = 900, 330
STYLE = """
  svg { font: 14px sans-serif; fill: #1d2733; }
  .place { fill: #f3f1ea; stroke: #9aa4ae; }
  .step { fill: #fff; stroke: #55606b; }
  .private { fill: #e3f1e6; stroke: #3d7a4e; }
  .arrow { stroke: #55606b; stroke-width: 1.6; fill: none; marker-end: url(#head); }
  .head { fill: #55606b; }
  .title { font-weight: bold; }
  .note { font-size: 12px; fill: #4b5763; }
  @media (prefers-color-scheme: dark) {
    svg { fill: #e6e9ec; }
    .place { fill: #20262d; stroke: #6b7681; }
    .step { fill: #2c343d; stroke: #8c97a2; }
    .private { fill: #1f3a29; stroke: #6fb184; }
    .arrow { stroke: #aab4be; }
    .head { fill: #aab4be; }
    .note { fill: #b3bcc5; }
  }
"""
DESCRIPTION = (
    "Local privacy: each device finds its row's leaf in a public tree, randomizes it and sends one report to the curator, "
    "which adds reports up. Central privacy: an owner uploads a table, and the curator trains on it under a budget. Both "
    "give a model with a certificate."
)


def text(x, y, words, kind=""):
    return f'<text x="{x}" y="{y}" class="{kind}" text-anchor="middle">{html.escape(words)}</text>'


def place(x, y, width, height, title):
    return f'<rect class="place" x="{x}" y="{y}" width="{width}" height="{height}" rx="10"/>' + text(
        x + width / 2, y + 22, title, "title")


def step(x, y, width, lines, kind="step"):
    box = f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="46" rx="6"/>'
    top = y + 28 - 9 * (len(lines) - 1)
    return box + "".join(text(x + width / 2, top + 18 * i, line) for i, line in enumerate(lines))


def arrow(x, y, to_x, to_y=None):
    return f'<path class="arrow" d="M{x} {y} L{to_x} {y if to_y is None else to_y}"/>'


def picture():
    parts = [
        place(16, 16, 330, 130, "each device: one row"),
        step(32, 54, 80, ["its row"], "private"),
        arrow(112, 77, 128),
        step(132, 54, 96, ["leaf of a", "public tree"]),
        arrow(228, 77, 244),
        step(248, 54, 84, ["randomize"]),
        text(181, 130, "The row never leaves the device.", "note"),
        place(16, 184, 330, 130, "an owner: a table"),
        step(32, 222, 80, ["its rows"], "private"),
        text(225, 250, "The owner trusts the curator", "note"),
        text(225, 266, "with these rows.", "note"),
        arrow(346, 77, 488),
        text(417, 66, "one report", "title"),
        text(417, 96, "ε-private already", "note"),
        arrow(346, 249, 488),
        text(417, 238, "upload", "title"),
        text(417, 268, "over TLS", "note"),
        place(492, 16, 392, 298, "the curator: coppiced"),
        step(508, 54, 150, ["add reports up,", "with public rows"]),
        step(508, 226, 150, ["train under", "a privacy budget"]),
        arrow(658, 77, 736, 128),
        arrow(658, 249, 736, 184),
        step(700, 132, 90, ["model and", "certificate"]),
        arrow(790, 155, 806),
        step(810, 132, 66, ["answers"]),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">\n'
        f"<title>How Coppice works</title>\n<desc>{html.escape(DESCRIPTION)}</desc>\n<style>{STYLE}</style>\n"
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path class="head" d="M0 0 L8 4 L0 8 Z"/></marker></defs>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def main():
    if "--check" in sys.argv:
        if PICTURE.read_text(encoding="utf-8") != picture():
            sys.exit(f"{PICTURE} is old: run docs/draw_how_it_works.py")
    else:
        PICTURE.write_text(picture(), encoding="utf-8")


main()
