#!/usr/bin/env bash
# Runs the central experiments of docs/research/reproduction.md and prints their tables in Markdown.
#
#   docs/research/central.sh DATA_DIR TABLE [REPEATS] > table.md
#
# DATA_DIR holds the data sets, a folder each (adult, banknote, ...). TABLE is one of
#   spe        Table 1 of Huang, Lei, Kaban 2022: epsilon 2, a tenth of the rows held out
#   sspe       Table 2 of the same: a fifth of the rows keep their labels
#   diprime    Table 2 of Consul, Williamson 2021 (error), and regression
#   dpboost    Figure 2 of Li, Wu, Wen, He 2020: test error against epsilon, a fifth held out; and at
#              small epsilon, a tenth held out
#   lazybb     Figure 5.2 and Tables 5.2, A.1 to A.3 of the thesis on smooth re-weighting
#   auto       every data set at five epsilons, pure and with a delta of 1e-6, and the best of the others
#   scaling    time and memory as rows become more (docs/research/scaling.svg as well; needs gnuplot and the
#              benchmark train_bench)
# Every table is printed four times, from the same runs: accuracy or root mean squared error, area under the
# curve or mean absolute error, log loss or R2, and the calibration error (of classes; with its 95 % interval).
# MEASURES="1 2" prints the first two alone.
# Needs jq and build/release/bin/coppice-lab (or COPPICE_LAB=/path/to/coppice-lab).
set -euo pipefail

