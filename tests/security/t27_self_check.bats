#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:none,backend:native
# T-27: a protection was asked for but is not there; the command must not start.

setup() {
	load helper
	new_project
	mkdir -p veiled/hole closed
	echo secret >secret
	printf 'open-read\tfile\n' >"$BATS_TEST_TMPDIR/acts"
}

# with KIND PATH: a run whose plan has one canary more.
with() {
	run "$KODA_MUTATE" with "$1" "$2" "$project" "$HOME" "$KODA_PROBE" "$BATS_TEST_TMPDIR/acts"
	[[ $status -eq 0 ]] || { echo "$output"; false; }
}

@test "a canary that can be read or written ends the run before it begins" {
	with denied-read "$project/file"
	[[ $output == 'refused: self-check: reading is possible at'* ]] || { echo "$output"; false; }
	with denied-write "$project"
	[[ $output == 'refused: self-check: writing is possible in'* ]] || { echo "$output"; false; }
	[[ ! $(compgen -G ".koda-canary*") ]]
}

@test "a filter that lets everything pass, though the status says that there is one" {
	with filter ''
	[[ $output == 'refused: self-check: the system-call filter does not answer'* ]] ||
		{ echo "$output"; false; }
}

@test "mounts that can still be written, though the kernel says that it has changed them" {
	mkdir -p .git/hooks
	cp -- "$KODA_WITHOUT" "$BATS_TEST_TMPDIR/without"
	run "$BATS_TEST_TMPDIR/without" mount-attributes "$KODA_BIN" run --backend native -- "$KODA_PROBE" create .git/hooks/post-commit
	[[ $status -eq 125 && $output == *'nothing ran'* ]] || { echo "$output"; false; }
	run "$KODA_BIN" run --backend native -- "$KODA_PROBE" create .git/hooks/post-commit
	[[ $status -eq 1 ]] || { echo "$output"; false; }
}

@test "a plan that is not sealed, or is none, is not carried out" {
	local how said
	while read -r how said; do
		with unsound "$how"
		[[ $output == "refused: $said"* ]] || { echo "$how: $output"; false; }
	done <<-'HOWS'
		open the plan is not sealed
		writable the plan is not sealed
		unfinished the plan is not sealed
		empty the plan has an impossible size
		short the plan is malformed
		foreign the plan is malformed
	HOWS
}

@test "twin: canaries that hold do not" {
	with denied-read "$project/secret"
	[[ $output == ok* ]]
	with denied-write "$project/closed"
	[[ $output == ok* ]]
}
