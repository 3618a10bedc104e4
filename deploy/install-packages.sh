#!/usr/bin/env bash
# Installs what is missing of deploy/packages.txt and of its arguments, each a package or, with a slash in it, a file
# with one package per line. Without root it prints the command to run instead, and fails. It starts no service, now or
# at boot, and neither stops nor restarts a running one.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

wanted=()
for argument in "$here/packages.txt" "$@"; do
  if [[ $argument == */* ]]; then
    mapfile -t -O "${#wanted[@]}" wanted < <(grep -v '^#' "$argument")
  else
    wanted+=("$argument")
  fi
done

missing=()
for package in "${wanted[@]}"; do
  if [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" != installed ]]; then
    missing+=("$package")
  fi
done
if [[ ${#missing[@]} -eq 0 ]]; then exit 0; fi

if [[ $EUID -ne 0 ]]; then
  echo "Packages are missing. As root, run this and then try again:" >&2
  echo "  apt-get install -y --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
echo "Installing ${#missing[@]} missing packages: ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
units() { (cd /lib/systemd/system 2>/dev/null && ls) | grep '\.service$' | grep -v '@' | sort || true; }
# Debian's packages ask this program before they touch a service. An existing one is kept.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy && ! -L $policy ]]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi
apt-get update -qq >&2
before=$(units)
apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
if command -v systemctl >/dev/null; then
  comm -13 <(echo "$before") <(units) | xargs -r systemctl --quiet disable >&2 || true
fi
