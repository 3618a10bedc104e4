#!/usr/bin/env bash
# Installs the client component of a build, builds a device program against it and nothing else, runs it,
# and fails if server, trainer, gRPC or protobuf code came along.
set -euo pipefail
build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --component client --prefix "$work/prefix" >/dev/null
cmake -S "$source" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
      -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$work/build" >/dev/null
"$work/build/device"

symbols=$(nm -C "$work/build/device" "$work"/prefix/lib/*.a 2>/dev/null)
if grep -E 'grpc|google::protobuf|coppice::(Collector|(access|central|cli|curator|daemon|lab|ledger|models|service|storage|trainers)::)' \
     <<<"$symbols"; then
  echo "the client component carries code that no device should" >&2
  exit 1
fi
grep -q 'coppice::Privatizer' <<<"$symbols"  # or the check above checks nothing
echo "a device program needs only the client component"
