#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:processes
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-18: a process of the host is seen, signalled, traced or talked to.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

@test "processes of the host cannot be seen or signalled" {
	sleep 60 3>&- &
	background+=($!)
	victim=${background[0]}
	outside signal "$victim"
	refused_with 'ESRCH|EPERM' signal "$victim"
	refused_with 'ESRCH|EPERM' signal "$$"
	refused find-processes 4
	outside find-processes 4
}

@test "a signal to everybody reaches nobody outside" {
	# One that does no harm to those who would get it.
	bash -c 'trap "echo got >got" CONT; echo ready >ready; for i in {1..600}; do sleep 0.1; done' 3>&- &
	background+=($!)
	wait_for ready
	run run_box sh -c 'kill -CONT -1; echo sent'
	sleep 0.3
	[[ $output == *sent* && ! -e got ]]
	kill -CONT "${background[0]}"
	wait_for got
}

@test "processes of the host cannot be traced" {
	sleep 60 3>&- &
	background+=($!)
	refused ptrace "${background[0]}"
	outside ptrace "${background[0]}"
	refused ptrace-parents
	outside ptrace-parents
}

# bats test_tags=backend:view
@test "the command's own init cannot be ended, traced or looked into" {
	refused ptrace 1
	refused open-read /proc/1/mem
	refused open-read /proc/1/environ
	refused open-read /proc/1/fd/4
	refused open-read /proc/1/root/etc/passwd
	refused open-read /proc/1/cwd/.
	# Only if it is the sandbox's own.
	run run_box sh -c 'grep -q ^koda-sandbox /proc/1/comm || exit; 
		{ kill -KILL 1; kill -STOP 1; } 2>/dev/null
		sleep 0.1; echo still here'
	[[ $output == 'still here' ]]
}

is_over() {
	[[ $(ps -o stat= -p "$1") == Z* ]]
}

# T-38: whoever traces a process is told of its end first, and its parent only then.
@test "a command that has ended is over, although one of its own traces it" {
	run run_box "$KODA_PROBE" end-traced 60
	[[ $status -eq 7 ]] || { echo "$status: $output"; false; }
	# The twin: outside it is a zombie as long as the tracer likes.
	"$KODA_PROBE" end-traced 60 3>&- &
	background+=($!)
	eventually is_over "${background[0]}"
	sleep 0.2
	is_over "${background[0]}"
	pkill -KILL -fx "$KODA_PROBE end-traced 60"
}

@test "shared memory of the host is not there" {
	local key=$((0x4b4f0000 + $$ % 65536)) id
	id=$(ipcmk -M 4096 | grep -o '[0-9]*$') || lacking 'ipcmk'
	key=$(awk -v id="$id" '$2 == id { print $1 }' /proc/sysvipc/shm)
	inside sysv-shm "$key"
	local refused_inside=$status
	outside sysv-shm "$key" || true
	ipcrm -m "$id"
	[[ $refused_inside -eq 1 && $status -eq 0 ]]
}

# bats test_tags=backend:view
@test "twin: the command's own processes can be seen and signalled" {
	run run_box sh -c "sleep 5 & '$KODA_PROBE' signal \$!; kill \$!"
	[[ $output == ok ]]
	allowed find-processes 1
}
