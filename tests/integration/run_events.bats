#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # status, stdout, stderr and project come from helper.bash
# shellcheck disable=SC2016,SC2030,SC2031 # the shell inside expands what is quoted here; tests are subshells
# The event stream: one JSON object a line, from start to exit, whatever happens between.

setup() {
	load helper
	load run_helper
	new_project
	events=$BATS_TEST_TMPDIR/events
}

# told EXPRESSION: Python over e, the list of events, is true.
told() {
	python3 -c '
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    e = [json.loads(line) for line in file]
assert all("type" in x and isinstance(x["time"], float) for x in e), e
if not eval(sys.argv[2]):
    print(json.dumps(e, indent=1))
    sys.exit(1)' "$events" "$1"
}

@test "start names the backend, the mode and every clause; exit ends it" {
	inside --events "$events" -c 'exit 3'
	silent 3
	told '[x["type"] for x in e] == ["start", "exit"]'
	told 'e[0]["backend"] == "native" and e[0]["trust"] == "auto"'
	told 'set(e[0]["clauses"].values()) <= {"enforced", "emulated", "refused"}'
	told 'e[0]["clauses"]["write_outside"] == "enforced" and len(e[0]["clauses"]) > 15'
	told 'e[1]["code"] == 3 and e[1]["signal"] is None and e[1]["reason"] == "exited"'
	told 'e[1]["wall_ms"] > 0 and e[1]["time"] >= e[0]["time"]'
}

@test "--events-fd: to a descriptor, which the command does not get" {
	"$KODA_BIN" run --events-fd 7 -c 'ls -l /proc/self/fd; echo x >&7' 7>"$events" \
		>"$BATS_TEST_TMPDIR/out" 2>/dev/null || true
	told 'len(e) == 2'
	[[ $(<"$BATS_TEST_TMPDIR/out") != *' 7 ->'* ]]
}

@test "a file in the project is not the command's to change" {
	mkdir logs
	events=$project/logs/events
	inside --events logs/events -c 'echo x >logs/events; rm -f logs/events; mv logs gone
		echo x >logs/other; exit 3'
	[[ $status -eq 3 && -e logs/other ]]
	told '[x["type"] for x in e if x["type"] != "violation"] == ["start", "exit"]'
}

@test "a signal" {
	inside --events "$events" -c 'kill -USR1 $$'
	told 'e[-1]["code"] is None and e[-1]["signal"] == 10 and e[-1]["reason"] == "signal"'
}

@test "wall time: a limit and the reason" {
	inside --events "$events" --wall-time 5 -c 'echo x >/etc/koda-x; printf 10%% >&2; sleep 20'
	[[ $status -eq 124 ]]
	# Lines of its own, and the block last, also if the command was within one.
	[[ $stderr == *$'\n10%\nkoda-sandbox: the wall time has passed'*$'\n<sandbox_violations>\ndeny file-write* /etc/koda-x\n</sandbox_violations>' ]] ||
		{ show_result; false; }
	told 'e[2]["type"] == "limit" and e[2]["which"] == "wall_time" and e[2]["value"] == 5'
	told 'e[-1]["reason"] == "wall_time" and e[-1]["code"] is None'
}

# held JSON ARG...: the wall time that the start event of a run with such limits tells.
held() {
	printf '{"limits": %s}' "$1" >"$BATS_TEST_TMPDIR/policy"
	shift
	rm -f "$events"
	inside --policy-fd 4 --events "$events" "$@" -c true 4<"$BATS_TEST_TMPDIR/policy"
	[[ $status -eq 0 ]] || { show_result; return 1; }
	python3 -c 'import json, sys; print(json.loads(sys.stdin.readline())["limits"]["wall_time"])' <"$events"
}

@test "violations and limits have a hint: what would allow it, or the floor" {
	inside --events "$events" -c 'echo x >/etc/koda-x; echo x >.mcp.json'
	told '[x["hint"] for x in e if x["type"] == "violation"] == [{"fs": {"allow_write": ["/etc/koda-x"]}}, {"floor": "floor.project"}]'
	rm "$events"
	inside --events "$events" --wall-time 1 sleep 20
	told '[x["hint"] for x in e if x["type"] == "limit"] == [{"limits": {"wall_time_secs": 2}}]'
}

@test "start tells which limits hold: the wall time of a policy has a ceiling and a default" {
	[[ $(held '{"wall_time_secs": 1000}') == 300 ]]
	[[ $(held '{"wall_time_secs": 301}') == 300 ]]
	[[ $(held '{"wall_time_secs": 300}') == 300 ]]
	[[ $(held '{"wall_time_secs": 7}') == 7 ]]
	[[ $(held '{"wall_time_secs": null}') == 60 ]]
	[[ $(held '{}') == 60 ]]
	[[ $(held '{"wall_time_secs": 1000}' --wall-time 20) == 20 ]]
	[[ $(held '{}' --wall-time 300) == 300 ]]
	rm -f "$events"
	inside --trust plan --events "$events" --memory 64M --max-procs 100 true
	told 'e[0]["limits"] == {"wall_time": 60, "output": 2 << 20, "memory": 64 << 20, "processes": 100, "cpu_time": None, "file_size": 8 << 30, "open_files": 4096, "repositories": 512}'
	rm -f "$events"
	inside --trust safe --yes --wall-time 299 --events "$events" true
	told 'e[0]["limits"]["wall_time"] == 299'
}

