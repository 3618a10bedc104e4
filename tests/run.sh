#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests through CTest, whose summary comes last.
#
#   tests/run.sh             everything but mutation and long, on the release build
#   tests/run.sh ci          what continuous integration runs (.ci/run): the sanitizers, then everything on the release
#                            build but the unit tests that have just run under the former
#   tests/run.sh mutation    whether the tests notice each change of the privacy code; a quarter of an hour
#   tests/run.sh fast        leaves out the tests labelled slow
#   tests/run.sh python      the Python package, by Debian's Python and scikit-learn; everything includes it
#   tests/run.sh long        what everything leaves out, since it takes long and guards little: the tests labelled long,
#                            benchmarks, proofs, 64-bit ARM, and command lines and the lab under the sanitizers
#   tests/run.sh proofs      the proofs in Coq, and the tables that they make for the tests (docs/research/proofs.md); long
#                            includes them
#   tests/run.sh jvm         the jar for the JVM and Android, with a curator and a relay, which everything includes
#   tests/run.sh browser     the HTML pages, the console and the package for web pages in headless Chromium, which everything
#                            includes
#   tests/run.sh js          the package for web pages and Node, in both, which everything includes
#   tests/run.sh site        the documentation as a site, which everything includes
#   tests/run.sh runtimes    exported models in onnxruntime, XGBoost, C and two databases, which everything includes
#   tests/run.sh fleet       curators, a database with a standby and a balancer that are killed and cut off, which
#                            everything includes
#   tests/run.sh arm         the device's half on both ARMs, in an emulator, and its size; everything includes 32-bit ARM
#   tests/run.sh sanitize    the unit tests under the address and undefined-behaviour sanitizers, and those of rooms that
#                            have threads under the thread sanitizer
#
# Data sets are looked for in ../shared/data or $COPPICE_DATA_DIR; a test that needs an absent one says so and is
# skipped. So is one that lacks a package, unless CI is set, as in continuous integration: there it fails.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

install() {  # install LIST...
  local lists=("$@")
  # A Node that is not Debian's brings its own npm.
  command -v npm >/dev/null || lists+=(deploy/console/packages.txt)
  "$root/deploy/install-packages.sh" "${lists[@]}"
}

sanitize() {  # sanitize PRESET TARGETS CTEST_OPTION...
  # shellcheck disable=SC2086  # targets, split on purpose
  "$root/deploy/build.sh" "$1" $2
  ctest --preset "$1" -j3 "${@:3}"
}
sanitized_labels='slow|integration|release|long'  # those that are not for a sanitizer

# Builds the device's half for each ARM and runs its tests in an emulator; then builds the smallest one for this machine,
# whose tests all but its size are those of the release build.
arm() {  # arm PRESET...
  "$root/deploy/install-packages.sh" deploy/cross/packages.txt
  "$root/deploy/build.sh" release client_device_c_release_tests
  for preset in "$@"; do
    case $preset in
      aarch64) deploy/cross/sysroot.sh arm64 build/sysroot/arm64 ;;
      armhf) deploy/cross/sysroot.sh armhf build/sysroot/armhf ;;
    esac
    "$root/deploy/build.sh" "$preset"
    ctest --preset "$preset" -j2 -LE long
  done
  "$root/deploy/build.sh" device piped_device run_test
  ctest --preset device -R '^(client/device/c/piped_device|device_text_size)$'
}

build_everything() {
  # Where CI is set a console that cannot be built is a failure too.
  export COPPICE_CONSOLE="${COPPICE_CONSOLE:-${CI:+ON}}"
  install tests/browser/packages.txt tests/deploy/packages.txt tests/python/packages.txt tests/runtimes/packages.txt \
    deploy/debian/packages.txt deploy/fleet/packages.txt deploy/site/packages.txt
  "$root/deploy/build.sh" release all python jvm console site "$@"
  "$root/deploy/build.sh" js
}

case "${1:-all}" in
  all)
    build_everything
    arm armhf
    ctest --preset release -j2 -LE 'mutation|long'
    ;;
  ci)
    sanitize asan unit_tests -LE "$sanitized_labels|plain"
    sanitize tsan threaded_tests -L threads
    # What guards only those who compile a source by itself, as every developer does, is left to them.
    export COPPICE_UNITY=ON COPPICE_UNIT_TESTS=OFF
    build_everything
    arm armhf
    ctest --preset release -j3 -LE 'mutation|long|unit'  # many wait for others most of their time
    ;;
  python)
    build_everything
    ctest --preset release -L python
    ;;
  long)
    install tests/proofs/packages.txt
    build_everything benchmarks
    arm aarch64
    ctest --preset release -L long
    sanitize asan plain_tests -L plain
    sanitize tsan plain_tests -L plain
    ;;
  proofs)
    install tests/proofs/packages.txt
    "$root/deploy/build.sh" release proofs_tests
    ctest --preset release -R '^proofs/'
    ;;
  mutation)
    "$root/deploy/build.sh" release coppice_base  # the check compiles what it changes, and its tests, itself
    ctest --preset release -L mutation
    ;;
  fast)
    "$root/deploy/build.sh" release
    ctest --preset release -j2 -LE 'slow|mutation|python|runtimes|site|long'
    ;;
  jvm)
    "$root/deploy/build.sh" release jvm coppiced coppice coppice-lab coppice-relay run_test
    ctest --preset release -L jvm -LE long
    ;;
  browser)
    install tests/browser/packages.txt
    "$root/deploy/build.sh" release all console
    "$root/deploy/build.sh" js
    ctest --preset release -j2 -L browser
    ;;
  js)
    install tests/browser/packages.txt
    "$root/deploy/build.sh" release coppiced coppice run_test
    "$root/deploy/build.sh" js
    ctest --preset release -j2 -L js -LE long
    ;;
  site)
    install tests/browser/packages.txt deploy/site/packages.txt
    "$root/deploy/build.sh" release
    ctest --preset release -L site
    ;;
  runtimes)
    install tests/runtimes/packages.txt
    "$root/deploy/build.sh" release
    ctest --preset release -L runtimes
    ;;
  arm)
    arm aarch64 armhf
    ;;
  fleet)
    install deploy/fleet/packages.txt
    "$root/deploy/build.sh" release
    ctest --preset release -L fleet
    ;;
  sanitize)
    sanitize asan 'unit_tests plain_tests' -LE "$sanitized_labels"
    sanitize tsan 'threaded_tests plain_tests' -L 'threads|plain'
    ;;
  *)
    sed -n '2,27s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
