#!/usr/bin/env bash
# Runs the main job over real RPC with TLS on this machine: builds, starts a curator daemon on a free loopback
# port with a store in a temporary folder, lets thousands of simulated devices answer, some of them through a
# relay, builds models, prints a table, and last one JSON line. Stops and removes what it started.
#
#   deploy/quickstart.sh [--keep] [--data DIR] [--epsilon E]
#
#   --keep        leaves the daemon running, with its state in build/quickstart, a policy and an administrator's
#                 token, and says where its console is, if Node 18 and npm are there to build it. Once it is
#                 stopped, --keep starts it again with the state that it had
#   --data DIR    a folder with diabetes/ in it; without it ../shared/data beside the checkout is used if
#                 it is there, and the synthetic pair alone otherwise
#   --epsilon E   what one report costs its device (default 2)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
data="$root/../shared/data"
epsilon=2
keep=false

wrong_usage() {
  echo "quickstart.sh: $1" >&2
  sed -n '2,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}
while (($# > 0)); do
  case "$1" in
    --help | -h) sed -n '2,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    --keep) keep=true; shift ;;
    --data)
      [[ -d "${2:-}/diabetes" ]] || wrong_usage "--data needs a folder with diabetes/ in it"
      data=$2; shift 2 ;;
    --epsilon)
      [[ "${2:-}" =~ ^([0-9]+(\.[0-9]+)?|\.[0-9]+)$ ]] || wrong_usage "--epsilon needs a number from 0.01 to 20"
      epsilon=$2; shift 2 ;;
    *) wrong_usage "$1: no such flag" ;;
  esac
done

bin="$root/build/release/bin"
kept="$root/build/quickstart"

# say_how_to_use: says how to reach the kept daemon, whose log has its ports, and last prints one JSON line.
say_how_to_use() {
  local http console stop server
  server="127.0.0.1:$(<"$kept/port")"
  http="https://localhost:$(sed -n 's/.* http listen=.* port=//p' "$kept/daemon.log" | tail -n 1)/"
  console=$http
  stop="kill \$(cat $kept/pid)"
  echo "A coppiced runs, for this machine alone:"
  echo
  if [[ "$(sed -n 's/.* http listen=.* console=\(.*\) site=.*/\1/p' "$kept/daemon.log" | tail -n 1)" == none ]]; then
    console=""
    echo "  no console  it is built where Node 18 and npm are (on Debian: apt-get install nodejs npm); by curl instead:"
    echo "              curl --cacert $kept/certs/ca.crt --header @$kept/token.header --json '{}' \\"
    echo "                ${http}coppice.v1.StudyService/ListStudies"
  else
    echo "  console     $console"
  fi
  echo "  token       $(<"$kept/token")"
  echo "              (an administrator's; in $kept/token)"
  echo "  authority   $kept/certs/ca.crt"
  echo "              (for this test alone: a browser warns of it until you import it, or accept the warning)"
  echo "  gRPC        $bin/coppice study list --server $server --ca $kept/certs/ca.crt --token-file $kept/token"
  echo "  stop        $stop"
  echo "  forget all  rm -r $kept, once it is stopped"
  echo
  printf '{"console":"%s","http":"%s","server":"%s","ca":"%s","token_file":"%s","pid_file":"%s"}\n' \
    "$console" "$http" "$server" "$kept/certs/ca.crt" "$kept/token" "$kept/pid"
}

is_running() {
  [[ -s "$kept/pid" ]] && tr '\0' '\n' <"/proc/$(<"$kept/pid")/cmdline" 2>/dev/null | grep -qxF "$kept/store"
}
if $keep && is_running; then
  echo "quickstart.sh: it runs already" >&2
  say_how_to_use
  exit 0
fi

if $keep && command -v node >/dev/null && command -v npm >/dev/null; then
  "$root/deploy/build.sh" programs console
else
  "$root/deploy/build.sh" programs
fi

work=$(mktemp -d)
home=$work  # the daemon's
if $keep; then home=$kept; fi
daemon=""
relay=""
is_new=true
is_done=false
clean_up() {
  if [[ -n "$relay" ]]; then
    kill -TERM "$relay" 2>/dev/null || true
    wait "$relay" 2>/dev/null || true
  fi
  rm -rf "$work"
  if $keep && $is_done; then return; fi
  if [[ -n "$daemon" ]]; then
    kill -TERM "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
  fi
  if $keep && $is_new; then rm -rf "$kept"; fi
}
trap clean_up EXIT

