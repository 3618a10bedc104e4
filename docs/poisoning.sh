#!/usr/bin/env bash
# Runs the experiments of docs/poisoning.md and prints its tables in Markdown.
#
#   docs/poisoning.sh DATA_DIR [REPEATS_ADULT [REPEATS_SYNTHETIC]] > tables.md
#
# DATA_DIR holds the data sets, a folder each. Needs jq and build/release/bin/coppice-lab (or
# COPPICE_LAB=/path/to/coppice-lab). About a quarter of an hour on two cores.
set -euo pipefail

if [[ $# -lt 1 ]]; then
  echo "usage: docs/poisoning.sh DATA_DIR [REPEATS_ADULT [REPEATS_SYNTHETIC]]" >&2
  exit 2
fi
data=$1
lab=${COPPICE_LAB:-$(dirname "$0")/../build/release/bin/coppice-lab}
adult="--repeats ${2:-20} --data $data/adult/adult_train.csv --test $data/adult/adult_test.csv
  --public-rows 200 --schema $data/adult/schema.json"
synthetic="--repeats ${3:-100} --synthetic gamma=0.5,private=10000,public=50"

# run FLAGS...: one JSON line.
run() { "$lab" local --split-rule hybrid --estimator smooth --json "$@" 2> /dev/null; }

# Accuracy, and the first letter of each alarm that at least half of the repetitions raised.
figure() {
  jq -sr 'min_by(.accuracy.mean) | (.accuracy.mean * 1000 | round | "." + ("00" + tostring)[-3:])
    + ([.alarms | to_entries[] | select(.value >= 0.5) | " " + .key[:1]] | join(""))'
}

# cell ATTACK SHARE FLAGS...: pushed to the class that hurts more.
cell() {
  local attack=(--attack "$1" --liars "$2")
  shift 2
  run "$@" "${attack[@]}" --target 1 > "$work/1"
  if [[ ${attack[1]} == label ]]; then cp "$work/1" "$work/0"; else
    run "$@" "${attack[@]}" --target 0 > "$work/0"
  fi
  cat "$work/0" "$work/1" | figure
}

work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
for mechanism in signed_hadamard local_hashing subset_selection; do
  attacks="label given chosen"
  if [[ $mechanism == subset_selection ]]; then attacks="label given"; fi
  echo "| \`$mechanism\` | ε | honest |$(for a in $attacks; do echo -n " $a 1 % | $a 5 % |"; done)"
  echo "|---|---|---|$(for a in $attacks; do echo -n "---|---|"; done)"
  for study in adult synthetic; do
    for epsilon in 0.5 1 2; do
      # shellcheck disable=SC2206  # flags, split on purpose
      flags=(${!study} --epsilon $epsilon --mechanism $mechanism)
      run "${flags[@]}" > "$work/honest"
      error=$(jq -r '.standard_error * 1000 | round | "." + ("00" + tostring)[-3:]' "$work/honest")
      echo -n "| $study | $epsilon | $(figure < "$work/honest") ± $error |"
      for attack in $attacks; do
        for share in 0.01 0.05; do echo -n " $(cell "$attack" "$share" "${flags[@]}") |"; done
      done
      echo
    done
  done
  echo
done
