#!/usr/bin/env python3
"""A manual page from a program's --help: manual_page.py PROGRAM > PAGE"""

import datetime
import os
import subprocess
import sys


def escaped(text):
    lines = text.replace("\\", "\\\\").replace("-", "\\-").splitlines()
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in lines)


def said(program, flag):
    return subprocess.run([program, flag], capture_output=True, text=True, check=True).stdout


def main():
    program = sys.argv[1]
    name = os.path.basename(program)
    purpose, _, rest = said(program, "--help").partition("\n")
    usage, _, details = rest.partition("\n")
    moment = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    print(f'.TH {escaped(name.upper())} 1 "{moment:%Y\\-%m\\-%d}" "{escaped(said(program, "--version").strip())}"')
    print(f".SH NAME\n{escaped(name)} \\- {escaped(purpose.rstrip('.'))}")
    print(f".SH SYNOPSIS\n{escaped(usage.removeprefix('Usage: '))}")
    print(f".SH DESCRIPTION\n.nf\n{escaped(details.strip())}\n.fi")


main()
