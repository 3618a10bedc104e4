#!/usr/bin/env bash
# What performance.md says of load, measured against a running coppiced with TLS: reports in batches,
# one a call, one a connection; predictions on an idle daemon, and while a job trains and reports
# stream in. About five minutes on two cores that do nothing else.
#
#   docs/research/load.sh [FOLDER]    FOLDER is made, on the disk to measure, and removed; default: a temporary one
set -euo pipefail
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
"$bin/coppice-lab" synthesize --output-dir "$folder/rows" --synthetic gamma=0.5,private=20000,public=4000 >> "$folder/log"

echo "# ingest_bench: batches of 250, then single reports, over one stream"
"$bin/ingest_bench" --certs "$folder/certs" --store "rocksdb:$folder/ingest"
"$bin/ingest_bench" --certs "$folder/certs" --store "rocksdb:$folder/ingest1" --batch 1 --reports 20000

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
    --at-once $((100 * connections)) --connections "$connections" --calls 40000 --rounds 7
done
echo "# connect_bench"
"$bin/connect_bench" --server "$COPPICE_SERVER" --certs "$folder/certs" --study s --at-once 8 --devices 1000 --rounds 3
"$bin/connect_bench" --server "$COPPICE_SERVER" --certs "$folder/certs" --study s --at-once 64 --devices 1000 --rounds 3

coppice study create --study first "${table[@]}" --epsilon 2
coppice collect simulate --study first --data "$folder/rows/private.csv"
coppice model build --study first --model m
predict=("$bin/predict_bench" --server "$COPPICE_SERVER" --ca "$COPPICE_CA" --model m)
echo "# predict_bench: idle, one row and sixteen"
"${predict[@]}" --rounds 3
"${predict[@]}" --rounds 3 --rows 16
coppice dataset create --dataset d --data "$folder/rows/private.csv" --schema "$folder/rows/schema.json" --epsilon-total 1000
train() { while [[ ! -e "$folder/stop" ]]; do coppice train submit --dataset d --epsilon 1 --wait "$@" || true; done; }
train --algorithm diprime --set trees=1000 &
trainer=$!
coppice study create --study stream "${table[@]}" --epsilon 1 --mechanism optimized_unary
for rate in 20000 100000; do
  echo "# predict_bench: while a job trains and $rate reports a second stream in"
  rm -f "$folder/stream"  # the last one's: this one is to be awaited
  "$bin/stream_bench" --server "$COPPICE_SERVER" --ca "$COPPICE_CA" --study stream --rate "$rate" --seconds 20 > "$folder/stream" &
  stream=$!
  until [[ -s "$folder/stream" ]]; do sleep 0.1; done
  "${predict[@]}" --rounds 9
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
sleep 3
"${predict[@]}" --rounds 5
coppice study list
grep -c "^accepted" "$folder/log" | sed 's/$/ collections beside them/'
