#!/usr/bin/env bash
# A fleet on this machine: three curators on a database of PostgreSQL with a standby (Patroni, etcd), HAProxy in front,
# each in a network namespace of its own. Devices report through the one address while curators are killed, drained and
# cut off, and the database changes hands; then a model, predictions, a table, and last one JSON line.
#
#   deploy/fleet/run.sh [--seconds N] [--lease-seconds N] [--bin DIR] [--keep]
#   deploy/fleet/run.sh stop
#
#   --seconds N         go on with the faults until N seconds have passed (default: each fault once)
#   --lease-seconds N   as coppiced's (default 10): a takeover takes a little longer
#   --bin DIR           programs that are built already (default: builds them)
#   --keep              leave the fleet running at the end, and say what to try; `run.sh stop` removes it
#
# Runs as root on Debian 12, where it installs what is missing. Without root, or where namespaces are not allowed, the
# machines are addresses of 127.0.0.0/8, and no link can be cut. etcd has one node here; in production it has three.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
source "$here/machines.sh"
source "$here/parts.sh"
source "$here/load.sh"
source "$here/faults.sh"

wrong_usage() {
  echo "run.sh: $1" >&2
  sed -n '2,16s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}
seconds=0
lease_seconds=10
keep=no
bin=""
while (($# > 0)); do
  case "$1" in
    --help | -h) sed -n '2,16s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    --seconds)
      [[ "${2:-}" =~ ^[1-9][0-9]{0,5}$ ]] || wrong_usage "--seconds needs a number of seconds from 1"
      seconds=$2; shift 2 ;;
    --lease-seconds)
      [[ "${2:-}" =~ ^[1-9][0-9]{0,2}$ ]] || wrong_usage "--lease-seconds needs a number of seconds from 1 to 300"
      lease_seconds=$2; shift 2 ;;
    --bin)
      [[ -x "${2:-}/coppiced" && -x "$2/coppice" ]] || wrong_usage "--bin needs the folder of coppiced and coppice"
      bin=$(cd "$2" && pwd); shift 2 ;;
    --keep) keep=yes; shift ;;
    stop) stop_what_runs; exit 0 ;;
    *) wrong_usage "$1: no such flag" ;;
  esac
done

say() { echo "fleet: $*" >&2; }

refuse_a_second_fleet
"$root/deploy/install-packages.sh" "$here/packages.txt"
if [[ -z $bin ]]; then
  "$root/deploy/build.sh" programs
  bin=$root/build/release/bin
fi
export PATH="$bin:/usr/lib/postgresql/15/bin:$PATH"

work=$(mktemp -d "${TMPDIR:-/tmp}/coppice-fleet.XXXXXX")
chmod 711 "$work"  # PostgreSQL's user passes through
mkdir "$work/logs"
trap 'finish $?' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

begun=$EPOCHREALTIME
start_fleet
say "three curators, two databases and HAProxy are up; devices report to $COPPICE_SERVER"
start_load
fault "curator killed (SIGKILL)" kill_leader
fault "curator drained (SIGTERM)" drain_leader
if [[ $isolated == yes ]]; then fault "curator's link cut" cut_leader; fi
fault "database switched over" switch_database
fault "database's primary killed" kill_database
while (($(seconds_since "$begun") < seconds)); do fault "curator killed again" kill_leader; done
end_load
finish_main_job
print_results