if [[ $# -lt 2 ]]; then
  echo "usage: docs/research/central.sh DATA_DIR spe|sspe|diprime|dpboost|lazybb|auto|scaling [REPEATS]" >&2
  exit 2
fi
data=$1
table=$2
docs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=docs/research/smallest.sh
source "$docs/smallest.sh"
repeats=$(usual_or "${3:-50}" 2)
holdout=0.1  # share of the rows to score on
bin=$docs/../../build/release/bin
lab=${COPPICE_LAB:-$bin/coppice-lab}
threads=${THREADS:-2}
runs=$(mktemp -d)  # what was run already: tables of other measures take it from here
trap 'rm -rf "$runs"' EXIT
measure=1
measure_names=("" "accuracy, or root mean squared error" "area under the curve, or mean absolute error"
  "log loss, or R²" "calibration error")

# run SET ALGORITHM EPSILON FLAGS...: what coppice-lab reports, as JSON.
run() {
  local set=$1 algorithm=$2 epsilon=$3
  shift 3
  local -a rows=(--data "$data/$set/$set.csv" --holdout "$holdout")
  if [[ $set == diabetes ]]; then rows=(--data "$data/diabetes/diabetes_pri.csv" --holdout "$holdout"); fi
  if [[ $set == adult ]]; then rows=(--data "$data/adult/adult_train.csv" --holdout "$holdout"); fi
  if [[ $set == adult && -n ${canonical:-} ]]; then
    rows=(--data "$data/adult/adult_train.csv" --test "$data/adult/adult_test.csv")
  fi
  local -a command=(central "${rows[@]}" --schema "$data/$set/schema.json" --algorithm "$algorithm"
    --epsilon "$epsilon" --repeats "$repeats" --threads "$threads" --json "$@")
  local found
  found=$runs/$(md5sum <<< "${command[*]}" | cut -d ' ' -f 1)
  [[ -s $found ]] || "$lab" "${command[@]}" > "$found" 2> /dev/null
  cat "$found"
}

# figure SET ALGORITHM EPSILON FLAGS...: the measure with its standard error.
figure() {
  run "$@" |
    jq -r --argjson measure "$measure" '
      def digits: if . >= 10000 then (. / 10000 | floor | tostring) else "" end
        + "." + ("000" + (. % 10000 | tostring))[-4:];
      def f: . * 10000 | round | if . < 0 then "-" + (-. | digits) else digits end;
      def h: . * 100 | round | . / 100 | tostring;
      if .accuracy then
        if $measure == 1 then (.accuracy.mean | f) + " ± " + (.standard_error | f)
        elif $measure == 2 then (.auc.mean | f) + " ± " + (.auc_standard_error | f)
        elif $measure == 3 then (.log_loss.mean | f) + " ± " + (.log_loss_standard_error | f)
        else (.calibration_error | f) + (.calibration_error_interval
          | if .[1] == "inf" then "" else " (" + (.[0] | f) + " to " + (.[1] | f) + ")" end) end
      elif $measure == 1 then (.rmse.mean | h) + " ± " + (.standard_error | h)
      elif $measure == 2 then (.mae.mean | h) + " ± " + (.mae_standard_error | h)
      elif $measure == 3 then (.r2.mean | f) + " ± " + (.r2_standard_error | f)
      else "–" end'
}

# A row that papers print, of accuracies and errors.
paper() {
  if [[ $measure == 1 ]]; then echo "$1"; fi
}

# row NAME ALGORITHM "SETS" "EPSILONS" FLAGS...
row() {
  local name=$1 algorithm=$2 sets=$3 epsilons=$4 set epsilon
  shift 4
  echo -n "| $name |"
  for set in $sets; do
    for epsilon in $epsilons; do echo -n " $(figure "$set" "$algorithm" "$epsilon" "$@") |"; done
  done
  echo
}

header() {  # header FIRST "COLUMNS"
  local column line="|---|"
  echo -n "| $1 |"
  for column in $2; do
    echo -n " ${column/,ε=/, ε = } |"
    line+="---|"
  done
  echo
  echo "$line"
}

# appendix_b SET: epsilon, kappa, lambda and rounds of the thesis' Tables B.1 to B.3.
appendix_b() {
  case $1 in
    adult) echo 0.05,0.50,0.50,5 0.1,0.45,0.50,5 0.5,0.35,0.50,15 1,0.35,0.45,39 3,0.35,0.45,99 5,0.35,0.45,75 ;;
    cod-rna) echo 0.05,0.50,0.50,9 0.1,0.50,0.35,19 0.5,0.45,0.50,49 1,0.40,0.50,99 3,0.30,0.40,99 5,0.35,0.40,99 ;;
    mushroom) echo 0.05,0.45,0.50,5 0.1,0.50,0.40,9 0.5,0.45,0.25,25 1,0.25,0.30,29 3,0.20,0.20,75 5,0.20,0.50,29 ;;
  esac
}

# How many questions a model asks: mean ± standard deviation over the models.
questions() {
  run "$@" | jq -r 'def f: . * 10 | round | . / 10 | tostring;
    (.questions | f) + " ± " + (.questions_std | f)'
}

# appendix NAME SET WHAT FLAGS...: a row of WHAT (figure or questions) with the thesis' parameters.
appendix() {
  local name=$1 set=$2 what=$3 cell epsilon kappa lambda rounds
  shift 3
  echo -n "| $name |"
  for cell in $(appendix_b "$set"); do
    IFS=, read -r epsilon kappa lambda rounds <<< "$cell"
    echo -n " $("$what" "$set" lazybb "$epsilon" --set kappa="$kappa" --set lambda="$lambda" \
      --set rounds="$rounds" "$@") |"
  done
  echo
}

spe_sets=$(usual_or "adult banknote car credit mushroom occupancy robot4" "banknote car")

