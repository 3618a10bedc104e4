#!/usr/bin/env bash
# Runs the experiments of docs/research/poisoning.md and prints its tables in Markdown.
#
#   docs/research/poisoning.sh DATA_DIR [REPEATS_ADULT [REPEATS_SYNTHETIC [TABLE]]] > tables.md
#
# DATA_DIR holds the data sets, a folder each. TABLE is private (without public features), public (with some or all of
# them public) or both, the default. Needs jq and build/release/bin/coppice-lab (or COPPICE_LAB=/path/to/coppice-lab).
# Ten minutes on two cores for the first, twenty for the second; THREADS=1 takes one core.
set -euo pipefail

if [[ $# -lt 1 ]]; then
  echo "usage: docs/research/poisoning.sh DATA_DIR [REPEATS_ADULT [REPEATS_SYNTHETIC [private|public|both]]]" >&2
  exit 2
fi
# shellcheck source=docs/research/smallest.sh
source "$(dirname "${BASH_SOURCE[0]}")/smallest.sh"
data=$1
lab=${COPPICE_LAB:-$(dirname "$0")/../../build/release/bin/coppice-lab}
# shellcheck disable=SC2034  # both are named by `study`
adult="--repeats $(usual_or "${2:-10}" "2 --private-rows 1000") --data $data/adult/adult_train.csv --test $data/adult/adult_test.csv
  --public-rows 200 --schema $data/adult/schema.json"
# shellcheck disable=SC2034
synthetic="--repeats $(usual_or "${3:-50}" 2) --synthetic gamma=0.5,private=$(usual_or 10000 1000),public=50"

# run FLAGS...: one JSON line. Of the estimator pooled and its forest.
run() { "$lab" local --estimator pooled --json --threads "${THREADS:-2}" "$@" 2> /dev/null; }

# Accuracy, and the first letter of each alarm that at least half of the repetitions raised.
figure() {
  jq -sr 'min_by(.accuracy.mean) | (.accuracy.mean * 1000 | round | "." + ("00" + tostring)[-3:])
    + ([.alarms | to_entries[] | select(.value >= 0.5) | " " + .key[:1]] | join(""))'
}

# cell ATTACK SHARE FLAGS...: the worst of the pushes there are for it.
cell() {
  local attack=$1 share=$2 push
  local -a pushes=("leaves --target 1" "leaves --target 0")
  shift 2
  case $attack in
    label) pushes=("leaves") ;;
    given) pushes+=("rows --target 1" "rows --target 0") ;;
    invert) attack=given pushes=("invert") ;;
    own) attack=given pushes+=("rows --target 1" "rows --target 0" "invert") ;;
    claim) attack=given pushes+=("rows --target 1" "rows --target 0") && set -- "$@" --claim chosen ;;
    claim-invert) attack=given pushes=("invert") && set -- "$@" --claim chosen ;;
  esac
  for push in "${pushes[@]}"; do
    # shellcheck disable=SC2086  # flags, split on purpose
    run "$@" --attack "$attack" --liars "$share" --aim $push
  done | figure
}

# header FIRST COLUMNS...: of a table whose columns are attacks and shares.
header() {
  local head="" rule="" column
  for column in "${@:2}"; do
    head+=" ${column/ 0.0/ } % |" rule+="---|"
  done
  echo "| $1 | ε | honest |$head"
  echo "|---|---|---|$rule"
}

# row NAME EPSILON FLAGS...: a row of such a table, by the columns of the caller.
row() {
  local name=$1 epsilon=$2 honest error column
  local -a flags=("${@:3}" --epsilon "$epsilon")
  honest=$(run "${flags[@]}")
  error=$(jq -r '.standard_error * 1000 | round | "." + ("00" + tostring)[-3:]' <<< "$honest")
  echo -n "| $name | $epsilon | $(figure <<< "$honest") ± $error |"
  for column in "${columns[@]}"; do
    # shellcheck disable=SC2086
    echo -n " $(cell $column "${flags[@]}") |"
  done
  echo
}

private_table() {
  local mechanism study epsilon
  for mechanism in signed_hadamard local_hashing subset_selection; do
    columns=("label 0.05" "given 0.01" "given 0.05" "invert 0.01" "invert 0.05")
    if [[ $mechanism != subset_selection ]]; then columns+=("chosen 0.01" "chosen 0.05"); fi
    header "\`$mechanism\`" "${columns[@]}"
    for study in adult synthetic; do
      for epsilon in $(usual_or "0.5 1 2" 1); do
        # shellcheck disable=SC2086  # flags, split on purpose
        row "$study" "$epsilon" ${!study} --mechanism "$mechanism"
      done
    done
    echo
  done
}

public_table() {
  local reverse=education,education-num,marital-status,occupation,relationship,capital-gain,capital-loss epsilon
  columns=("label 0.05" "own 0.01" "own 0.05" "claim 0.01" "claim 0.05" "claim-invert 0.01" "claim-invert 0.05")
  header "features in the clear" "${columns[@]}"
  # shellcheck disable=SC2086  # flags, split on purpose
  for epsilon in $(usual_or "0.5 1 2" 1); do
    row "synthetic, x1, \`signed_hadamard\`" "$epsilon" $synthetic --public-features x1 --mechanism signed_hadamard
    row "adult, reverse, \`signed_hadamard\`" "$epsilon" $adult --public-features $reverse --mechanism signed_hadamard
    row "adult, reverse, \`subset_selection\`" "$epsilon" $adult --public-features $reverse --mechanism subset_selection
    row "adult, all (labels alone)" "$epsilon" $adult --public-features all
  done
  echo
}

case ${4:-both} in
  private) private_table ;;
  public) public_table ;;
  both) private_table && public_table ;;
  *)
    echo "docs/research/poisoning.sh: no table is called \"$4\"" >&2
    exit 2
    ;;
esac
