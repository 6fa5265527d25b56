#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:write_protected,backend:native
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-05: a program that the host runs next, or that guards the next run, is replaced.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

@test "the launcher and the program itself cannot be replaced" {
	local dir
	dir=$(dirname -- "$KODA_PROGRAM")
	# The plan tells it without a run in a directory that belongs to somebody else.
	status=0
	policy_where "d['fs']['allow_write'] = ['$dir']"
	run "$KODA_BIN" plan "${box[@]}" -c true 9<"$policy"
	[[ $output != *"writable     $dir "* ]] || { grep -F "$dir" <<<"$output"; false; }
}
