#!/bin/bash
# SPDX-License-Identifier: MIT
# A short tour of koda-sandbox on a throw-away project: each command is printed, run, and its exit
# status shown. Fails if one ends otherwise than the tour promises.
# Usage: tools/tour.sh PROGRAM
set -euo pipefail

program=$(realpath -- "$1")
name=$(basename -- "$program")

work=$(mktemp -d "${TMPDIR:-/tmp}/koda-tour.XXXXXX")
trap 'chmod -R u+rwx -- "$work" && rm -rf -- "$work"' EXIT
project=$work/project
mkdir -p "$project/src" "$project/.git/hooks"
# What a project adds to package caches is kept there; this one's need not be.
export XDG_STATE_HOME=$work/state
CDPATH='' cd -- "$project"

# expect STATUS ARG...: runs the program and compares its exit status.
expect() {
	local expected=$1 status=0 word
	shift
	printf '\n$ %s' "$name"
	for word in "$@"; do
		# Quoted the way one would type it.
		[[ $word =~ ^[[:alnum:]/.:_-]+$ ]] || word="'$word'"
		printf ' %s' "$word"
	done
	printf '\n'
	"$program" "$@" || status=$?
	printf '[exit %d]\n' "$status"
	if ((status != expected)); then
		echo "tour: expected exit $expected" >&2
		exit 1
	fi
}

echo "A project in $project; nothing below changes anything outside of it."

printf '\n# A command in the project works as usual.\n'
expect 0 run -c 'echo "int main(void) { return 0; }" >src/main.c && ls src'

printf '\n# It writes neither outside of the project nor what git would run later,\n'
# shellcheck disable=SC2016 # the shell inside expands it
expect 1 run -c 'touch "$HOME/oops"'
expect 1 run -c 'touch .git/hooks/pre-commit'

printf '\n# and reaches no host directly: its network is the loopback device alone,\n'
expect 1 run bash -c 'exec 9<>/dev/tcp/192.0.2.1/443'

printf '\n# with a proxy in it that refuses whom the policy does not list, and says why.\n'
expect 0 run curl -si http://example.org/

printf '\n# It cannot hang for ever either, and what it started ends with it.\n'
expect 124 run --wall-time 1 -c 'sleep 600 & sleep 600'

printf '\n# Why was that denied? Ask for the rule; the same answers without running anything.\n'
expect 0 policy check write src/main.c
expect 1 policy check write .git/hooks/pre-commit
expect 1 policy check write /etc/passwd
expect 1 policy check connect example.org:443
expect 0 policy check connect crates.io:443

printf '\n# In a project that is only looked at, nothing is writable.\n'
expect 1 run --trust plan -c 'touch src/new.c'
expect 0 policy show --trust plan

printf '\n# The environment a build sees: no token, no proxy of the host.\n'
expect 0 env -c 'cargo build'
