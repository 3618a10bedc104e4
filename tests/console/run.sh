#!/usr/bin/env bash
# Runs one test of the console in headless Chromium, with what package-lock.json names of npm's registry.
#
#   tests/console/run.sh TEST.js TOOLS_DIR
#
# TOOLS_DIR is installed into. Exit code 77, a skip, where Chromium, Node, npm, its registry or the built console is
# missing.
set -euo pipefail
(($# == 2)) || { sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
test=$1 tools=$2

skip() {
  echo "tests/console: $1: the console is not tested" >&2
  exit 77
}

command -v chromium >/dev/null || skip "Chromium is not installed (tests/browser/packages.txt)"
{ command -v node && command -v npm; } >/dev/null || skip "Node and npm are not installed (apt-get install nodejs npm)"
(($(node --print 'parseInt(process.versions.node)') >= 18)) || skip "Node is older than 18"
export COPPICE_BIN_DIR=${COPPICE_BIN_DIR:-$root/build/release/bin}
export COPPICE_CONSOLE_DIR=${COPPICE_CONSOLE_DIR:-$COPPICE_BIN_DIR/../share/coppice/console}
export COPPICE_PICTURES_DIR=${COPPICE_PICTURES_DIR:-$COPPICE_BIN_DIR/../tests/console}
[[ -f "$COPPICE_CONSOLE_DIR/index.html" ]] || skip "the console is not built (target console)"

mkdir -p "$tools" "$COPPICE_PICTURES_DIR"
(
  flock 9  # several tests start at once
  if ! cmp -s "$here/package-lock.json" "$tools/installed-lock.json"; then
    cp "$here/package.json" "$here/package-lock.json" "$tools"
    (cd "$tools" && npm ci --ignore-scripts --silent --no-audit --no-fund) || exit 1
    cp "$here/package-lock.json" "$tools/installed-lock.json"
  fi
) 9>"$tools/lock" || skip "the npm registry cannot be reached"

NODE_PATH="$tools/node_modules" exec node "$here/$test"
