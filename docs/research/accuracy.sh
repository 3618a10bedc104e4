#!/usr/bin/env bash
# Runs the experiments of docs/research/accuracy.md and prints its tables in Markdown.
#
#   docs/research/accuracy.sh DATA_DIR TABLE [REPEATS] > table.md
#
# DATA_DIR holds the data sets, a folder each (adult, banknote, ...). TABLE is one of
#   defaults   what a study of classes takes by default, beside the estimator pooled and its forest
#   main       untuned, both sources; public labels alone; reports alone
#   tuned      the paper's LPCT, best cell of its grid on the test rows, for comparison
#   mechanism  the same studies by every mechanism
#   guards     public labels that are flipped or random, few public rows, few devices
#   labels     all features public, so that reports are randomized labels alone
#   numbers    studies that predict a number: with all features private, and with all of them public (RMSE)
#   million    a million devices on the synthetic pair, with and without public labels
#   public     the same studies with some of their features public
#   relay      adult through a relay, by the central epsilon of 30,000 honest reports (delta 1e-6), beside the same without noise
#   plan       how often coppice-lab plan's 90 % intervals held the accuracy and the gain that a study then had
#   plan-public  the same for studies with public features
# Every table but `numbers` and the last two is printed four times, from the same runs: accuracy, area under the curve, log loss and
# calibration error (with its 95 % interval). MEASURES="accuracy auc" prints the first two alone.
# Needs jq and build/release/bin/coppice-lab (or COPPICE_LAB=/path/to/coppice-lab).
set -euo pipefail

