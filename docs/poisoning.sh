#!/usr/bin/env bash
# Runs the experiments of docs/poisoning.md and prints its tables in Markdown.
#
#   docs/poisoning.sh DATA_DIR [REPEATS_ADULT [REPEATS_SYNTHETIC]] > tables.md
#
# DATA_DIR holds the data sets, a folder each. Needs jq and build/release/bin/coppice-lab (or
# COPPICE_LAB=/path/to/coppice-lab). About ten minutes on two cores.
set -euo pipefail

if [[ $# -lt 1 ]]; then
  echo "usage: docs/poisoning.sh DATA_DIR [REPEATS_ADULT [REPEATS_SYNTHETIC]]" >&2
  exit 2
fi
data=$1
lab=${COPPICE_LAB:-$(dirname "$0")/../build/release/bin/coppice-lab}
# shellcheck disable=SC2034  # both are named by `study`
adult="--repeats ${2:-10} --data $data/adult/adult_train.csv --test $data/adult/adult_test.csv
  --public-rows 200 --schema $data/adult/schema.json"
# shellcheck disable=SC2034
synthetic="--repeats ${3:-50} --synthetic gamma=0.5,private=10000,public=50"

# run FLAGS...: one JSON line.
run() { "$lab" local --json "$@" 2> /dev/null; }

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
  esac
  for push in "${pushes[@]}"; do
    # shellcheck disable=SC2086  # flags, split on purpose
    run "$@" --attack "$attack" --liars "$share" --aim $push
  done | figure
}

for mechanism in signed_hadamard local_hashing subset_selection; do
  columns=("label 0.05" "given 0.01" "given 0.05" "invert 0.01" "invert 0.05")
  if [[ $mechanism != subset_selection ]]; then columns+=("chosen 0.01" "chosen 0.05"); fi
  header="" rule=""
  for column in "${columns[@]}"; do
    header+=" ${column/ 0.0/ } % |" rule+="---|"
  done
  echo "| \`$mechanism\` | ε | honest |$header"
  echo "|---|---|---|$rule"
  for study in adult synthetic; do
    for epsilon in 0.5 1 2; do
      # shellcheck disable=SC2206  # flags, split on purpose
      flags=(${!study} --epsilon $epsilon --mechanism $mechanism)
      honest=$(run "${flags[@]}")
      error=$(jq -r '.standard_error * 1000 | round | "." + ("00" + tostring)[-3:]' <<< "$honest")
      echo -n "| $study | $epsilon | $(figure <<< "$honest") ± $error |"
      for column in "${columns[@]}"; do
        # shellcheck disable=SC2086
        echo -n " $(cell $column "${flags[@]}") |"
      done
      echo
    done
  done
  echo
done
