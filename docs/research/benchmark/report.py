#!/usr/bin/env python3
"""Makes results.jsonl out of runs, and the tables and pictures of the document out of results.jsonl.

    report.py collect OUT [--results FILE]    takes the runs in OUT over into FILE; cells that OUT has no
                                              run of stay as they are
    report.py write [--results FILE] [--folder DIR]
                                              fills in benchmark.md, benchmark-tables.md and ranks-*.svg in DIR
    report.py check [--results FILE]          are the files in the repository what write makes?

FILE is results.jsonl beside this script, and DIR the folder above it, unless said otherwise.
"""

import argparse
import json
import math
import pathlib
import re
import sys
import tempfile

import benchmark
import ranks

HERE = pathlib.Path(__file__).resolve().parent
METRICS = {"accuracy": ("accuracy", True, 4), "auc": ("AUC", True, 4), "log_loss": ("log loss", False, 3), "rmse": ("RMSE", False, 2)}
MODES = {"0": "pure", benchmark.DELTA: "delta"}
TITLES = {"0": "pure ε", benchmark.DELTA: "δ = 10⁻⁶"}
LEVEL = 2.0  # standard errors

Results = dict[tuple[str, str, str, str], dict]  # by system, set, epsilon, delta


def key_of(cell: dict) -> tuple[str, str, str, str]:
    return cell["system"], cell["set"], cell["epsilon"], cell["delta"]


