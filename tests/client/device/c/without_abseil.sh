#!/usr/bin/env bash
# without_abseil.sh ARCHIVE SHARED NM READELF: fails if either library needs a symbol or a library of Abseil.
set -euo pipefail
fail() {
  echo "$1" >&2
  exit 1
}
"$3" --undefined-only "$1" | grep "4absl" && fail "$1 needs Abseil, as above: use what common/base has instead"
"$4" --dynamic "$2" | grep "libabsl" && fail "$2 needs Abseil, as above: use what common/base has instead"
echo "neither needs Abseil"
