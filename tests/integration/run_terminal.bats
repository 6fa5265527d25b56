#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # status, stdout, stderr and project come from helper.bash
# shellcheck disable=SC2016 # the shell inside expands what is quoted here
# A command on a terminal: it gets one of its own, and the caller's is as it was afterwards.

setup() {
	load helper
	load run_helper
	new_project
	export SHELL=/bin/bash TERM=dumb
	ask='PS1="rea""dy> "\n' # what is typed is shown too
}

# on_tty STEP... -- ARG...: koda-sandbox ARG... on a terminal; see drive_tty.py.
on_tty() {
	local -a steps=()
	while [[ $1 != -- ]]; do
		steps+=("$1")
		shift
	done
	shift
	status=0 stdout=''
	python3 "$BATS_TEST_DIRNAME/drive_tty.py" "${steps[@]}" -- "$KODA_BIN" "$@" \
		>"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	slurp stdout "$BATS_TEST_TMPDIR/out"
	slurp stderr "$BATS_TEST_TMPDIR/err"
}

# shows STATUS TEXT...
shows() {
	local expected=$1 text
	shift
	for text in "$@"; do
		if [[ $status -ne $expected || $stdout != *"$text"* ]]; then
			show_result
			echo "expected exit $expected and: $text"
			return 1
		fi
	done
}

@test "all three streams are a terminal with a name, and in control" {
	on_tty -- run -c 'tty; test -t 0 && test -t 1 && test -t 2 && echo all three; echo via >/dev/tty'
	shows 0 /dev/pts/0 'all three' via
}

@test "the streams can be opened again by name" {
	on_tty -- run -c 'echo by name >/dev/stdout; echo too >/proc/self/fd/2; readlink /proc/self/fd/0'
	shows 0 'by name' too /dev/pts/0
}

@test "--no-tty: pipes, even on a terminal" {
	on_tty -- run --no-tty -c 'tty; test -t 1 || echo pipe'
	shows 0 'not a tty' pipe
}

@test "no terminal unless both ends are one; --tty makes one" {
	koda run -c 'test -t 0 || test -t 1 || echo none' </dev/null
	[[ $status -eq 0 && $stdout == none ]]
	koda run --tty -c 'test -t 0 && test -t 1 && echo both; read -r x; echo "got $x"' <<<word
	shows 0 both 'got word'
}

@test "--tty: the end of the input is an end of file" {
	printf 'no newline' >"$BATS_TEST_TMPDIR/in"
	koda run --tty -c 'stty -echo; cat; echo; echo end' <"$BATS_TEST_TMPDIR/in"
	shows 0 'no newline' end
	koda run --tty -c 'cat; echo end' </dev/null
	shows 0 end
}

@test "standard error that goes elsewhere still does" {
	on_tty -- run -c 'echo to the terminal' 2>/dev/null
	shows 0 'to the terminal'
	run python3 "$BATS_TEST_DIRNAME/drive_tty.py" -- \
		sh -c 'exec "$0" run -c "echo aside >&2; test -t 2 || echo piped" 2>aside.txt' "$KODA_BIN"
	[[ $status -eq 0 && $output == *piped* && $output != *aside* && $(<aside.txt) == aside ]]
}

@test "--tty and --no-tty exclude each other" {
	inside --tty --no-tty true
	says 125 exclude
}

@test "the size is passed on, at the start and when it changes" {
	on_tty 'wait 30 90' 'size 44 99' 'wait 44 99' -- \
		run -c 'trap "stty size" WINCH; stty size; for i in $(seq 60); do
			[ "$(stty size)" = "44 99" ] && exit; sleep 0.5; done'
	shows 0 '44 99'
}

@test "Ctrl-C interrupts what runs inside, not the runner" {
	on_tty 'wait waiting' 'type \x03' -- run -c 'trap "echo caught; exit 5" INT; echo waiting; sleep 20 & wait'
	shows 5 caught
	on_tty 'wait waiting' 'type \x03' -- run -c 'echo waiting; exec sleep 20'
	[[ $status -eq 130 ]]
}

@test "Ctrl-D ends the input, Ctrl-\\ quits" {
	on_tty 'wait reading' 'type line\n' 'wait line' 'wait line' 'type \x04' -- \
		run -c 'echo reading; cat; echo ended'
	shows 0 ended
	on_tty 'wait waiting' 'type \x1c' -- run -c 'echo waiting; exec sleep 20'
	[[ $status -eq 131 ]]
}

@test "what the runner says at the end begins a line" {
	on_tty -- run --wall-time 5 -c 'printf within; sleep 20'
	shows 124 $'within\nkoda-sandbox: the wall time has passed'
}

@test "shell: the user's shell, with job control and its exit status" {
	on_tty 'wait @koda' "type $ask" 'wait ready> ' 'type echo $0 $KODA_SANDBOX\n' 'wait /bin/bash 1' 'wait ready> ' \
		'type sh -c "echo go""ing; exec sleep 30"\n' 'wait going' 'type \x1a' 'wait Stopped' \
		'type jobs\n' 'wait Stopped' \
		'type kill %1; wait\n' 'wait ready> ' 'type touch /etc/x\n' 'wait Read-only' \
		'type exit 7\n' -- shell
	shows 7 Stopped
}