if [[ $# -lt 2 ]]; then
  echo "usage: docs/research/accuracy.sh DATA_DIR defaults|main|tuned|mechanism|guards|labels|numbers|million|public|relay|plan|plan-public [REPEATS]" >&2
  exit 2
fi
# shellcheck source=docs/research/smallest.sh
source "$(dirname "${BASH_SOURCE[0]}")/smallest.sh"
data=$1
table=$2
repeats=$(usual_or "${3:-20}" 2)
STUDIES=${STUDIES:-$(usual_or "" "rice|γ=.5, 10 public")}
lab=${COPPICE_LAB:-$(dirname "$0")/../../build/release/bin/coppice-lab}

# The studies: a name, then where the rows come from.
studies=(
  "synthetic γ=.5 (10000, 50)|--synthetic gamma=0.5,private=10000,public=50"
  "synthetic γ=5 (10000, 1000)|--synthetic gamma=5,private=10000,public=1000"
  "diabetes (2055, 200)|--public $data/diabetes/diabetes_pub.csv --private $data/diabetes/diabetes_pri.csv --schema $data/diabetes/schema.json"
  "banknote (1048, 50)|--data $data/banknote/banknote.csv --public-rows 50 --schema $data/banknote/schema.json"
  "rice (2998, 50)|--data $data/rice/rice.csv --public-rows 50 --schema $data/rice/schema.json"
  "occupancy (6465, 50)|--data $data/occupancy/occupancy.csv --public-rows 50 --schema $data/occupancy/schema.json"
  "mushroom (6450, 50)|--data $data/mushroom/mushroom.csv --public-rows 50 --schema $data/mushroom/schema.json"
  "adult (32361, 200)|--data $data/adult/adult_train.csv --test $data/adult/adult_test.csv --public-rows 200 --schema $data/adult/schema.json"
  "adult (31561, 1000)|--data $data/adult/adult_train.csv --test $data/adult/adult_test.csv --public-rows 1000 --schema $data/adult/schema.json"
  "credit (23800, 200)|--data $data/credit/credit.csv --public-rows 200 --schema $data/credit/schema.json"
  "credit (23000, 1000)|--data $data/credit/credit.csv --public-rows 1000 --schema $data/credit/schema.json"
  "census (3144, 41292)|--public $data/census/census_pub.csv --private $data/census/census_pri.csv --schema $data/census/schema.json"
  "robot4, K=4 (4315, 50)|--data $data/robot4/robot4.csv --public-rows 50 --schema $data/robot4/schema.json"
  "car, K=4 (1283, 100)|--data $data/car/car.csv --public-rows 100 --schema $data/car/schema.json"
)

runs=$(mktemp -d)  # what was run already: tables of other measures take it from here
trap 'rm -rf "$runs"' EXIT
measure=accuracy

# run FLAGS...: one JSON line. Without an estimator, of `pooled` and the forest that it is for.
run() {
  local found
  found=$runs/$(md5sum <<< "$*" | cut -d ' ' -f 1)
  local -a estimator=(--estimator pooled)
  if [[ " $* " == *" --estimator "* ]]; then estimator=(); fi
  [[ -s $found ]] || "$lab" local "${estimator[@]}" --repeats "$repeats" --threads "${THREADS:-2}" --json "$@" > "$found" 2> /dev/null
  cat "$found"
}

# The untuned estimator: every default but what FLAGS say.
untuned() { run "$@"; }

figure() {
  jq -r --arg measure "$measure" 'def f: . * 1000 | round |
      (if . >= 1000 then (. / 1000 | floor | tostring) else "" end) + "." + ("00" + (. % 1000 | tostring))[-3:];
    if $measure == "calibration_error" then (.calibration_error | f) + (.calibration_error_interval
      | if .[1] == "inf" then "" else " (" + (.[0] | f) + " to " + (.[1] | f) + ")" end)
    else (.[$measure].mean | f) + " ± " +
      ((if $measure == "accuracy" then .standard_error else .[$measure + "_standard_error"] end) | f) end'
}

# cells SEPARATOR-LESS: figure for each epsilon. cells "EPSILONS" COMMAND FLAGS...
cells() {
  local epsilons=$1 epsilon
  shift
  for epsilon in $epsilons; do echo -n " $("$@" --epsilon "$epsilon" | figure) |"; done
}

# for_studies FUNCTION [PATTERN]: FUNCTION NAME FLAGS... for every study whose name matches.
for_studies() {
  local study
  local -a rows
  for study in "${studies[@]}"; do
    [[ ${study%%|*} =~ ${2:-.} ]] || continue
    read -r -a rows <<< "${study#*|}"
    "$1" "${study%%|*}" "${rows[@]}"
  done
}

# defaults_row NAME FLAGS...: accuracy and log loss of both, with private features and with labels alone.
defaults_row() {
  local name=$1 epsilon features estimator
  shift
  for features in none all; do
    for epsilon in $(usual_or "1 4" 4); do
      echo -n "| $name | $([[ $features == none ]] && echo "features private" || echo "labels alone") | $epsilon |"
      for estimator in pooled smooth; do
        echo -n " $(run "$@" --estimator "$estimator" --public-features "$features" --epsilon "$epsilon" | figure) |"
      done
      echo
    done
  done
}

defaults_table() {
  echo "| study (devices, public rows) | reports | ε | pooled, hybrid | smooth, random_cut (the default) |"
  echo "|---|---|---|---|---|"
  for_studies defaults_row "${STUDIES:-.}"
}

main_row() {
  local name=$1
  shift
  echo "| $name | $(untuned "$@" --epsilon 1 --evidence public | figure) |$(cells "0.5 1 2 4 8" \
    untuned "$@")$(cells "0.5 2 8" untuned "$@" --evidence reports)"
}

main_table() {
  echo "| study (devices, public rows) | public only | ε = 0.5 | 1 | 2 | 4 | 8 | reports only, 0.5 | 2 | 8 |"
  echo "|---|---|---|---|---|---|---|---|---|---|"
  for_studies main_row "${STUDIES:-.}"
}

labels_row() {
  local name=$1
  shift
  echo "| $name | $(untuned "$@" --public-features all --epsilon 1 --evidence public | figure) |$(cells \
    "0.25 0.5 1 2 4" untuned "$@" --public-features all)$(cells "0.5 2" untuned "$@" \
    --public-features all --evidence reports)"
}

labels_table() {
  echo "| study (devices, public rows) | public only | ε = 0.25 | 0.5 | 1 | 2 | 4 | reports only, 0.5 | 2 |"
  echo "|---|---|---|---|---|---|---|---|---|"
  for_studies labels_row "${STUDIES:-.}"
}

rmse() {
  local digits=$1
  shift
  run "$@" | jq -r --argjson d "$digits" 'def f: . * pow(10; $d) | round / pow(10; $d);
    "\(.rmse.mean | f) ± \(.standard_error | f)"'
}

# Both estimators, the default first.
numbers_row() {
  local name=$1 digits=$2 estimator features epsilon
  shift 2
  [[ $name == $(usual_or "" abalone)* ]] || return 0
  for estimator in smooth pooled; do
    echo -n "| $name | $estimator | $(rmse "$digits" "$@" --estimator "$estimator" --epsilon 1 --evidence public) |"
    for features in none all; do
      for epsilon in 1 4; do
        echo -n " $(rmse "$digits" "$@" --estimator "$estimator" --public-features "$features" --epsilon "$epsilon") |"
      done
    done
    echo
  done
}

numbers_table() {
  echo "| study (devices, public rows) | estimator | public only | private features, ε = 1 | 4 | all public, 1 | 4 |"
  echo "|---|---|---|---|---|---|---|"
  numbers_row "abalone (3142, 200)" 3 --data "$data/abalone/abalone.csv" --public-rows 200 --schema "$data/abalone/schema.json"
  numbers_row "appliances (15588, 200)" 1 --data "$data/appliances/appliances.csv" --public-rows 200 --schema "$data/appliances/schema.json"
  numbers_row "bike (13704, 200)" 1 --data "$data/bike/bike.csv" --public-rows 200 --schema "$data/bike/schema.json"
  numbers_row "california (16312, 200)" 0 --data "$data/california/california.csv" --public-rows 200 --schema "$data/california/schema.json"
  numbers_row "diamonds (42952, 200)" 0 --data "$data/diamonds/diamonds.csv" --public-rows 200 --schema "$data/diamonds/schema.json"
  numbers_row "insurance (871, 200)" 0 --data "$data/insurance/insurance.csv" --public-rows 200 --schema "$data/insurance/schema.json"
  numbers_row "parkinsons (4500, 200)" 2 --data "$data/parkinsons/parkinsons.csv" --public-rows 200 --schema "$data/parkinsons/schema.json"
  echo
  echo "| sin 16x + noise (6000, 500 rows without numbers), MSE | ε = 2 | 4 | 8 |"
  echo "|---|---|---|---|"
  local range epsilon
  for range in "-2.45:2.45" "-6:6"; do
    echo -n "| rounded within $range |"
    for epsilon in 2 4 8; do
      echo -n " $(run --synthetic sine=16,private=6000,public=500 --public-labels none --rounding="$range" \
        --epsilon "$epsilon" | jq -r '"\(.mse.mean * 1000 | round / 1000)"') |"
    done
    echo
  done
}

# The better of the two rules on the test rows, as the paper chooses.
tuned() {
  local rule best="" next
  for rule in max_edge cart; do
    next=$(run --criterion entropy --mechanism laplace_split --estimator weighted --split-rule "$rule" \
      --grid "$@")
    best=$(printf '%s\n' "$best" "$next" | jq -c -s 'max_by(.accuracy.mean)')
  done
  echo "$best"
}

tuned_row() {
  local name=$1
  shift
  echo "| $name |$(cells "0.5 1 2 4 8" tuned "$@")"
}

tuned_table() {
  echo "| LPCT, tuned on the test rows | ε = 0.5 | 1 | 2 | 4 | 8 |"
  echo "|---|---|---|---|---|---|"
  for_studies tuned_row "${STUDIES:-.}"
}

mechanism_rows() {
  local name=$1 mechanism
  shift
  for mechanism in signed_hadamard hadamard_response local_hashing direct subset_selection \
    optimized_unary symmetric_unary laplace_joint laplace_split; do
    [[ $mechanism == signed_hadamard && $name == *K=4* ]] && continue
    echo "| $name | \`$mechanism\` |$(cells "0.5 1 2 4 8" untuned "$@" --mechanism "$mechanism")"
  done
}

mechanism_table() {
  echo "| study | mechanism | ε = 0.5 | 1 | 2 | 4 | 8 |"
  echo "|---|---|---|---|---|---|---|"
  for_studies mechanism_rows "${STUDIES:-γ=.5|adult .32361|robot4}"
}

guard_rows() {
  local name=$1 labels
  shift
  for labels in flipped random; do
    echo "| $name, public labels $labels | $(untuned "$@" --public-labels $labels --epsilon 1 \
      --evidence public | figure) |$(cells "0.5 1 2 4 8" untuned "$@" --public-labels $labels \
      --evidence reports)$(cells "0.5 1 2 4 8" untuned "$@" --public-labels $labels)"
  done
}

guards_table() {
  echo "| study | public only | reports only, ε = 0.5 | 1 | 2 | 4 | 8 | both, ε = 0.5 | 1 | 2 | 4 | 8 |"
  echo "|---|---|---|---|---|---|---|---|---|---|---|---|"
  for_studies guard_rows "${STUDIES:-γ=.5|adult .32361|banknote}"
  studies=(
    "synthetic γ=.5, 10 public rows|--synthetic gamma=0.5,private=10000,public=10"
    "synthetic γ=.5, 200 devices|--synthetic gamma=0.5,private=200,public=50"
    "synthetic γ=.5, public rows shifted|--synthetic gamma=0.5,private=10000,public=50 --public-shift"
    "banknote, public rows shifted|--data $data/banknote/banknote.csv --public-rows 50 --schema $data/banknote/schema.json --public-shift"
    "adult, public rows shifted|--data $data/adult/adult_train.csv --test $data/adult/adult_test.csv --public-rows 200 --schema $data/adult/schema.json --public-shift"
    "banknote, 10 public rows|--data $data/banknote/banknote.csv --public-rows 10 --schema $data/banknote/schema.json"
    "banknote, 200 devices|--data $data/banknote/banknote.csv --public-rows 50 --private-rows 200 --schema $data/banknote/schema.json"
    "adult, 10 public rows|--data $data/adult/adult_train.csv --test $data/adult/adult_test.csv --public-rows 10 --schema $data/adult/schema.json"
    "adult, 200 devices|--data $data/adult/adult_train.csv --test $data/adult/adult_test.csv --public-rows 200 --private-rows 200 --schema $data/adult/schema.json"
  )
  guard_rows() {
    local name=$1
    shift
    echo "| $name | $(untuned "$@" --epsilon 1 --evidence public | figure) |$(cells "0.5 1 2 4 8" \
      untuned "$@" --evidence reports)$(cells "0.5 1 2 4 8" untuned "$@")"
  }
  for_studies guard_rows "${STUDIES:-.}"
}

million_table() {
  local public
  echo "| a million devices, γ = .5 | ε = 0.25 | 0.5 | 1 | 2 | 4 |"
  echo "|---|---|---|---|---|---|"
  for public in 50 200 1000; do
    local -a rows=(--synthetic "gamma=0.5,private=$(usual_or 1000000 1000),public=$public,test=$(usual_or 20000 1000)")
    echo "| $public public rows |$(cells "0.25 0.5 1 2 4" untuned "${rows[@]}")"
    echo "| $public public rows without labels |$(cells "0.25 0.5 1 2 4" untuned "${rows[@]}" \
      --public-labels none)"
  done
}

# The public features of a study: a name, then their names.
public_sets() {
  case $1 in
    synthetic*) echo "x1:x1" "x2:x2" ;;
    adult*) echo "third:age,workclass,race,sex,native-country" \
      "half:age,workclass,race,sex,native-country,fnlwgt,hours-per-week" \
      "reverse:education,education-num,marital-status,occupation,relationship,capital-gain,capital-loss" ;;
    credit*) echo "third:LIMIT_BAL,SEX,EDUCATION,MARRIAGE,AGE" \
      "reverse:PAY_0,PAY_2,PAY_3,PAY_4,PAY_5,PAY_6,PAY_AMT1,PAY_AMT2,PAY_AMT3,PAY_AMT4,PAY_AMT5,PAY_AMT6" ;;
    mushroom*)
      local third=cap-shape,cap-surface,cap-color,stalk-shape,ring-number,population,habitat
      local stalk=stalk-surface-above-ring,stalk-surface-below-ring,stalk-color-above-ring,stalk-color-below-ring
      echo "third:$third" "half:$third,$stalk" \
        "reverse:bruises,odor,gill-attachment,gill-spacing,gill-size,gill-color,stalk-root,veil-type,veil-color,ring-type,spore-print-color" ;;
    rice*) echo "third:Area,Perimeter" "half:Area,Perimeter,Major_Axis_Length,Minor_Axis_Length" \
      "reverse:Eccentricity,Convex_Area,Extent" ;;
    robot4*) echo "third:SD_front" "half:SD_front,SD_left" "reverse:SD_right,SD_back" ;;
  esac
}

