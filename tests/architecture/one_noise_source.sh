#!/usr/bin/env bash
# No release binary holds a way to seed, disable or replace the noise, other than `--epsilon inf` in
# coppice-lab.
#
#   one_noise_source.sh BUILD SECOND_SOURCE FIXED_NOISE
#
# SECOND_SOURCE is a program with every fault that the checks look for, and FIXED_NOISE a library that replaces
# OpenSSL's generator: if these pass unnoticed, the checks check nothing.
#
# No program can close what remains: anyone who can load code into a process (LD_PRELOAD, or an OpenSSL engine or
# provider of their own, named in openssl.cnf) decides what it does.
set -euo pipefail
shopt -s inherit_errexit
build=$1
second_source=$2
fixed_noise=$3
bin=$build/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "$1" >&2
  exit 1
}

expect() {  # expect WHAT FOUND LINE...: FOUND must be exactly these lines
  local found=$2 wanted
  wanted=$(printf '%s\n' "${@:3}" | sort -u)
  diff <(echo "$wanted") <(echo "$found") || fail "$1: expected (<) and there (>)"
}

# Functions that may make random numbers, and functions that tell OpenSSL where to take its own from.
generators='(RAND|EVP_RAND|ENGINE|OSSL_PROVIDER|OSSL_LIB_CTX|CONF)_.*|OPENSSL_(config|init).*'
generators+='|s?rand(om)?(_r)?|[a-z]*(rand|seed|srand|lcong)48(_r)?|(init|set)state(_r)?'
generators+='|arc4random.*|get(random|entropy)|std::random_device::.*|absl::.*random_internal.*'
generators+='|dlopen|dlsym'

imports() {  # imports NM_ARGUMENT...
  nm -C --undefined-only --without-symbol-versions "$@" 2>/dev/null |
    sed -nE "s/^ +[Uw] ($generators)$/imports \1/p" | sort -u
}

# Prints a binary's generators, the classes that draw for a PrivateRandom, and our environment variables in it.
contents() {  # contents BINARY
  local symbols draw='::Geometric\(coppice::GeometricTable const&, [^()]*\)'
  symbols=$(nm -C --defined-only "$1")
  {
    imports -D "$1" | sed 's/::random_device::.*/::random_device/'
    sed -nE "s/^[0-9a-f]+ [a-zA-Z] (.*)$draw$/draws by \1/p" <<<"$symbols"
    grep -oE 'std::(mersenne_twister|linear_congruential|subtract_with_carry)_engine' <<<"$symbols" || true
    grep -aoE 'COPPICE_[A-Z_]+' "$1" | sed 's/^/environment /' || true
  } | sort -u
}

noise_flags() {  # noise_flags COMMAND...: of the command and all below it
  local help below
  help=$("$@" --help --all 2>&1 || true)
  grep -oE -- '^ .*--[a-z-]*(seed|noise|random)[a-z-]*' <<<"$help" | sed "s|^ *|${*##*/} |" || true
  for below in $(sed -n '/^Subcommands:/,/^$/s/^  \([a-z]\+\) .*/\1/p' <<<"$help"); do
    noise_flags "$@" "$below"
  done
}

expect 'the binaries looked into' "$(ls "$bin" | grep -v '_bench$')" \
  coppice coppice-lab coppice-relay coppice-research coppice_device_example coppiced

# RAND_bytes makes ids and retry delays, in binaries with a network; RocksDB names its files by
# std::random_device; the twister is for public randomness (common/base/public_random.h).
ours='draws by coppice::OpenSslRandom'
private='imports RAND_priv_bytes'
client=("$ours" "$private" 'imports RAND_bytes')
expect coppice_device_example "$(contents "$bin/coppice_device_example")" "${client[@]}"
expect coppice "$(contents "$bin/coppice")" "${client[@]}" \
  'environment COPPICE_CA' 'environment COPPICE_SERVER' 'environment COPPICE_TOKEN_FILE'
for name in coppice-lab coppice-research; do
  expect "$name" "$(contents "$bin/$name")" "$ours" "$private" std::mersenne_twister_engine
done
expect coppiced "$(contents "$bin/coppiced")" "$ours" "$private" 'imports RAND_bytes' \
  'imports std::random_device' std::mersenne_twister_engine
