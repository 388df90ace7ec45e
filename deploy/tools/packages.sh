#!/usr/bin/env bash
# packages.sh [PROGRAM…]: as root installs, where apt is at hand, what the tests use and this machine lacks: a C compiler
# for the race detector, Chromium, Node.js, npm, Python, what documents call (curl, jq, openssl), and the programs
# named. It never fails: what is missing in the end is told here, and by the tests that need it. Postgres is not among
# them: store/pgserver installs it on its own.
set -uo pipefail

cc=$(go env CC)
cc=${cc%% *}

has() {
	command -v "$1" >/dev/null && return
	[[ $1 == chromium ]] && { command -v google-chrome || command -v google-chrome-stable || command -v chromium-browser; } >/dev/null
}

# What is lacking of the programs named, a line each.
lacking() {
	local program
	for program in "$@"; do
		has "$program" || echo "$program"
	done
}

# The packages of Debian and Ubuntu that a program is in.
packages() {
	case $1 in
	gcc) echo gcc libc6-dev ;;
	node) echo nodejs ;;
	chromium) echo chromium fonts-liberation ;;
	*) echo "$1" ;;
	esac
}

wanted=("$cc" chromium node npm python3 curl jq openssl "$@")
missing=$(lacking "${wanted[@]}")
if [[ -n $missing && $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
	echo "== install what the tests use: ${missing//$'\n'/, }"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -q </dev/null || echo "the package lists could not be read anew, the old ones may do"
	for program in $missing; do
		# One by one, so that what cannot be had keeps nothing else away; and nothing that is there is replaced.
		# shellcheck disable=SC2046 # two packages are two words
		apt-get install -q -y --no-install-recommends --no-upgrade --no-remove $(packages "$program") </dev/null ||
			echo "$program could not be installed"
	done
	hash -r
	missing=$(lacking "${wanted[@]}")
fi
[[ -z $missing ]] || echo "not installed: ${missing//$'\n'/, }. The tests that need them are skipped (with CI=true they fail)."
