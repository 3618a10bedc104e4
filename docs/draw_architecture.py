#!/usr/bin/env python3
"""Draws cmake/layers.txt: its doors on one sheet, and the rooms behind them on another.

  docs/draw_architecture.py           writes docs/architecture.svg (doors) and docs/rooms.svg
  docs/draw_architecture.py --check   fails if one of them is not what would be written

A box lies above everything that it needs. Arrows that follow from others are left out: if coppiced needs the curator and
the curator needs the store, coppiced has no arrow to the store. On the sheet of rooms, arrows between rooms stay behind
their door, and those between doors are the first sheet's.
"""

import html
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLORS = {"client": "#e3f1e6", "common": "#f3f1ea", "server": "#e4ecf7", "proto": "#f3f1ea"}
LETTER = 6.1  # pixels, at the size of the text
LINE, PAD = 15, 8  # of a box, in pixels: a line of text, and the space around
MARGIN = 16


class Box:
    def __init__(self, name, lines):
        self.name = name
        self.lines = lines  # the first is bold
        self.color = "#fff"
        self.needs = set()
        self.below = []  # the boxes that its arrows lead to, or the next steps on the way to them
        self.ways = {}  # by what it needs, the steps between
        self.inside = []  # boxes, placed within this one
        self.rank = 0
        self.x = self.y = 0.0  # of the upper left corner
        self.width = max((LETTER * (1.1 if i == 0 else 1) * len(line) for i, line in enumerate(lines)), default=0) + 2 * PAD
        self.height = LINE * len(lines) + 2 * PAD

    @property
    def middle(self):
        return self.x + self.width / 2


def read_doors():
    """Returns the doors, each with its rooms inside, and what the rooms need."""
    doors, door_of = [], {}
    for line in (ROOT / "cmake/layers.txt").read_text().splitlines():
        if heading := re.fullmatch(r"# --- (.+?): (.+)", line):
            doors.append(Box(heading[1], [heading[1], *heading[2].split("; ")]))
            doors[-1].color = COLORS[heading[1].split("/")[0]]
        elif line and not line.startswith("#"):
            room, _, needs, _ = (field.strip() for field in line.split("|"))
            box = Box(room, [room])
            box.needs = set(needs.split())
            door_of[room] = doors[-1]
            doors[-1].inside.append(box)
    for door in doors:
        names = {room.name for room in door.inside}
        door.needs = {door_of[need].name for room in door.inside for need in room.needs} - {door.name}
        for room in door.inside:
            room.needs &= names
    return doors


def drop_implied_arrows(boxes):
    """Leaves of each box's needs those that no other need of it has."""
    by_name = {box.name: box for box in boxes}

    def reach(name):
        return set().union(*({need} | reach(need) for need in by_name[name].needs), set())

    implied = {box.name: set().union(*(reach(need) for need in box.needs), set()) for box in boxes}
    for box in boxes:
        box.needs -= implied[box.name]


def lead_around(boxes):
    """Gives each arrow that spans rows a place in every row between, so that it passes beside the boxes there."""
    by_name = {box.name: box for box in boxes}
    for box in boxes:
        for need in sorted(box.needs):
            last = by_name[need]
            way = []
            for rank in range(last.rank + 1, box.rank):
                step = Box(f"{box.name} {need}", [])
                step.rank, step.below = rank, [last]
                way.append(step)
                last = step
            box.ways[need] = way[::-1]  # from the top
            box.below.append(last)


def place(boxes, gap_x, gap_y):
    """Places the boxes in rows, what is needed below what needs it, near to it; returns width and height."""
    by_name = {box.name: box for box in boxes}

    def height_above_ground(box):
        return 1 + max((height_above_ground(by_name[need]) for need in box.needs), default=-1)

    for box in boxes:
        box.rank = height_above_ground(box)
    lead_around(boxes)
    rows = {}
    for box in boxes + [step for box in boxes for way in box.ways.values() for step in way]:
        rows.setdefault(box.rank, []).append(box)
    width = max(sum(box.width + gap_x for box in row) - gap_x for row in rows.values())
    y = 0.0
    for _, row in sorted(rows.items()):
        tallest = max(box.height for box in row)
        row.sort(key=lambda box: (sum(below.middle for below in box.below) / max(1, len(box.below)), box.name))
        gap = (width - sum(box.width for box in row)) / len(row)
        x = gap / 2
        for box in row:
            box.x, box.y = x, y - tallest
            if not box.lines:
                box.height = tallest
            x += box.width + gap
        y -= tallest + gap_y
    for row in rows.values():
        for box in row:
            box.y -= y + gap_y
    return width, -y - gap_y


