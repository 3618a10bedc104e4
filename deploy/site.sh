#!/usr/bin/env bash
# Builds the documentation as a site: HTML files that need no network and no server.
#
#   deploy/site.sh [OUT_DIR]     by default build/site
#
# Uses README.md, docs/ and the sources. The reference of the command line is left out if the programs are not built:
# they are looked for in $COPPICE_BIN_DIR, by default build/release/bin. A dead link fails, and so does a drawing that
# differs from its source.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case "${1:-}" in
  --help | -h) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  -*) echo "site.sh: $1: no such flag" >&2; sed -n '4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
out=${1:-$root/build/site}
if [[ -e $out && ! -f $out/searchindex.js && -n "$(ls -A "$out" 2> /dev/null)" ]]; then
  echo "site.sh: $out holds something else than a site: name another folder" >&2
  exit 2
fi
"$root/deploy/install-packages.sh" "$root/deploy/site/packages.txt"
"$root/docs/draw_architecture.py" --check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0  # the second for the same bytes every time
bin=${COPPICE_BIN_DIR:-$root/build/release/bin}
/usr/bin/python3 "$root/deploy/site/stage.py" "$root" "$work/pages" "$bin"
/usr/bin/python3 -m sphinx -q -W --keep-going -j 2 -b html -c "$root/deploy/site" -d "$work/doctrees" "$work/pages" "$work/site"

# Removes what no page loads.
(cd "$work/site" && rm -rf .buildinfo objects.inv .doctrees _sources &&
 cd _static && rm -f ./*.png basic.css pygments.css jquery*.js underscore*.js _sphinx_javascript_frameworks_compat.js \
   sphinx_highlight.js)
# Compresses files for coppiced, which compresses nothing itself.
find "$work/site" -type f -size +1k \( -name '*.html' -o -name '*.js' -o -name '*.css' -o -name '*.svg' \) -exec gzip -9nk {} +
chmod -R u=rwX,go=rX "$work/site"
mkdir -p "$(dirname "$out")"
rm -rf "$out"
mv "$work/site" "$out"
echo "$out/index.html"
