#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests through CTest, whose summary comes last.
#
#   tests/run.sh             everything, on the release build
#   tests/run.sh fast        leaves out the tests labelled slow
#   tests/run.sh sanitize    the unit tests under the address, undefined-behaviour and thread sanitizers
#
# Data sets are looked for in ../shared/data or $COPPICE_DATA_DIR; tests that need one say so and are
# skipped where it is absent.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

run() {  # run PRESET [CTest argument...]
  local preset=$1
  shift
  "$root/deploy/build.sh" "$preset"
  ctest --preset "$preset" -j2 "$@"
}

case "${1:-all}" in
  all) run release ;;
  fast) run release -LE slow ;;
  sanitize)
    run asan -LE 'slow|integration|release'
    run tsan -LE 'slow|integration|release'
    ;;
  *)
    sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
