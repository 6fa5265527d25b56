#!/bin/bash
# SPDX-License-Identifier: MIT
# A short tour of koda-sandbox on a throw-away project: each command is printed, run, and its exit
# status shown. Fails if a verdict is not the one the tour promises.
# Usage: tools/tour.sh PROGRAM
set -euo pipefail

program=$(realpath -- "$1")
name=$(basename -- "$program")

project=$(mktemp -d "${TMPDIR:-/tmp}/koda-tour.XXXXXX")
trap 'rm -rf -- "$project"' EXIT
mkdir "$project/src"
cd -- "$project"

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

printf '\n# What may a command do in a project that is only looked at?\n'
expect 0 policy show --trust plan

printf '\n# With trust "auto": writing in the project, writing elsewhere, two hosts.\n'
expect 0 policy check --trust auto write src/main.c
expect 1 policy check --trust auto write /etc/passwd
expect 1 policy check --trust auto connect example.org:443
expect 0 policy check --trust auto connect crates.io:443

printf '\n# The environment a build sees: no token, no proxy of the host.\n'
expect 0 env -c 'cargo build'
