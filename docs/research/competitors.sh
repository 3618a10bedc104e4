#!/usr/bin/env bash
# Runs the methods that the papers compare with and prints the tables of docs/research/competitors.md
# in Markdown.
#
#   docs/research/competitors.sh DATA_DIR local|label|published [REPEATS] > table.md
#
# DATA_DIR holds the data sets, a folder each (diabetes, rice, ...). Needs jq, coppice-lab and
# coppice-research in build/release/bin (or COPPICE_BIN=/path/to/bin).
#   local   Table 2 of Ma and Yang 2024, the data sets that are at hand
#   label   Table 2 of Huang, Lei and Kaban 2022: epsilon 2, a fifth of the rows have a label
#   published   methods without a stated guarantee: Table 1 of Huang, Lei and Kaban 2022, and the
#               three sets of Salamatian's thesis
set -euo pipefail

if [[ $# -lt 2 ]]; then
  echo "usage: docs/research/competitors.sh DATA_DIR local|label|published [REPEATS]" >&2
  exit 2
fi
# shellcheck source=docs/research/smallest.sh
source "$(dirname "${BASH_SOURCE[0]}")/smallest.sh"
data=$1
table=$2
repeats=$(usual_or "${3:-20}" 2)
bin=${COPPICE_BIN:-$(dirname "$0")/../../build/release/bin}

# The mean with its standard error, and with a grid the split-half figure in parentheses.
figure() {
  jq -r 'def f: . * 10000 | round | if . >= 10000 then "1.0000" else "." + ("000" + tostring)[-4:] end;
    (.accuracy.mean | f) + " ± " + (.standard_error | f)
      + (if .accuracy_split_half then " (" + (.accuracy_split_half.mean | f) + ")" else "" end)'
}

both=(--repeats "$repeats" --threads 1 --seed 1 --json)
research() { "$bin/coppice-research" run "${both[@]}" "$@" 2> /dev/null | figure || echo "–"; }
study() { "$bin/coppice-lab" local "${both[@]}" "$@" 2> /dev/null | figure; }
central() { "$bin/coppice-lab" central "${both[@]}" "$@" 2> /dev/null | figure; }

# The rows of a data set as the paper's Table 1 has them.
local_rows() {
  local folder=$data/$1
  case $1 in
    rice)
      echo "--data $folder/rice.csv --public-rows 3510 --private-rows 240 --holdout 0.0157"
      ;;
    census) echo "--public $folder/census_pub.csv --private $folder/census_pri.csv --holdout 0.2" ;;
    diabetes) echo "--public $folder/diabetes_pub.csv --private $folder/diabetes_pri.csv --holdout 0.2" ;;
  esac
  echo "--schema $folder/schema.json"
}

# local_table SET: the paper's figures of CT-W, CT-Q, PHIST, PGLM, PSGD-L, PSGD-N and its best LPCT
# from standard input, one line an epsilon.
local_table() {
  local set=$1 epsilon method line
  local -a rows paper
  [[ $set == "$(usual_or "$set" diabetes)" ]] || return 0
  mapfile -t rows < <(local_rows "$set" | tr ' ' '\n')
  echo
  echo "### $set"
  echo
  echo "| method | ε = 0.5, paper | here | ε = 2, paper | here | ε = 1000, paper | here |"
  echo "|---|---|---|---|---|---|---|"
  local -A printed=()
  for epsilon in 0.5 2 1000; do
    read -r -a paper
    for method in ct_w ct_q phist pglm psgd_l psgd_n lpct; do
      printed[$method,$epsilon]=${paper[0]}
      paper=("${paper[@]:1}")
    done
  done
  for method in ct_w ct_q phist pglm psgd_l psgd_n psgd_laplace; do
    line="| \`$method\` |"
    for epsilon in 0.5 2 1000; do
      line+=" ${printed[$method,$epsilon]:-–} | $(research --method "$method" --grid "${rows[@]}" \
        --epsilon "$epsilon") |"
    done
    echo "$line"
  done
  line="| LPCT, the better rule |"
  for epsilon in 0.5 2 1000; do line+=" ${printed[lpct,$epsilon]} | – |"; done
  echo "$line"
  line="| **our study, untuned** |"
  for epsilon in 0.5 2 1000; do line+=" – | $(study --estimator pooled "${rows[@]}" --epsilon "$epsilon") |"; done
  echo "$line"
}

file_of() { if [[ $1 == adult ]]; then echo adult_train.csv; else echo "$1.csv"; fi; }

label_sets=$(usual_or "adult banknote car credit mushroom occupancy robot4" "banknote car")
label_row() {  # label_row NAME COMMAND FLAGS...
  local name=$1 command=$2 set
  shift 2
  local line="| $name |"
  for set in $label_sets; do
    line+=" $("$command" "$set" "$@") |"
  done
  echo "$line"
}
by_method() {  # of the rows that are not held out, a fifth have a label
  local set=$1 file all
  shift
  file=$data/$set/$(file_of "$set")
  all=$(($(wc -l < "$file") - 1))
  local labelled=$((all * 18 / 100))
  research --data "$file" --schema "$data/$set/schema.json" --holdout 0.1 --epsilon 2 \
    --private-rows "$labelled" --public-rows $((all * 9 / 10 - labelled - 1)) --method "$@"
}
by_trainer() {
  local set=$1
  central --data "$data/$set/$(file_of "$set")" --schema "$data/$set/schema.json" --holdout 0.1 \
    --epsilon 2 --algorithm "$2"
}