def move(boxes, x, y):
    for box in boxes:
        for part in [box] + [step for way in box.ways.values() for step in way]:
            part.x += x
            part.y += y


def draw_box(box):
    parts = [f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="5" '
             f'fill="{box.color}" stroke="#555"/>']
    for i, line in enumerate(box.lines):
        weight = ' font-weight="bold"' if i == 0 else ""
        parts.append(f'<text x="{box.middle:.1f}" y="{box.y + PAD + LINE * (i + 0.75):.1f}"{weight}>{html.escape(line)}</text>')
    return parts + [part for room in box.inside for part in draw_box(room)]


def draw_arrow(upper, way, lower):
    path = [f"M{upper.middle:.1f},{upper.y + upper.height:.1f}"]
    for above, below in zip([upper, *way], [*way, lower]):
        start, end = above.y + above.height, below.y - (2 if below is lower else 0)
        bend = (end - start) / 2
        path.append(f"C{above.middle:.1f},{start + bend:.1f} {below.middle:.1f},{end - bend:.1f} {below.middle:.1f},{end:.1f}")
        if below is not lower:
            path.append(f"V{below.y + below.height:.1f}")
    return f'<path d="{" ".join(path)}" marker-end="url(#tip)"/>'


def draw_arrows(boxes):
    by_name = {box.name: box for box in boxes}
    return [draw_arrow(box, box.ways[need], by_name[need]) for box in boxes for need in sorted(box.needs)]


def sheet(title, boxes, width, height):
    shapes = [part for box in boxes for part in draw_box(box)]
    inner = [arrow for box in boxes for arrow in draw_arrows(box.inside)]
    view = f"{-MARGIN} {-MARGIN} {width + 2 * MARGIN:.0f} {height + 2 * MARGIN:.0f}"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" font-family="sans-serif" font-size="11" '
        'text-anchor="middle">',
        f"<title>{title}: an arrow goes from each to what it needs</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#777"/></marker></defs>',
        '<g fill="none" stroke="#999">', *draw_arrows(boxes), "</g>", *shapes,
        '<g fill="none" stroke="#999">', *inner, "</g>", "</svg>", ""])


def draw_doors():
    doors = read_doors()
    for door in doors:
        door.inside = []
    drop_implied_arrows(doors)
    return sheet("The doors of Coppice", doors, *place(doors, gap_x=40, gap_y=44))


def draw_rooms():
    doors = read_doors()
    drop_implied_arrows(doors)
    for door in doors:
        drop_implied_arrows(door.inside)
        door.lines = door.lines[:1]
        top = LINE + 2 * PAD
        width, height = place(door.inside, gap_x=12, gap_y=26)
        door.width = max(width + 2 * PAD, LETTER * 1.1 * len(door.name) + 2 * PAD)
        door.height = height + top + PAD
    size = place(doors, gap_x=30, gap_y=44)
    for door in doors:
        inner = max(room.x + room.width for room in door.inside)
        move(door.inside, door.x + (door.width - inner) / 2, door.y + LINE + 2 * PAD)
    return sheet("The rooms of Coppice behind their doors", doors, *size)


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    stale = False
    for name, picture in {"architecture.svg": draw_doors(), "rooms.svg": draw_rooms()}.items():
        path = ROOT / "docs" / name
        if not arguments:
            path.write_text(picture)
        elif not path.exists() or path.read_text() != picture:
            print(f"docs/{name} is stale: run docs/draw_architecture.py", file=sys.stderr)
            stale = True
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
