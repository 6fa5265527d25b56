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
	outside create "$dir/koda-t05"
	policy_where "d['fs']['allow_write'] = ['$dir', '$project']"
	refused_each <<-ACTS
		open-write	$dir/koda-t05
		rename	$dir/koda-t05	$dir/koda-t05-moved
		rename	$project/file	$dir/koda-t05
		create	$dir/koda-t05-new
		unlink	$dir/koda-t05
	ACTS
	allowed open-write file
	outside unlink "$dir/koda-t05"
}

# bats test_tags=clause:none
@test "the launcher brings all that it runs" {
	run readelf --program-headers --dynamic --wide "$KODA_STAGE2"
	[[ $status -eq 0 && $output == *LOAD* && $output != *INTERP* && $output != *NEEDED* ]] ||
		{ echo "$output"; false; }
}
