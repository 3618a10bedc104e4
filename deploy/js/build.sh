#!/usr/bin/env bash
# Builds the npm package @coppice/device into build/js: the C core as WebAssembly, then the bundle with the npm packages that
# client/js/package-lock.json names.
#
#   deploy/js/build.sh [OUT_DIR]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
out=${1:-build/js}
umask 022

# Without ccache: it is a minute, once.
CMAKE_CXX_COMPILER_LAUNCHER='' cmake --preset wasm -DCOPPICE_BUILD_TESTS=OFF -DCOPPICE_UNITY=ON >&2
cmake --build --preset wasm >&2

source=client/js
installed="$source/node_modules/.installed-lock.json"
if ! cmp -s "$source/package-lock.json" "$installed"; then
  (cd "$source" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retries=1 \
    --fetch-retry-mintimeout=1000) >&2 || {
    echo "npm ci has failed in $source, perhaps because npm's registry cannot be reached" >&2
    exit 1
  }
  cp "$source/package-lock.json" "$installed"
fi
node "$source/build.mjs" --module build/wasm/bin/coppice_device.wasm --checks build/wasm/bin/coppice_device_checks.wasm --out "$out" >&2
