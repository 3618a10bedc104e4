#!/usr/bin/env bash
# without_abseil.sh ARCHIVE SHARED NM READELF: fails if either library needs a symbol or a library of Abseil. On 32-bit
# machines the shared one may need the library that divides 128-bit integers.
set -euo pipefail
fail() {
  echo "$1" >&2
  exit 1
}
"$3" --undefined-only "$1" | grep "4absl" && fail "$1 needs Abseil, as above: use what common/base has instead"
allowed='nothing'
if [[ $("$4" --file-header "$2") == *ELF32* ]]; then allowed='libabsl_int128'; fi
"$4" --dynamic "$2" | grep "libabsl" | grep -v "$allowed" && fail "$2 needs Abseil, as above: use what common/base has instead"
echo "neither needs Abseil"
