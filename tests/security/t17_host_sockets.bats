#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-17: a Unix socket of the host does what the command may not.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

@test "sockets in the project, in the home and elsewhere cannot be connected to" {
	mkdir sub
	listen_unix "$project/s" "$project/sub/s" "$HOME/s" "$elsewhere/s"
	outside connect-unix "$project/s"
	outside connect-unix "$HOME/s"
	refused_each <<-ACTS
		connect-unix	$project/s
		connect-unix	$project/sub/s
		connect-unix	$HOME/s
		connect-unix	$elsewhere/s
		link	s	alias
		unlink	s
		rename	s	moved
	ACTS
}

@test "nor after the directory above was renamed" {
	mkdir sub
	listen_unix "$project/sub/s"
	run run_box sh -c "mv sub moved 2>/dev/null; '$KODA_PROBE' connect-unix moved/s"
	[[ $status -eq 1 && $output == E* ]]
}

@test "a command cannot move a socket out of the way for its next run" {
	mkdir sub
	listen_unix "$project/sub/s"
	run run_box mv sub moved
	for place in sub moved; do
		refused connect-unix "$place/s"
	done
}

@test "abstract sockets of the host are not there" {
	listen_unix "@koda-test-$$-$BATS_TEST_NUMBER"
	outside abstract-connect "koda-test-$$-$BATS_TEST_NUMBER"
	refused abstract-connect "koda-test-$$-$BATS_TEST_NUMBER"
}

@test "twin: sockets made inside work inside" {
	run run_box python3 -c '
import socket
s = socket.socket(socket.AF_UNIX)
s.bind("own")
s.listen(1)
socket.socket(socket.AF_UNIX).connect("own")
print("connected")'
	[[ $status -eq 0 && $output == connected ]]
}