# The relay makes deals, keys and tokens, and no noise.
expect coppice-relay "$(contents "$bin/coppice-relay")" "$ours" "$private" 'imports RAND_bytes'
for module in "$build"/python/coppice/_core.*.so; do  # where the Python package is built
  [[ -e "$module" ]] || continue
  expect "$module" "$(contents "$module")" "${client[@]}" std::mersenne_twister_engine
done
expect 'the second source' "$(contents "$second_source")" \
  'draws by coppice::(anonymous namespace)::FixedRandom' 'environment COPPICE_SEED' \
  'imports RAND_seed' 'imports rand' 'imports srand' \
  'imports std::random_device' std::mersenne_twister_engine

# No object on the way from a row to its report uses anything but the private generator.
path=("$build"/common/{crypto/libcoppice_crypto,privacy/libcoppice_privacy,ldp/libcoppice_ldp,encrypt/libcoppice_encrypt}.a
      "$build"/client/device/libcoppice_device_session.a)
expect 'the private path' "$(imports "${path[@]}")" "$private"
# A trainer uses no generator at all: its draws are passed in.
trainers=("$build"/server/trainers/{libcoppice_trainers,core/libcoppice_trainers_core}.a)
expect 'the trainers' "$(imports "${trainers[@]}")"

expect flags "$(for name in coppiced coppice coppice-lab coppice-relay coppice-research coppice_device_example; do
  noise_flags "$bin/$name"
done | sort)" 'coppice data split --seed' 'coppice study create --seed' 'coppice study preview --seed' \
    'coppice-lab central --seed' 'coppice-lab curve --seed' 'coppice-lab local --seed' \
    'coppice-lab plan --seed' 'coppice-lab public --seed' 'coppice-lab synthesize --seed' \
    'coppice-research rademacher --seed' 'coppice-research run --seed'
expect 'flags of the second source' "$(noise_flags "$second_source")" 'second_source --noise-seed'

# Prints accuracies of twenty repetitions, and their spread: two runs with noise of their own print the same with
# probability below 1e-6.
run() {  # run EPSILON [NAME=VALUE...]
  env "${@:2}" "$bin/coppice-lab" local --synthetic gamma=0.5,private=2000,public=50,test=2000 \
    --epsilon "$1" --paper lpct --depth 5 --repeats 20 --threads 1 --seed 1 --json | grep -o '"accuracy":{[^}]*}'
}
same() {  # same EPSILON [NAME=VALUE...]
  local first second
  first=$(run "$@") || fail "no run with $*"
  second=$(run "$@") || fail "no run with $*"
  [[ $first == "$second" ]]
}

asked=$("$bin/coppice" study create --public /dev/null --schema /dev/null --server 127.0.0.1:1 \
  --epsilon inf 2>&1) && fail "coppice took --epsilon inf"
grep -q 'needs a number' <<<"$asked" || fail "coppice --epsilon inf: $asked"
same inf || fail "without noise, one seed should give one result"
same 1 "LD_PRELOAD=$fixed_noise" || fail "there is noise that RAND_priv_bytes did not make"
if same 1; then fail "two runs had the same noise"; fi
if same 1 COPPICE_SEED=1 SEED=1 RANDFILE=/dev/null; then fail "a variable fixes the noise"; fi

# OpenSSL's configuration may choose another sound generator; its predictable generator for tests ends the run before it
# reports anything.
configure() {
  printf 'openssl_conf = all\n[all]\nrandom = ours\n[ours]\n%s\n' "$1" >"$work/openssl.cnf"
}
configure $'random = HASH-DRBG\ndigest = SHA256'
if same 1 "OPENSSL_CONF=$work/openssl.cnf"; then fail "OpenSSL's configuration fixes the noise"; fi
for choice in 'random = TEST-RAND' 'seed = TEST-RAND' 'random = NONE'; do
  configure "$choice"
  if run 1 "OPENSSL_CONF=$work/openssl.cnf" 2>"$work/err" >"$work/out"; then fail "$choice was used"; fi
  grep -q 'random source failed; nothing was randomized' "$work/err" || fail "$choice: $(cat "$work/err")"
done
echo "all noise is OpenSSL's, and nothing in the release binaries turns it off"
