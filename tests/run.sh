#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests through CTest, whose summary comes last.
#
#   tests/run.sh             everything but mutation and long, on the release build
#   tests/run.sh mutation    whether the tests notice each change of the privacy code; a quarter of an hour
#   tests/run.sh fast        leaves out the tests labelled slow
#   tests/run.sh python      the Python package, by Debian's Python and scikit-learn; everything includes it
#   tests/run.sh long        the tests that take too long for everything
#   tests/run.sh browser     the HTML pages and the console in headless Chromium, which everything includes
#   tests/run.sh site        the documentation as a site, which everything includes
#   tests/run.sh runtimes    exported models in onnxruntime, XGBoost and C, which everything includes
#   tests/run.sh fleet       curators, a database with a standby and a balancer that are killed and cut off, which
#                            everything includes
#   tests/run.sh arm         the device's half on both ARMs, in an emulator, and its size, which everything includes
#   tests/run.sh sanitize    the unit tests under the address and undefined-behaviour sanitizers, and those of
#                            rooms that have threads under the thread sanitizer
#
# Data sets are looked for in ../shared/data or $COPPICE_DATA_DIR; a test that needs an absent one says so and is
# skipped.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

sanitize() {  # sanitize PRESET TARGET CTEST_OPTION...
  "$root/deploy/build.sh" "$1" "$2"
  ctest --preset "$1" -j2 -LE 'slow|integration|release|long' "${@:3}"
}

# Builds the device's half for ARM and runs its tests in an emulator; then builds the smallest one for this machine.
arm() {
  "$root/deploy/install-packages.sh" deploy/cross/packages.txt
  "$root/deploy/build.sh" release client_c_release_tests
  deploy/cross/sysroot.sh arm64 build/sysroot/arm64
  deploy/cross/sysroot.sh armhf build/sysroot/armhf
  for preset in aarch64 armhf device; do
    "$root/deploy/build.sh" $preset
    ctest --preset $preset -j2 -LE long
  done
}

build_everything() {
  local lists=(tests/python/packages.txt deploy/fleet/packages.txt)
  # A Node that is not Debian's brings its own npm.
  command -v npm >/dev/null || lists+=(deploy/console/packages.txt)
  "$root/deploy/install-packages.sh" "${lists[@]}"
  "$root/deploy/build.sh" release all python console site
}

case "${1:-all}" in
  all)
    build_everything
    arm
    ctest --preset release -j2 -LE 'mutation|long'
    ;;
  python | long)
    build_everything
    ctest --preset release -L "$1"
    ;;
  mutation)
    "$root/deploy/build.sh" release
    ctest --preset release -L mutation
    ;;
  fast)
    "$root/deploy/build.sh" release
    ctest --preset release -j2 -LE 'slow|mutation|python|runtimes|site|long'
    ;;
  browser)
    command -v npm >/dev/null || "$root/deploy/install-packages.sh" deploy/console/packages.txt
    "$root/deploy/build.sh" release all console
    ctest --preset release -j2 -L browser
    ;;
  site)
    "$root/deploy/install-packages.sh" deploy/site/packages.txt
    "$root/deploy/build.sh" release
    ctest --preset release -L site
    ;;
  runtimes)
    "$root/deploy/build.sh" release
    ctest --preset release -L runtimes
    ;;
  arm)
    arm
    ;;
  fleet)
    "$root/deploy/build.sh" release
    ctest --preset release -L fleet
    ;;
  sanitize)
    sanitize asan unit_tests
    sanitize tsan threaded_tests -L threads
    ;;
  *)
    sed -n '2,19s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
