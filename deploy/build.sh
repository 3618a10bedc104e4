#!/usr/bin/env bash
# Installs what is missing and builds a preset: deploy/build.sh PRESET [TARGET...]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=$1
shift

"$root/deploy/install-packages.sh"
cd "$root"
# A compiler cache makes the next clean build a matter of seconds, also in another checkout.
export CMAKE_CXX_COMPILER_LAUNCHER="${CMAKE_CXX_COMPILER_LAUNCHER-ccache}"
export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1
cmake --preset "$preset" >&2
targets=()
if [[ $# -gt 0 ]]; then targets=(--target "$@"); fi
cmake --build --preset "$preset" "${targets[@]}" >&2
