#!/bin/sh
# Runs the main job in a Debian that has the packages coppice and coppiced and nothing else of ours: README.Debian's
# commands, the daemon as its unit starts it, and a new user's next steps. packages_test.py runs it in an empty system.
# shellcheck disable=SC2046,SC2091  # the unit's command lines are run word by word
set -eu
unit=/usr/lib/systemd/system/coppiced.service
user=61184  # one of the ids that systemd makes up for DynamicUser

setting() { sed -n "s/^$1=//p" "$unit"; }
as_daemon() { exec setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs "$@"; }

# Run README.Debian up to the line that needs systemd.
sed -n '/^    cd /,/^    systemctl/{/systemctl/d; s/^    //p}' /usr/share/doc/coppiced/README.Debian > /root/first_start
sh -eux /root/first_start

# Do what systemd does before it starts the daemon.
[ "$(setting DynamicUser)" = yes ]
for folder in $(setting StateDirectory); do
  install -d -m "$(setting StateDirectoryMode)" -o "$user" -g "$user" "/var/lib/$folder"
done
credential=$(setting LoadCredential)
install -D -m 400 -o "$user" -g "$user" "${credential#*:}" "/run/credentials/coppiced.service/${credential%%:*}"
umask "$(setting UMask)"
(as_daemon $(setting ExecStartPre))
as_daemon $(setting ExecStart) 2> /root/daemon.log &
daemon=$!

export COPPICE_SERVER=localhost:8443 COPPICE_CA=/etc/coppice/ca.crt
tries=0
until coppice health > /root/health 2>&1; do
  tries=$((tries + 1))
  if [ "$tries" -gt 100 ] || ! kill -0 "$daemon"; then cat /root/health /root/daemon.log; exit 1; fi
  sleep 0.1
done

# Callers without a token may send reports, and nothing else.
if coppice study list 2> /root/refused; then echo "anybody may list studies"; exit 1; fi
grep "you showed no token" /root/refused

export COPPICE_TOKEN_FILE=/etc/coppice/ops.token
coppice-lab synthesize --output-dir /root/rows
coppice study create --study first --public /root/rows/public.csv --schema /root/rows/schema.json --epsilon 2
coppice collect simulate --study first --data /root/rows/private.csv --journal /root/first.journal
coppice model build --study first --model first-tree
coppice model evaluate --model first-tree --data /root/rows/test.csv

# Make a ledger, which the purge must leave alone.
coppice dataset create --dataset people --data /root/rows/private.csv --schema /root/rows/schema.json --epsilon-total 3
coppice train submit --dataset people --algorithm auto --epsilon 2 --job forest --wait

$(setting ExecReload | sed "s/\$MAINPID/$daemon/")
until grep reloaded /root/daemon.log; do
  kill -0 "$daemon"
  sleep 0.1
done
kill -TERM "$daemon"
wait "$daemon"
