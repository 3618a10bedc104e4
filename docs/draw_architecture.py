#!/usr/bin/env python3
"""Draws the rooms of cmake/layers.txt and the arrows between them.

  docs/draw_architecture.py           writes docs/architecture.svg
  docs/draw_architecture.py --check   fails if docs/architecture.svg is not what would be written

A box is a folder with its rooms in it, and lies above everything that it needs. Arrows that follow from
others are left out: if daemon needs service and service needs curator, daemon has no arrow to curator.
"""

import html
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/architecture.svg"
SIDES = ["client", "common", "server"]  # from left to right
COLORS = {"client": "#e3f1e6", "common": "#f3f1ea", "server": "#e4ecf7"}
PROGRAMS = {"cli": "coppice", "daemon": "coppiced", "relay": "coppice-relay", "lab": "coppice-lab", "research": "coppice-research"}

WIDTH, LINE, PAD = 118, 14, 7  # of a box, in pixels: its width, a line of text, and the space around
GAP_X, GAP_Y, MARGIN = 26, 44, 24


class Box:
    def __init__(self, name):
        self.name = name
        self.side = ""
        self.rooms = []
        self.needs = set()
        self.rank = 0
        self.x = self.y = 0.0

    @property
    def inside(self):
        """The names of its rooms, where it has more than one."""
        return [room.split("/", 1)[1] for room in self.rooms if "/" in room]

    @property
    def lines(self):
        program = [f"({PROGRAMS[self.name]})"] if self.name in PROGRAMS else []
        return program + self.inside

    @property
    def height(self):
        return 2 * PAD + LINE * (1 + len(self.lines))


def read_boxes():
    boxes = {}
    for line in (ROOT / "cmake/layers.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        room, folder, needs, _ = (field.strip() for field in line.split("|"))
        box = boxes.setdefault(room.split("/")[0], Box(room.split("/")[0]))
        box.side = folder.split("/")[0] if folder.split("/")[0] in SIDES else "common"
        box.rooms.append(room)
        box.needs |= {need.split("/")[0] for need in needs.split()} - {box.name}
    return boxes


def drop_implied_arrows(boxes):
    """Leaves of each box's needs those that no other need of it has."""
    def reach(name):
        return set().union(*({need} | reach(need) for need in boxes[name].needs), set())

    implied = {name: set().union(*(reach(need) for need in box.needs), set()) for name, box in boxes.items()}
    for name, box in boxes.items():
        box.needs -= implied[name]


def rank_boxes(boxes):
    """A box lies just below the lowest of those that need it."""
    def depth(name):
        return 1 + max((depth(user.name) for user in boxes.values() if name in user.needs), default=-1)

    deepest = max(map(depth, boxes))
    for name, box in boxes.items():
        box.rank = deepest - depth(name)


def place_boxes(boxes):
    """A row per rank, the ground below; a lane per side, and in it near to what each needs."""
    rows = {rank: {side: [] for side in SIDES} for rank in range(1 + max(box.rank for box in boxes.values()))}
    for box in boxes.values():
        rows[box.rank][box.side].append(box)
    lane_left, total = {}, 0.0
    for side in SIDES:
        lane_left[side] = total
        total += max(len(lanes[side]) for lanes in rows.values()) * (WIDTH + GAP_X)
    lane_left["end"] = total
    y = 0.0
    for _, lanes in sorted(rows.items()):
        y += max(box.height for lane in lanes.values() for box in lane)
        for side, end in zip(SIDES, SIDES[1:] + ["end"]):
            def wish(box):
                centers = [boxes[need].x for need in sorted(box.needs)]
                return sum(centers) / len(centers) if centers else 0

            lane = sorted(lanes[side], key=lambda box: (wish(box), box.name))
            step = (lane_left[end] - lane_left[side]) / max(1, len(lane))
            for i, box in enumerate(lane):
                box.x, box.y = lane_left[side] + (i + 0.5) * step, -y
        y += GAP_Y
    return total, y


def draw_box(box):
    left, top = box.x - WIDTH / 2, box.y
    parts = [f'<rect x="{left:.1f}" y="{top:.1f}" width="{WIDTH}" height="{box.height}" rx="5" '
             f'fill="{COLORS[box.side]}" stroke="#555"/>']
    for i, text in enumerate([box.name] + box.lines):
        weight = ' font-weight="bold"' if i == 0 else ""
        parts.append(f'<text x="{box.x:.1f}" y="{top + PAD + LINE * (i + 0.8):.1f}"{weight}>{html.escape(text)}</text>')
    return parts


def draw_arrow(upper, lower):
    start, end = upper.y + upper.height, lower.y - 2
    bend = (end - start) / 2
    return (f'<path d="M{upper.x:.1f},{start:.1f} C{upper.x:.1f},{start + bend:.1f} {lower.x:.1f},{end - bend:.1f} '
            f'{lower.x:.1f},{end:.1f}" marker-end="url(#tip)"/>')


def draw(boxes):
    drop_implied_arrows(boxes)
    rank_boxes(boxes)
    total, high = place_boxes(boxes)
    legend = "".join(
        f'<rect x="{i * 90}" y="{GAP_Y / 2:.0f}" width="12" height="12" fill="{COLORS[side]}" stroke="#555"/>'
        f'<text x="{i * 90 + 18}" y="{GAP_Y / 2 + 10:.0f}" style="text-anchor:start">{side}/</text>'
        for i, side in enumerate(SIDES))
    arrows = [draw_arrow(box, boxes[need]) for box in boxes.values() for need in sorted(box.needs)]
    shapes = [part for box in boxes.values() for part in draw_box(box)]
    view = f"{-MARGIN} {-high + GAP_Y - MARGIN:.0f} {total + 2 * MARGIN:.0f} {high + 2 * MARGIN:.0f}"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" font-family="sans-serif" font-size="11" '
        'text-anchor="middle">',
        '<title>The rooms of Coppice: an arrow goes from a room to one that it needs</title>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#777"/></marker></defs>',
        '<g fill="none" stroke="#999">', *arrows, "</g>", *shapes, legend, "</svg>", ""])


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    picture = draw(read_boxes())
    if not arguments:
        PICTURE.write_text(picture)
        return 0
    if PICTURE.read_text() == picture:
        return 0
    print("docs/architecture.svg is stale: run docs/draw_architecture.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