def read_results(path: pathlib.Path) -> Results:
    if not path.exists():
        return {}
    return {key_of(cell): cell for cell in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


def significant(number: float) -> float:
    return float(f"{number:.5g}")


def mean_and_error(numbers: list[float]) -> list[float | None]:
    """The error is unknown after one repetition."""
    n = len(numbers)
    mean = sum(numbers) / n
    if n < 2:
        return [significant(mean), None]
    variance = sum((number - mean) ** 2 for number in numbers) / (n - 1)
    return [significant(mean), significant(math.sqrt(variance / n))]


def aggregate(runs: list[dict]) -> dict:
    """One cell's repetitions as one line; one that failed or was too slow is said as `error`."""
    done = [run for run in runs if "error" not in run]
    cell = {name: runs[0][name] for name in ("system", "set", "epsilon", "delta")}
    cell["repetitions"] = len(done)
    for metric in METRICS:
        numbers = [run[metric] for run in done if metric in run]
        if numbers:
            cell[metric] = mean_and_error(numbers)
    if done:
        cell["seconds"] = significant(sum(run["seconds"] for run in done) / len(done))
    failed = next((run["error"] for run in runs if "error" in run), None)
    return cell if failed is None else {**cell, "error": failed}


def collect(out: pathlib.Path, results_path: pathlib.Path) -> None:
    results = read_results(results_path)
    runs: dict[tuple, list[dict]] = {}
    for path in sorted((out / "runs").glob("*.jsonl")):
        for run in benchmark.read_runs(path):
            runs.setdefault(key_of(run), []).append(run)
    results.update({key: aggregate(cell) for key, cell in runs.items()})
    order = {name: i for i, name in enumerate([*benchmark.SYSTEMS, *benchmark.SETS])}
    lines = sorted(results.values(), key=lambda cell: (order[cell["system"]], order[cell["set"]],
                                                       float(cell["epsilon"]), float(cell["delta"])))
    results_path.write_text("".join(json.dumps(cell) + "\n" for cell in lines), encoding="utf-8")


def title_of(system: str) -> str:
    return benchmark.SYSTEMS[system].get("name", system)


def is_ours(system: str) -> bool:
    return benchmark.SYSTEMS[system]["kind"] == "ours"


def is_private(system: str) -> bool:
    return benchmark.SYSTEMS[system].get("private", True)


def find(results: Results, system: str, name: str, epsilon: str, delta: str) -> dict | None:
    """A pure guarantee holds for every delta: a system that takes none stands beside those that do. A constant answer
    is the same at every epsilon."""
    modes = benchmark.SYSTEMS[system]["modes"]
    return results.get((system, name, epsilon, delta if MODES[delta] in modes else "0"))


def figure_of(results: Results, system: str, name: str, epsilon: str, delta: str, metric: str) -> list | None:
    if MODES[delta] not in benchmark.SYSTEMS[system]["modes"] and delta == "0":
        return None
    cell = find(results, system, name, epsilon, delta)
    return None if cell is None else cell.get(metric)


def is_behind(figure: list, other: list, higher_is_better: bool) -> bool:
    """By more than LEVEL standard errors of the difference."""
    gap = other[0] - figure[0] if higher_is_better else figure[0] - other[0]
    return gap > LEVEL * math.hypot(figure[1] or 0, other[1] or 0)


def foreign(results: Results) -> list[str]:
    present = {key[0] for key in results}
    return [name for name in benchmark.SYSTEMS if name in present and not is_ours(name) and is_private(name)]


def write_figure(figure: list | None, digits: int) -> str:
    if figure is None:
        return "–"
    mean, error = (f"{x:.{digits}f}" if x is not None else "?" for x in figure)
    return re.sub(r"^0\.", ".", mean) + " ± " + re.sub(r"^0\.", ".", error)


def cell_text(results: Results, system: str, name: str, epsilon: str, delta: str, metric: str) -> str:
    """Ours is bold where a foreign system is ahead of it."""
    _, higher, digits = METRICS[metric]
    figure = figure_of(results, system, name, epsilon, delta, metric)
    text = write_figure(figure, digits)
    if figure is None or system != "auto":
        return text
    others = (figure_of(results, other, name, epsilon, delta, metric) for other in foreign(results))
    return f"**{text}**" if any(other and is_behind(figure, other, higher) for other in others) else text


def shown_systems(results: Results, delta: str) -> list[str]:
    """Those with a column of their own: with a delta, those that can use one, and the constant answer."""
    present = {key[0] for key in results}
    return [name for name in benchmark.SYSTEMS if name in present and
            (MODES[delta] in benchmark.SYSTEMS[name]["modes"] or not is_private(name))]


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def epsilons_of(results: Results) -> list[str]:
    return sorted({key[2] for key in results}, key=float)


def cells_table(results: Results, epsilon: str, delta: str, metric: str) -> str:
    systems = [system for system in shown_systems(results, delta)
               if any(figure_of(results, system, name, epsilon, delta, metric) for name in benchmark.SETS)]
    rows = [[name] + [cell_text(results, system, name, epsilon, delta, metric) for system in systems]
            for name in benchmark.SETS
            if any(figure_of(results, system, name, epsilon, delta, metric) for system in systems)]
    return table([f"{METRICS[metric][0]}, ε = {epsilon}"] + [f"`{s}`" for s in systems], rows) if rows else ""


def tables_text(results: Results) -> str:
    parts = ["# The benchmark, cell by cell\n\nMade by `docs/research/benchmark/run.sh` from `results.jsonl`; "
             "[benchmark.md](benchmark.md) says what was run and how.\n"
             "Mean ± standard error over repetitions; `auto` is **bold** where a foreign system is ahead of it by more "
             "than two standard errors of the difference.\n"
             "With a δ, systems of pure ε keep their figures, which count for the bold as well; they stand in the pure tables.\n"]
    for delta, title in TITLES.items():
        parts.append(f"\n## {title[0].upper() if title[0].isascii() else title[0]}{title[1:]}\n")
        for epsilon in epsilons_of(results):
            parts.append(f"\n### ε = {epsilon}, {title}\n")
            parts += ["\n" + text for metric in METRICS if (text := cells_table(results, epsilon, delta, metric))]
    parts.append("\n## Average ranks\n\nOver the sets of two classes, 1 is the best; [benchmark.md](benchmark.md#average-ranks) says how to read them.\n")
    parts += ["\n" + ranks_table(results, delta, metric) for metric in ("accuracy", "auc", "log_loss") for delta in MODES]
    return "".join(parts)


def systems_table(results: Results) -> str:
    rows = []
    for system in benchmark.SYSTEMS:
        cells = [cell for key, cell in results.items() if key[0] == system and cell["repetitions"]]
        if not cells:
            continue
        counts = [cell["repetitions"] for cell in cells]
        most = max(cells, key=lambda cell: cell["seconds"])
        seconds = sorted(cell["seconds"] for cell in cells)
        least, top = min(counts), max(counts)
        errors = sum("error" in cell for key, cell in results.items() if key[0] == system)
        rows.append([f"`{system}`", title_of(system), " and ".join(
            {"pure": "pure", "delta": "δ"}[mode] for mode in benchmark.SYSTEMS[system]["modes"]) if is_private(system) else "not private",
            f"{len(cells)}", f"{least}" if least == top else f"{least} to {top}", f"{errors}",
            f"{seconds[len(seconds) // 2]:.3g}", f"{most['seconds']:.3g} ({most['set']})"])
    return table(["name", "system", "guarantee", "cells", "repetitions", "cells with errors", "median s", "slowest s"], rows)


def compare(results: Results, system: str, delta: str, metric: str) -> list[str]:
    """In how many cells `auto` is ahead, level and behind, and the worst gap."""
    ahead = level = behind = 0
    worst, where = 0.0, ""
    higher = METRICS[metric][1]
    for name in benchmark.SETS:
        for epsilon in epsilons_of(results):
            figure = figure_of(results, "auto", name, epsilon, delta, metric)
            other = figure_of(results, system, name, epsilon, delta, metric)
            if figure is None or other is None:
                continue
            gap = other[0] - figure[0] if higher else figure[0] - other[0]
            if is_behind(figure, other, higher):
                behind += 1
                if gap > worst:
                    worst, where = gap, f"{gap:.2g} ({name}, ε = {epsilon})"
            elif is_behind(other, figure, higher):
                ahead += 1
            else:
                level += 1
    return [str(ahead), str(level), f"**{behind}**" if behind else "0", where or "–"] if ahead + level + behind else []


def summary_table(results: Results, delta: str) -> str:
    rows = []
    for system in [*foreign(results), *(name for name in benchmark.SYSTEMS if not is_private(name))]:
        for metric, (title, _, _) in METRICS.items():
            counts = compare(results, system, delta, metric)
            if counts:
                rows.append([title_of(system), title, *counts])
    return table([f"{TITLES[delta]}: `auto` beside", "metric", "ahead", "level", "behind", "worst loss"], rows)


def rankings(results: Results, epsilon: str, delta: str, metric: str) -> tuple[list[str], list[float], int]:
    """Systems with a figure for each set of two classes, their average ranks, and the number of sets."""
    sets = [name for name in benchmark.SETS if benchmark.task_of(name) == "binary"]
    systems = [system for system in benchmark.SYSTEMS if is_private(system) and
               all(figure_of(results, system, name, epsilon, delta, metric) for name in sets)]
    values = [[figure_of(results, system, name, epsilon, delta, metric)[0] for system in systems] for name in sets]
    return systems, ranks.average_ranks(values, METRICS[metric][1]) if systems else [], len(sets)


def ranks_table(results: Results, delta: str, metric: str) -> str:
    by_epsilon = {epsilon: rankings(results, epsilon, delta, metric) for epsilon in epsilons_of(results)}
    by_epsilon = {epsilon: found for epsilon, found in by_epsilon.items() if len(found[0]) > 1}
    names = [name for name in benchmark.SYSTEMS if any(name in systems for systems, _, _ in by_epsilon.values())]
    rows = []
    for name in names:
        figures = [f"{averages[systems.index(name)]:.1f}" if name in systems else "–"
                   for systems, averages, _ in by_epsilon.values()]
        rows.append([f"`{name}`", *figures])
    tails = [ranks.chi_squared_tail(ranks.friedman(averages, sets), len(systems) - 1)
             for systems, averages, sets in by_epsilon.values()]
    rows.append(["Friedman's p", *(f"{tail:.1g}" for tail in tails)])
    rows.append(["critical difference", *(f"{ranks.critical_difference(len(s), n):.1f}" for s, _, n in by_epsilon.values())])
    return table([f"{METRICS[metric][0]}, {TITLES[delta]}, ε ="] + list(by_epsilon), rows)


def ranks_picture(results: Results, delta: str) -> str:
    panels = []
    for epsilon in epsilons_of(results):
        systems, averages, sets = rankings(results, epsilon, delta, "auc")
        if len(systems) > 1:
            panels.append((f"AUC, ε = {epsilon}, {TITLES[delta]}", systems, averages, sets))
    return ranks.picture(panels, {name for name in benchmark.SYSTEMS if is_ours(name)})


def errors_table(results: Results) -> str:
    counts: dict[tuple[str, str, str], int] = {}
    for (system, name, _, _), cell in results.items():
        if "error" in cell:
            counts[system, name, cell["error"]] = counts.get((system, name, cell["error"]), 0) + 1
    rows = [[f"`{system}`", name, str(count), error.replace("|", "/")] for (system, name, error), count in counts.items()]
    return table(["system", "set", "cells", "what it said"], rows) if rows else "None.\n"


def sections(results: Results) -> dict[str, str]:
    return {"systems": systems_table(results),
            "summary": "\n".join(summary_table(results, delta) for delta in MODES),
            "errors": errors_table(results)}


def fill(document: str, parts: dict[str, str]) -> str:
    """Errors  ValueError if the document has no place for a part."""
    for name, text in parts.items():
        pattern = rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)"
        document, count = re.subn(pattern, lambda match: match[1] + text + match[2], document, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"benchmark.md has no place, or several, for {name}")
    return document