@test "shell: takes the options of run, but no command" {
	on_tty 'wait @koda' "type $ask" 'wait ready> ' 'type touch here\n' 'wait Read-only' 'type exit\n' -- shell --read-only
	[[ ! -e here ]]
	koda shell true
	[[ $status -eq 125 && $stderr == *"koda-sandbox shell --help"* ]] || { show_result; false; }
}

@test "shell: reads commands where there is no terminal" {
	koda shell <<<'echo from a pipe; exit 3'
	[[ $status -eq 3 && $stdout == 'from a pipe' ]] || { show_result; false; }
}

@test "a command that stops itself goes on, for nobody could continue it" {
	for backend in native bwrap 'landlock --trust plan --yes --accept private_dirs --accept second_layer'; do
		# shellcheck disable=SC2086 # options
		on_tty -- run --backend $backend -c 'kill -STOP $$; echo went on; exit 3'
		shows 3 'went on'
	done
	on_tty 'wait @koda' "type $ask" 'wait ready> ' 'type suspend; echo went "on"\n' 'wait went on' 'type exit 4\n' -- shell
	shows 4 'went on'
}

@test "stopped and continued: the caller's terminal is its own meanwhile" {
	on_tty 'wait waiting' 'signal SIGTSTP' stopped 'signal SIGCONT' 'type \n' 'wait done' -- \
		run -c 'echo waiting; read -r x; echo done'
	shows 0 'done'
}

@test "the terminal is as it was after the runner is told to end" {
	on_tty 'wait waiting' 'signal SIGTERM' -- run -c 'echo waiting; exec sleep 20'
	[[ $status -eq 143 ]] || { show_result; false; }
	on_tty 'wait waiting' -- run --wall-time 5 -c 'echo waiting; sleep 20'
	[[ $status -eq 124 ]] || { show_result; false; }
}

@test "a terminal that is closed ends the command, also one that does not listen" {
	run python3 -c '
import os, pty, select, sys, time

def is_going_on():
    before = os.stat("beat").st_size
    end = time.monotonic() + 10
    while os.stat("beat").st_size == before and time.monotonic() < end:
        time.sleep(0.05)
    return os.stat("beat").st_size > before

def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]

deaf = "trap \"\" HUP INT TERM; while :; do echo >>beat; sleep 0.05; done"
runner, ours = pty.fork()
if runner == 0:
    os.execv(sys.argv[1], ["koda-sandbox", "run", "-c", deaf])
while not os.path.exists("beat"):
    time.sleep(0.05)
command = runner
for _ in range(3): # the guardian, init, the command
    command = children(command)[0]
command = os.pidfd_open(command)
# The signal alone says nothing.
os.kill(runner, 1)
time.sleep(6)
print("goes on" if is_going_on() else "ended")
os.close(ours)
print("ended" if select.select([command], [], [], 30)[0] else "goes on")
os.kill(runner, 9)' "$KODA_BIN"
	[[ $output == $'goes on\nended' ]] || { echo "$output"; false; }
}

# Where only the input is a terminal, nobody sits at both ends, and the clock goes on; a shell has no wall
# time anywhere, and ends with the last terminal that it has.
@test "a command with half a terminal ends by its wall time, a shell with its terminal" {
	echo '{"fs":{"allow_write":["'"$PWD"'"]},"limits":{"wall_time_secs":4}}' >policy
	printf '#!/bin/sh\ntrap "" HUP INT TERM\n: >up\nwhile :; do sleep 1; done\n' >deaf
	chmod 755 deaf
	run -0 timeout 100 python3 -c '
import os, pty, sys, time
def start(args, env):
    pid, ours = pty.fork()
    if pid == 0:
        os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
        os.dup2(os.open("policy", os.O_RDONLY), 3)
        os.execve(sys.argv[1], ["koda-sandbox"] + args, env)
    while not os.path.exists("up"):
        time.sleep(0.05)
    os.unlink("up")
    return pid, ours
pid, ours = start(["run", "--tty", "--policy-fd", "3", "./deaf"], dict(os.environ))
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
pid, ours = start(["shell"], dict(os.environ, SHELL=os.path.realpath("deaf")))
time.sleep(5)
print(os.waitpid(pid, os.WNOHANG)[0])
os.close(ours)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))' "$KODA_BIN"
	[[ $output == $'124\n0\n137' ]] || { echo "$output"; false; }
}

@test "many bytes pass unchanged through a raw terminal" {
	on_tty -- run -c 'stty raw; seq 1 20000; stty sane'
	[[ $status -eq 0 ]]
	seq 1 20000 >"$BATS_TEST_TMPDIR/expected"
	diff <(head -n 20000 "$BATS_TEST_TMPDIR/out") "$BATS_TEST_TMPDIR/expected"
}

@test "whoever approves a command sees all of it" {
	on_tty "wait run it? [y/N]" 'type n\n' -- run --trust safe rm -rf $'im\nportant'
	[[ $status -eq 125 ]] || { show_result; false; }
	# On a line of its own, and one only: what it contains cannot look like the question.
	tr -d '\r' <"$BATS_TEST_TMPDIR/out" | grep -qx 'run in the sandbox:'
	tr -d '\r' <"$BATS_TEST_TMPDIR/out" | grep -qx "    'rm' '-rf' 'im\\\\x0aportant'"
	long=$(printf 'x%.0s' {1..3000})
	on_tty 'wait the end' 'wait run it? [y/N]' 'type y\n' 'wait done' -- \
		run --trust safe -c ": $long; echo done; : the end"
	[[ $status -eq 0 ]] || { show_result; false; }
}
