#!/usr/bin/env bash
# Makes the fixtures: the files that today's programs leave on disk.
#
#   make.sh BIN [OUT]    such as: tests/upgrade/make.sh build/release/bin
#
# BIN holds coppiced, coppice and coppice-lab. OUT is tests/upgrade/1 unless given; what is there is replaced once all
# is made. README.md lists the files and says when to run this.
set -euo pipefail
shopt -s inherit_errexit
bin=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
target=${2:-$here/1}
work=$(mktemp -d)
out=$work/out
mkdir "$out" "$out/models"
daemon=
trap '[[ -z $daemon ]] || kill "$daemon" || true; rm -rf "$work"' EXIT

start() {  # start STORE
  rm -f "$work/port"
  "$bin/coppiced" --data-dir "$work/$1" --listen 127.0.0.1:0 --port-file "$work/port" \
    --tls-cert "$work/certs/server.crt" --tls-key "$work/certs/server.key" --policy "$out/policy.json" \
    2>>"$work/log" &
  daemon=$!
  until [[ -s $work/port ]]; do
    kill -0 "$daemon" || { cat "$work/log" >&2; exit 1; }
    sleep 0.05
  done
}
stop() {
  kill "$daemon"
  wait "$daemon"
  daemon=
}
ask() {
  "$bin/coppice" "$@" --server "127.0.0.1:$(<"$work/port")" --ca "$work/certs/ca.crt" \
    --token-file "$out/ops.token" --json
}
create() {  # create STUDY FLAG...
  ask study create --study "$1" --public "$out/public.csv" --schema "$out/schema.json" --epsilon 2 "${@:2}"
}
build() {  # build STUDY: makes its model, of the same name
  ask model build --study "$1" --model "$1" --estimator weighted --lambda 1
  ask model export --model "$1" --output "$out/$1.json"
}
keep() {  # keep MODEL: with what it predicts
  ask model export --model "$1" --output "$out/models/$1.json" >/dev/null
  "$bin/coppice" model predict --file "$out/models/$1.json" --data "$out/public.csv" --json \
    >"$out/models/$1.predictions.jsonl"
}

umask 077
"$here/../../deploy/make-certs.sh" "$work/certs" >/dev/null
for holder in ops device; do
  roles=(--role device)
  [[ $holder == device ]] || roles=(--role admin --role trainer --role analyst --role device)
  "$bin/coppiced" token --name "$holder" "${roles[@]}" >"$work/token"
  head -n 1 "$work/token" >"$out/$holder.token"
  tail -n 1 "$work/token" >"$work/$holder.entry"
done
printf '{"anonymous": ["device"], "tokens": [\n%s,\n%s]}\n' \
  "$(<"$work/ops.entry")" "$(<"$work/device.entry")" >"$out/policy.json"
"$bin/coppice-lab" synthesize --output-dir "$work/rows" --synthetic private=60,public=40,test=1
mv "$work/rows"/{public,private}.csv "$work/rows/schema.json" "$out"

start store
create sealed --mechanism laplace_joint --depth 3
create open --mechanism optimized_unary --depth 3 --trees 2
ask collect simulate --study sealed --data "$out/private.csv" --journal "$out/devices.journal"
ask collect simulate --study open --data "$out/private.csv" --limit 40 --journal "$work/others.journal"
ask study seal --study sealed
build sealed
build open
ask endpoint set --endpoint served --model sealed
ask dataset create --dataset table --data "$out/private.csv" --schema "$out/schema.json" --epsilon-total 4
ask train submit --dataset table --algorithm spe --job spe --epsilon 1 --wait
ask model export --model spe --output "$out/spe.json"
stop
cp -r "$work/store" "$work/kept"

start store
{
  ask study show --study sealed
  ask study show --study open
  ask dataset show --dataset table
  ask endpoint show --endpoint served
} >"$out/shown.jsonl"
# Ten more devices answer after that copy. Their gateway is killed when their answers are in the journal, so they wait
# for a curator that has not heard of them.
cp "$out/devices.journal" "$work/before"
until "$bin/coppice" collect history --journal "$out/devices.journal" --json | grep -q '"study":"open".*"waiting":10,'; do
  cp "$work/before" "$out/devices.journal"
  python3 - "$out/devices.journal" "$bin/coppice" collect simulate --study open --data "$out/private.csv" --limit 10 \
    --journal "$out/devices.journal" --server "127.0.0.1:$(<"$work/port")" --ca "$work/certs/ca.crt" <<'PYTHON'
import os, subprocess, sys
journal, command = sys.argv[1], sys.argv[2:]
enough = os.path.getsize(journal) + 10 * 80  # ten answers
gateway = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while gateway.poll() is None and os.path.getsize(journal) < enough:
    pass
gateway.kill()
gateway.wait()
PYTHON
done
stop
"$bin/coppice" collect history --journal "$out/devices.journal" --json >"$out/history.jsonl"
rm -f "$work"/kept/rocksdb/{LOG*,LOCK}
tar -C "$work/kept" --sort=name --owner=0 --group=0 --numeric-owner -czf "$out/store.tar.gz" .

# A model of each kind of leaf.
start models
ask study key --pem >"$out/models/curator.pem"
create s --depth 2 --trees 2
ask collect simulate --study s --data "$out/private.csv" --journal "$work/journal"
ask study seal --study s
ask model build --study s --model probabilities --estimator weighted --lambda 1
ask model build --study s --model additive
ask dataset create --dataset d --data "$out/private.csv" --schema "$out/schema.json" --epsilon-total 40
train() {  # train JOB FLAG...
  ask train submit --dataset d --job "$1" --epsilon 10 --wait "${@:2}"
}
train weights --algorithm spe --set trees=2 --set depth=2
train scores --algorithm dpboost --set trees=2 --set depth=2
train derived --algorithm auto
for model in probabilities additive weights scores derived; do keep "$model"; done
stop

chmod -R go-rwx "$out"
rm -rf "$target"
mv "$out" "$target"
