#!/usr/bin/env bash
# Time per tree of dpboost and auto against XGBoost's hist, one thread, on the same public bins, in
# turns: the table of docs/research/performance.md#boosting, in Markdown.
#
#   docs/research/boost_speed.sh DATA_DIR [ROUNDS]
#
# DATA_DIR holds adult (adult_train.csv, schema.json). Needs Debian's python3-xgboost and
# build/release/bin/boost_bench. Run it on an idle core: taskset -c 1 docs/research/boost_speed.sh ...
set -euo pipefail

if [[ $# -lt 1 ]]; then
  echo "usage: docs/research/boost_speed.sh DATA_DIR [ROUNDS]" >&2
  exit 2
fi
data=$1
docs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=docs/research/smallest.sh
source "$docs/smallest.sh"
rounds=$(usual_or "${2:-5}" 1)
bench=$docs/../../build/release/bin/boost_bench

# compare NAME DEPTH TREES FLAGS...: TREES of XGBoost a round.
compare() {
  local name=$1 depth=$2 trees=$3
  shift 3
  /usr/bin/python3 "$docs/../../tests/bench/boost_speed.py" "$bench" "$name" "$depth" "$trees" \
    "$rounds" -- "$@"
}

echo "| rows, trainer | trees | ms a tree | XGBoost, ms a tree | ratio (least to most) | memory |"
echo "|---|---|---|---|---|---|"
adult=(--data "$data/adult/adult_train.csv" --schema "$data/adult/schema.json")
for cuts in 31 255; do
  compare "adult, \`dpboost\`, cuts=$cuts" 6 50 "${adult[@]}" --cuts $cuts --set cuts=$cuts
  compare "adult, \`dpboost\` scheme=seq, cuts=$cuts" 6 50 "${adult[@]}" --cuts $cuts \
    --set cuts=$cuts scheme=seq
done
compare "adult, \`auto\`" 4 50 "${adult[@]}" --algorithm auto
big=(--rows "$(usual_or 1000000 2000)" --features 100)
for cuts in 31 255; do
  compare "1,000,000 x 100, \`dpboost\`, cuts=$cuts" 6 5 "${big[@]}" --cuts $cuts --set cuts=$cuts
  compare "1,000,000 x 100, \`dpboost\` scheme=seq, cuts=$cuts" 6 5 "${big[@]}" --cuts $cuts \
    --set cuts=$cuts scheme=seq trees=10
done
compare "1,000,000 x 100, \`auto\`" 4 5 "${big[@]}" --algorithm auto
