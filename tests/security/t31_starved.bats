#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:memory
# shellcheck disable=SC2030,SC2031,SC2034 # box is the helper's
# T-31: a command uses so many shares of the processors that nobody comes to look at its memory. It runs
# alone, on one processor: the others' tests want theirs.

setup() {
	load helper
	new_project
}

# KIB SECONDS
starve() {
	run taskset -c 0 "$KODA_BIN" run "${box[@]}" --memory 300M --wall-time 60 -- "$KODA_PROBE" starve 600 "$1" "$2"
}

@test "hundreds of sessions do not keep the memory limit from being seen" {
	starve 2048 60
	[[ $status -eq 137 && $output == *'the memory limit was reached'* ]] || { echo "$status: $output"; false; }
}

@test "twin: what fits goes on after it was looked at" {
	starve 64 3
	[[ $status -eq 0 && $output == ok ]] || { echo "$status: $output"; false; }
}
