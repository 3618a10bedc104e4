#!/usr/bin/env bash
# The C sample, built by a C compiler alone against what is installed, joins a study of a real daemon over TLS; and where
# `tests/run.sh arm` has built the library for ARM, the same sample does from there, in an emulator. Then it joins another
# study through a real relay, and what it leaves in its journal `coppice collect resume` sends.
#
#   c_device.sh BUILD_DIR SOURCE_DIR
set -euo pipefail
build=$1
source=$2
work=$(mktemp -d)
daemon=""
relay=""
trap 'for program in $daemon $relay; do kill "$program" 2> /dev/null || true; done; rm -rf "$work"' EXIT
fail() { echo "c_device: $1" >&2; exit 1; }
# Waits until the file is there and not empty, or the program is gone.
await_file() {
  until [[ -s "$1" ]]; do
    kill -0 "$2" 2> /dev/null || fail "$3"
    sleep 0.05
  done
}

# Builds the package's examples through its pkg-config.
cmake --install "$build" --component device --prefix "$work/prefix" > /dev/null
export PKG_CONFIG_PATH="$work/prefix/lib/pkgconfig"
examples="$work/prefix/share/doc/libcoppice-device-dev/examples"
read -ra flags <<< "$(pkg-config --cflags --libs --static coppice-device) $(pkg-config --libs grpc)"
cc -std=c11 "$examples/device.c" "$examples/grpc_call.c" "${flags[@]}" -Wl,-rpath,"$work/prefix/lib" -o "$work/shared"
flags=("${flags[@]/-lcoppice_device/$work/prefix/lib/libcoppice_device.a}")
cc -std=c11 "$examples/device.c" "$examples/grpc_call.c" "${flags[@]}" -o "$work/static"
cc -std=c11 -DMAX_SEND_DELAY_SECONDS=4 "$examples/device.c" "$examples/grpc_call.c" "${flags[@]}" -o "$work/quick"
needed=$(readelf -d "$work/static")
grep -q 'libcoppice\|libabsl' <<< "$needed" && fail "the archive needs more than libcrypto and libstdc++"

# Does the same over HTTP, if libcurl is there to build with.
if pkg-config --exists libcurl; then
  read -ra flags <<< "$(pkg-config --cflags --libs --static coppice-device) $(pkg-config --libs libcurl)"
  cc -std=gnu11 -Wall -Wextra "$examples/device.c" "$examples/http_call.c" "${flags[@]}" -Wl,-rpath,"$work/prefix/lib" -o "$work/http"
  cc -std=gnu11 -DMAX_SEND_DELAY_SECONDS=4 "$examples/device.c" "$examples/http_call.c" "${flags[@]}" -Wl,-rpath,"$work/prefix/lib" \
    -o "$work/quick_http"
else
  [[ -z "${CI:-}" ]] || fail "libcurl4-openssl-dev is not installed: tests/packages.txt"
  echo "c_device: HTTP is left out: libcurl4-openssl-dev is not installed"
fi

"$source/deploy/make-certs.sh" "$work/certs" > /dev/null
"$build/bin/coppiced" --data-dir "$work/store" --listen 127.0.0.1:0 --port-file "$work/port" --http-listen 127.0.0.1:0 \
  --tls-cert "$work/certs/server.crt" --tls-key "$work/certs/server.key" 2> "$work/log" &
daemon=$!
await_file "$work/port" "$daemon" "coppiced did not start: $(cat "$work/log")"
server="localhost:$(< "$work/port")"
coppice() { "$build/bin/coppice" "$@" --server "$server" --ca "$work/certs/ca.crt"; }
"$build/bin/coppice-lab" synthesize --output-dir "$work/rows" --synthetic private=20,public=200,test=1 > /dev/null
coppice study create --study first --public "$work/rows/public.csv" --schema "$work/rows/schema.json" \
  --epsilon 1 --min-reports 100 > /dev/null
coppice study key --pem > "$work/key.pem"

# Joins the study by NAME COMMAND...; a second run has nothing to send.
study=first
join() {
  local name=$1
  shift
  for run in first second; do
    said=$("$@" "$work/key.pem" "$server" "$work/certs/ca.crt" "$study" "$work/$name.journal" x0=.3 label=1 2>&1) ||
      fail "$name, $run run: $said"
    [[ $run == second || "$said" == *"1 delivered, 0 waiting"* ]] || fail "$name, $run run: $said"
    [[ $run == first || "$said" == *"0 delivered, 0 waiting"* ]] || fail "$name, $run run: $said"
  done
  joined+=("$name")
}
joined=()
join shared "$work/shared"
join static "$work/static"
if [[ -x "$work/http" ]]; then
  grpc_server=$server
  server="localhost:$(sed -n 's/.* http listen=.*port=//p' "$work/log")"
  join http "$work/http"
  server=$grpc_server
