#!/usr/bin/env bash
# Runs the shell commands of docs/protocol.md as they stand there against a daemon of this build, and checks the
# answers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
bin=${COPPICE_BIN_DIR:-$root/build/release/bin}
work=$(mktemp -d)
daemon=""
trap '[[ -z "$daemon" ]] || kill "$daemon"; rm -rf "$work"' EXIT
fail() {
  echo "protocol_commands.sh: $1" >&2
  cat "$work/answers" "$work/daemon.log" >&2 2>/dev/null || true
  exit 1
}

awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' docs/protocol.md >"$work/commands"
[[ $(grep -c 'curl ' "$work/commands") -ge 7 ]] || fail "docs/protocol.md has lost its commands"
command -v curl >/dev/null || { echo "curl is not installed" >&2; exit 77; }

deploy/make-certs.sh "$work/certs" >&2
cd "$work"
cp certs/ca.crt ca.crt
{ read -r token; read -r entry; } < <("$bin/coppiced" token --name ops --role admin 2>/dev/null)
(umask 077; echo "Authorization: Bearer $token" >token.header; echo "$token" >token)
echo "{\"tokens\": [$entry]}" >policy.json
"$bin/coppiced" --data-dir store --listen 127.0.0.1:0 --port-file port --http-listen 127.0.0.1:0 \
  --tls-cert certs/server.crt --tls-key certs/server.key --policy policy.json 2>daemon.log &
daemon=$!
for ((i = 0; i < 600; ++i)); do
  [[ -s port ]] && break
  kill -0 "$daemon" 2>/dev/null || fail "coppiced ended"
  sleep 0.1
done
CURATOR=localhost:$(sed -n 's/.* http .*port=//p' daemon.log)
export CURATOR
curator=(--server "localhost:$(<port)" --ca ca.crt --token-file token)
"$bin/coppice-lab" synthesize --output-dir rows --synthetic gamma=0.5,private=200,public=50 >/dev/null
"$bin/coppice" dataset create --dataset rows --data rows/private.csv --schema rows/schema.json --epsilon-total 2 \
  "${curator[@]}" >/dev/null
"$bin/coppice" train submit --dataset rows --algorithm spe --epsilon 1 --job job "${curator[@]}" >/dev/null

bash -euo pipefail commands >answers || fail "a command failed"
for expected in '{}{"study":{"name":"studies/example"' '"kinds":["SPLIT_KIND_NUMERIC"' '"fingerprint":"' '"tickets":["' \
  'the field nmae is unknown' '"code":"unauthenticated"' 'JOB_STATE_DONE' '{"metadata":{"x-request-id":["'; do
  grep -qF "$expected" answers || fail "no answer has $expected"
done
