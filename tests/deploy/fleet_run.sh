#!/usr/bin/env bash
# deploy/fleet/run.sh does what it says, and leaves nothing behind: fleet_run.sh BIN_DIR SOURCE_DIR
# Skipped (exit code 77) where its packages are missing, or another fleet runs.
set -euo pipefail
bin=$1
source=$2

skip() {
  echo "fleet_run: skipped: $*" >&2
  exit 77
}
fail() {
  echo "fleet_run: $*" >&2
  exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Its count finds lost, twice counted and overspent reports, and how long nobody answered.
count() {  # count DEVICES COUNTED SPENT
  mkdir -p "$work/load"
  printf 'killed|1000.0|1020.0\n' >"$work/load/faults"
  printf '999.5 1000.5 20\n1000.0 1012.5 20\n1012.6 1012.7 20\n' >"$work/load/0.batches"
  bash -c 'source "$1/deploy/fleet/load.sh"; isolated=yes work=$2 devices=$3 counted=$4 spent=$5 accuracy=0.7; print_results' \
    - "$source" "$work" "$@"
}
expect() {  # expect WORDS DEVICES COUNTED SPENT
  [[ "$(count "${@:2}" | tail -n 1)" == "$1" ]] || fail "wrong count of ${*:2}: $(count "${@:2}")"
}
count 60 60 0.9 >/dev/null || fail "it takes a good end for a bad one"
if count 60 58 0.9 >/dev/null || count 60 61 0.9 >/dev/null || count 60 60 1.2 >/dev/null; then
  fail "it takes a bad end for a good one"
fi
expect '{"accepted":60,"lost":0,"counted_twice":0,"overspent":0,"takeover_seconds":12.0}' 60 60 0.9
expect '{"accepted":58,"lost":2,"counted_twice":0,"overspent":0,"takeover_seconds":12.0}' 60 58 1
expect '{"accepted":61,"lost":0,"counted_twice":1,"overspent":0.2,"takeover_seconds":12.0}' 60 61 1.2

for program in etcd haproxy ip patroni; do
  command -v "$program" >/dev/null || skip "$program is not installed: deploy/fleet/packages.txt"
done
if [[ -e /run/coppice-fleet ]]; then skip "another fleet runs; end it with deploy/fleet/run.sh stop"; fi

code=0
timeout --kill-after 60 1500 "$source/deploy/fleet/run.sh" --bin "$bin" --lease-seconds 5 >"$work/out" 2>"$work/err" || code=$?
cat "$work/err" "$work/out"
[[ $code -eq 0 ]] || fail "run.sh ended with $code"
tail -n 1 "$work/out" |
  grep -qE '^\{"accepted":[0-9]{3,},"lost":0,"counted_twice":0,"overspent":0,"takeover_seconds":[0-9.]+\}$' ||
  fail "its last line is not what the contract says"
# Jobs asked for ten times the budget: three fit, and three were charged.
grep -q 'jobs were charged 0.9 of 1;' "$work/out" || fail "not as much was charged as fits"
rows=("curator killed" "curator drained" "database switched over" "primary killed")
if ! grep -q "No namespaces" "$work/out"; then rows+=("link cut"); fi
for row in "${rows[@]}"; do
  grep -qE "$row.* [0-9]+\.[0-9] +[0-9]+\.[0-9]$" "$work/out" || fail "no row for: $row"
done

[[ ! -e /run/coppice-fleet ]] || fail "it is still noted as running"
if ip netns list 2>/dev/null | grep -q '^coppice-fleet'; then fail "its machines are still there"; fi
echo "fleet_run: passed"
