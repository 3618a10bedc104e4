#!/usr/bin/env python3
"""Runs the cells of the benchmark that are missing in OUT, and adds one JSON line for each.

    benchmark.py DATA_DIR OUT [options]

Ours are run through coppice-lab (COPPICE_LAB, or build/release/bin/coppice-lab), others through their
adapter in systems/; COPPICE_BENCHMARK_PYTHON is the Python that adapters are run with, and PYTHONPATH has to
lead to what they import. A run that takes longer than --seconds-per-run ends, and that system does not
meet that set again in this call. Runs that failed are tried again by the next call.
"""

import argparse
import json
import os
import pathlib
import select
import subprocess
import sys
import time
from dataclasses import dataclass

import scores
import splits

HERE = pathlib.Path(__file__).resolve().parent
SYSTEMS = json.loads((HERE / "systems.json").read_text(encoding="utf-8"))
SETS = list(splits.rules()["sets"])
EPSILONS = ["0.01", "0.03", "0.1", "0.5", "1", "2", "4", "8"]
DELTA = "1e-6"


@dataclass(frozen=True)
class Cell:
    system: str
    set: str
    epsilon: str
    delta: str
    repetition: int


class TooSlow(Exception):
    """A run did not end in time."""


class Failed(Exception):
    """A system could not train or predict; the text says why."""


def schema_path(name: str) -> pathlib.Path:
    return HERE / "schemas" / f"{name}.json"


def task_of(name: str) -> str:
    classes = json.loads(schema_path(name).read_text(encoding="utf-8")).get("classes")
    return "number" if classes is None else "binary" if len(classes) == 2 else "classes"


class Ours:
    """A trainer of this repository, in a process for each run."""

    def __init__(self, system: str, seconds: float):
        self._system, self._seconds = system, seconds
        self._lab = os.environ.get("COPPICE_LAB", HERE.parents[2] / "build/release/bin/coppice-lab")

    def run(self, cell: Cell, folder: pathlib.Path) -> dict:
        command = [str(self._lab), "central", "--data", str(folder / "train.csv"), "--test", str(folder / "test.csv"),
                   "--schema", str(schema_path(cell.set)), "--algorithm", self._system, "--epsilon", cell.epsilon,
                   "--delta", cell.delta, "--repeats", "1", "--threads", "1", "--json"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=self._seconds, check=False)
        except subprocess.TimeoutExpired as error:
            raise TooSlow from error
        if done.returncode != 0:
            raise Failed((done.stderr or done.stdout).strip()[-300:])
        found = json.loads(done.stdout)
        result = {metric: found[metric]["mean"] for metric in ("accuracy", "auc", "log_loss", "rmse") if metric in found}
        return {**result, "seconds": found["fit_seconds"]}

    def close(self) -> None:
        pass


class Foreign:
    """A system behind its adapter: one process for many runs, started again after one that was too slow."""

    def __init__(self, system: str, seconds: float, out: pathlib.Path):
        self._seconds = seconds
        self._command = [os.environ.get("COPPICE_BENCHMARK_PYTHON", sys.executable), "-B",
                         str(HERE / "systems" / SYSTEMS[system]["adapter"]), *SYSTEMS[system]["arguments"]]
        self._output = out / f"{system}.csv"
        self._log = (out / f"{system}.log").open("a", encoding="utf-8")
        self._process: subprocess.Popen | None = None

    def run(self, cell: Cell, folder: pathlib.Path) -> dict:
        request = {"train": str(folder / "train.csv"), "test": str(folder / "test.csv"),
                   "schema": str(schema_path(cell.set)), "epsilon": float(cell.epsilon), "delta": float(cell.delta),
                   "seed": cell.repetition, "output": str(self._output)}
        answer = self._ask(json.dumps(request))
        if "error" in answer:
            raise Failed(answer["error"])
        schema = json.loads(schema_path(cell.set).read_text(encoding="utf-8"))
        try:
            found = scores.score_files(schema, folder / "test.csv", self._output)
        except (OSError, ValueError) as error:
            raise Failed(str(error)) from error
        return {**found, "seconds": answer["seconds"]}

    def _ask(self, line: str) -> dict:
        if self._process is None:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                             stderr=self._log, text=True, bufsize=1)
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it ended: the answer below is empty
        ready, _, _ = select.select([self._process.stdout], [], [], self._seconds)
        if not ready:
            self.close()
            raise TooSlow
        answer = self._process.stdout.readline()
        if not answer:
            self.close()
            raise Failed(f"the adapter ended; {self._log.name} says why")
        return json.loads(answer)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def cells_of(system: str, options: argparse.Namespace) -> list[Cell]:
    """By repetition first, so that a run that is stopped has something in every cell."""
    deltas = [delta for delta, mode in (("0", "pure"), (DELTA, "delta")) if mode in SYSTEMS[system]["modes"]]
    epsilons = options.epsilons
    return [Cell(system, name, epsilon, delta, repetition)
            for repetition in range(options.first, options.repeats) for name in options.sets
            if task_of(name) in SYSTEMS[system]["tasks"]
            for epsilon in epsilons for delta in deltas if delta in options.deltas]