def write(results: Results, folder: pathlib.Path) -> None:
    template = (HERE.parent / "benchmark.md").read_text(encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmark.md").write_text(fill(template, sections(results)), encoding="utf-8")
    (folder / "benchmark-tables.md").write_text(tables_text(results), encoding="utf-8")
    for delta, mode in MODES.items():
        (folder / f"ranks-{mode}.svg").write_text(ranks_picture(results, delta), encoding="utf-8")


def outdated(results: Results) -> list[str]:
    with tempfile.TemporaryDirectory() as scratch:
        write(results, pathlib.Path(scratch))
        return [path.name for path in sorted(pathlib.Path(scratch).iterdir())
                if not (HERE.parent / path.name).exists() or path.read_bytes() != (HERE.parent / path.name).read_bytes()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    collecting, writing, checking = (commands.add_parser(name) for name in ("collect", "write", "check"))
    collecting.add_argument("out", type=pathlib.Path)
    writing.add_argument("--folder", type=pathlib.Path, default=HERE.parent)
    for command in (collecting, writing, checking):
        command.add_argument("--results", type=pathlib.Path, default=HERE / "results.jsonl")
    options = parser.parse_args()
    if options.command == "collect":
        collect(options.out, options.results)
        return 0
    results = read_results(options.results)
    if not results:
        print(f"report.py: {options.results} has no results; run.sh makes some", file=sys.stderr)
        return 1
    if options.command == "write":
        write(results, options.folder)
        return 0
    files = outdated(results)
    print("\n".join(f"docs/research/{name} is not what results.jsonl makes: run report.py write" for name in files))
    return 1 if files else 0


if __name__ == "__main__":
    sys.exit(main())
