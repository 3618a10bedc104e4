# The load that deploy/fleet/run.sh, which sources this file, puts on the fleet: devices that report all the time,
# training jobs that together ask for more than their budget, and a model at the end.

readonly batch=20 workers=3
readonly budget=1 charge=0.3  # the dataset's, and each job's

now() { echo "$EPOCHREALTIME"; }
seconds_since() { awk -v t="$1" -v now="$EPOCHREALTIME" 'BEGIN { print int(now - t) }'; }

# coppice runs on the devices' machine; anonymous_coppice does so without the operator's token.
coppice() { on devices coppice "$@"; }
anonymous_coppice() { on devices env -u COPPICE_TOKEN_FILE coppice "$@"; }

# persist COMMAND...: repeats it until it succeeds, since the fleet recovers from every fault.
persist() {
  until "$@" 2>>"$work/logs/devices.log"; do sleep 0.2; done
}

start_load() {
  mkdir "$work/load" "$work/batches"
  coppice-lab synthesize --output-dir "$work/rows" --synthetic gamma=0.5,private=10000,public=500 >/dev/null
  table=(--schema "$work/rows/schema.json")
  awk -v batch=$batch -v folder="$work/batches" 'NR == 1 { header = $0; next }
    (NR - 2) % batch == 0 { if (file) close(file); file = folder "/" (NR - 2) / batch ".csv"; print header > file }
    { print > file }' "$work/rows/private.csv"
  coppice study create --study fleet --public "$work/rows/public.csv" "${table[@]}" --epsilon 2 --json >/dev/null
  coppice dataset create --dataset fleet --data "$work/rows/test.csv" "${table[@]}" --epsilon-total $budget --json >/dev/null
  local worker
  reporters=()
  for ((worker = 0; worker < workers; ++worker)); do
    report "$worker" &
    reporters+=($!)
  done
}

# report WORKER: sends batches of devices, one after the other, until $work/enough exists. A batch that fails is
# repeated from its journal, byte for byte, until the curator has all of it.
report() {
  local n began journal=$work/load/$1.journal
  for ((n = $1; ; n = (n + workers) % (10000 / batch))); do
    if [[ -e $work/enough ]]; then return 0; fi
    rm -f "$journal"
    began=$EPOCHREALTIME
    persist report_batch "$work/batches/$n.csv" "$journal" >>"$work/logs/devices.log"
    echo "$began $EPOCHREALTIME $batch" >>"$work/load/$1.batches"
    sleep 0.1
  done
}
report_batch() {
  if [[ -e $2 ]]; then anonymous_coppice collect resume --journal "$2" --timeout 15 --json; fi
  anonymous_coppice collect simulate --study fleet --data "$1" --journal "$2" --timeout 15 --json
}

# Submits a job, which is charged once however often it is sent. UNAVAILABLE and its like are tried again.
submit_job() {
  local answer
  until answer=$(coppice train submit --dataset fleet --algorithm spe --epsilon $charge --request-id "$1" --job "$1" --timeout 15 --json 2>&1) ||
    [[ $answer != *UNAVAILABLE* && $answer != *DEADLINE_EXCEEDED* && $answer != *CANCELLED* && $answer == *'"code"'* ]]; do
    sleep 0.2
  done
  echo "$1 $answer" >>"$work/load/jobs"
}

batches_of() { cat "$work/load/$1.batches" 2>/dev/null | wc -l; }
has_batches() { (($(batches_of "$1") >= $2)); }
# Waits until each worker has got an answer, started another batch, and got an answer again.
wait_for_devices() {
  local worker
  for ((worker = 0; worker < workers; ++worker)); do
    wait_for 60 "devices to be answered" has_batches "$worker" $(($(batches_of "$worker") + 2))
  done
}

end_load() {
  touch "$work/enough"
  wait "${reporters[@]}" "${submitters[@]}"
}

finish_main_job() {
  devices=$(cat "$work"/load/*.batches | awk '{ n += $3 } END { print n }')
  counted=$(coppice study show --study fleet --json | member accepted)
  persist coppice model build --study fleet --model fleet --json >/dev/null
  persist coppice model predict --model fleet --data "$work/rows/test.csv" >"$work/predictions"
  accuracy=$(coppice model evaluate --model fleet --data "$work/rows/test.csv" --json 2>/dev/null | member accuracy)
  spent=$(coppice dataset show --dataset fleet --json | member epsilon_spent)
}

# Prints the results. Fails if anything was lost, counted twice or overspent.
print_results() {
  echo
  printf '%-28s %14s %16s\n' "what happened" "nobody answered" "slowest batch"
  printf '%-28s %14s %16s\n' "" "s" "s"
  local words from to
  while IFS='|' read -r words from to; do
    printf '%-28s %14s %16s\n' "$words" "$(longest_pause "$from" "$to")" "$(slowest_batch "$from" "$to")"
  done <"$work/load/faults"
  echo
  echo "$devices devices reported and $counted were counted; jobs were charged $spent of $budget; accuracy of the model $accuracy."
  [[ $isolated == yes ]] || echo "No namespaces here: no link was cut."
  echo
  IFS='|' read -r words from to < <(head -n 1 "$work/load/faults")
  awk -v devices="$devices" -v counted="$counted" -v spent="$spent" -v budget=$budget -v takeover="$(longest_pause "$from" "$to")" 'BEGIN {
    printf "{\"accepted\":%d,\"lost\":%d,\"counted_twice\":%d,\"overspent\":%g,\"takeover_seconds\":%s}\n", counted,
        positive(devices - counted), positive(counted - devices), positive(spent - budget), takeover
      exit counted != devices || spent > budget }
    function positive(n) { return n > 0 ? n : 0 }'
}

# longest_pause FROM TO: prints the longest time between them in which no batch was answered.
longest_pause() {
  cat "$work"/load/*.batches | sort -k 2 -n | awk -v from="$1" -v to="$2" 'BEGIN { last = from }
    $2 >= from && $2 <= to { if ($2 - last > pause) pause = $2 - last; last = $2 }
    END { printf "%.1f", pause }'
}
# slowest_batch FROM TO: prints the longest wait of the batches that were answered between them.
slowest_batch() {
  cat "$work"/load/*.batches | awk -v from="$1" -v to="$2" '$2 >= from && $2 <= to && $2 - $1 > wait { wait = $2 - $1 }
    END { printf "%.1f", wait }'
}
