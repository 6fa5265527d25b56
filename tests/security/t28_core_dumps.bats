#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:core_dumps
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-28: a crash leaves the memory of the command, or runs the host's crash handler.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

@test "core dumps are off and cannot be switched on" {
	refused raise-core
	run run_box sh -c 'ulimit -Hc; ulimit -c; ulimit -c unlimited; ulimit -c 4096'
	[[ ${lines[0]} == 0 && ${lines[1]} == 0 && $status -ne 0 ]]
}

@test "a crash leaves nothing in the project" {
	run run_box sh -c 'kill -SEGV $$'
	[[ $status -eq 139 ]]
	no_litter ./file
}

@test "the limits cannot be raised" {
	run run_box sh -c 'for l in u f n; do ulimit -H$l; done'
	[[ $output != *unlimited* ]]
	run run_box sh -c 'ulimit -Hu 9999999'
	[[ $status -ne 0 ]]
}

@test "twin: outside the limit can be raised" {
	[[ $(ulimit -Hc) != 0 ]] || lacking 'a hard limit on core dumps above 0'
	outside raise-core
}
