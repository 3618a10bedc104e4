"""The terminal as its user runs it: what it says, and the most memory that it took."""

import json
import subprocess
import sys
import tempfile

from curator import BIN

STUDY = "asked"


# A process counts what the one took that it was forked from, so a small one does that.
MEASURE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(process.pid, 0)
with open(sys.argv[1], "w") as file:
    file.write(f"{os.waitstatus_to_exitcode(status)} {usage.ru_maxrss}")
"""


def run(*command):
    """Returns the exit code, all that was said, and the most MiB that the process took."""
    with tempfile.NamedTemporaryFile("r") as measured:
        done = subprocess.run([sys.executable, "-c", MEASURE, measured.name, f"{BIN}/coppice",
                               *(str(part) for part in command), "--json"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        code, kilobytes = measured.read().split()
    return int(code), done.stdout.decode(errors="replace"), int(kilobytes) / 1024


def make_study(curator, *flags):
    """A study of two classes by one number, and the rows of two people."""
    folder = curator.folder
    with open(f"{folder}/schema.json", "w") as file:
        json.dump({"features": [{"name": "x", "type": "numeric", "min": 0, "max": 10}], "label": "status",
                   "classes": ["no", "yes"]}, file)
    with open(f"{folder}/public.csv", "w") as file:
        file.write("x,status\n" + "".join(f"{i % 10}.5,{'no' if i % 10 < 5 else 'yes'}\n" for i in range(60)))
    with open(f"{folder}/rows.csv", "w") as file:
        file.write("who,x,status\nann,3,no\nbob,8,yes\n")
    code, text, _ = run("study", "create", "--study", STUDY, "--public", f"{folder}/public.csv", "--schema",
                        f"{folder}/schema.json", "--epsilon", 2, "--server", curator.address, "--ca",
                        f"{curator.certs}/ca.crt", *flags)
    assert code == 0, text


def answer(curator, server, journal, *flags):
    return run("collect", "simulate", "--study", STUDY, "--data", f"{curator.folder}/rows.csv", "--journal", journal,
               "--id-column", "who", "--server", server, "--ca", f"{curator.certs}/ca.crt", *flags)
