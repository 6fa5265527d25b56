#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:privileges
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-19: a capability, a set-user-id program or a kernel file gives back what was dropped.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

# bats test_tags=backend:view
@test "set-user-id does nothing" {
	cp -- "$KODA_PROBE" suid
	chown 65534:65534 suid
	chmod 6755 suid
	run run_box sh -c './suid find-status-not Uid "0	0	0	0"'
	[[ $status -eq 1 ]]
	run ./suid find-status-not Uid "0	0	0	0"
	[[ $status -eq 0 ]]
}
