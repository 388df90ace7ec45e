#!/usr/bin/env bash
# Prints -race when the race detector can be used here, and nothing when it cannot (the reason goes to stderr).
# It needs cgo and a C compiler (packages.sh installs one).
set -euo pipefail

without() {
	echo "the race detector is off: $1" >&2
	exit 0
}

cc=$(go env CC)
cc=${cc%% *}
command -v "$cc" >/dev/null || without "no C compiler ($cc) is installed"

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
