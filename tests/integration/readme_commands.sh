#!/usr/bin/env bash
# Runs the shell commands of README.md as they stand there. The first two blocks are left out: their commands have tests
# of their own (packages, quickstart), or run this script.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
script=$(mktemp)
trap 'rm -f "$script"' EXIT
awk '/^```sh$/ { block++; inside = 1; next } /^```$/ { inside = 0 } inside && block > 2' README.md >"$script"
[[ $(grep -c . "$script") -gt 10 ]] || { echo "README.md has lost its commands" >&2; exit 1; }
bash -euo pipefail "$script"
