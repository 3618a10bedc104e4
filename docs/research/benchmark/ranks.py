"""Average ranks of systems over sets, Friedman's test, Nemenyi's critical difference, and their picture (Demsar 2006)."""

import math
from collections.abc import Callable
from html import escape

# Quantiles .95 of the studentized range of k systems and infinite degrees of freedom, over the root of 2.
_NEMENYI = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949, 8: 3.031, 9: 3.102, 10: 3.164,
            11: 3.219, 12: 3.268, 13: 3.313, 14: 3.354, 15: 3.391, 16: 3.426, 17: 3.458, 18: 3.489, 19: 3.517, 20: 3.544}


def ranks_of(values: list[float], higher_is_better: bool) -> list[float]:
    """1 is the best; equal values share the mean of their ranks."""
    keys = [-value if higher_is_better else value for value in values]
    return [sum(other < key for other in keys) + (sum(other == key for other in keys) + 1) / 2 for key in keys]


def average_ranks(table: list[list[float]], higher_is_better: bool) -> list[float]:
    """`table` has a row for each set and a column for each system."""
    rows = [ranks_of(row, higher_is_better) for row in table]
    return [sum(column) / len(rows) for column in zip(*rows)]


def friedman(averages: list[float], sets: int) -> float:
    """The statistic, which is chi-squared with k - 1 degrees of freedom if all systems are alike."""
    k = len(averages)
    return 12 * sets / (k * (k + 1)) * (sum(rank * rank for rank in averages) - k * (k + 1) ** 2 / 4)


def chi_squared_tail(x: float, freedom: int) -> float:
    """The probability of more than x, by the series of the incomplete gamma function."""
    if x <= 0:
        return 1.0
    a, half = freedom / 2, x / 2
    term = total = 1 / a
    n = a
    while term > total * 1e-15:
        n += 1
        term *= half / n
        total += term
    return max(0.0, 1 - total * math.exp(a * math.log(half) - half - math.lgamma(a)))


def critical_difference(systems: int, sets: int) -> float:
    """Average ranks that are further apart than this differ at the level .05."""
    return _NEMENYI[systems] * math.sqrt(systems * (systems + 1) / (6 * sets))


def groups(averages: list[float], difference: float) -> list[tuple[float, float]]:
    """The longest stretches of ranks, of two systems and more, that lie within the critical difference."""
    ordered = sorted(averages)
    found: list[tuple[float, float]] = []
    for low in ordered:
        high = max(rank for rank in ordered if rank <= low + difference)
        if high > low and not any(a <= low and high <= b for a, b in found):
            found.append((low, high))
    return found


_WIDTH, _AXIS = 640, 300  # of a panel, of its axis
_LEFT = (_WIDTH - _AXIS) / 2


def _text(x: float, y: float, text: str, anchor: str, weight: str = "normal") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, width: float = 1) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="#222" stroke-width="{width:g}"/>'


def _labels(names: list[str], averages: list[float], own: set[str], axis: float, top: float,
            place: Callable[[float], float]) -> list[str]:
    """The better half at the left, the other at the right, each under the one before."""
    order = sorted(range(len(names)), key=averages.__getitem__)
    half = (len(order) + 1) // 2
    parts = []
    for level, i in [*enumerate(order[:half]), *enumerate(reversed(order[half:]))]:
        is_left = i in order[:half]
        x, y = place(averages[i]), top + 17 * level
        edge = _LEFT - 8 if is_left else _LEFT + _AXIS + 8
        parts += [_line(x, axis, x, y, 0.7), _line(x, y, edge, y, 0.7)]
        label = f"{names[i]} {averages[i]:.1f}"
        parts.append(_text(edge + (-4 if is_left else 4), y + 4, label, "end" if is_left else "start",
                           "bold" if names[i] in own else "normal"))
    return parts


def panel(title: str, names: list[str], averages: list[float], sets: int, own: set[str], top: float) -> tuple[str, float]:
    """The SVG of one plot that begins at `top`, and its height. Names in `own` are bold."""
    k = len(names)
    difference = critical_difference(k, sets)

    def place(rank: float) -> float:
        return _LEFT + (rank - 1) / (k - 1) * _AXIS

    bars = groups(averages, difference)
    axis = top + 62
    parts = [_text(14, top + 18, title, "start", "bold"), _line(_LEFT, axis, _LEFT + _AXIS, axis)]
    end = min(place(1 + difference), _LEFT + _AXIS)
    parts += [_line(_LEFT, top + 34, end, top + 34, 2), _text(end + 6, top + 38, f"CD {difference:.2f}", "start")]
    for rank in range(1, k + 1):
        parts += [_line(place(rank), axis, place(rank), axis - 5), _text(place(rank), axis - 9, str(rank), "middle")]
    for level, (low, high) in enumerate(bars):
        y = axis + 8 + 6 * level
        parts.append(_line(place(low) - 3, y, place(high) + 3, y, 3))
    first = axis + 30 + max(0, 6 * (len(bars) - 2))
    parts += _labels(names, averages, own, axis, first, place)
    return "".join(parts), first + 17 * ((k + 1) // 2) + 14 - top


def picture(panels: list[tuple[str, list[str], list[float], int]], own: set[str]) -> str:
    """Panels (title, names, average ranks, sets) one under the other, as an SVG file."""
    drawn, y = [], 0.0
    for title, names, averages, sets in panels:
        part, height = panel(title, names, averages, sets, own, y)
        drawn.append(part)
        y += height
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y:.0f}" width="{_WIDTH}" height="{y:.0f}" '
            'font-family="sans-serif" font-size="12" fill="#222">'
            f'<rect width="{_WIDTH}" height="{y:.0f}" fill="white"/>' + "\n".join(drawn) + "</svg>\n")
