#!/usr/bin/env bash
# Prints -race when the race detector can be used here, and nothing when it cannot (the reason goes to stderr).
# It needs cgo and a C compiler; as root the compiler is installed where apt is at hand.
set -euo pipefail

without() {
	echo "the race detector is off: $1" >&2
	exit 0
}

cc=$(go env CC)
cc=${cc%% *}
if ! command -v "$cc" >/dev/null; then
	if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
		without "no C compiler ($cc) is installed"
	fi
	echo "installing a C compiler for the race detector" >&2
	export DEBIAN_FRONTEND=noninteractive
	{
		apt-get update -q && apt-get install -q -y --no-install-recommends gcc libc6-dev
	} </dev/null >&2 || without "no C compiler could be installed"
fi

# A compiler alone proves nothing (no headers, an unsupported platform): build the smallest program with it.
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
printf 'package main\n\nfunc main() {}\n' >"$probe/main.go"
if ! CGO_ENABLED=1 go build -race -o "$probe/main" "$probe/main.go" >&2; then
	without "a program could not be built with it"
fi
if [[ $(go env CGO_ENABLED) != 1 ]]; then
	without "cgo is switched off (CGO_ENABLED=0)"
fi
echo "-race"
