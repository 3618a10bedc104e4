#!/usr/bin/env bash
# What performance.md says of load, measured against a running coppiced with TLS: reports in batches,
# one a call, one a connection; predictions on an idle daemon, and while a job trains and reports
# stream in. About five minutes on two cores that do nothing else.
#
#   docs/research/load.sh [FOLDER]    FOLDER is made, on the disk to measure, and removed; default: a temporary one
set -euo pipefail
# shellcheck source=docs/research/smallest.sh
source "$(dirname "${BASH_SOURCE[0]}")/smallest.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bin="$PWD/build/release/bin"
folder="${1:-$(mktemp -d)}"
mkdir -p "$folder"
stop() {
  touch "$folder/stop"
  if [[ -n "${daemon:-}" ]]; then kill "$daemon" 2> /dev/null || true; fi
  wait || true
  rm -rf "$folder"
}
trap stop EXIT

deploy/make-certs.sh "$folder/certs" > "$folder/log"
"$bin/coppice-lab" synthesize --output-dir "$folder/rows" --synthetic "gamma=0.5,private=$(usual_or 20000 2000),public=$(usual_or 4000 400)" >> "$folder/log"

echo "# ingest_bench: batches of 250, then single reports, over one stream"
ingest() { "$bin/ingest_bench" --certs "$folder/certs" --rounds "$(usual_or 5 1)" "$@"; }
ingest --store "rocksdb:$folder/ingest" --reports "$(usual_or 200000 2000)"
ingest --store "rocksdb:$folder/ingest1" --batch 1 --reports "$(usual_or 20000 200)"

"$bin/coppiced" --data-dir "$folder/store" --listen 127.0.0.1:0 --port-file "$folder/port" --ticket-rate 0 \
  --tls-cert "$folder/certs/server.crt" --tls-key "$folder/certs/server.key" 2>> "$folder/log" &
daemon=$!
until [[ -s "$folder/port" ]]; do sleep 0.1; done
export COPPICE_SERVER="127.0.0.1:$(cat "$folder/port")" COPPICE_CA="$folder/certs/ca.crt"
# Clients yield to the daemon, whose machine they share here: elsewhere they would have their own.
coppice() { nice -n 19 "$bin/coppice" "$@" >> "$folder/log" 2>&1; }
table=(--public "$folder/rows/public.csv" --schema "$folder/rows/schema.json")

coppice study create --study s "${table[@]}" --epsilon 1 --mechanism optimized_unary
echo "# unary_bench"
for connections in 1 4 16 64; do
  "$bin/unary_bench" --server "$COPPICE_SERVER" --ca "$COPPICE_CA" --study s \
    --at-once $((100 * connections)) --connections "$connections" --calls "$(usual_or 40000 400)" --rounds "$(usual_or 7 1)"
done
echo "# connect_bench"
for devices in 8 64; do
  "$bin/connect_bench" --server "$COPPICE_SERVER" --certs "$folder/certs" --study s --at-once "$devices" \
    --devices "$(usual_or 1000 100)" --rounds "$(usual_or 3 1)"
done

coppice study create --study first "${table[@]}" --epsilon 2
coppice collect simulate --study first --data "$folder/rows/private.csv"
coppice model build --study first --model m
# predict ROUNDS FLAGS...
predict() {
  "$bin/predict_bench" --server "$COPPICE_SERVER" --ca "$COPPICE_CA" --model m --calls "$(usual_or 2000 200)" \
    --rounds "$(usual_or "$1" 1)" "${@:2}"
}
echo "# predict_bench: idle, one row and sixteen"
predict 3
predict 3 --rows 16
coppice dataset create --dataset d --data "$folder/rows/private.csv" --schema "$folder/rows/schema.json" --epsilon-total 1000
train() { while [[ ! -e "$folder/stop" ]]; do coppice train submit --dataset d --epsilon 1 --wait "$@" || true; done; }
train --algorithm diprime --set trees="$(usual_or 1000 100)" &
trainer=$!
coppice study create --study stream "${table[@]}" --epsilon 1 --mechanism optimized_unary
for rate in $(usual_or "20000 100000" 2000); do
  echo "# predict_bench: while a job trains and $rate reports a second stream in"
  rm -f "$folder/stream"  # the last one's: this one is to be awaited
  "$bin/stream_bench" --server "$COPPICE_SERVER" --ca "$COPPICE_CA" --study stream --rate "$rate" --seconds "$(usual_or 20 3)" > "$folder/stream" &
  stream=$!
  until [[ -s "$folder/stream" ]]; do sleep 0.1; done
  predict 9
  kill -0 "$stream" || { echo "docs/research/load.sh: the stream had ended before the last line: give it more seconds" >&2; exit 1; }
  wait "$stream"
  tail -1 "$folder/stream"
done
echo "# predict_bench: while jobs train one after the other, and studies are made and filled as fast as it goes"
kill "$trainer"  # its last job runs to its end beside the first of these
train --algorithm auto &
for ((study = 0; ; ++study)); do
  [[ ! -e "$folder/stop" ]] || break
  coppice study create --study "load$study" "${table[@]}" --epsilon 2 || true
  coppice collect simulate --study "load$study" --data "$folder/rows/private.csv" || true
done &
sleep "$(usual_or 3 1)"
predict 5
coppice study list
grep -c "^accepted" "$folder/log" | sed 's/$/ collections beside them/'
