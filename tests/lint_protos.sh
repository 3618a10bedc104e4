#!/usr/bin/env bash
# Lints the wire contract with buf's STANDARD rules. The npm package carries the binary; without npm or its registry the
# test is skipped (exit 77).
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
