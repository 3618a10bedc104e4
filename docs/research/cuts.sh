#!/usr/bin/env bash
# What numbers of even cuts are worth to auto, by classes and information: the tables of
# docs/research/cuts.md, in Markdown.
#
#   docs/research/cuts.sh DATA_DIR WORK_DIR [REPEATS [SETS]]
#
# DATA_DIR holds the data sets, a folder each. Tables are derived from them in WORK_DIR: fewer rows,
# merged and split classes, targets in classes, coarsened numbers, useless columns. SETS is a regular
# expression that picks some of them. Needs build/release/bin/cuts_bench. Results of an earlier run in
# WORK_DIR are kept and not measured again.
set -euo pipefail

if [[ $# -lt 2 ]]; then
  echo "usage: docs/research/cuts.sh DATA_DIR WORK_DIR [REPEATS [SETS]]" >&2
  exit 2
fi
data=$1
work=$2
docs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=docs/research/smallest.sh
source "$docs/smallest.sh"
repeats=$(usual_or "${3:-30}" 2)
sets=$(usual_or "${4:-.}" "^(rice-c2|wide_blobs44-c2|cod-rna-c2)-(300|1000)$")
bench=$docs/../../build/release/bin/cuts_bench

mkdir -p "$work/results"
python3 "$docs/cuts.py" derive "$data" "$work/sets"
for folder in "$work"/sets/*/; do
  set=$(basename "$folder")
  if ! [[ $set =~ $sets ]]; then continue; fi
  for epsilon in 0.1 0.5 1 4; do
    result=$work/results/$set-$epsilon.tsv
    if [[ -s $result ]]; then continue; fi
    "$bench" --data "$folder/rows.csv" --schema "$folder/schema.json" --epsilon "$epsilon" \
      --repeats "$repeats" --cuts 15,31,63,127,255,511 > "$result.part"
    mv "$result.part" "$result"
  done
done
python3 "$docs/cuts.py" tables "$work"
