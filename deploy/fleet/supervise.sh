#!/usr/bin/env bash
# Restarts a curator a second after it ends, as systemd or a kubelet would: supervise.sh PID_FILE COMMAND... A curator
# that lost its lease ends with 75, and comes back as a standby.
while true; do
  "${@:2}" &
  echo $! >"$1"
  wait $!
  echo "supervise.sh: ended with $?" >&2
  sleep 1
done
