# Parts of the fleet of deploy/fleet/run.sh, which sources this file: certificates, etcd, Patroni, curators, HAProxy.

state_file=/run/coppice-fleet
if [[ $EUID -ne 0 ]]; then state_file=${XDG_RUNTIME_DIR:-$HOME}/.coppice-fleet; fi

refuse_a_second_fleet() {
  if [[ -e $state_file ]]; then
    echo "run.sh: a fleet is running in $(cut -d ' ' -f 2- "$state_file"); end it with deploy/fleet/run.sh stop" >&2
    exit 1
  fi
}

stop_what_runs() {
  if [[ ! -e $state_file ]]; then
    echo "run.sh: no fleet is running" >&2
    return
  fi
  read -r isolated work <"$state_file"
  machines_end
  rm -rf "$work" "$state_file"
}

# finish EXIT_CODE: cleans up at the end of run.sh, however it ends.
finish() {
  trap - EXIT
  jobs -p | xargs -r kill 2>/dev/null || true
  if [[ $1 -eq 0 && $keep == yes ]]; then
    print_what_to_try
    exit 0
  fi
  machines_end
  rm -f "$state_file"
  if [[ $1 -eq 0 || $1 -eq 130 ]]; then
    rm -rf "$work"
  else
    find "$work" -mindepth 1 -maxdepth 1 ! -name logs -exec rm -rf {} +
    say "failed; the logs are in $work/logs"
  fi
  exit "$1"
}

die() {
  say "$*"
  exit 1
}

# wait_for SECONDS WHAT COMMAND...: waits until the command succeeds.
wait_for() {
  local end=$((SECONDS + $1))
  until "${@:3}" >/dev/null 2>&1; do
    ((SECONDS < end)) || die "waited $1 s for $2, in vain"
    sleep 0.2
  done
}

