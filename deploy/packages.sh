#!/usr/bin/env bash
# Builds the Debian packages coppiced, coppice-relay, coppice, python3-coppice, libcoppice-dev, libcoppice-device-dev,
# libcoppice-device1 and coppice-doc, and for each a list of its materials (SPDX 2.3).
#
#   deploy/packages.sh [--build-dir DIR] [--without-console] OUT_DIR
#
#   --without-console a coppiced without its console, which is built with Node and with packages of npm's registry
#   --build-dir DIR   packages what is built there, and builds nothing; without it build/release is brought up to date
#
# The same build makes the same bytes. Its date is $SOURCE_DATE_EPOCH, by default that of the last commit.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

wrong_usage() {
  echo "packages.sh: $1" >&2
  sed -n '5,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}
build=""
out=""
console=ON
while (($# > 0)); do
  case "$1" in
    --help | -h) sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    --build-dir)
      [[ -f "${2:-}/CPackConfig.cmake" ]] || wrong_usage "--build-dir needs a folder that CMake configured for a release"
      build=$(cd "$2" && pwd); shift 2 ;;
    --without-console) console=OFF; shift ;;
    -*) wrong_usage "$1: no such flag" ;;
    *)
      [[ -z "$out" ]] || wrong_usage "$1: one folder is enough"
      out=$1; shift ;;
  esac
done
[[ -n "$out" ]] || wrong_usage "where should the packages go?"
mkdir -p "$out"
out=$(cd "$out" && pwd)

# Sources without a history, as in a container's build, get the date of their change log.
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2> /dev/null ||
                                                 stat -c %Y "$root/CHANGELOG.md")}"
"$root/deploy/install-packages.sh" "$root/deploy/debian/packages.txt"
if [[ -z "$build" ]]; then
  build="$root/build/release"
  # Node from another source than Debian includes npm.
  if [[ $console == ON ]] && ! command -v npm > /dev/null; then
    "$root/deploy/install-packages.sh" "$root/deploy/console/packages.txt"
  fi
  COPPICE_CONSOLE=$console "$root/deploy/build.sh" programs python coppice_device console site  # configures anew, and so reads the date
fi

umask 022  # everybody can read the packages' folders, whoever builds them
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cpack --config "$build/CPackConfig.cmake" -B "$work" &> "$work/log" || { cat "$work/log" >&2; exit 1; }
for package in "$work"/*.deb; do
  name=$(basename "$package" .deb)
  cp "$(find "$work/_CPack_Packages" -name "${name%%_*}.spdx.json")" "$out/$name.spdx.json"
  mv "$package" "$out/"
  echo "$out/$name.deb"
done
