#!/usr/bin/env bash
# Runs node_client.js through run.sh with @grpc/grpc-js from npm. Skips the test (exit 77) where npm or its registry is
# missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tools=$1  # the folder to install into

skip() {
  echo "$1" >&2
  exit 77
}

if [[ ! -f "$tools/node_modules/@grpc/grpc-js/package.json" ]]; then
  { command -v node && command -v npm; } >/dev/null || skip "node and npm are not installed: no client with @grpc/grpc-js"
  npm install --silent --no-audit --no-fund --no-save --prefix "$tools" \
    @grpc/grpc-js@1.14.4 @grpc/proto-loader@0.8.1 ||
    skip "the npm registry cannot be reached: no client with @grpc/grpc-js"
fi
NODE_PATH="$tools/node_modules" exec "$here/run.sh" -- node "$here/node_client.js"
