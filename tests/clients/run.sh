#!/usr/bin/env bash
# Starts coppiced with TLS on a free loopback port and a store of its own, runs a client against it, and
# stops it. The client finds COPPICE_SERVER, COPPICE_HTTP, COPPICE_CA and COPPICE_DAEMON_PID in its
# environment, and its exit code is this script's; 77 is a skip.
#
#   COPPICE_BIN_DIR=build/release/bin tests/clients/run.sh [DAEMON_FLAG...] -- COMMAND...
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=${COPPICE_BIN_DIR:-$root/build/release/bin}
# Ends the daemon and the client even if this script is killed, as CTest does by itself.
if [[ -z "${COPPICE_TEST_KEPT:-}" && -x "$bin/../tests/run_test" ]]; then exec "$bin/../tests/run_test" "$0" "$@"; fi

flags=()
while (($# > 0)) && [[ $1 != -- ]]; do
  flags+=("$1")
  shift
done
(($# > 1)) || { sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
shift

work=$(mktemp -d)
daemon=""
clean_up() {
  if [[ -n "$daemon" ]]; then
    kill -TERM "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap clean_up EXIT
show_log() {
  echo "run.sh: $1; the last lines of the daemon's log:" >&2
  tail -n 40 "$work/daemon.log" >&2
}

"$root/deploy/make-certs.sh" "$work/certs" >&2
# The limit is below what a thousand connections need: the daemon has to raise it itself.
(
  ulimit -Sn 512
  exec "$bin/coppiced" --data-dir "$work/store" --listen 127.0.0.1:0 --port-file "$work/port" \
    --tls-cert "$work/certs/server.crt" --tls-key "$work/certs/server.key" "${flags[@]}"
) 2>"$work/daemon.log" &
daemon=$!
for ((i = 0; i < 3000; ++i)); do
  [[ -s "$work/port" ]] && break
  kill -0 "$daemon" 2>/dev/null || { show_log "coppiced ended"; exit 1; }
  sleep 0.1
done
[[ -s "$work/port" ]] || { show_log "coppiced does not serve after five minutes"; exit 1; }

export COPPICE_SERVER="127.0.0.1:$(<"$work/port")"
export COPPICE_CA="$work/certs/ca.crt"
http_port=$(sed -n 's/.* http listen=.*port=//p' "$work/daemon.log")
export COPPICE_HTTP=${http_port:+127.0.0.1:$http_port}  # with --http-listen
export COPPICE_DAEMON_PID=$daemon
export PYTHONDONTWRITEBYTECODE=1  # the tests leave nothing in the source tree
code=0
"$@" || code=$?
if ((code != 0 && code != 77)); then
  show_log "the client failed with $code"
  exit "$code"
fi
kill -0 "$daemon" 2>/dev/null || { show_log "coppiced ended while the client ran"; exit 1; }
exit "$code"
