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

# bats test_tags=backend:locked
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

# bats test_tags=backend:locked
@test "nor after the directory above was renamed" {
	mkdir sub
	listen_unix "$project/sub/s"
	run run_box sh -c "mv sub moved 2>/dev/null; '$KODA_PROBE' connect-unix moved/s"
	[[ $status -eq 1 && $output == E* ]]
}

# bats test_tags=backend:locked
@test "a command cannot move a socket out of the way for its next run" {
	mkdir sub
	listen_unix "$project/sub/s"
	run run_box mv sub moved
	for place in sub moved; do
		refused connect-unix "$place/s"
	done
}

# bind_unix TYPE DIRECTORY NAME THEN: a process outside binds there, then runs Python.
bind_unix() {
	rm -f -- "$BATS_TEST_TMPDIR/listening"
	python3 -c '
import os, socket, sys, time
os.chdir(sys.argv[3])
s = socket.socket(socket.AF_UNIX, getattr(socket, "SOCK_" + sys.argv[2]))
s.bind(sys.argv[4])
if sys.argv[2] != "DGRAM":
    s.listen(8)
exec(sys.argv[5])
open(sys.argv[1], "w").close()
time.sleep(60)' "$BATS_TEST_TMPDIR/listening" "$@" 3>&- &
	background+=($!)
	wait_for "$BATS_TEST_TMPDIR/listening"
}

# hidden PATH: it can be connected to outside, and not inside.
hidden() {
	outside connect-unix "$1"
	refused connect-unix "$1"
}

# The socket shut/s stays out of reach if its directory is closed when the command starts, and opened
# while it runs.
hidden_in_shut() {
	outside connect-unix "$project/shut/s"
	local mode
	for mode in 0000 0600; do
		chmod "$mode" shut
		rm -f opened
		: >begun
		(eventually test -s begun && chmod 755 shut && touch opened) 3>&- &
		run run_box sh -c 'echo >begun; until [ -e opened ]; do sleep 0.05; done; for i in $(seq 10); do
			"$0" connect-unix shut/s 2>&1 && exit; sleep 0.05; done; false' "$KODA_PROBE"
		echo >begun # also if nothing ran
		wait "$!"
		[[ $status -ne 0 ]] || { echo "mode $mode: $output"; false; }
	done
}

@test "nor in a directory that was closed when the command started" {
	mkdir shut
	listen_unix "$project/shut/s"
	hidden_in_shut
}

# Where they were bound it says nothing of where they are.
@test "nor one that was moved into a directory that was closed when the command started" {
	mkdir shut
	bind_unix STREAM / "$elsewhere/new" "os.rename('$elsewhere/new', '$project/shut/s')"
	hidden_in_shut
}

# bats test_tags=backend:locked
@test "sockets of every type" {
	bind_unix DGRAM "$project" "$project/d" ''
	bind_unix SEQPACKET "$project" "$project/q" ''
	hidden "$project/d"
	hidden "$project/q"
}

# bats test_tags=backend:locked
@test "a name with a newline, and one in another directory" {
	bind_unix STREAM "$project" "$project/new"$'\n'line ''
	bind_unix STREAM / "$elsewhere/"$'\n' ''
	hidden "$project/new"$'\n'line
	hidden "$elsewhere/"$'\n'
}

# bats test_tags=backend:locked
@test "sockets bound by a relative name" {
	mkdir sub
	bind_unix STREAM "$project" here ''
	bind_unix STREAM "$project/sub" ./left 'os.chdir("/")'
	bind_unix DGRAM "$elsewhere" there ''
	hidden "$project/here"
	hidden "$project/sub/left"
	hidden "$elsewhere/there"
}

# bats test_tags=backend:locked
@test "sockets that were moved, themselves or with their directory" {
	mkdir -p sub/deep old
	bind_unix STREAM / "$project/before" "os.rename('$project/before', '$project/after')"
	bind_unix STREAM / "$elsewhere/out" "os.rename('$elsewhere/out', '$project/sub/deep/in')"
	bind_unix STREAM / "$project/old/s" "os.rename('$project/old', '$project/kept')"
	hidden "$project/after"
	hidden "$project/sub/deep/in"
	hidden "$project/kept/s"
}

# bats test_tags=backend:locked
@test "further names of a socket" {
	mkdir sub
	bind_unix STREAM / "$project/first" "os.link('$project/first', '$project/sub/second')"
	bind_unix STREAM / "$elsewhere/first" "os.link('$elsewhere/first', '$project/third')"
	hidden "$project/first"
	hidden "$project/sub/second"
	hidden "$project/third"
}

@test "sockets that come and go keep nothing from starting" {
	python3 -c '
import os, socket, sys, time
for i in range(200000):
    s = socket.socket(socket.AF_UNIX)
    s.bind(sys.argv[1] + "/" + str(i))
    s.close()
    os.unlink(sys.argv[1] + "/" + str(i))' "$elsewhere" 3>&- &
	background+=($!)
	for _ in {1..30}; do
		allowed open-read file
	done
}

@test "abstract sockets of the host are not there" {
	listen_unix "@koda-test-$$-$BATS_TEST_NUMBER"
	outside abstract-connect "koda-test-$$-$BATS_TEST_NUMBER"
	refused abstract-connect "koda-test-$$-$BATS_TEST_NUMBER"
}

# connect_to_own PATH: inside, to a socket that was made there.
connect_to_own() {
	run run_box python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(1)
socket.socket(socket.AF_UNIX).connect(sys.argv[1])
print("connected")' "$1"
	[[ $status -eq 0 && $output == connected ]]
}

# bats test_tags=clause:private_dirs
@test "twin: sockets made inside work inside" {
	connect_to_own /tmp/own
}

# bats test_tags=backend:locked,backend:view
@test "twin: also in the project" {
	connect_to_own own
}