fi
for machine in "aarch64 arm64 aarch64-linux-gnu qemu-aarch64-static" "armhf armhf arm-linux-gnueabihf qemu-arm-static"; do
  read -r preset arch triple emulator <<< "$machine"
  archive="$source/build/$preset/lib/libcoppice_device.a"
  sysroot="$source/build/sysroot/$arch"
  if [[ ! -f "$archive" ]] || ! command -v "$emulator" > /dev/null; then
    echo "c_device: $preset is left out: tests/run.sh arm builds it"
    continue
  fi
  "$triple-gcc" --sysroot="$sysroot" -std=c11 -I"$work/prefix/include" "$examples/device.c" "$examples/grpc_call.c" \
    "$archive" -lcrypto -lstdc++ -lm -lgrpc -lgpr -Wl,-rpath-link,"$sysroot/usr/lib/$triple" -o "$work/$preset"
  join "$preset" "$emulator" -L "$sysroot" "$work/$preset"
done

# The curator counts them like any other reports.
accepted=$(coppice study show --study first --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["accepted"])')
[[ "$accepted" == "${#joined[@]}" ]] || fail "${#joined[@]} devices joined, and $accepted reports are counted"
echo "c_device: ${joined[*]} joined"

# Through a relay, behind 1,000 devices of a table and before one whose program is killed while its sealed answer waits.
devices=1000
others=2  # and one over HTTP, if there is one
[[ ! -x "$work/quick_http" ]] || others=3
program() { "$build/bin/coppice-relay" "$@"; }
program keygen --data-dir "$work/relay" > "$work/relay.said"
head -n 1 "$work/relay.said" > "$work/relay.key"
program token --name all --tickets 2000 > "$work/token.said"
(umask 077; head -n 1 "$work/token.said" > "$work/token"; tail -n +2 "$work/token.said" > "$work/admission")
coppice study create --study second --public "$work/rows/public.csv" --schema "$work/rows/schema.json" --epsilon 1 \
  --min-reports 100 --relay-key "$(< "$work/relay.key")" --min-batch $devices > /dev/null
"$build/bin/coppice-relay" --data-dir "$work/relay" --listen 127.0.0.1:0 --http-listen 127.0.0.1:0 --port-file "$work/relay.port" --tls-cert "$work/certs/server.crt" \
  --tls-key "$work/certs/server.key" --curator "$server" --curator-ca "$work/certs/ca.crt" --curator-key "$work/key.pem" \
  --study second --tickets $((devices + others)) --admission "$work/admission" --deal 1h --collect 2h 2> "$work/relay.log" &
relay=$!
await_file "$work/relay.port" "$relay" "coppice-relay did not start: $(cat "$work/relay.log")"
server="localhost:$(< "$work/relay.port")"
for ((try = 0; try < 600; ++try)); do
  coppice health > /dev/null 2>&1 && break
  sleep 0.1
done
at_relay=(--relay "$server" --relay-key "$(< "$work/relay.key")" --relay-ca "$work/certs/ca.crt")
"$build/bin/coppice-lab" synthesize --output-dir "$work/crowd" --synthetic private=$devices,public=1,test=1 > /dev/null
"$build/bin/coppice" collect simulate --study second --data "$work/crowd/private.csv" --curator-key "$work/key.pem" \
  "${at_relay[@]}" --relay-token-file "$work/token" --journal "$work/crowd.journal" 2> "$work/crowd.log" > /dev/null ||
  fail "the crowd: $(< "$work/crowd.log") $(< "$work/relay.log")"

export RELAY_KEY="$work/relay.key"
said=$("$work/quick" "$work/key.pem" "$server" "$work/certs/ca.crt" second "$work/refused.journal" x0=.3 label=1 2>&1) &&
  fail "a device without a token has a ticket: $said"
[[ "$said" == *TakeOffer*"epsilon 0 spent"* ]] || fail "without a token: $said"
RELAY_TOKEN=$(< "$work/token")
export RELAY_TOKEN
study=second
join relayed "$work/quick"
[[ "$said" != *"is sent in"* ]] || fail "nothing waits, and the device does: $said"
if [[ -x "$work/quick_http" ]]; then
  relay_server=$server
  server="localhost:$(sed -n 's/.* http listen=.*port=//p' "$work/relay.log")"
  join relayed_http "$work/quick_http"
  server=$relay_server
fi
"$work/static" "$work/key.pem" "$server" "$work/certs/ca.crt" second "$work/killed.journal" x0=.3 label=1 \
  > "$work/killed.said" 2>&1 &
killed=$!
await_file "$work/killed.said" "$killed" "the device that is killed: $(cat "$work/killed.said")"
until grep -q "is sent in" "$work/killed.said"; do
  kill -0 "$killed" 2> /dev/null || fail "the device that is killed: $(cat "$work/killed.said")"
  sleep 0.05
done
kill -KILL "$killed"
wait "$killed" 2> /dev/null || true
resumed=$("$build/bin/coppice" collect resume "${at_relay[@]}" --journal "$work/killed.journal" --json)
[[ "$resumed" == *'"stored":1'* ]] || fail "what the killed device left: $resumed"

# The pool is spent and full, so the batch goes at once.
server="localhost:$(< "$work/port")"
for ((try = 0; try < 600; ++try)); do
  accepted=$(coppice study show --study second --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["accepted"])')
  [[ "$accepted" == $((devices + others)) ]] && break
  sleep 0.1
done
[[ "$accepted" == $((devices + others)) ]] || fail "$((devices + others)) devices joined behind the relay, and $accepted are counted"
echo "c_device: $others joined behind a relay with $devices others"