@test "no policy lets --wall-time exceed the ceiling" {
	printf '{"limits": {"wall_time_secs": 1000}}' >"$BATS_TEST_TMPDIR/policy"
	inside --policy-fd 4 --wall-time 301 true 4<"$BATS_TEST_TMPDIR/policy"
	refuses --wall-time
	[[ $stderr == *300*shell* ]]
}

@test "a shell has no wall time, unless one is given" {
	"$KODA_BIN" shell --no-tty --events "$events" </dev/null
	told 'e[0]["limits"]["wall_time"] is None'
	rm -f "$events"
	"$KODA_BIN" shell --no-tty --wall-time 20 --events "$events" </dev/null
	told 'e[0]["limits"]["wall_time"] == 20'
}

@test "the message of the wall time says how to get more" {
	inside --wall-time 1 sleep 600
	[[ $status -eq 124 && $stderr == *'(1 s)'*'--wall-time'*'300 s'*'koda-sandbox shell'* ]] || { show_result; false; }
}

@test "output, CPU time and file size: limits; below them, none" {
	inside --events "$events" --max-output 100 -c 'seq 1 1000'
	told '[x["which"] for x in e if x["type"] == "limit"] == ["output"]'
	rm "$events"
	inside --events "$events" --max-output 100 -c 'seq 1 10'
	told 'not [x for x in e if x["type"] == "limit"]'
}

@test "a command that cannot be executed" {
	inside --events "$events" nosuchprogram
	told 'e[-1]["code"] == 127 and e[-1]["reason"] == "exited"'
}

@test "nothing ran: the stream still ends" {
	inside --events "$events" --root /nonexistent true
	says 125
	told '[x["type"] for x in e] == ["exit"] and e[0]["code"] == 125 and e[0]["reason"] == "setup"'
	rm "$events"
	inside --events "$events" --trust safe true
	says 125 approval
	told '[x["type"] for x in e] == ["exit"] and e[0]["reason"] == "refused"'
}

@test "a file is appended to; streams that cannot be are refused" {
	inside --events "$events" true
	inside --events "$events" true
	told 'len(e) == 4'
	inside --events /nonexistent/file true
	says 125 --events 'No such file or directory; name a file'
	inside --events-fd 77 true
	says 125 --events-fd 'Bad file descriptor; open it for writing'
	inside --events-fd x true
	says 125 --events-fd
	inside --events a --events b true
	says 125 once
}

@test "a reader that goes away does not end the command" {
	"$KODA_BIN" run --events-fd 7 -c 'sleep 0.3; exit 9' 7> >(exec true) || status=$?
	[[ $status -eq 9 ]]
}

@test "events that cannot be written are told of" {
	status=0
	"$KODA_BIN" run --events-fd 7 -c 'exit 9' 7>/dev/full 2>"$BATS_TEST_TMPDIR/err" </dev/null || status=$?
	slurp stderr "$BATS_TEST_TMPDIR/err"
	says 9 'events are lost, they cannot be written: No space left on device'
}

