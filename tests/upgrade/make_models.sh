#!/usr/bin/env bash
# Makes the model files of a format: one for each kind of leaf, and the predictions of programs that write that format.
#
#   make_models.sh BIN OUT    such as: tests/upgrade/make_models.sh build/release/bin tests/upgrade/models/1
#
# BIN holds their coppiced and coppice; the script creates OUT. README.md lists the files.
set -euo pipefail
shopt -s inherit_errexit
bin=$(realpath "$1")
out=$2
here=$(dirname "$(realpath "$0")")
rows=$here/0.1
mkdir -p "$(dirname "$out")"
mkdir "$out"
out=$(realpath "$out")
work=$(mktemp -d)
daemon=
trap '[[ -z $daemon ]] || kill "$daemon" || true; rm -rf "$work"' EXIT

ask() {
  "$bin/coppice" "$@" --server "127.0.0.1:$(<"$work/port")" --ca "$work/certs/ca.crt" \
    --token-file "$work/token" --json
}
keep() {  # keep MODEL
  ask model export --model "$1" --output "$out/$1.json" >/dev/null
  "$bin/coppice" model predict --file "$out/$1.json" --data "$rows/public.csv" --json \
    >"$out/$1.predictions.jsonl"
}

umask 077
"$here/../../deploy/make-certs.sh" "$work/certs" >/dev/null
"$bin/coppiced" token --name ops --role admin --role trainer --role analyst --role device >"$work/made"
head -n 1 "$work/made" >"$work/token"
printf '{"anonymous": ["device"], "tokens": [\n%s]}\n' "$(tail -n 1 "$work/made")" >"$work/policy.json"
"$bin/coppiced" --data-dir "$work/store" --listen 127.0.0.1:0 --port-file "$work/port" \
  --tls-cert "$work/certs/server.crt" --tls-key "$work/certs/server.key" --policy "$work/policy.json" \
  2>>"$work/log" &
daemon=$!
until [[ -s $work/port ]]; do
  kill -0 "$daemon" || { cat "$work/log" >&2; exit 1; }
  sleep 0.05
done

ask study key --pem >"$out/curator.pem"
ask study create --study s --public "$rows/public.csv" --schema "$rows/schema.json" --epsilon 2 \
  --depth 2 --trees 2
ask collect simulate --study s --data "$rows/private.csv" --journal "$work/journal"
ask study seal --study s
ask model build --study s --model probabilities --estimator weighted --lambda 1
ask model build --study s --model additive
ask dataset create --dataset d --data "$rows/private.csv" --schema "$rows/schema.json" --epsilon-total 40
train() {  # train JOB FLAG...
  ask train submit --dataset d --job "$1" --epsilon 10 --wait "${@:2}"
}
train weights --algorithm spe --set trees=2 --set depth=2
train scores --algorithm dpboost --set trees=2 --set depth=2
train derived --algorithm auto
for model in probabilities additive weights scores derived; do keep "$model"; done
chmod -R go-rwx "$out"
