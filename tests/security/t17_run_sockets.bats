#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:sockets
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-17: a Unix socket of the host does what the command may not.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

@test "sockets below /run and /tmp are not there" {
	local place=/run/koda-test-$$
	listen_unix "$place"
	outside connect-unix "$place"
	inside connect-unix "$place"
	rm -f -- "$place"
	[[ $status -eq 1 && $answer =~ ^(ENOENT|EACCES)$ ]]
	place=$(mktemp -u /tmp/koda-test-XXXXXX)
	rm -f -- "$BATS_TEST_TMPDIR/listening"
	listen_unix "$place"
	outside connect-unix "$place"
	inside connect-unix "$place"
	rm -f -- "$place"
	[[ $status -eq 1 && $answer =~ ^(ENOENT|EACCES)$ ]]
}