flags=()
if $keep; then
  if [[ -d $kept ]]; then is_new=false; fi
  (umask 077; mkdir -p "$kept")
  if [[ ! -s "$kept/policy.json" ]]; then
    (
      umask 077
      "$bin/coppiced" token --name quickstart --role admin >"$work/token" 2>/dev/null
      head -n 1 "$work/token" >"$kept/token"
      echo "Authorization: Bearer $(<"$kept/token")" >"$kept/token.header"
      echo "{\"anonymous\": [\"device\"], \"tokens\": [$(tail -n 1 "$work/token")]}" >"$kept/policy.json"
    )
  fi
  # The authority is valid for a month; replace it an hour before it expires.
  if ! openssl x509 -noout -checkend 3600 -in "$kept/certs/server.crt" >/dev/null 2>&1; then rm -rf "$kept/certs"; fi
  flags=(--policy "$kept/policy.json" --http-listen 127.0.0.1:0)
  export COPPICE_TOKEN_FILE="$kept/token"
fi
[[ -d "$home/certs" ]] || "$root/deploy/make-certs.sh" "$home/certs" >&2
rm -f "$home/port"
session=()
if $keep; then session=(setsid); fi  # so that it outlives the terminal
"${session[@]}" "$bin/coppiced" --data-dir "$home/store" --listen 127.0.0.1:0 --port-file "$home/port" \
  --tls-cert "$home/certs/server.crt" --tls-key "$home/certs/server.key" "${flags[@]}" \
  </dev/null >/dev/null 2>>"$home/daemon.log" &
daemon=$!
for ((i = 0; i < 300; ++i)); do
  [[ -s "$home/port" ]] && break
  kill -0 "$daemon" 2>/dev/null || { cat "$home/daemon.log" >&2; exit 1; }
  sleep 0.1
done
[[ -s "$home/port" ]] || { echo "quickstart.sh: the daemon did not start:" >&2; cat "$home/daemon.log" >&2; exit 1; }
if $keep; then echo "$daemon" >"$kept/pid"; fi
if ! $is_new; then
  echo "quickstart.sh: it runs again, with what it had" >&2
  is_done=true
  say_how_to_use
  exit 0
fi
export COPPICE_SERVER="127.0.0.1:$(<"$home/port")"
export COPPICE_CA="$home/certs/ca.crt"
export XDG_STATE_HOME="$work/state"  # nobody needs to know later which rows answered here
echo "coppiced listens on $COPPICE_SERVER with TLS" >&2

# value KEY: prints a member of the JSON object on stdin (numbers and plain strings, one level).
value() { sed -E "s/.*\"$1\":\"?([^,\"}]*).*/\1/"; }

table=""
json_rows=""
# add_row DATA MECHANISM ESTIMATOR ACCURACY REPORTS BYTES
add_row() {
  table+=$(printf '%-10s %-16s %-22s %8.4f %8d %7.0f' "$@")$'\n'
  json_rows+="${json_rows:+,}$(printf '{"data":"%s","mechanism":"%s","estimator":"%s","accuracy":%s,"reports":%s,"report_bytes":%s}' "$@")"
}

# evaluate STUDY ESTIMATOR_FLAGS...: prints the accuracy on the test rows of a model built with these flags.
evaluate() {
  local study=$1 model
  shift
  model=$("$bin/coppice" model build --study "$study" "$@" --json | value model)
  "$bin/coppice" model evaluate --model "$model" --data "$test_rows" --json 2>/dev/null | value accuracy
}

