#!/usr/bin/env bash
# Installs what is missing and builds.
#
#   deploy/build.sh PRESET [TARGET...]   a preset with its tests, or some targets of it
#   deploy/build.sh programs             coppiced, coppice and coppice-lab, in less time and without the packages
#                                        that only tests need; in build/release as it is, if it was built before
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
# A compiler cache makes the next clean build a matter of seconds, also in another checkout.
export CMAKE_CXX_COMPILER_LAUNCHER="${CMAKE_CXX_COMPILER_LAUNCHER-ccache}"
export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1

case "${1:-}" in
  "" | -*)
    sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
  programs)
    deploy/install-packages.sh
    preset=release
    targets=(coppiced coppice coppice-lab reference)
    if [[ ! -f build/release/build.ninja ]]; then
      cmake --preset release -DCOPPICE_BUILD_TESTS=OFF -DCOPPICE_UNITY=ON >&2
    fi
    ;;
  *)
    deploy/install-packages.sh tests/packages.txt
    preset=$1
    targets=("${@:2}")
    cmake --preset "$preset" -DCOPPICE_BUILD_TESTS=ON -DCOPPICE_UNITY=OFF >&2
    ;;
esac
arguments=()
if [[ ${#targets[@]} -gt 0 ]]; then arguments=(--target "${targets[@]}"); fi
cmake --build --preset "$preset" "${arguments[@]}" >&2
