#!/usr/bin/env bash
# Builds the console with the npm packages that package-lock.json names, and replaces OUT_DIR by the result.
#
#   deploy/console/build.sh SOURCE_DIR OUT_DIR [ON|AUTO]
#
# With AUTO an unreachable registry is only reported, and OUT_DIR stays as it is.
set -euo pipefail
(($# >= 2)) || { sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
source=$1 out=$2 wanted=${3:-ON}
umask 022  # the daemon refuses files that everybody may write

# The installed packages are those of the lock file if this copy of it is the same.
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
