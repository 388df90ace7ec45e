#!/usr/bin/env bash
# Fails and names the files when hand-written Go is not as gofmt would write it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

unformatted=$(gofmt -l ./*/)
if [[ -n $unformatted ]]; then
	echo "not formatted, run gofmt -w on:" >&2
	echo "$unformatted" >&2
	exit 1
fi
