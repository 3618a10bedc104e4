#!/usr/bin/env bash
# Runs the shell commands of docs/tutorial.md as they stand there, with the programs of this build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
script=$(mktemp)
trap 'rm -rf "$script" "${script}.work"' EXIT
awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' docs/tutorial.md >"$script"
[[ $(grep -c '^coppice ' "$script") -ge 12 ]] || { echo "docs/tutorial.md has lost its commands" >&2; exit 1; }
mkdir "${script}.work"
PATH="$PWD/build/release/bin:$PATH" COPPICE_SHARE="$PWD/deploy" TMPDIR="${script}.work" bash -euo pipefail "$script"
