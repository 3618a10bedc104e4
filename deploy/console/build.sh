#!/usr/bin/env bash
# Builds the console, with what package-lock.json names of npm's registry, and puts it in the place of what was in OUT_DIR.
#
#   deploy/console/build.sh SOURCE_DIR OUT_DIR [ON|AUTO]
#
# With AUTO it only says so if the registry cannot be reached, and leaves OUT_DIR as it is.
set -euo pipefail
(($# >= 2)) || { sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
source=$1 out=$2 wanted=${3:-ON}
umask 022  # the daemon refuses files that everybody may write

# What is installed is that of the lock if this copy of it is the same.
installed="$source/node_modules/.installed-lock.json"
if ! cmp -s "$source/package-lock.json" "$installed"; then
  if ! (cd "$source" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retries=1 \
    --fetch-retry-mintimeout=1000) >&2; then
    echo "The console is not built: npm ci has failed in $source, perhaps because npm's registry cannot be reached." >&2
    if [[ $wanted == AUTO ]]; then exit 0; fi
    exit 1
  fi
  cp "$source/package-lock.json" "$installed"
fi

mkdir -p "$(dirname "$out")"
new="$out.new"
node "$source/build.mjs" --out "$new"
rm -rf "$out.old"
if [[ -e $out ]]; then mv "$out" "$out.old"; fi
mv "$new" "$out"
rm -rf "$out.old"
