#!/usr/bin/env bash
# newcomer.sh: walks the path of README.md on a fresh clone of this repository, and tells how long each part takes: the
# build, the start, and every section "A first session …", in one shell as a reader would. Uses nothing that is not there.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
service=
finish() {
	if [[ -n $service ]]; then
		kill -TERM "$service" 2>/dev/null || true
		wait "$service" 2>/dev/null || true
	fi
	rm -rf "$folder"
}
trap finish EXIT

seconds() { awk -v a="$1" -v b="$(date +%s.%N)" 'BEGIN { printf "%6.1f s", b - a }'; }

begin=$(date +%s.%N)
git clone -q "$root" "$folder/aanet"
cd "$folder/aanet"
make build >"$folder/build.log" 2>&1 || { cat "$folder/build.log"; exit 1; }
echo "$(seconds "$begin")  clone and build"

# As make run does, on free ports and with its data in this clone.
begin=$(date +%s.%N)
: >"$folder/service.log"
bin/aanet dev --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0 >"$folder/service.log" 2>&1 &
service=$!
until url=$(grep -oE 'listening on http://[0-9.:]+' "$folder/service.log"); do
	kill -0 "$service" 2>/dev/null || { cat "$folder/service.log"; exit 1; }
	sleep 0.05
done
url=${url#listening on }
echo "$(seconds "$begin")  make run, until it listens"

# The blocks of sh of each section, with the address of this service. What configures a program of somebody else is no part
# of the path.
mkdir "$folder/sections" "$folder/work"
awk -v to="$folder/sections" -v url="$url" '
	/^## /             { title = substr($0, 4); wanted = title ~ /^A first session/; if (wanted) { n++; print title > (to "/" n ".title") } }
	/^```/ && inside   { inside = 0; next }
	/^```sh$/ && wanted { inside = 1; next }
	inside && !/^claude / { gsub("http://127.0.0.1:8402", url); print > (to "/" n ".sh") }
' README.md
for script in "$folder"/sections/*.sh; do
	title=$(cat "${script%.sh}.title")
	printf 'begin=$(date +%%s.%%N); source %q >>%q 2>&1; echo "$(seconds "$begin")  %s"\n' "$script" "$folder/sessions.log" "$title"
done >"$folder/all.sh"
(
	cd "$folder/work"
	PATH=$folder/aanet/bin:$PATH
	ln -s "$folder/aanet/bin" bin
	curl() { command curl --fail-with-body "$@"; } # a refusal is no success
	# shellcheck source=/dev/null
	source "$folder/all.sh"
) || { cat "$folder/sessions.log"; exit 1; }
