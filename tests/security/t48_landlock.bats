#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:none
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # box is the helper's; shells inside expand
# T-48: without namespaces a command runs with less containment than its user believes, or with none.

setup() {
	load helper
	load landlock
	new_project
	use_landlock
	: "${KODA_WITHOUT:?set KODA_WITHOUT to tests/security/without}"
	cp -- "$KODA_WITHOUT" "$BATS_TEST_TMPDIR/without"
}

# without WHAT OPTION...: on a machine that lacks it; the command would leave the file "ran".
without() {
	local what=$1
	shift
	rm -f ran
	run "$BATS_TEST_TMPDIR/without" "$what" "$KODA_BIN" run "$@" -- touch ran
}

# nothing_ran TEXT...: and one line says why.
nothing_ran() {
	local text
	echo "$status $output"
	[[ $status -eq 125 && ${#lines[@]} -eq 1 && ! -e ran ]] || return
	for text in "$@"; do
		[[ $output == *"$text"* ]] || return
	done
}

@test "trust mode auto does not run so, the others only with a person's leave" {
	run "$KODA_BIN" run --backend landlock -- touch ran
	nothing_ran missing_names 'user namespaces'
	for clause in missing_names private_dirs second_layer; do
		words=()
		for other in missing_names private_dirs second_layer; do
			[[ $other == "$clause" ]] || words+=(--accept "$other")
		done
		run "$KODA_BIN" run --backend landlock --trust safe --yes "${words[@]}" -- touch ran
		nothing_ran "$clause:" "--accept $clause"
	done
	# One refusal says everything that has to be accepted.
	run "$KODA_BIN" run --backend landlock --trust safe --yes -- touch ran
	nothing_ran missing_names: '--accept missing_names --accept private_dirs --accept second_layer'
	run "$KODA_BIN" run "${landlock[@]}" -- touch ran
	[[ $status -eq 0 && -e ran ]]
}

@test "where there are no namespaces it is found without being named" {
	without user-namespaces --trust safe --yes --accept missing_names --accept private_dirs \
		--accept second_layer
	echo "$output"
	[[ $status -eq 0 && -e ran ]]
	without user-namespaces
	nothing_ran
}

@test "each layer that is missing is named, with what it holds and a remedy" {
	without landlock "${landlock[@]}"
	nothing_ran Landlock 'reading and writing' CONFIG_SECURITY_LANDLOCK
	without notification "${landlock[@]}"
	nothing_ran 'user notification' connections 'use a kernel'
	without landlock-abi=1 "${landlock[@]}"
	nothing_ran Landlock 5.19
	without landlock-abi=2 "${landlock[@]}"
	nothing_ran write_outside 6.2
	without landlock-abi=4 "${landlock[@]}"
	nothing_ran processes 6.12
	# Somebody else supervises already: there can be only one.
	without landlock-abi=7 "${landlock[@]}"
	nothing_ran 'supervise connections' 'run outside of it'
}

@test "doctor says what it holds and what it does not" {
	run python3 -c '
import json, subprocess, sys
d = json.loads(subprocess.run([sys.argv[1], "doctor", "--json"], stdout=subprocess.PIPE).stdout)
state = next(b for b in d["backends"] if b["name"] == "landlock")
assert state["usable"]
held = {n for n, c in state["clauses"].items() if c["grip"] == "enforced"}
assert {"write_outside", "write_protected", "hidden_reads", "sockets", "processes", "network", "end_of_tree"} <= held
for name in "missing_names", "private_dirs", "second_layer", "caches":
    assert state["clauses"][name]["grip"] == "refused" and state["clauses"][name]["why"] and state["clauses"][name]["remedy"]
print("fine")' "$KODA_BIN"
	echo "$output"
	[[ $output == fine ]]
}

@test "the plan names the grants, and changes nothing" {
	mkdir .vscode
	run "$KODA_BIN" plan "${landlock[@]/--yes/--no-network}" -- true
	echo "$output"
	[[ $status -eq 0 && $output == *"scratch      /tmp/koda-"* ]]
	[[ $output == *"landlock     $project/file"* && $output != *"landlock     $project/.vscode"* ]]
	[[ ! -e $(grep -o '/tmp/koda-[0-9a-f]*' <<<"$output" | head -1) ]]
}

@test "no umask and no file of the user's keep it from running" {
	(
		umask 0777
		exec "$KODA_BIN" run "${landlock[@]}" -- sh -c '
			umask 022; echo inside >"$TMPDIR/file" && cat "$TMPDIR/file"'
	) >"$BATS_TEST_TMPDIR/out"
	[[ $(<"$BATS_TEST_TMPDIR/out") == inside ]]
	# A name that the check before the start might want.
	: >"$HOME/.koda-canary"
	run "$KODA_BIN" run "${landlock[@]}" -- echo ran
	echo "$output"
	[[ $status -eq 0 && $output == ran ]]
}

# with KIND PATH: a run whose plan has one canary more, or a filter that lets everything pass.
with() {
	run "$KODA_MUTATE" landlock "$1" "$2" "$project" "$HOME" "$KODA_PROBE" "$BATS_TEST_TMPDIR/acts"
	[[ $status -eq 0 ]] || { echo "$output"; false; }
}

@test "T-27: a protection that was asked for but is not there" {
	: "${KODA_MUTATE:?set KODA_MUTATE to tests/security/mutate}"
	mkdir -p veiled/hole closed
	echo secret >secret
	printf 'open-read\tfile\n' >"$BATS_TEST_TMPDIR/acts"
	with denied-read "$project/file"
	[[ $output == 'refused: self-check: reading is possible at'* ]] || { echo "$output"; false; }
	with denied-write "$project/veiled/hole"
	[[ $output == ok* ]] || { echo "$output"; false; }
	# Filters go ahead of the plan: they must be the plan's, and must be good.
	with filter ''
	[[ $output == 'refused: the plan has other filters than were installed'* ]] ||
		{ echo "$output"; false; }
	with early-filter ''
	[[ $output == 'refused: self-check: the system-call filter does not answer'* ]] ||
		{ echo "$output"; false; }
	# Twin: one more that holds.
	with denied-read "$project/secret"
	[[ $output == ok* ]] || { echo "$output"; false; }
}
