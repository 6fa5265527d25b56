#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:write_outside
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-21: an open descriptor of the host gives what the policy does not.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

@test "descriptors above 2 do not come along" {
	exec 5<"$elsewhere/file" 6<"$elsewhere" 17<"$elsewhere/file"
	refused find-descriptors
	outside find-descriptors
	refused reopen-fd 5
	refused open-read /proc/self/fd/6/file
	exec 5<&- 6<&- 17<&-
}

@test "a file on a standard stream cannot be reopened for writing" {
	status=0
	answer=$(run_box "$KODA_PROBE" reopen-fd 0 <"$elsewhere/file") || status=$?
	[[ $status -eq 1 ]]
	answer=$("$KODA_PROBE" reopen-fd 0 <"$elsewhere/file")
	[[ $answer == ok ]]
}

@test "a log on standard output cannot be truncated, read back or rewound" {
	echo before >"$elsewhere/log"
	run_box sh -c '
		true >/proc/self/fd/1
		timeout 0.3 cat /proc/self/fd/1 >copied
		echo after' >>"$elsewhere/log" </dev/null
	[[ $(<"$elsewhere/log") == $'before\nafter' ]]
	[[ -e copied && ! -s copied ]]
}

@test "a directory on standard input is no way out" {
	status=0
	answer=$(run_box "$KODA_PROBE" create /proc/self/fd/0/new <"$elsewhere") || status=$?
	[[ $status -ne 0 && ! -e $elsewhere/new ]]
}

@test "twin: what the streams are for works" {
	[[ $(run_box cat <"$elsewhere/file") == there ]]
	run_box echo written >>"$elsewhere/file"
	[[ $(<"$elsewhere/file") == $'there\nwritten' ]]
}