# fill TEMPLATE [NAME VALUE]...: prints the file with each @NAME@ replaced by its value.
fill() {
  local text
  text=$(<"$1")
  shift
  while (($# > 0)); do
    text=${text//@$1@/$2}
    shift 2
  done
  printf '%s\n' "$text"
}

start_fleet() {
  machines_begin
  echo "$isolated $work" >"$state_file"
  [[ $isolated == yes ]] || say "no network namespaces here (as root there are): addresses of 127.0.0.0/8, and no link is cut"
  machine balancer 2
  machine devices 3
  machine etcd 10
  machine pg1 11
  machine pg2 12
  machine c1 21
  machine c2 22
  machine c3 23
  make_secrets
  start etcd etcd etcd --data-dir "$work/etcd/data" --logger zap --log-level error \
    --listen-client-urls "http://$address_etcd:2379" --advertise-client-urls "http://$address_etcd:2379" \
    --listen-peer-urls "http://$address_etcd:2380"
  prepare_database pg1
  prepare_database pg2
  start_database pg1
  wait_for 60 "the first database" is_primary pg1
  start_database pg2
  make_role
  wait_for 90 "the standby to be synchronous" standby_is_synchronous
  local curator
  for curator in c1 c2 c3; do start_curator "$curator"; done
  start_balancer
  wait_for 60 "the curators" all_is_well
}

# Makes passwords, tokens, certificates and the key file; the place of each tells who reads it.
make_secrets() {
  password=$(openssl rand -hex 16)
  (umask 077 && printf '*:*:*:*:%s\n' "$password" >"$work/pgpass")
  export PGPASSFILE=$work/pgpass PGCONNECT_TIMEOUT=3
  # Devices see one certificate, the same from every curator.
  "$root/deploy/make-certs.sh" --host "$address_balancer" --host "$address_c1" --host "$address_c2" \
    --host "$address_c3" "$work/certs" >/dev/null
  "$root/deploy/make-certs.sh" --host "$address_pg1" --host "$address_pg2" "$work/database-certs" >/dev/null
  coppiced key-file --out "$work/store.key" >/dev/null
  database="postgresql://coppice@$address_pg1,$address_pg2/coppice?sslmode=verify-full&sslrootcert=$work/database-certs/ca.crt&connect_timeout=2"
  local made
  made=$(coppiced token --name operator --role admin)
  (umask 077 && head -n 1 <<<"$made" >"$work/token")
  printf '{"anonymous": ["device"], "tokens": [%s]}\n' "$(tail -n 1 <<<"$made")" >"$work/policy.json"
  export COPPICE_SERVER=$address_balancer:8443 COPPICE_CA=$work/certs/ca.crt COPPICE_TOKEN_FILE=$work/token
  export XDG_STATE_HOME=$work/state  # nobody needs to know later which rows answered here
}

# member KEY: prints a number or plain string of the JSON object on stdin.
member() { sed -E "s/.*\"$1\":\"?([^,\"}]*).*/\1/"; }

prepare_database() {
  local address=address_$1
  cp "$work/database-certs/server.crt" "$work/database-certs/server.key" "$work/$1/"
  (umask 077 && fill "$here/patroni.yml" NAME "$1" ADDRESS "${!address}" ETCD "$address_etcd" FOLDER "$work/$1" \
    PASSWORD "$password" NETWORK "$network" >"$work/$1/patroni.yml")
  if [[ $EUID -eq 0 ]]; then chown -R postgres:postgres "$work/$1"; fi
}

start_database() {
  start "$1" patroni "${as_postgres[@]}" env -u PGPASSFILE HOME="$work/$1" patroni "$work/$1/patroni.yml"
}

# sql STATEMENT: runs it on the primary, whichever it is, as the superuser.
sql() {
  on devices psql -X -qAt "host=$address_pg1,$address_pg2 user=postgres dbname=${sql_database:-postgres} target_session_attrs=primary sslmode=require" -c "$1"
}
primary() {
  local address
  address=$(sql "SELECT host(inet_server_addr())") || return 1
  if [[ $address == "$address_pg1" ]]; then echo pg1; else echo pg2; fi
}
is_primary() { [[ $(primary) == "$1" ]]; }
standby_is_synchronous() { [[ $(sql "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == 1 ]]; }

make_role() {
  sql "CREATE ROLE coppice LOGIN PASSWORD '$password'"
  sql "CREATE DATABASE coppice OWNER coppice"
  sql "REVOKE ALL ON DATABASE coppice FROM PUBLIC"
  sql "GRANT pg_read_all_stats TO coppice"  # so that curators see whether the standby is synchronous
}

start_curator() {
  local address=address_$1
  address=${!address}
  start "$1" coppiced "$here/supervise.sh" "$work/$1/pid" coppiced --store "$database" \
    --listen "$address:8443" --tls-cert "$work/certs/server.crt" --tls-key "$work/certs/server.key" \
    --fleet-address "$address:8443" --lease-seconds "$lease_seconds" \
    --policy "$work/policy.json" --key-file "$work/store.key" --metrics-listen "$address:9464"
}

start_balancer() {
  local curator address servers=""
  for curator in c1 c2 c3; do
    address=address_$curator
    servers+="server $curator ${!address}:8443"$'\n  '
  done
  fill "$here/haproxy.cfg" FOLDER "$work/balancer" ADDRESS "$address_balancer" CA "$COPPICE_CA" SERVERS "$servers" \
    >"$work/balancer/haproxy.cfg"
  start balancer haproxy haproxy -db -f "$work/balancer/haproxy.cfg"
}

# Print the epoch and the name of the curator that leads; nothing if none does.
epoch() { sql_database=coppice sql "SELECT epoch FROM coppice.coppice_owner WHERE address <> ''"; }
leader() {
  local address curator name
  address=$(sql_database=coppice sql "SELECT address FROM coppice.coppice_owner") || return 1
  for curator in c1 c2 c3; do
    name=address_$curator
    if [[ $address == "${!name}:8443" ]]; then echo "$curator"; fi
  done
}

print_what_to_try() {
  cat >&2 <<TEXT

The fleet is running; \`deploy/fleet/run.sh stop\` removes it. Its state is in $work.
Devices and the operator report to $COPPICE_SERVER; curators are $net.21 to 23, databases $net.11 and 12.

  export COPPICE_SERVER=$COPPICE_SERVER COPPICE_CA=$COPPICE_CA COPPICE_TOKEN_FILE=$COPPICE_TOKEN_FILE
  $(prefix_of devices)$(type -P coppice) study show --study fleet
  $(prefix_of pg1)patronictl -c $work/pg1/patroni.yml list
  kill -KILL \$(cat $work/c1/pid)                        # a curator dies; it is back as a standby in a second
TEXT
  if [[ $isolated == yes ]]; then
    echo "  ip -n $prefix link set to-c2 down                      # a cable is cut; \`up\` mends it" >&2
  fi
  echo "  tail -f $work/logs/*" >&2
}
prefix_of() { if [[ $isolated == yes ]]; then echo "ip netns exec $prefix-$1 "; fi; }
