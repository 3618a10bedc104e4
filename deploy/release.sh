#!/usr/bin/env bash
# Builds everything that a person would download, from a clean clone of the current commit.
#
#   deploy/release.sh [--key FILE] VERSION OUT_DIR
#
#   --key FILE   signs SHA256SUMS with this Ed25519 key (PEM); SHA256SUMS.sig and release-key.pem are added
#
# VERSION must be the one that the sources say, and the change log must have a section of it. OUT_DIR must be empty or new:
#
#   coppice-VERSION.tar.gz   the sources          python/   a wheel and a source distribution
#   debian/                  packages and their   npm/      @coppice/device, for web pages and Node
#                            lists of materials   jvm/      the jar, and its native half for this machine
#   NOTES.md                 what is new          SHA256SUMS
#
# The same commit makes the same archive of sources and the same packages, dated by the commit. Not made here: static
# programs, and native halves for Android (docs/jvm.md has the recipe).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

wrong_usage() {
  echo "release.sh: $1" >&2
  sed -n '4,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

key=""
while (($# > 0)); do
  case "$1" in
    --help | -h) sed -n '2,17s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    --key)
      [[ -f "${2:-}" ]] || wrong_usage "--key needs a file with an Ed25519 key"
      key=$(realpath "$2"); shift 2 ;;
    -*) wrong_usage "$1: no such flag" ;;
    *) break ;;
  esac
done
(($# == 2)) || wrong_usage "which version, and where should it go?"
version=$1
out=$(realpath -m "$2")
[[ ! -e "$out" || -z "$(ls -A "$out")" ]] || wrong_usage "$2 is not empty"

# Each place that says a version must say this one, before anything is built.
said=$(sed -n 's/^project(coppice VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
[[ "$version" == "$said" ]] || wrong_usage "the sources are of version $said"
notes=$(awk -v version="$version" '/^## /{here = $2 == version} here' "$root/CHANGELOG.md")
[[ -n "$notes" ]] || wrong_usage "CHANGELOG.md has no section of $version"
for file in CITATION.cff client/console/package.json client/js/package.json; do
  grep -qE "\"?version\"?: \"?$version\"?,?$" "$root/$file" || wrong_usage "$file is not of version $version"
done
if [[ -n "$key" ]]; then
  openssl pkey -in "$key" -noout -text 2> /dev/null | grep -q ED25519 || wrong_usage "--key: not an Ed25519 key in PEM"
fi
[[ -z "$(git -C "$root" status --porcelain --untracked-files=no)" ]] ||
  echo "release.sh: what is not committed is not part of the release" >&2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clone="$work/coppice-$version"
git clone -q --no-hardlinks "$root" "$clone"
cd "$clone"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
mkdir -p "$out"/{debian,python,npm,jvm}

say() { echo "release.sh: $1" >&2; }

say "sources"
git archive --format=tar --prefix="coppice-$version/" HEAD | gzip -9n > "$out/coppice-$version.tar.gz"
say "Debian packages"
deploy/packages.sh "$out/debian" > /dev/null
say "jar"
deploy/build.sh jvm
cp build/release/jvm/coppice-device.jar "$out/jvm/coppice-device-$version.jar"
cp build/release/jvm/libcoppice_jni.so "$out/jvm/libcoppice_jni-$(uname -m).so"
say "npm package"
deploy/build.sh js
npm pack --silent --pack-destination "$out/npm" "$clone/build/js" > /dev/null
say "wheel and source distribution"
deploy/install-packages.sh client/python/packages.txt tests/python/packages.txt
CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache} \
  /usr/bin/python3 -m build --no-isolation --outdir "$out/python" client/python > "$work/wheel.log" 2>&1 ||
  { tail -50 "$work/wheel.log" >&2; exit 1; }

printf '%s\n' "$notes" > "$out/NOTES.md"
cd "$out"
find . -type f ! -name 'SHA256SUMS*' -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum > "$work/sums"
mv "$work/sums" SHA256SUMS
if [[ -n "$key" ]]; then
  openssl pkey -in "$key" -pubout -out release-key.pem
  openssl pkeyutl -sign -inkey "$key" -rawin -in SHA256SUMS -out SHA256SUMS.sig
fi
cat SHA256SUMS