def read_runs(path: pathlib.Path) -> list[dict]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def cell_of(run: dict) -> Cell:
    return Cell(run["system"], run["set"], run["epsilon"], run["delta"], run["repetition"])


def forget(path: pathlib.Path, again: set[Cell], even_done: bool) -> None:
    """Of the cells in `again`, the runs that failed, or all of them."""
    kept = [run for run in read_runs(path) if cell_of(run) not in again or not (even_done or "error" in run)]
    path.write_text("".join(json.dumps(run) + "\n" for run in kept), encoding="utf-8")


def run_system(system: str, options: argparse.Namespace, deadline: float) -> None:
    path = options.out / "runs" / f"{system}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    wanted = cells_of(system, options)
    forget(path, set(wanted), options.again)
    done = {cell_of(run) for run in read_runs(path)}
    slow: set[str] = set()
    ours = SYSTEMS[system]["kind"] == "ours"
    runner = Ours(system, options.seconds_per_run) if ours else Foreign(system, options.seconds_per_run, options.out)
    with path.open("a", encoding="utf-8") as file:
        for cell in wanted:
            if cell in done or cell.set in slow or time.monotonic() > deadline:
                continue
            folder = options.out / "splits" / cell.set / str(cell.repetition)
            splits.write_split(options.data, cell.set, cell.repetition, folder)
            try:
                result = runner.run(cell, folder)
            except TooSlow:
                slow.add(cell.set)
                result = {"error": f"not done after {options.seconds_per_run:g} s"}
            except Failed as failure:
                result = {"error": str(failure)}
            print(json.dumps({**vars(cell), **result}), file=file, flush=True)
    runner.close()


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path, metavar="DATA_DIR", help="a folder for each set")
    parser.add_argument("out", type=pathlib.Path, metavar="OUT", help="splits, runs and logs; what is there is kept")
    parser.add_argument("--repeats", type=int, default=5, help="repetitions of each cell (5)")
    parser.add_argument("--first", type=int, default=0, help="the first repetition (0)")
    parser.add_argument("--systems", nargs="+", choices=[*SYSTEMS, "all", "ours"], metavar="NAME",
                        default=[name for name in SYSTEMS if SYSTEMS[name].get("default")],
                        help="of systems.json, or all, or ours; without it those marked as default")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, metavar="NAME", help=f"of {', '.join(SETS)}")
    parser.add_argument("--epsilons", nargs="+", default=EPSILONS, metavar="E", help=f"({' '.join(EPSILONS)})")
    parser.add_argument("--deltas", nargs="+", choices=["0", DELTA], default=["0", DELTA], help=f"(0 {DELTA})")
    parser.add_argument("--again", action="store_true", help="forget the runs of these cells, and do them again")
    parser.add_argument("--seconds-per-run", type=float, default=180, help="the most that one run may take (180)")
    parser.add_argument("--budget", type=float, default=float("inf"), metavar="SECONDS",
                        help="start no run after this many seconds")
    options = parser.parse_args(arguments)
    if os.environ.get("COPPICE_SMALLEST") == "1":  # ../smallest.sh says what for
        options.sets, options.epsilons, options.repeats = ["banknote", "abalone"], ["1"], 1
    if "all" in options.systems:
        options.systems = list(SYSTEMS)
    if "ours" in options.systems:
        options.systems = [name for name in SYSTEMS if SYSTEMS[name]["kind"] == "ours"]
    return options


def main() -> int:
    options = parse(sys.argv[1:])
    absent = [name for name in options.sets if not (options.data / name).is_dir()]
    if absent:
        print(f"benchmark.py: {options.data} has no folder {absent[0]}; --sets leaves sets out", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + options.budget
    for system in options.systems:
        run_system(system, options, deadline)
    return 0


if __name__ == "__main__":
    sys.exit(main())
