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

# Whether the lists know a package for a program.
# shellcheck disable=SC2046 # two packages are two words
offered() { apt-cache show --no-all-versions $(packages "$1") >/dev/null 2>&1; }

# One round: new lists, then the packages one by one, so that what cannot be had keeps nothing else away; nothing that is
# there is replaced. It fails when the lists are not new.
install() {
	local program fresh=0
	apt-get update -q -o Acquire::Retries=3 -o APT::Update::Error-Mode=any </dev/null || {
		fresh=1
		echo "the package lists could not be read anew, the old ones may do"
	}
	for program in "$@"; do
		# shellcheck disable=SC2046 # two packages are two words
		apt-get install -q -y --no-install-recommends --no-upgrade --no-remove -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 \
			$(packages "$program") </dev/null || echo "$program could not be installed"
	done
	hash -r
	return $fresh
}

wanted=("$cc" chromium node npm python3 curl jq openssl "$@")
missing=$(lacking "${wanted[@]}")
if [[ -n $missing && $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
	export DEBIAN_FRONTEND=noninteractive
	# Another apt-get may be at work, whose locks on lists and archives are not waited for, or a mirror may stumble.
	for pause in 0 5 15 40; do
		sleep "$pause"
		echo "== install what the tests use: ${missing//$'\n'/, }"
		again=
		# shellcheck disable=SC2086 # a line is a word
		install $missing || again=yes
		missing=$(lacking "${wanted[@]}")
		for program in $missing; do
			offered "$program" && again=yes
		done
		[[ -n $missing && -n $again ]] || break # what new lists do not have comes by no repetition
	done
fi
[[ -z $missing ]] || echo "not installed: ${missing//$'\n'/, }. The tests that need them are skipped (with CI=true they fail)."
