#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:none
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-26: secrets of the host in the environment or the arguments of a process.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

@test "a secret variable is in no process's environment" {
	export AWS_SECRET_ACCESS_KEY=koda-secret-$$ KODA_TEST_TOKEN=koda-secret-$$
	refused find-environ "koda-secret-$$"
	outside find-environ "koda-secret-$$"
	run run_box env
	[[ $output != *koda-secret* ]]
}

@test "nor in the environment of the launcher outside" {
	export AWS_SECRET_ACCESS_KEY=koda-secret-$$
	local pid environ seen=0
	run_box sh -c 'echo ready >ready; sleep 20' 3>&- &
	background+=($!)
	wait_for ready
	for pid in $(pgrep -f koda-sandbox-stage2); do
		# It closes itself to its own user; only root sees that there is nothing to hide.
		environ=$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ") || continue
		[[ $environ != *"koda-secret-$$"* ]]
		seen=$((seen + 1))
	done 2>/dev/null
	if is_root; then
		((seen > 0))
	fi
}

# bats test_tags=backend:view
@test "twin: a variable that the table lets through is there" {
	export TERM=koda-public-$$
	run run_box sh -c 'echo "$TERM"'
	[[ $output == "koda-public-$$" ]]
	allowed find-environ "koda-public-$$"
}
