# Faults that deploy/fleet/run.sh, which sources this file, causes. Each function returns once all is well again.

submitters=()

# fault WORDS COMMAND: runs it under load, with two jobs that compete for the rest of the budget, and notes when.
fault() {
  local from
  say "$1 ..."
  from=$EPOCHREALTIME
  submit_job "job-$EPOCHSECONDS-a" &
  submitters+=($!)
  submit_job "job-$EPOCHSECONDS-b" &
  submitters+=($!)
  "$2"
  wait_for_devices
  wait_for 60 "all curators" all_is_well
  sleep 2
  echo "$1|$from|$EPOCHREALTIME" >>"$work/load/faults"
}

# Each curator is alive, and the balancer reaches one that is ready.
all_is_well() {
  local curator address
  for curator in c1 c2 c3; do
    address=address_$curator
    coppice health --alive --server "${!address}:8443" || return 1
  done
  coppice health
}

somebody_new_leads() { local found; found=$(epoch) && [[ -n $found ]] && ((found > $1)); }

kill_leader() {
  local before
  before=$(epoch)
  kill -KILL "$(<"$work/$(leader)/pid")"
  wait_for 60 "a takeover" somebody_new_leads "$before"
}

drain_leader() {
  local before
  before=$(epoch)
  kill -TERM "$(<"$work/$(leader)/pid")"
  wait_for 60 "a takeover" somebody_new_leads "$before"
}

# A curator that was cut off must notice that it no longer leads: it ends with 75, and comes back as a standby.
cut_leader() {
  local before former
  before=$(epoch)
  former=$(leader)
  link "$former" down
  wait_for 90 "a takeover" somebody_new_leads "$before"
  link "$former" up
  wait_for 60 "the former leader to end with 75" grep -q "ended with 75" "$work/logs/$former-coppiced.log"
}

other_database() { if [[ $1 == pg1 ]]; then echo pg2; else echo pg1; fi; }

switch_database() {
  local from to
  from=$(primary)
  to=$(other_database "$from")
  on "$from" "${as_postgres[@]}" env HOME="$work/$from" patronictl -c "$work/$from/patroni.yml" switchover \
    --master "$from" --candidate "$to" --force >>"$work/logs/patronictl.log" 2>&1 || die "patronictl did not switch over"
  wait_for 60 "the other primary" is_primary "$to"
  wait_for 90 "the standby to be synchronous" standby_is_synchronous
}

kill_database() {
  local from
  from=$(primary)
  power_off "$from"
  wait_for 90 "the other primary" is_primary "$(other_database "$from")"
  start_database "$from"
  wait_for 90 "the standby to be synchronous" standby_is_synchronous
}
