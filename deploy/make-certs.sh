#!/usr/bin/env bash
# Makes a test authority and a certificate for a daemon on this machine. For tests only: the authority's key stays
# beside the certificate, so whoever reads the folder can impersonate the daemon.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: deploy/make-certs.sh [--host HOST]... [--days N] [--force-dates NOT_BEFORE NOT_AFTER] DIR

Makes in DIR, which must not hold any of them yet:
  ca.crt, ca.key          a test authority; clients trust it with --ca DIR/ca.crt
  server.crt, server.key  for localhost, 127.0.0.1, ::1 and each HOST
  client.crt, client.key  for mutual TLS (coppiced --client-ca DIR/ca.crt)

  --host HOST     a name or an address that the daemon is reached by too; repeatable
  --days N        how long they are valid (default 30)
  --force-dates   begin and end of the server's certificate instead, as YYYYMMDDHHMMSSZ; for tests

Then: coppiced --data-dir DATA --tls-cert DIR/server.crt --tls-key DIR/server.key
USAGE
}

wrong_usage() {
  echo "make-certs.sh: $1" >&2
  echo "Try: deploy/make-certs.sh --help" >&2
  exit 2
}

days=30
dates=()
hosts="DNS:localhost, IP:127.0.0.1, IP:::1"
names=(ca server client)
dir=""
while (($# > 0)); do
  case "$1" in
    --help | -h) usage; exit 0 ;;
    --host)
      if [[ "${2:-}" =~ ^[0-9]+(\.[0-9]+){3}$ || "${2:-}" =~ ^[0-9A-Fa-f]*:[0-9A-Fa-f:.]*$ ]]; then
        hosts+=", IP:$2"
      elif [[ "${2:-}" =~ ^(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$ ]]; then
        hosts+=", DNS:$2"
      else
        wrong_usage "--host needs a name or an address, without a port"
      fi
      shift 2 ;;
    --days)
      [[ "${2:-}" =~ ^[1-9][0-9]{0,4}$ ]] || wrong_usage "--days needs a number of days from 1"
      days="$2"; shift 2 ;;
    --force-dates)
      [[ "${2:-}" =~ ^[0-9]{14}Z$ && "${3:-}" =~ ^[0-9]{14}Z$ ]] ||
        wrong_usage "--force-dates needs two times as YYYYMMDDHHMMSSZ"
      dates=(-startdate "$2" -enddate "$3"); shift 3 ;;
    -*) wrong_usage "$1: no such flag" ;;
    *)
      [[ -z "$dir" ]] || wrong_usage "one DIR only"
      dir="$1"; shift ;;
  esac
done
[[ -n "$dir" ]] || wrong_usage "DIR is missing: the folder to make the certificates in"
command -v openssl > /dev/null || { echo "make-certs.sh: openssl is missing: apt-get install openssl" >&2; exit 1; }

mkdir -p "$dir"
for name in "${names[@]}"; do
  for file in "$dir/$name.crt" "$dir/$name.key"; do
    if [[ -e "$file" ]]; then
      echo "make-certs.sh: $file exists; remove it or name another DIR" >&2
      exit 1
    fi
  done
done

umask 077
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
((${#dates[@]} > 0)) || dates=(-days "$days")

# `openssl ca` is the only command of OpenSSL 3.0 that accepts both dates.
: > "$work/index"
cat > "$work/ca.cnf" <<CONFIG
[ca]
default_ca = test_ca
[test_ca]
database = $work/index
new_certs_dir = $work
rand_serial = yes
default_md = sha256
policy = any_name
copy_extensions = none
unique_subject = no
[any_name]
commonName = supplied
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = $hosts
[client]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = clientAuth
CONFIG

new_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2> /dev/null; }

# issue NAME COMMON_NAME DATES...: makes a key, and a certificate for it from the authority.
issue() {
  local name="$1" common_name="$2"
  shift 2
  new_key "$dir/$name.key"
  openssl req -new -key "$dir/$name.key" -subj "/CN=$common_name" -out "$work/$name.csr"
  openssl ca -batch -notext -config "$work/ca.cnf" -extensions "$name" -cert "$dir/ca.crt" \
    -keyfile "$dir/ca.key" -in "$work/$name.csr" -out "$dir/$name.crt" "$@" 2> "$work/log" ||
    { cat "$work/log" >&2; exit 1; }
}

new_key "$dir/ca.key"
openssl req -x509 -new -key "$dir/ca.key" -sha256 -days "$days" -subj "/CN=Coppice test authority" \
  -addext "basicConstraints=critical,CA:TRUE,pathlen:0" \
  -addext "keyUsage=critical,keyCertSign,cRLSign" -out "$dir/ca.crt"
issue server localhost "${dates[@]}"
issue client "Coppice test client" -days "$days"
for name in "${names[@]}"; do chmod 644 "$dir/$name.crt"; done
echo "made certificates in $dir: ${names[*]}"
