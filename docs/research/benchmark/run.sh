#!/usr/bin/env bash
# Measures private learners on the same rows, and writes the benchmark's document: tables, ranks and pictures.
#
#   docs/research/benchmark/run.sh DATA_DIR OUT [--repeats N] [--systems NAME...] [--sets NAME...]
#       [--epsilons E...] [--deltas D...] [--again] [--seconds-per-run S] [--budget S] [--update]
#
# DATA_DIR holds the data sets, a folder each; OUT gets the splits, a JSON line for each run, and the document.
# What is in OUT already is not run again, unless --again says so. Figures of systems that are not run are
# those of results.jsonl in the repository. --update writes there, in place of OUT.
# Needs Python 3.11 and build/release/bin/coppice-lab (or COPPICE_LAB=/path/to/coppice-lab); foreign systems need
# what docs/research/benchmark.md#foreign-systems says.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ ${1:-} == --help || $# -lt 2 ]]; then
  sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  [[ ${1:-} == --help ]] && exit 0
  exit 2
fi
update=""
arguments=()
for argument in "$@"; do
  if [[ $argument == --update ]]; then update=yes; else arguments+=("$argument"); fi
done
if [[ -n $update && ${COPPICE_SMALLEST:-} == 1 ]]; then
  echo "run.sh: --update: COPPICE_SMALLEST=1 measures too little to be kept; leave out one of them" >&2
  exit 2
fi
export PYTHONDONTWRITEBYTECODE=1  # nothing is left in the source tree
python3 "$here/benchmark.py" "${arguments[@]}"
out=$2
results=$out/results.jsonl
folder=$out
if [[ -n $update ]]; then
  results=$here/results.jsonl
  folder=$here/..
elif [[ ! -e $results ]]; then
  cp "$here/results.jsonl" "$results"
fi
python3 "$here/report.py" collect "$out" --results "$results"
python3 "$here/report.py" write --results "$results" --folder "$folder"
echo "$folder/benchmark.md"