# main_job DATA PUBLIC PRIVATE TEST SCHEMA PARTITION_FLAGS...
main_job() {
  local name=$1 public=$2 private=$3 schema=$5 mechanism study collected reports bytes
  test_rows=$4
  shift 5
  for mechanism in laplace_split laplace_joint symmetric_unary optimized_unary; do
    study="$name-${mechanism//_/-}"
    "$bin/coppice" study create --study "$study" --public "$public" --schema "$schema" \
      --epsilon "$epsilon" --mechanism "$mechanism" "$@" --json >"$work/created"
    echo "$name: devices answer with $mechanism ..." >&2
    collected=$("$bin/coppice" collect simulate --study "$study" --data "$private" \
      --journal "$work/$study.journal" --json 2>"$work/collect.log") || { cat "$work/collect.log" >&2; exit 1; }
    reports=$(value accepted <<<"$collected")
    bytes=$(value payload_bytes <<<"$collected")
    if [[ $mechanism == laplace_split ]]; then
      # This row does not depend on reports, so it is shown once.
      add_row "$name" - "public rows only" "$(evaluate "$study" --estimator weighted --lambda inf)" 0 0
    fi
    add_row "$name" "$mechanism" "weighted, lambda 1" \
      "$(evaluate "$study" --estimator weighted --lambda 1)" "$reports" "$bytes"
    add_row "$name" "$mechanism" "prune" "$(evaluate "$study" --estimator prune)" "$reports" "$bytes"
    if [[ $mechanism == optimized_unary && $name == synthetic ]]; then
      "$bin/coppice" model build --study "$study" --model "$name-tree" --estimator prune --json >/dev/null
      "$bin/coppice" model show --model "$name-tree" --format text >"$work/tree.txt"
    fi
  done
}

# untuned_job DATA PUBLIC PRIVATE TEST SCHEMA: the same with default settings, a forest of public trees.
untuned_job() {
  local name=$1 public=$2 private=$3 schema=$5 study="$1-auto" collected mechanism
  test_rows=$4
  mechanism=$("$bin/coppice" study create --study "$study" --public "$public" --schema "$schema" \
    --epsilon "$epsilon" --json | value mechanism)
  echo "$name: devices answer with $mechanism, each in one of 64 trees ..." >&2
  collected=$("$bin/coppice" collect simulate --study "$study" --data "$private" \
    --journal "$work/$study.journal" --json 2>"$work/collect.log") || { cat "$work/collect.log" >&2; exit 1; }
  add_row "$name" - "smooth, public only" "$(evaluate "$study" --evidence public)" 0 0
  add_row "$name" "$mechanism" "smooth (default)" "$(evaluate "$study")" \
    "$(value accepted <<<"$collected")" "$(value payload_bytes <<<"$collected")"
}

# relayed_job PUBLIC PRIVATE SCHEMA: 2,000 devices answer through a relay; $promise is what its certificate then says.
relayed_job() {
  local public=$1 private=$2 schema=$3 pin collected
  pin=$("$bin/coppice-relay" keygen --data-dir "$work/relay")
  "$bin/coppice" study key --pem >"$work/curator.pem"
  "$bin/coppice" study create --study relayed --public "$public" --schema "$schema" --epsilon "$epsilon" \
    --mechanism signed_hadamard --split-rule max_edge --depth 5 --relay-key "$pin" --min-batch 1000 --json >"$work/created"
  (
    umask 077
    "$bin/coppice-relay" token --name devices --tickets 2000 >"$work/relay.lines"
    head -n 1 "$work/relay.lines" >"$work/relay.token"
    tail -n 1 "$work/relay.lines" >"$work/relay.devices"
  )
  local token=()
  if [[ -n "${COPPICE_TOKEN_FILE:-}" ]]; then token=(--curator-token-file "$COPPICE_TOKEN_FILE"); fi
  "$bin/coppice-relay" --data-dir "$work/relay" --listen 127.0.0.1:0 --port-file "$work/relay.port" \
    --tls-cert "$home/certs/server.crt" --tls-key "$home/certs/server.key" --admission "$work/relay.devices" \
    --curator "$COPPICE_SERVER" --curator-ca "$COPPICE_CA" --curator-key "$work/curator.pem" "${token[@]}" \
    --study relayed --tickets 2000 </dev/null >/dev/null 2>"$work/relay.log" &
  relay=$!
  until "$bin/coppice" health --server "127.0.0.1:$(cat "$work/relay.port" 2>/dev/null)" --ca "$COPPICE_CA" &>/dev/null; do
    kill -0 "$relay" 2>/dev/null || { cat "$work/relay.log" >&2; exit 1; }
    sleep 0.2
  done
  echo "relayed: 2,000 devices answer with signed_hadamard, through a relay ..." >&2
  collected=$("$bin/coppice" collect simulate --study relayed --data "$private" --limit 2000 \
    --curator-key "$work/curator.pem" --relay "127.0.0.1:$(<"$work/relay.port")" --relay-key "$pin" \
    --relay-ca "$COPPICE_CA" --relay-token-file "$work/relay.token" --journal "$work/relayed.journal" \
    --json 2>"$work/collect.log") || { cat "$work/collect.log" "$work/relay.log" >&2; exit 1; }
  # All tickets are used, so the relay sends the batch at once; the curator opens it gradually.
  until [[ "$("$bin/coppice" study show --study relayed --json | value accepted)" == 2000 ]]; do
    kill -0 "$relay" 2>/dev/null || { cat "$work/relay.log" >&2; exit 1; }
    sleep 0.2
  done
  "$bin/coppice" model build --study relayed --model relayed-tree --json >"$work/relayed.json"
  # If each report has a large epsilon, 1,800 honest ones may be too few for a smaller one towards the curator.
  relayed_epsilon=$("$bin/coppice" model show --model relayed-tree --json |
    sed -n 's/.*"relay_epsilon":\([^,}]*\).*/\1/p')
  "$bin/coppice" model export --model relayed-tree --output "$work/relayed.model" 2>/dev/null
  promise=$("$bin/coppice" model verify --file "$work/relayed.model" --curator-key "$work/curator.pem" |
    sed -n 's/.*\(Towards a curator.*\)/\1/p')
  promise=${promise:-nothing more: with this epsilon they are too few to hide each other}
  kill -TERM "$relay"
  wait "$relay"
  relay=""
}

