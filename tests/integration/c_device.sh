#!/usr/bin/env bash
# Builds the C sample with only a C compiler against the installed files; it joins a study of a real daemon over TLS.
# Where `tests/run.sh arm` has built the library for ARM, the same sample does so from there, in an emulator.
#
#   c_device.sh BUILD_DIR SOURCE_DIR
set -euo pipefail
build=$1
source=$2
work=$(mktemp -d)
daemon=""
trap '[[ -z "$daemon" ]] || kill "$daemon" 2> /dev/null; rm -rf "$work"' EXIT
fail() { echo "c_device: $1" >&2; exit 1; }

# Builds the package's examples through its pkg-config.
cmake --install "$build" --component device --prefix "$work/prefix" > /dev/null
export PKG_CONFIG_PATH="$work/prefix/lib/pkgconfig"
examples="$work/prefix/share/doc/libcoppice-device-dev/examples"
read -ra flags <<< "$(pkg-config --cflags --libs --static coppice-device) $(pkg-config --libs grpc)"
cc -std=c11 "$examples/device.c" "$examples/grpc_call.c" "${flags[@]}" -Wl,-rpath,"$work/prefix/lib" -o "$work/shared"
flags=("${flags[@]/-lcoppice_device/$work/prefix/lib/libcoppice_device.a}")
cc -std=c11 "$examples/device.c" "$examples/grpc_call.c" "${flags[@]}" -o "$work/static"
needed=$(readelf -d "$work/static")
grep -q 'libcoppice\|libabsl' <<< "$needed" && fail "the archive needs more than libcrypto and libstdc++"

# Does the same over HTTP, if libcurl is there to build with.
if pkg-config --exists libcurl; then
  read -ra flags <<< "$(pkg-config --cflags --libs --static coppice-device) $(pkg-config --libs libcurl)"
  cc -std=gnu11 -Wall -Wextra "$examples/device.c" "$examples/http_call.c" "${flags[@]}" -Wl,-rpath,"$work/prefix/lib" -o "$work/http"
else
  echo "c_device: HTTP is left out: libcurl4-openssl-dev is not installed"
fi

"$source/deploy/make-certs.sh" "$work/certs" > /dev/null
"$build/bin/coppiced" --data-dir "$work/store" --listen 127.0.0.1:0 --port-file "$work/port" --http-listen 127.0.0.1:0 \
  --tls-cert "$work/certs/server.crt" --tls-key "$work/certs/server.key" 2> "$work/log" &
daemon=$!
until [[ -s "$work/port" ]]; do
  kill -0 "$daemon" 2> /dev/null || fail "coppiced did not start: $(< "$work/log")"
  sleep 0.05
done
server="localhost:$(< "$work/port")"
coppice() { "$build/bin/coppice" "$@" --server "$server" --ca "$work/certs/ca.crt"; }
"$build/bin/coppice-lab" synthesize --output-dir "$work/rows" --synthetic private=20,public=200,test=1 > /dev/null
coppice study create --study first --public "$work/rows/public.csv" --schema "$work/rows/schema.json" \
  --epsilon 1 --min-reports 100 > /dev/null
coppice study key --pem > "$work/key.pem"

# join NAME COMMAND... joins twice; the second run has nothing to send.
join() {
  local name=$1 said
  shift
  for run in first second; do
    said=$("$@" "$work/key.pem" "$server" "$work/certs/ca.crt" first "$work/$name.journal" x0=.3 label=1 2>&1) ||
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
