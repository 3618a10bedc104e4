#!/usr/bin/env bash
# The Debian packages whose shared libraries the given programs load, one a line.
set -euo pipefail
[[ $# -gt 0 ]] || { echo "Usage: deploy/container/runtime-packages.sh PROGRAM..." >&2; exit 2; }

libraries() { ldd "$@" | sed -n 's|.*=> \(/[^ ]*\) .*|\1|p' | sort -u; }

if ldd "$@" | grep -q 'not found'; then
  ldd "$@" | grep 'not found' >&2
  exit 1
fi
# dpkg knows a file by the path that it was packed under: /lib may stand for /usr/lib, and names for
# what they point to.
owner_of() {
  local file
  for file in "$1" "/usr$1" "$(readlink -f "$1")"; do
    dpkg-query -S "$file" 2> /dev/null && return
  done
  echo "runtime-packages.sh: $1 is of no package" >&2
  return 1
}
for library in $(libraries "$@"); do
  owner_of "$library" | cut -d: -f1
done | sort -u