started=$(date +%s)
"$bin/coppice-lab" synthesize --output-dir "$work/synthetic" >&2
main_job synthetic "$work/synthetic/public.csv" "$work/synthetic/private.csv" \
  "$work/synthetic/test.csv" "$work/synthetic/schema.json" --split-rule max_edge --depth 5
untuned_job synthetic "$work/synthetic/public.csv" "$work/synthetic/private.csv" \
  "$work/synthetic/test.csv" "$work/synthetic/schema.json"
if [[ -d "$data/diabetes" ]]; then
  # Four fifths of the private file are devices, the rest are test rows.
  head -n 1 "$data/diabetes/diabetes_pri.csv" | tee "$work/train.csv" >"$work/test.csv"
  tail -n +2 "$data/diabetes/diabetes_pri.csv" |
    awk -v train="$work/train.csv" -v test="$work/test.csv" 'NR % 5 { print >> train; next } { print >> test }'
  main_job diabetes "$data/diabetes/diabetes_pub.csv" "$work/train.csv" "$work/test.csv" \
    "$data/diabetes/schema.json" --split-rule cart --depth 4
  untuned_job diabetes "$data/diabetes/diabetes_pub.csv" "$work/train.csv" "$work/test.csv" \
    "$data/diabetes/schema.json"
else
  echo "quickstart.sh: no diabetes data at $data (name the folder with --data DIR): synthetic rows only" >&2
fi
relayed_job "$work/synthetic/public.csv" "$work/synthetic/private.csv" "$work/synthetic/schema.json"
seconds=$(($(date +%s) - started))

echo
echo "A pruned tree that 10,000 devices taught, each with one report of epsilon $epsilon:"
echo
cat "$work/tree.txt"
echo
echo "Accuracy on test rows, one run (each report is randomized anew, so it varies from run to run):"
echo
printf '%-10s %-16s %-22s %8s %8s %7s\n' data mechanism estimator accuracy reports bytes
printf '%s' "$table"
echo
echo "Of 2,000 devices that answered through a relay, each with epsilon $epsilon towards everybody, relay and curator together among them, the model's certificate says:"
echo
echo "  $promise"
echo
if $keep; then
  is_done=true
  say_how_to_use
  exit 0
fi
printf '{"epsilon":%s,"tls":true,"seconds":%s,"results":[%s],"relayed":{"reports":2000,"epsilon":%s}}\n' \
  "$epsilon" "$seconds" "$json_rows" "${relayed_epsilon:-null}"
