#!/usr/bin/env bash
# Makes a folder with the Debian packages of another architecture, against which a device is built and tested. Nothing
# is installed on this machine: the foreign packages are only unpacked.
#
#   deploy/cross/sysroot.sh arm64|armhf DIR
#
# DIR is made completely or not at all; an existing one from the same list of packages is left as it is.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ $# -ne 2 || ! "$1" =~ ^(arm64|armhf)$ ]]; then
  sed -n '5s/^# *//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
arch=$1
dir=$2
wanted="$here/sysroot-packages.txt"
if cmp -s "$wanted" "$dir/packages.txt"; then exit 0; fi
rm -rf "$dir.partial"
mkdir -p "$dir.partial"
partial=$(cd "$dir.partial" && pwd)
trap 'rm -rf "$partial"' EXIT

# A separate apt: its own lists and archives, and a system in which nothing is installed.
apt="$partial/apt"
mkdir -p "$apt"/{lists/partial,cache/archives/partial,etc/apt.conf.d,etc/preferences.d}
: > "$apt/status"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [arch=$arch signed-by=$keyring] http://deb.debian.org/debian bookworm main" > "$apt/etc/sources.list"
run_apt() {
  apt-get -qq -o Dir::State="$apt" -o Dir::State::status="$apt/status" -o Dir::State::lists="$apt/lists" \
    -o Dir::Cache="$apt/cache" -o Dir::Etc="$apt/etc" -o APT::Architecture="$arch" -o APT::Architectures="$arch" \
    -o APT::Install-Recommends=false -o APT::Sandbox::User=root -o Debug::NoLocking=1 "$@"
}
run_apt update
mapfile -t packages < <(grep -v '^#' "$wanted")
run_apt --download-only -y install "${packages[@]}" > "$apt/log" 2>&1 || { cat "$apt/log" >&2; exit 1; }
for package in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$package" "$partial"; done
rm -rf "$apt"

# Absolute links must point into this root.
find "$partial" -type l -lname '/*' | while read -r link; do
  ln -sfn "$(realpath --no-symlinks --relative-to="$(dirname "$link")" "$partial$(readlink "$link")")" "$link"
done
cp "$wanted" "$partial/packages.txt"
rm -rf "$dir"
mv "$partial" "$dir"
trap - EXIT
