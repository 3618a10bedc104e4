#!/usr/bin/env bash
# Installs the client component of a build, builds device programs against it alone, and runs them. Fails if server,
# trainer, gRPC or protobuf code came along with coppice::client.
set -euo pipefail
build=$1
source=$2
example=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix="$work/prefix"
fail() { echo "installed_client: $1" >&2; exit 1; }

# Installs name their component; an unknown one is refused with the list.
cmake --install "$build" --component client --prefix "$prefix" > /dev/null
if cmake --install "$build" --component clients --prefix "$work/none" > /dev/null 2> "$work/refusal"; then
  fail "an unknown component was installed"
fi
grep -q 'there are client, server' "$work/refusal" || fail "no word of the components there are: $(< "$work/refusal")"
[[ ! -e "$work/none" ]] || fail "a refused component left files"

# The smallest device, found by CMake.
cmake -S "$source" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DEXAMPLE="$example" \
      -DCMAKE_BUILD_TYPE=Release > /dev/null
cmake --build "$work/build" > /dev/null
"$work/build/device"

# find_package() accepts a version whose first two numbers are ours.
for wanted in 0.3 1.0 0.1; do
  if cmake -S "$source" -B "$work/refused" -DCMAKE_PREFIX_PATH="$prefix" -DWANTED="$wanted" &> "$work/refusal"; then
    fail "find_package(coppice $wanted) takes $("$build/bin/coppice" --version)"
  fi
  grep -q 'compatible with requested' "$work/refusal" || fail "$(< "$work/refusal")"
  rm -r "$work/refused"
done

# The same device, found by pkg-config: the archives are those of coppice::client, and nothing has a symbol beyond it.
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
read -ra flags <<< "$(pkg-config --cflags --libs coppice)"
c++ -std=c++20 "$source/device.cc" "${flags[@]}" -o "$work/device"
"$work/device"
archives=()
for flag in "${flags[@]}"; do
  if [[ $flag == -lcoppice_* ]]; then archives+=("$prefix/lib/lib${flag#-l}.a"); fi
done
symbols=$(nm -C "$work/device" "$work/build/device" "${archives[@]}")
if grep -E 'grpc|google::protobuf|coppice::(Collector|(access|central|cli|curator|daemon|lab|ledger|models|service|storage|trainers)::)' \
     <<< "$symbols"; then
  fail "the client component carries code that no device should"
fi
grep -q 'coppice::Privatizer' <<< "$symbols" || fail "the check above checks nothing"
if ldd "$work/build/device" | grep -E 'grpc|protobuf'; then fail "coppice::client loads gRPC"; fi

# The example that talks to a curator, built with coppice::collector and with pkg-config.
read -ra flags <<< "$(pkg-config --cflags --libs coppice-collector)"
c++ -std=c++20 "$example" "${flags[@]}" -o "$work/example"
for program in "$work/example" "$work/build/example"; do
  if "$program" 2> "$work/usage"; then fail "the example needs arguments"; fi
  grep -q '^usage: ' "$work/usage" || fail "$(< "$work/usage")"
done
echo "a device program needs only the client component"
