#!/usr/bin/env bash
# fuzz.sh TIME [NAME]: runs each native fuzz target (or only NAME) for TIME; stops at the first that finds something.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

time=$1
only=${2:-}
found=0
while IFS=: read -r file name; do
	[[ -z $only || $name == "$only" ]] || continue
	found=$((found + 1))
	echo "== $name in ${file%/*} for $time"
	go test -run='^$' -fuzz="^$name\$" -fuzztime="$time" "./${file%/*}"
done < <(grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' ./*/ | sed -E 's/^\.\///; s/:func /:/' | sort)

if [[ $found == 0 ]]; then
	echo "no fuzz target ${only:-at all}" >&2
	exit 1
fi
echo "$found fuzz targets found nothing"