# The rows of a set for a method that takes public ones: with a share of 0 it gets a single row, which
# srt and dp_lr do not read. Adult has test rows of its own where the second argument is "own".
published_rows() {  # published_rows SET own|tenth PUBLIC_SHARE_IN_PERCENT
  local file=$data/$1/$(file_of "$1") all
  all=$(($(wc -l < "$file") - 1))
  echo "--data $file --schema $data/$1/schema.json --public-rows $((all * $3 / 100 + 1))"
  if [[ $1 == adult && $2 == own ]]; then
    echo "--test $data/adult/adult_test.csv"
  else
    echo "--holdout 0.1"
  fi
}
by_published() {  # by_published SET METHOD FLAGS...
  local set=$1
  shift
  # shellcheck disable=SC2046  # the rows' flags are words
  research $(published_rows "$set" tenth 0) --epsilon 2 --method "$@"
}
by_thesis() {  # by_thesis SET METHOD PUBLIC_SHARE FLAGS...: a cell for each epsilon
  local set=$1 method=$2 share=$3 epsilon line="| \`$2\`${4:+, best of its grid} |"
  shift 3
  for epsilon in $thesis_epsilons; do
    # shellcheck disable=SC2046  # the rows' flags are words
    line+=" $(research $(published_rows "$set" own "$share") --epsilon "$epsilon" --method "$method" "$@") |"
  done
  echo "$line"
}
by_rademacher() {  # by_rademacher SET PROMISED ACCURACY: the thesis' figures, and ours
  # shellcheck disable=SC2046  # the rows' flags are words
  "$bin/coppice-research" rademacher $(published_rows "$1" own 0) --repeats "$repeats" --json 2> /dev/null |
    jq -r --arg set "$1" --arg promised "$2" --arg accuracy "$3" \
      'def f: . * 1000 | round / 1000 | tostring | ltrimstr("0");
       "| \($set) | \($promised) | \(.promised_accuracy.mean | f) | \($accuracy) | \(.accuracy.mean | f) ± \(.standard_error | f) | \(.complexity.mean | f) | \(.theta.mean | f) |"'
}
thesis_epsilons=$(usual_or "0.1 0.5 1 3 5" "0.5 1")

case $table in
  local)
    local_table diabetes << 'END'
.9964 .7301 .6676 .5499 .6582 .6448 .7590
.9964 .7301 .6676 .5499 .6653 .6674 .7590
.9964 .7301 .6676 .5588 .7244 .7101 .7930
END
    local_table rice << 'END'
.8992 .9117 .5467 .4886 .8517 .8142 .9183
.8992 .9117 .5467 .4886 .9050 .8750 .9183
.8992 .9117 .8858 .6283 .9017 .8875 .9183
END
    local_table census << 'END'
.8685 .8285 – .5104 .8310 .8405 .8743
.8685 .8285 – .5104 .8432 .8471 .8743
.8685 .8285 – .5389 .8530 .8154 .8743
END
    ;;
  label)
    echo "| ε = 2 | ${label_sets// / | } |"
    echo "|---|$(for set in $label_sets; do echo -n "---|"; done)"
    echo "| SSRDT, paper | .7597 | .8852 | .7040 | .7782 | .9269 | .9516 | .6433 |"
    label_row "\`ssrdt\`, untuned" by_method ssrdt
    label_row "\`ssrdt\`" by_method ssrdt --grid
    echo "| TOP, paper | .7618 | .5530 | .3388 | .7780 | .5165 | .7908 | .6143 |"
    label_row "\`top\`, untuned" by_method top
    label_row "\`top\`" by_method top --grid
    echo "| SSPE-2, paper | .8088 | .8967 | .7255 | .7838 | .9596 | .9420 | .8701 |"
    label_row "\`sspe2\`" by_trainer sspe2
    echo "| PTE, paper | .8029 | .9041 | .7111 | .7789 | .9546 | .9277 | .8256 |"
    label_row "\`pte\`" by_trainer pte
    label_row "\`auto\` on the labelled rows (rows, not labels alone)" by_method auto
    label_row "\`sspe1\` (rows, not labels alone)" by_trainer sspe1
    ;;
  published)
    echo "| ε = 2, as published | ${label_sets// / | } |"
    echo "|---|$(for set in $label_sets; do echo -n "---|"; done)"
    echo "| SRT, paper | .7689 | .7739 | .7116 | .7780 | .9836 | .9026 | .6150 |"
    label_row "\`srt\`" by_published srt
    label_row "\`srt\`, best of its grid" by_published srt --grid
    label_row "\`auto\`" by_published auto
    for set in $(usual_or "adult cod-rna mushroom" mushroom); do
      echo
      echo "| $set, as published, ε = | ${thesis_epsilons// / | } |"
      echo "|---|$(for epsilon in $thesis_epsilons; do echo -n "---|"; done)"
      by_thesis "$set" dp_lr 0
      by_thesis "$set" dp_lr 0 --grid
      by_thesis "$set" dp_bag 33
      by_thesis "$set" auto 0
    done
    echo
    echo "| ε = 1 | promised, thesis | promised | accuracy, thesis | accuracy | complexity | margin |"
    echo "|---|---|---|---|---|---|---|"
    by_rademacher adult .37 .83
    if [[ -z $(usual_or "" smallest) ]]; then
      by_rademacher cod-rna .09 .86
      by_rademacher mushroom .49 .98
    fi
    ;;
  *)
    echo "there is no table $table" >&2
    exit 2
    ;;
esac
