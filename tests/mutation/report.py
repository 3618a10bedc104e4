"""Compares the results of the mutants with what survivors.txt explains."""

import re
import resource
import sys
from pathlib import Path

SURVIVORS = Path(__file__).resolve().parent / "survivors.txt"
MIN_KILLED = 0.95

ENTRY = re.compile(r"(\S+)(?: \((\d+)\))?\n- (.*)\n\+ (.*)\n: (.*)")


def read_survivors():
    """Reads the keys of survivors.txt, each with its reason."""
    listed = {}
    entry = []
    for line in SURVIVORS.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        entry.append(line)
        if len(entry) < 4:
            continue
        match = ENTRY.fullmatch("\n".join(entry))
        if not match:
            sys.exit("survivors.txt: not an entry of four lines:\n" + "\n".join(entry))
        file, occurrence, before, after, reason = match.groups()
        listed[(file, int(occurrence or 1), before, after)] = reason
        entry = []
    if entry:
        sys.exit("survivors.txt: not an entry of four lines:\n" + "\n".join(entry))
    return listed


def stale_entries(mutants):
    """Returns a problem for each entry of survivors.txt that is none of the mutants of all files."""
    keys = {mutant.key for mutant in mutants}
    return [f"listed in survivors.txt, but there is no such mutant:\n{spell(key)}"
            for key in read_survivors() if key not in keys]


def spell(key):
    file, occurrence, line, mutated = key
    which = f" ({occurrence})" if occurrence > 1 else ""
    return f"{file}{which}\n- {line}\n+ {mutated}"


def report(results, seconds, whole):
    """Prints the results of the mutants, and returns whether they are good.

    `results` has for each mutant "killed by ...", "time-out by ...", "survived" or "not compiled"; `whole` tells
    whether these are all mutants.
    """
    listed = read_survivors()
    counted = {mutant: result for mutant, result in results.items() if result != "not compiled"}
    survivors = [mutant for mutant, result in counted.items() if result == "survived"]
    result_of = {mutant.key: result for mutant, result in results.items()}

    problems = [f"survived, and survivors.txt does not say why:\n{mutant}"
                for mutant in survivors if mutant.key not in listed]
    explained = len(survivors) - len(problems)
    for key in listed:
        result = result_of.get(key, "survived")
        if result != "survived":
            problems.append(f"listed in survivors.txt, but {result}:\n{spell(key)}")
    killed = len(counted) - len(survivors)
    share = killed / len(counted) if counted else 0
    if whole and share < MIN_KILLED:
        problems.append(f"fewer than {MIN_KILLED:.0%} are killed")

    for problem in problems:
        print(problem + "\n")
    timeouts = sum(1 for result in counted.values() if result.startswith("time-out"))
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(counted)} mutants: {killed} killed ({share:.1%}), {timeouts} of them by time-outs; "
          f"{len(survivors)} survived, {explained} of them explained; "
          f"{len(results) - len(counted)} more did not compile; "
          f"{seconds:.0f} s, {usage.ru_utime + usage.ru_stime:.0f} s of processor time")
    return not problems
