#!/usr/bin/env bash
# Runs one test of the npm package @coppice/device (build/js), in Node or in headless Chromium.
#
#   tests/js/run.sh TEST.js TOOLS_DIR
#
# TOOLS_DIR is installed into, from tests/console/package-lock.json. Exit code 77, a skip, where Node, npm, its registry,
# Chromium or the built package is missing.
set -euo pipefail
(($# == 2)) || { sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
test=$1 tools=$2

skip() {
  echo "tests/js: $1: the package is not tested" >&2
  exit 77
}

{ command -v node && command -v npm; } >/dev/null || skip "Node and npm are not installed (apt-get install nodejs npm)"
(($(node --print 'parseInt(process.versions.node)') >= 18)) || skip "Node is older than 18"
export COPPICE_BIN_DIR=${COPPICE_BIN_DIR:-$root/build/release/bin}
export COPPICE_JS_DIR=${COPPICE_JS_DIR:-$root/build/js}
[[ -f "$COPPICE_JS_DIR/integrity.txt" ]] || skip "it is not built (deploy/build.sh js)"

if [[ $test == page_test.js ]]; then
  command -v chromium >/dev/null || skip "Chromium is not installed (tests/browser/packages.txt)"
  mkdir -p "$tools"
  (
    flock 9  # several tests start at once
    if ! cmp -s "$root/tests/console/package-lock.json" "$tools/installed-lock.json"; then
      cp "$root/tests/console/package.json" "$root/tests/console/package-lock.json" "$tools"
      (cd "$tools" && npm ci --ignore-scripts --silent --no-audit --no-fund) || exit 1
      cp "$root/tests/console/package-lock.json" "$tools/installed-lock.json"
    fi
  ) 9>"$tools/lock" || skip "the npm registry cannot be reached"
fi

NODE_PATH="$tools/node_modules" exec node "$here/$test"
