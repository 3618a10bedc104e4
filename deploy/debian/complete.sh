#!/usr/bin/env bash
# Adds to a package's staged files what Debian requires: a changelog, compressed manual pages, lintian overrides, and
# the list of the programs' materials.
#
#   deploy/debian/complete.sh STAGED PACKAGE VERSION MAINTAINER BUILD_DIR
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
staged=$1 package=$2 version=$3 maintainer=$4 build=$5
documents="$staged/usr/share/doc/$package"
pages="$staged/usr/share/man/man1"
if [[ $package == *-dev ]]; then rm -f "$staged"/usr/lib/*.so.*; fi  # the library's package has it
# Programs, shared libraries and Python modules.
mapfile -t programs < <(find "$staged/usr" -type f \( -path "$staged/usr/bin/*" -o -name '*.so' -o -name '*.so.*' \) | sort)

for program in "${programs[@]}"; do
  if [[ $program == *.so ]]; then strip --strip-unneeded "$program"; fi  # CPack strips what CMake calls a target
done

gzip -9n > "$documents/changelog.gz" << CHANGELOG
coppice ($version) bookworm; urgency=medium

  * Release $version; CHANGELOG.md beside this file says what changed.

 -- $maintainer  $(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
CHANGELOG

if [[ -d "$pages" ]]; then gzip -9n "$pages"/*.1; fi

if [[ -d "$staged/usr/share/zsh" ]]; then  # Debian's zsh looks for packages' completions in another folder
  mv "$staged/usr/share/zsh/site-functions" "$staged/usr/share/zsh/vendor-completions"
fi

if [[ -e "$here/$package/lintian-overrides" ]]; then
  install -D -m 644 "$here/$package/lintian-overrides" "$staged/usr/share/lintian/overrides/$package"
fi

if [[ -e "$here/$package/README.Debian" ]]; then
  install -m 644 "$here/$package/README.Debian" "$documents/README.Debian"
fi

mapfile -t archives < <(find "$staged" -name '*.a' | sort)
bundles=()
if [[ -d "$staged/usr/share/coppice/console" ]]; then bundles=("$here/../../client/console/package-lock.json"); fi
if [[ $package == coppice-doc ]]; then  # the site's search is Sphinx's
  bundles=(/usr/share/javascript/sphinxdoc/1.0/searchtools.js)
fi
"$here/bill_of_materials.py" "$build" "$package" "$version" "${programs[@]}" "${archives[@]}" "${bundles[@]}" > "$documents/$package.spdx.json"
