# The machines of deploy/fleet/run.sh, which sources this file: network namespaces at one bridge, which is in a
# namespace too, so that nothing enters it from outside or leaves it. Where namespaces are not allowed, a machine is
# only an address of 127.0.0.0/8.
#
# $work is the folder with all state; machines_begin sets $isolated, $net and $network.

prefix=coppice-fleet

machines_begin() {
  isolated=yes
  net=10.77.0
  network=10.77.0.0/24
  if [[ $EUID -ne 0 ]] || ! ip netns add "$prefix" 2>/dev/null; then
    isolated=no
    net=127.77.0
    network=127.0.0.0/8
    return
  fi
  ip -n "$prefix" link set lo up
  ip -n "$prefix" link add bridge type bridge
  ip -n "$prefix" link set bridge up
}

# machine NAME NUMBER: makes a machine with the address $net.NUMBER.
machine() {
  mkdir -p "$work/$1"
  declare -g "address_$1=$net.$2"
  if [[ $isolated == no ]]; then return 0; fi
  ip netns add "$prefix-$1"
  ip -n "$prefix" link add "to-$1" type veth peer name net netns "$prefix-$1"
  ip -n "$prefix" link set "to-$1" master bridge up
  ip -n "$prefix-$1" address add "$net.$2/24" dev net
  ip -n "$prefix-$1" link set lo up
  ip -n "$prefix-$1" link set net up
}

# link NAME up|down: down cuts the machine's cable, if machines have cables.
link() { ip -n "$prefix" link set "to-$1" "$2"; }

# on NAME COMMAND...: runs the command on that machine.
on() {
  if [[ $isolated == yes ]]; then ip netns exec "$prefix-$1" "${@:2}"; else command "${@:2}"; fi
}

# as_postgres: prefix of commands that run as PostgreSQL's user, since PostgreSQL refuses root.
as_postgres=()
if [[ $EUID -eq 0 ]]; then as_postgres=(setpriv --reuid postgres --regid postgres --init-groups); fi

# start NAME PROGRAM COMMAND...: runs it in its own session, with output in $work/logs/NAME-PROGRAM.log.
start() {
  on "$1" setsid --fork bash -c 'echo $$ >>"$0" && exec "$@"' "$work/$1/pids" "${@:3}" \
    </dev/null >>"$work/logs/$1-$2.log" 2>&1
}

# processes NAME: prints the ids of all processes on that machine.
processes() {
  if [[ $isolated == yes ]]; then
    ip netns pids "$prefix-$1" 2>/dev/null || true
    return 0
  fi
  local id
  for id in $(cat "$work/$1/pids" 2>/dev/null) $(head -n 1 "$work/$1/data/postmaster.pid" 2>/dev/null); do
    ps -o pid:1= -p "$id" -s "$id" --ppid "$id" || true
  done | sort -u
}

# power_off NAME: kills everything on that machine at once.
power_off() {
  local ids
  mapfile -t ids < <(processes "$1")
  if ((${#ids[@]} > 0)); then kill -KILL "${ids[@]}" 2>/dev/null || true; fi
  rm -f "$work/$1/pids"
}

# machines_end: kills all programs and removes the machines, also those of an earlier run.
machines_end() {
  local name names=() ids
  if [[ $isolated == yes ]]; then
    mapfile -t names < <(ip netns list | sed -nE "s/^$prefix-(\S+).*/\1/p")
  else
    mapfile -t names < <(cd "$work" && ls -d -- */pids | cut -d / -f 1)
  fi
  for name in "${names[@]}"; do power_off "$name"; done
  if [[ $isolated == yes ]]; then
    for name in "${names[@]}" ""; do ip netns delete "$prefix${name:+-$name}" 2>/dev/null || true; done
  fi
}
