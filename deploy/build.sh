#!/usr/bin/env bash
# Installs what is missing and builds.
#
#   deploy/build.sh PRESET [TARGET...]   a preset with its tests, or some targets of it
#   deploy/build.sh programs [python]    coppiced, coppice, coppice-relay and coppice-lab, in less time and without the packages
#                                        that only tests need; in build/release as it is, if it was built before
#   deploy/build.sh js                   the npm package for devices in web pages and Node, in build/js
#
# With COPPICE_UNITY=ON in the environment the sources of a room are compiled together, as for `programs`; with
# COPPICE_UNIT_TESTS=OFF `all` leaves out the tests labelled unit, which the sanitizers run.
# The target `console` is the page for browsers, in build/PRESET/share/coppice/console. If Node or npm's registry is
# missing it is left out or, with COPPICE_CONSOLE=ON in the environment, fails.
# The target `site` is the documentation as HTML files, in build/PRESET/share/doc/coppice/html.
# The target `python` is the Python package, in build/PRESET/python, which PYTHONPATH may name.
# The target `jvm` is the jar for the JVM and its native half, in build/PRESET/jvm. `deploy/build.sh jvm` builds it for
# programs, without tests, in build/release.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
# A compiler cache makes the next clean build take seconds, also in another checkout.
export CMAKE_CXX_COMPILER_LAUNCHER="${CMAKE_CXX_COMPILER_LAUNCHER-ccache}"
export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1

options=()
packages=()
if [[ " ${*:2} " == *" python "* ]]; then
  packages+=(client/python/packages.txt)
  options+=(-DCOPPICE_PYTHON=ON)
fi
if [[ " $* " == *" jvm "* ]]; then
  packages+=(client/jvm/packages.txt)
  options+=(-DCOPPICE_JVM=ON)
fi
if [[ " ${*:2} " == *" console "* ]]; then options+=("-DCOPPICE_CONSOLE=${COPPICE_CONSOLE:-AUTO}"); fi
if [[ " ${*:2} " == *" site "* ]]; then
  packages+=(deploy/site/packages.txt)
  options+=(-DCOPPICE_SITE=ON)
fi
case "${1:-}" in
  "" | -*)
    sed -n '2,16s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
  js)
    # A Node that is not Debian's brings its own npm.
    command -v npm >/dev/null || packages+=(deploy/console/packages.txt)
    deploy/install-packages.sh deploy/js/packages.txt "${packages[@]}"
    exec deploy/js/build.sh
    ;;
  programs)
    preset=release
    targets=(coppiced coppice coppice-lab reference "${@:2}")
    if ! grep -qs '^COPPICE_RELAY:BOOL=OFF' build/release/CMakeCache.txt; then targets+=(coppice-relay); fi
    if [[ ! -f build/release/build.ninja ]]; then options+=(-DCOPPICE_BUILD_TESTS=OFF -DCOPPICE_UNITY=ON); fi
    ;;
  jvm)
    preset=release
    targets=(jvm "${@:2}")
    if [[ ! -f build/release/build.ninja ]]; then options+=(-DCOPPICE_BUILD_TESTS=OFF -DCOPPICE_UNITY=ON); fi
    ;;
  *)
    preset=$1
    targets=("${@:2}")
    packages+=(tests/packages.txt)
    unity=${COPPICE_UNITY:-OFF}
    unit_tests=${COPPICE_UNIT_TESTS:-ON}
    if [[ $preset =~ ^(device|aarch64|armhf)$ ]]; then unity=ON unit_tests=ON; fi
    options+=(-DCOPPICE_BUILD_TESTS=ON "-DCOPPICE_UNITY=$unity" "-DCOPPICE_UNIT_TESTS=$unit_tests")
    ;;
esac
deploy/install-packages.sh "${packages[@]}"
if [[ ${#options[@]} -gt 0 ]]; then cmake --preset "$preset" "${options[@]}" >&2; fi
arguments=()
if [[ ${#targets[@]} -gt 0 ]]; then arguments=(--target "${targets[@]}"); fi
cmake --build --preset "$preset" "${arguments[@]}" >&2
