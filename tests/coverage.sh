#!/usr/bin/env bash
# Checks that the privacy kernel is small enough for one person to read, and that its unit tests reach
# every line and branch of it. Lists what is missing, then fails. Other tests that draw from the kernel
# (tests/privacy) take too long unoptimized, and reach nothing that its unit tests may leave out.
#
# Two kinds of branches do not count:
#   - those that only an exception takes (--exclude-throw-branches). The compiler adds one to nearly
#     every call; the kernel throws nothing, and what is left to throw is memory running out;
#   - the lock around a static of a function (-fno-threadsafe-statics, in the preset). The branch that
#     loses the race is in no source, and a test could meet it only by luck.
# All else counts: a comment that tells gcovr to look away is a gap. An inline function or template that
# neither the kernel nor a test uses is never compiled, so it is not seen.
set -euo pipefail
shopt -s inherit_errexit  # if gcovr fails, the last report must not stay
cd "$(dirname "${BASH_SOURCE[0]}")/.."
kernel=common/privacy
tests=tests/common/privacy
max_lines=1500
build=build/coverage

lines=$(cat $kernel/*.h $kernel/*.cc | wc -l)
if ((lines > max_lines)); then
  echo "$kernel has $lines lines, more than $max_lines" >&2
  exit 1
fi

run_tests() {  # run_tests CTEST_OPTION...
  ctest --test-dir $build/$tests --no-tests=error --output-on-failure "$@"
}

# Prints one line per gap: FILE:LINE, what is missing, the source.
find_gaps() {
  gcovr --root . --filter $kernel/ --exclude-throw-branches --json $build/report.json \
    $build/$kernel $build/$tests
  python3 - $build/report.json $kernel/*.h $kernel/*.cc <<'PYTHON'
import json, sys

report = {file["file"]: file["lines"] for file in json.load(open(sys.argv[1]))["files"]}
for path in sys.argv[2:]:
    if path.endswith(".cc") and path not in report:
        print(f"{path}: not built, or in no test")
    source = open(path).read().split("\n")
    lines = {line["line_number"]: line for line in report.get(path, [])}
    for number, text in enumerate(source, 1):
        line = lines.get(number, {"gcovr/noncode": True})
        missing = sum(branch["count"] == 0 for branch in line.get("branches", []))
        gap = None
        if "COV_EXCL" in text or "COVR_EXCL" in text:
            gap = "excluded"
        elif line["gcovr/noncode"]:
            continue
        elif line["count"] == 0:
            gap = "never run"
        elif missing:
            gap = f"{missing} of {len(line['branches'])} branches never taken"
        if gap:
            print(f"{path}:{number}: {gap}: {text.strip()}")
PYTHON
}

deploy/build.sh coverage $tests/all
find $build -name '*.gcda' -delete  # counts of earlier runs

run_tests -I 1,1 >/dev/null
gaps=$(find_gaps)
if [[ -z $gaps ]]; then
  echo "one test alone cannot reach everything: this check sees no gaps" >&2
  exit 1
fi

run_tests -j2
gaps=$(find_gaps)
if [[ -n $gaps ]]; then
  echo "$gaps" >&2
  echo "$(wc -l <<<"$gaps") gaps in what the unit tests reach of $kernel" >&2
  exit 1
fi
echo "$kernel: $lines lines of at most $max_lines; its unit tests run every line and take every branch"