print_tables() {
  case $table in
    spe)
      header "ε = 2" "$spe_sets"
      paper "| SPE, paper | .8205 | .9354 | .7271 | .8022 | .9915 (7 columns) | .9819 | .8743 |"
      row "**median_forest**" median_forest "$spe_sets" 2
      row "\`spe\`" spe "$spe_sets" 2
      row "\`spe\`, \`selection=exponential\`" spe "$spe_sets" 2 --set selection=exponential
      row "\`diprime\`" diprime "$spe_sets" 2
      paper "| RDT, paper | .7616 | .7059 | .6938 | .7828 | .9389 | .8287 | .5686 |"
      row "\`rdt\`" rdt "$spe_sets" 2
      paper "| MaxTree, paper | .8180 | .8693 | .7142 | .7861 | .9751 | .9707 | .4770 |"
      row "\`maxtree\`" maxtree "$spe_sets" 2
      paper "| SRT, paper (no guarantee: not built) | .7689 | .7739 | .7116 | .7780 | .9836 | .9026 | .6150 |"
      row "\`spe\`, ε = ∞" spe "$spe_sets" inf
      paper "| random forest, paper | .8547 | .9938 | .9788 | .8248 | 1.0000 | .9971 | .9946 |"
      repeats=$(usual_or 10 2)
      row "\`random_forest\`, not private, 10 repetitions" random_forest "$spe_sets" inf
      ;;
    sspe)
      sets=$spe_sets
      header "ε = 2" "$sets"
      paper "| SSPE-1, paper | .8053 | .5386 | .7023 | .7879 | .9009 | .9614 | .7730 |"
      row "\`sspe1\`" sspe1 "$sets" 2
      paper "| SSPE-2, paper | .8088 | .8967 | .7255 | .7838 | .9596 | .9420 | .8701 |"
      row "\`sspe2\`" sspe2 "$sets" 2
      paper "| PTE, paper | .8029 | .9041 | .7111 | .7789 | .9546 | .9277 | .8256 |"
      row "\`pte\`" pte "$sets" 2
      ;;
    diprime)
      epsilons="1 2 10"
      classes=$(usual_or "banknote credit robot4" banknote)
      numbers=$(usual_or "parkinsons appliances abalone" abalone)
      header "classes" "$(for set in $classes; do echo "$set,ε=1 2 10"; done)"
      for algorithm in median_forest diprime dpdf dpert; do
        row "\`$algorithm\`" "$algorithm" "$classes" "$epsilons"
      done
      echo
      header "numbers" "$(for set in $numbers; do echo "$set,ε=1 2 10"; done)"
      for algorithm in median_forest diprime dpert; do
        row "\`$algorithm\`" "$algorithm" "$numbers" "$epsilons"
      done
      echo
      sets="$classes $numbers"
      header "not private" "$sets"
      row "median trees (\`diprime\`, ε = ∞)" diprime "$sets" inf
      repeats=$(usual_or 10 2)
      row "\`random_forest\`, 10 repetitions" random_forest "$sets" inf
      row "\`extra_trees\`, 10 repetitions" extra_trees "$sets" inf
      ;;
    dpboost)
      # errors NAME FLAGS...: of $set at $epsilons, test error instead of accuracy.
      errors() {
        local name=$1 epsilon found
        shift
        echo -n "| $name |"
        for epsilon in $epsilons; do
          found=$(figure "$set" dpboost "$epsilon" "$@")
          if [[ $set != abalone && $measure == 1 ]]; then
            found=$(awk '{ printf "%s ± %s", substr(sprintf("%.4f", 1 - $1), 2), $3 }' <<< "$found")
          fi
          echo -n " $found |"
        done
        echo
      }
      holdout=0.2
      paper=(--set loss=square filtering=drop learning_rate=0.1)
      for set in $(usual_or "adult cod-rna abalone" "banknote abalone"); do
        epsilons="1 2 4 6 8 10"
        header "$set" "1 2 4 6 8 10"
        errors "**\`dpboost\`**"
        errors "\`dpboost\`, the paper's loss and filter, \`learning_rate=0.1\`" "${paper[@]}"
        errors "PARA" "${paper[@]}" scheme=para
        errors "PARA, 10 trees" "${paper[@]}" scheme=para trees=10
        errors "SEQ" "${paper[@]}" scheme=seq
        epsilons=inf
        errors "not private (SEQ, ε = ∞)" --set learning_rate=0.1 scheme=seq filtering=none
        echo
      done
      holdout=0.1
      for set in $(usual_or "adult mushroom cod-rna abalone" "banknote abalone"); do
        header "$set" ".1 .5 1 2 4"
        for rate in 0.1 0.5 0.7 1; do
          row "\`learning_rate=$rate\`" dpboost "$set" "0.1 0.5 1 2 4" --set learning_rate=$rate
        done
        echo
      done
      ;;
    lazybb)
      canonical=yes
      epsilons="0.05 0.1 0.5 1 3 5"
      bins=(--set literals=bins --set cuts=9)
      sets=$(usual_or "adult cod-rna mushroom" mushroom)
      for set in $sets; do
        header "$set, ε =" "$epsilons"
        row "**\`lazybb\`**" lazybb "$set" "$epsilons"
        row "**\`lazybb\`**, δ = 10⁻⁶" lazybb "$set" "$epsilons" --delta 1e-6
        row "\`literals=bins cuts=9\`" lazybb "$set" "$epsilons" "${bins[@]}"
        appendix "parameters of Appendix B, bins as there" "$set" figure "${bins[@]}"
        appendix "parameters of Appendix B, cuts" "$set" figure
        row "\`learner=top_down\`" lazybb "$set" "$epsilons" --set learner=top_down
        row "\`learner=top_down\`, δ = 10⁻⁶" lazybb "$set" "$epsilons" --delta 1e-6 \
          --set learner=top_down
        if [[ $measure == 1 ]]; then
          echo -n "| questions, \`lazybb\` |"
          for epsilon in $epsilons; do echo -n " $(questions "$set" lazybb "$epsilon") |"; done
          echo
          appendix "questions, Appendix B, bins" "$set" questions "${bins[@]}"
        fi
        echo
      done
      header "ε = ∞" "$sets"
      row "\`lazybb\`" lazybb "$sets" inf
      row "\`learner=top_down\`" lazybb "$sets" inf --set learner=top_down
      ;;
    auto)
      epsilons="0.1 0.5 1 2 4"
      canonical=yes
      for set in $(usual_or "adult mushroom cod-rna banknote credit occupancy rice diabetes car robot4 robot24 \
        abalone parkinsons appliances" "banknote abalone"); do
        header "$set" "$epsilons"
        row "**\`auto\`**" auto "$set" "$epsilons"
        row "**\`auto\`**, δ = 10⁻⁶" auto "$set" "$epsilons" --delta 1e-6
        others="lazybb dpboost logistic median_forest spe maxtree"
        if [[ $set =~ ^(abalone|parkinsons|appliances)$ ]]; then others="dpboost median_forest spe"; fi
        for other in $others; do row "\`$other\`" "$other" "$set" "$epsilons"; done
        echo
      done
      ;;
    scaling)
      for algorithm in spe diprime; do
        echo "$algorithm"
        # shellcheck disable=SC2046  # flags, split on purpose
        "$bin/train_bench" --algorithm "$algorithm" --set depth=5 $(usual_or "" "--rows 2000 --rows 4000") | tee "$runs/$algorithm"
      done
      gnuplot -e "spe='$runs/spe'; diprime='$runs/diprime'; picture='$(usual_or "$docs/scaling.svg" "$PWD/scaling.svg")'" \
        "$docs/scaling.gp"
      ;;
    *)
      echo "docs/research/central.sh: there is no table $table" >&2
      exit 2
      ;;
  esac
}

# A set whose measure does not exist has dashes, and a table of seconds no measure.
if [[ $table == scaling ]]; then MEASURES=1; fi
defaults="$repeats $holdout"
for measure in ${MEASURES:-1 2 3 4}; do
  read -r repeats holdout <<< "$defaults"
  if [[ $table != scaling ]]; then echo -e "**${measure_names[measure]}**\n"; fi
  print_tables
  if [[ $table != scaling ]]; then echo; fi
done