# points_over FILE FILE: the mean over repetitions of the first's accuracy less the second's, in points.
points_over() {
  jq -r -s '[[.[0], .[1]] | map(.repetitions.accuracy) | transpose[] | 100 * (.[0] - .[1])] | length as $n
    | (add / $n) as $mean | ((map(. - $mean | . * .) | add) / ($n - 1) / $n | sqrt) as $error
    | [$mean, $error] | map(. * 10 | round / 10) | "\(.[0]) ± \(.[1])"' "$1" "$2"
}

# gain_over_none EPSILON FEATURES FLAGS...: that of a study with public features over the same without.
gain_over_none() {
  local epsilon=$1 features=$2
  shift 2
  points_over <(run "$@" --public-features "$features" --epsilon "$epsilon") \
    <(run "$@" --public-features none --epsilon "$epsilon")
}

public_rows() {
  local name=$1 set epsilon
  shift
  for set in "none:none" $(public_sets "$name"); do
    local -a study=("$@" --per-repetition)
    local features=${set#*:}
    echo -n "| $name | ${set%%:*} |$(cells "0.5 1 2" untuned "${study[@]}" --public-features "$features")"
    for epsilon in 0.5 1 2; do
      echo -n " $(gain_over_none "$epsilon" "$features" "${study[@]}") |"
    done
    echo
  done
}

public_table() {
  echo "| study (devices, public rows) | public features | ε = 0.5 | 1 | 2 | points over none, ε = 0.5 | 1 | 2 |"
  echo "|---|---|---|---|---|---|---|---|"
  for_studies public_rows "${STUDIES:-γ=.5|adult .32361|credit .23800|mushroom|rice|robot4}"
}

# local_epsilon CENTRAL: the largest epsilon of a report by any mechanism.
local_epsilon() { "$lab" amplify --epsilon "$1" --delta 1e-6 --reports 30000 --json | jq .epsilon0; }

relay_row() {
  local name=$1 central epsilon
  shift
  local -a study=("$@" --per-repetition)
  for central in none 0.1 0.25 0.5 1; do
    epsilon=1
    [[ $central == none ]] || epsilon=$(local_epsilon "$central")
    echo "| $name | $central | $epsilon | $(untuned "${study[@]}" --epsilon "$epsilon" | figure) | $(points_over \
      <(run "${study[@]}" --epsilon "$epsilon") <(run "${study[@]}" --epsilon inf)) |"
  done
  echo "| $name | | no noise | $(untuned "${study[@]}" --epsilon inf | figure) | |"
}

relay_table() {
  echo "| study (devices, public rows) | central ε | ε₀ of a report | ${measure//_/ } | points of accuracy over no noise |"
  echo "|---|---|---|---|---|"
  for_studies relay_row "${STUDIES:-adult}"
}

# one_plan DIR EPSILON DEVICES: "held gain_held mean_foreseen accuracy gain_foreseen gain" for the rows in DIR.
one_plan() {
  local dir=$1 epsilon=$2 devices=$3
  local rows=(--public "$dir/public.csv" --schema "$dir/schema.json")
  "$lab" plan "${rows[@]}" --epsilon "$epsilon" --devices "$devices" --json 2> /dev/null > "$dir/plan.json"
  local study=("${rows[@]}" --private "$dir/private.csv" --test "$dir/test.csv" --epsilon "$epsilon"
    --repeats 1 --json)
  "$lab" local "${study[@]}" 2> /dev/null > "$dir/real.json"
  "$lab" local "${study[@]}" --evidence public 2> /dev/null > "$dir/public.json"
  jq -r -s 'def held($value; $low; $high): if $value >= $low and $value <= $high then 1 else 0 end;
    .[1].accuracy.mean as $real | ($real - .[2].accuracy.mean) as $gain | .[0].studies[0] as $s |
    [held($real; $s.accuracy.low; $s.accuracy.high), held($gain; $s.gain_interval[0]; $s.gain_interval[1]),
     $s.accuracy.mean, $real, $s.gain, $gain] | @tsv' "$dir/plan.json" "$dir/real.json" "$dir/public.json"
}

# draw FILE SCHEMA PUBLIC DEVICES SEED DIR: splits a file; the rest is the test.
draw() {
  local file=$1 schema=$2 public=$3 devices=$4 seed=$5 dir=$6
  cp "$schema" "$dir/schema.json"
  tail -n +2 "$file" | awk -v seed="$seed" 'BEGIN { srand(seed) } { printf "%.9f\t%s\n", rand(), $0 }' |
    sort -k 1,1 | cut -f 2- > "$dir/all"
  head -n 1 "$file" | tee "$dir/public.csv" "$dir/private.csv" > "$dir/test.csv"
  awk -v a="$public" -v b="$((public + devices))" -v d="$dir" \
    'NR <= a { print >> d "/public.csv"; next } NR <= b { print >> d "/private.csv"; next } { print >> d "/test.csv" }' "$dir/all"
}

# mark_public SCHEMA FEATURES: names with commas, or all.
mark_public() {
  jq --arg names "$2" '($names | split(",")) as $public
    | .features |= map(if $names == "all" or (.name | IN($public[])) then .public = true else . end)' "$1" > "$1.marked"
  mv "$1.marked" "$1"
}

# plan_row NAME EPSILON DEVICES MAKE [FEATURES]: of fresh rows that MAKE SEED DIR draws.
plan_row() {
  local name=$1 epsilon=$2 devices=$3 make=$4 features=${5:-} seed
  local dir
  dir=$(mktemp -d)
  for ((seed = 1; seed <= repeats; ++seed)); do
    rm -f "$dir"/*
    $make "$seed" "$dir" > /dev/null
    [[ -z $features ]] || mark_public "$dir/schema.json" "$features"
    one_plan "$dir" "$epsilon" "$devices"
  done | awk -v name="$name" -v e="$epsilon" '{ held += $1; gain_held += $2; foreseen += $3; real += $4; gain += $5; real_gain += $6 }
    END { printf "| %s | %s | %d of %d | %.3f | %.3f | %d of %d | %+.3f | %+.3f |\n", name, e, held, NR, foreseen / NR,
          real / NR, gain_held, NR, gain / NR, real_gain / NR }'
  rm -rf "$dir"
}

# The rows of plans: MAKE SEED DIR.
same_population() { "$lab" synthesize --synthetic gamma=1,private=10000,public=100,test=5000 --seed "$1" --output-dir "$2"; }
adult_200() { draw "$data/adult/adult_train.csv" "$data/adult/schema.json" 200 20000 "$1" "$2"; }
banknote_50() { draw "$data/banknote/banknote.csv" "$data/banknote/schema.json" 50 800 "$1" "$2"; }
mushroom_50() { draw "$data/mushroom/mushroom.csv" "$data/mushroom/schema.json" 50 5000 "$1" "$2"; }
robot4_100() { draw "$data/robot4/robot4.csv" "$data/robot4/schema.json" 100 4000 "$1" "$2"; }

plan_header() {
  echo "| study | ε | interval held | foreseen, mean | real, mean | gain's interval held | foreseen gain, mean | real gain, mean |"
  echo "|---|---|---|---|---|---|---|---|"
}

plan_table() {
  plan_header
  local epsilon
  for epsilon in $(usual_or "1 4" 4); do
    plan_row "synthetic γ=1 (10000, 100)" "$epsilon" 10000 same_population
    plan_row "adult (20000, 200)" "$epsilon" 20000 adult_200
    plan_row "banknote (800, 50)" "$epsilon" 800 banknote_50
    plan_row "mushroom (5000, 50)" "$epsilon" 5000 mushroom_50
    plan_row "robot4, K=4 (4000, 100)" "$epsilon" 4000 robot4_100
  done
}

# features_of STUDY SET
features_of() { public_sets "$1" | tr ' ' '\n' | sed -n "s/^$2://p"; }

plan_public_table() {
  plan_header
  local epsilon
  for epsilon in $(usual_or "1 4" 4); do
    plan_row "synthetic γ=1, x1 public (10000, 100)" "$epsilon" 10000 same_population x1
    plan_row "mushroom, reverse (5000, 50)" "$epsilon" 5000 mushroom_50 "$(features_of mushroom reverse)"
    plan_row "adult, reverse (20000, 200)" "$epsilon" 20000 adult_200 "$(features_of adult reverse)"
    plan_row "adult, all public (20000, 200)" "$epsilon" 20000 adult_200 all
  done
}

print_table() {
  case $table in
    defaults) defaults_table ;;
    main) main_table ;;
    tuned) tuned_table ;;
    mechanism) mechanism_table ;;
    guards) (guards_table) ;;  # it has studies of its own
    labels) labels_table ;;
    million) million_table ;;
    public) public_table ;;
    relay) relay_table ;;
    *)
      echo "docs/research/accuracy.sh: no table is called \"$table\"" >&2
      exit 2
      ;;
  esac
}

case $table in
  plan | numbers)
    "${table}_table"
    exit
    ;;
  plan-public)
    plan_public_table
    exit
    ;;
esac
for measure in ${MEASURES:-accuracy auc log_loss calibration_error}; do
  echo -e "**$measure**\n"
  print_table
  echo
done
