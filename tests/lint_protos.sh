#!/usr/bin/env bash
# Lints the wire contract with buf's STANDARD rules, and compares it with the last release, if there is one (WIRE_JSON).
# The npm package carries the binary; without npm or its registry the test is skipped (exit 77).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tools=$1  # the folder to install into
buf="$tools/node_modules/.bin/buf"

skip() {
  echo "$1" >&2
  exit 77
}

if [[ ! -x "$buf" ]]; then
  command -v npm >/dev/null || skip "npm is not installed (deploy/console/packages.txt): no proto lint"
  npm install --silent --no-audit --no-fund --no-save --prefix "$tools" @bufbuild/buf@1.75.0 ||
    skip "the npm registry cannot be reached: no proto lint"
fi
"$buf" lint "$root/proto" --path "$root/proto/coppice"  # other projects' protos have their own standards
echo "proto files pass buf lint (STANDARD)"
last=$(git -C "$root" describe --tags --abbrev=0 2>/dev/null) || { echo "no tag to compare the protos with yet"; exit 0; }
released=$(mktemp -d)
trap 'rm -rf "$released"' EXIT
git -C "$root" archive "$last" proto | tar -x -C "$released"
"$buf" breaking "$root/proto" --against "$released/proto"
echo "proto files keep the wire format of $last (WIRE_JSON)"
