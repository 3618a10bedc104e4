#!/usr/bin/env bash
# Makes the fixtures of a version: the files that its own programs leave on disk.
#
#   make.sh BIN OUT    such as: tests/upgrade/make.sh build/release/bin tests/upgrade/0.1
#
# BIN holds that version's coppiced, coppice and coppice-lab; the script creates OUT. README.md lists the files.
set -euo pipefail
shopt -s inherit_errexit
bin=$(realpath "$1")
out=$2
here=$(dirname "$(realpath "$0")")
mkdir -p "$(dirname "$out")"
mkdir "$out"
out=$(realpath "$out")
work=$(mktemp -d)
daemon=
trap '[[ -z $daemon ]] || kill "$daemon" || true; rm -rf "$work"' EXIT

start() {
  rm -f "$work/port"
  "$bin/coppiced" --data-dir "$work/store" --listen 127.0.0.1:0 --port-file "$work/port" \
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

start
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

# Ten more devices answer after that copy, and their journal loses the last frame, which says that all were delivered:
# they wait for a curator that has not heard of them.
start
{
  ask study show --study sealed
  ask study show --study open
  ask dataset show --dataset table
  ask endpoint show --endpoint served
} >"$out/shown.jsonl"
ask collect simulate --study open --data "$out/private.csv" --limit 10 --journal "$out/devices.journal"
stop
python3 - "$out/devices.journal" <<'PYTHON'
import struct, sys
with open(sys.argv[1], "r+b") as journal:
    data = journal.read()
    at = last = data.index(b"\n") + 1 + 4  # magic, version
    while at < len(data):
        last, at = at, at + 4 + 4 + struct.unpack_from("<I", data, at)[0] + 8
    journal.truncate(last)
PYTHON
"$bin/coppice" collect history --journal "$out/devices.journal" --json >"$out/history.jsonl"
rm -f "$work"/kept/rocksdb/{LOG*,LOCK}
tar -C "$work/kept" --sort=name --owner=0 --group=0 --numeric-owner -czf "$out/store.tar.gz" .
chmod -R go-rwx "$out"
