#!/usr/bin/env bash
# Runs connect_client.js through run.sh with the packages of package-lock.json from npm, and a job to watch. Skips the
# test (exit 77) where npm or its registry is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)

if [[ "${1:-}" == --client ]]; then  # runs next to the daemon that run.sh started
  bin=${COPPICE_BIN_DIR:-$root/build/release/bin}
  rows=$(mktemp -d)
  trap 'rm -rf "$rows"' EXIT
  protoc --include_imports --descriptor_set_out="$rows/descriptors" -I "$root/proto" "$root"/proto/coppice/v1/*.proto
  curator=(--server "localhost:${COPPICE_SERVER##*:}" --ca "$COPPICE_CA")
  "$bin/coppice-lab" synthesize --output-dir "$rows" --synthetic gamma=0.5,private=200,public=50 >/dev/null
  "$bin/coppice" dataset create --dataset rows --data "$rows/private.csv" --schema "$rows/schema.json" \
    --epsilon-total 2 "${curator[@]}" >/dev/null
  "$bin/coppice" train submit --dataset rows --algorithm spe --epsilon 1 --job job "${curator[@]}" >/dev/null
  DESCRIPTORS="$rows/descriptors" NODE_EXTRA_CA_CERTS="$COPPICE_CA" node "$here/connect_client.js"
  exit
fi

tools=$1  # the folder to install into
skip() {
  echo "$1" >&2
  exit 77
}
if [[ ! -f "$tools/node_modules/@connectrpc/connect-web/package.json" ]]; then
  { command -v node && command -v npm; } >/dev/null || skip "node and npm are not installed: no client of Connect"
  mkdir -p "$tools"
  cp "$here/package.json" "$here/package-lock.json" "$tools"
  (cd "$tools" && npm ci --ignore-scripts --silent --no-audit --no-fund) ||
    skip "the npm registry cannot be reached: no client of Connect"
fi
NODE_PATH="$tools/node_modules" exec "$here/../run.sh" --http-listen 127.0.0.1:0 -- "${BASH_SOURCE[0]}" --client