@test "denials: an event each, and a block after a command that failed" {
	inside --events "$events" -c 'touch /etc/koda-x /etc/koda-y; echo x >.envrc; exit 6'
	[[ $status -eq 6 && $stderr == *$'\n<sandbox_violations>\ndeny file-write* /etc/koda-x
deny file-write* /etc/koda-y\ndeny file-write* '"$project/.envrc"$'\n</sandbox_violations>' ]] ||
		{ show_result; false; }
	told '[(x["kind"], x["source"]) for x in e[1:-1]] == [("file_write", e[0]["denials"])] * 3'
	told 'e[1]["target"] == "/etc/koda-x" and e[1]["rule"] == "default" and "touch" in e[1]["command"]'
	inside -c 'touch /etc/koda-x; true'
	[[ $status -eq 0 && $stderr != *sandbox_violations* ]] || { show_result; false; }
	inside -c 'echo "cat: /nowhere: No such file" >&2; false'
	[[ $stderr != *sandbox_violations* ]]
}

@test "denials: a missing name that is reserved seems to exist, and is a denial" {
	inside -c 'mkdir .vscode || echo x >.cursor/rules'
	[[ $status -eq 2 && $stderr == *$'\n<sandbox_violations>\ndeny file-write* '"$project/.vscode"$'
deny file-write* '"$project/.cursor/rules"$'\n</sandbox_violations>' ]] || { show_result; false; }
	# So is a directory that would hold one.
	PATH=$project/modules/.bin:$PATH inside -c 'mkdir -p modules/x'
	[[ $status -eq 1 && $stderr == *$'\n<sandbox_violations>\ndeny file-write* '"$project/modules"$'\n'* ]] ||
		{ show_result; false; }
	mkdir .vscode
	inside -c 'mkdir .vscode'
	[[ $status -eq 1 && $stderr == *'File exists' ]] || { show_result; false; }
}

@test "denials: what leads to something protected cannot be moved, and that is a denial" {
	mkdir -p .git/hooks other
	inside --events "$events" -c 'mv other moved && mv .git old'
	[[ $status -eq 1 && $stderr == *$'\n<sandbox_violations>\ndeny file-write* '"$project/.git"$'\n</sandbox_violations>' ]] ||
		{ show_result; false; }
	told '[(x["kind"], x["rule"][:10]) for x in e if x["type"] == "violation"] == [("file_write", "floor.git ")]'
}

@test "denials: a file that its own mode closes is no denial, writing to it is" {
	echo x >closed
	chmod 000 closed
	inside --read-only -c 'cat closed; exit 5'
	[[ $status -eq 5 && $stderr == *'Permission denied' ]] || { show_result; false; }
	inside --backend landlock --trust plan --yes --accept private_dirs --accept second_layer \
		-c 'cat /proc/self/status; exit 5'
	[[ $status -eq 5 && $stderr == *'Permission denied' ]] || { show_result; false; }
	inside --read-only -c 'echo y >closed; exit 5'
	[[ $status -eq 5 && $stderr == *"deny file-write* $project/closed"* ]] || { show_result; false; }
}

@test "with standard output closed, events and output stay apart" {
	"$KODA_BIN" run --events "$events" -c 'echo X' >&- </dev/null 2>"$BATS_TEST_TMPDIR/err" || true
	told '[x["type"] for x in e] == ["start", "exit"]'
}

@test "denials: the last line of the error stream counts without its end" {
	inside --events "$events" -c 'printf "cp: /usr/x: Read-only file system" >&2; exit 1'
	told '[x["target"] for x in e if x["type"] == "violation"] == ["/usr/x"]'
	[[ $stderr == $'cp: /usr/x: Read-only file system\n<sandbox_violations>\ndeny file-write* /usr/x\n'* ]]
}

@test "events go through no link and wait for no reader" {
	echo keep >target
	ln -s target link
	inside --events link true
	says 125 --events
	ln target other
	inside --events other true
	says 125 --events
	mkfifo fifo
	status=0
	timeout 20 "$KODA_BIN" run --events fifo true </dev/null 2>/dev/null || status=$?
	[[ $status -eq 125 && $(<target) == keep ]]
}

@test "a reader that takes nothing keeps neither the clock nor the end from coming" {
	mkfifo "$BATS_TEST_TMPDIR/full"
	exec 8<>"$BATS_TEST_TMPDIR/full"
	status=0
	timeout -s KILL 100 "$KODA_BIN" run --wall-time 6 --events-fd 8 -- python3 -c '
import socket
request = b"CONNECT nosuch.test:80 HTTP/1.1\r\nHost: nosuch.test:80\r\n\r\n"
while True:
    with socket.create_connection(("127.0.0.1", 3128)) as s:
        s.sendall(request)
        s.recv(100)
' </dev/null >/dev/null 2>&1 || status=$?
	# The pipe is full: what could be written was.
	python3 -c '
import fcntl, struct, sys, termios
sys.exit(struct.unpack("i", fcntl.ioctl(8, termios.FIONREAD, bytes(4)))[0] < 32768)'
	exec 8>&-
	[[ $status -eq 124 ]] || { echo "status $status"; false; }
}

@test "events that do not fit wait for no reader: the exit event counts them" {
	mkfifo "$BATS_TEST_TMPDIR/slow"
	exec 8<>"$BATS_TEST_TMPDIR/slow"
	# Each event has the text of the command. It goes on once the stream is read.
	text=": $(printf '%010000d' 0); i=0
		while [ \$i -lt 600 ]; do i=\$((i+1)); echo x >/etc/koda-\$i; done
		until [ -e go ]; do sleep 0.1; done; exit 3"
	"$KODA_BIN" run --wall-time 60 --events-fd 8 -c "$text" >/dev/null 2>"$BATS_TEST_TMPDIR/err" 8>&8 &
	for ((i = 0; i < 500; i++)); do
		grep -q 'koda-600:' "$BATS_TEST_TMPDIR/err" && break
		sleep 0.1
	done
	cat <"$BATS_TEST_TMPDIR/slow" >"$events" 8>&- &
	exec 8>&-
	touch go
	wait
	told 'e[-1]["type"] == "exit" and e[-1]["lost"] > 50'
	grep -q 'events are lost; their reader was too slow' "$BATS_TEST_TMPDIR/err"
}
