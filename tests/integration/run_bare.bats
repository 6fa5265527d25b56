#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # status, stdout, stderr and project come from helper.bash
# shellcheck disable=SC2030,SC2031 # a test is a function, and bats runs it in a shell of its own
# shellcheck disable=SC2016 # the shell inside expands what is quoted here
# koda-sandbox run --no-sandbox and --accept: what is left of the contract. That there is no sandbox,
# and never by accident, is in tests/security/t48_admission.bats.

warning='koda-sandbox: WARNING: no sandbox: this command can do whatever you can'

setup() {
	load helper
	load run_helper
	new_project
	runner=
}

teardown() {
	end_runner
}

# bare ARG...: without a sandbox; the warning is taken off standard error.
bare() {
	inside --no-sandbox --trust safe --yes "$@"
	[[ $stderr == "$warning"* ]] || { show_result; false; }
	stderr=${stderr#"$warning"}
	stderr=${stderr#$'\n'}
}

# ends STATUS: the run ended so, and said nothing but the warning.
ends() {
	[[ $status -eq $1 && -z $stderr ]] || { show_result; echo "expected exit $1"; false; }
}

@test "exit status and signals" {
	for code in 0 1 42 125 255; do
		bare -c "exit $code"
		ends "$code"
	done
	for signal in HUP INT KILL TERM; do
		bare -c "kill -$signal \$\$"
		ends $((128 + $(kill -l "$signal")))
	done
}

@test "126 and 127" {
	bare no-such-program
	[[ $status -eq 127 && $stderr == *'no-such-program: command not found' ]]
	echo 'echo no' >script
	bare ./script
	[[ $status -eq 126 && $stderr == *'./script: cannot be executed: '* ]]
	bare "$project/src"
	[[ $status -eq 126 ]]
}

@test "streams, directory and environment" {
	printf 'a\0b\n' >input
	status=0
	export SECRET=1
	"$KODA_BIN" run --no-sandbox --trust safe --yes --cwd src -c 'cat; pwd; env; echo err >&2' \
		<input >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	[[ $status -eq 0 ]]
	cmp -n 4 input "$BATS_TEST_TMPDIR/out"
	grep -aqxF "$project/src" "$BATS_TEST_TMPDIR/out"
	grep -aqxF "HOME=$HOME" "$BATS_TEST_TMPDIR/out"
	run grep -aE '^(SECRET|KODA_SANDBOX|HTTPS?_PROXY|https?_proxy)=' "$BATS_TEST_TMPDIR/out"
	[[ $status -eq 1 && -z $output ]]
	[[ $(tail -n 1 "$BATS_TEST_TMPDIR/err") == err ]]
}

@test "no descriptor of ours comes along" {
	bare -c 'ls -l /proc/self/fd | grep -cE "socket:|memfd:|anon_inode:"'
	[[ $stdout == 0 ]]
}

@test "the wall time ends it, and what it started" {
	start --no-sandbox --trust safe --yes --wall-time 5 -c 'trap "" HUP INT TERM
		(setsid sleep 600 &)
		touch ready
		sleep 600
		sleep 600'
	appears ready
	family "$runner" >"$BATS_TEST_TMPDIR/family"
	finish
	[[ $status -eq 124 ]]
	all_gone "$BATS_TEST_TMPDIR/family"
}

@test "the end of the command ends what it left behind, daemons too" {
	bare -c '(setsid sleep 600 & echo $! >number); sleep 600 & echo $! >other'
	ends 0
	for file in number other; do
		[[ ! -e /proc/$(<"$file") ]]
	done
}

@test "it ends when the runner is killed" {
	start --no-sandbox --trust safe --yes -c 'touch ready; sleep 600'
	appears ready
	family "$runner" >"$BATS_TEST_TMPDIR/family"
	kill -KILL "$runner"
	wait "$runner" || true
	runner=
	all_gone "$BATS_TEST_TMPDIR/family"
}

@test "signals are passed on" {
	start --no-sandbox --trust safe --yes -c 'trap "echo got; exit 9" TERM; touch ready; sleep 600 & wait'
	appears ready
	kill -TERM "$runner"
	finish
	[[ $status -eq 9 && $stdout == got ]]
}

@test "the limit on output holds" {
	bare --max-output 1000 -c 'head -c 100000 /dev/zero | tr "\0" x'
	[[ $status -eq 0 && ${#stdout} -lt 1200 && $stdout == *'bytes left out'* ]]
	[[ $stderr == *'koda-sandbox: 99000 bytes of output were left out'* ]]
}

@test "no mode lets a command run unasked" {
	for trust in plan safe; do
		inside --no-sandbox --trust "$trust" -c 'touch ran'
		refuses approval
		[[ ! -e ran ]]
		inside --no-sandbox --trust "$trust" --yes -c 'touch ran'
		[[ $status -eq 0 && -e ran ]] || { show_result; false; }
		rm ran
	done
	# A no is a no.
	python3 - "$KODA_BIN" <<-'PY'
		import os, pty, sys
		pid, tty = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], [sys.argv[1], "run", "--no-tty", "--no-sandbox", "--trust", "plan", "-c", "touch ran"])
		said = b""
		while b"[y/N]" not in said:
		    said += os.read(tty, 4096)
		assert b"WITHOUT a sandbox" in said, said
		os.write(tty, b"n\n")
		assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 125
	PY
	[[ ! -e ran ]]
}

@test "the limits that need no sandbox hold" {
	bare -c 'ulimit -c; ulimit -n; ulimit -H -n; ulimit -f'
	[[ $stdout == $'0\n16384\n16384\n'$((64 * 1024 * 1024)) || $stdout == $'0\n16384\n16384\n'$((128 * 1024 * 1024)) ]] ||
		{ show_result; false; }
	inside --no-sandbox --trust plan --yes -- bash -c 'ulimit -n; ulimit -f'
	[[ $stdout == $'4096\n'$((8 * 1024 * 1024)) ]] || { show_result; false; }
	# Each reached from inside.
	bare --memory 64M -- python3 -c 'b = bytearray(200 << 20)'
	[[ $status -ne 0 && $stderr == *MemoryError* ]] || { show_result; false; }
	bare -- python3 -c 'b = bytearray(200 << 20)'
	ends 0
	bare -- python3 -c '
import resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
fds = []
try:
    while len(fds) < 20000:
        fds.append(open("/dev/null"))
except OSError as error:
    print(error.errno)'
	[[ $stdout == 24 ]] || { show_result; false; }
	printf '{"fs": {"allow_write": ["%s"]}, "limits": {"cpu_time_secs": 1}, "trust": "auto"}' "$project" \
		>"$BATS_TEST_TMPDIR/policy"
	inside --no-sandbox --trust safe --yes --narrow-fd 4 -c 'while :; do :; done' 4<"$BATS_TEST_TMPDIR/policy"
	[[ $status -eq $((128 + 24)) ]] || { show_result; false; }
}

# The kernel does not count root's processes.
# bats test_tags=needs:user
@test "the limit of processes, on top of what the user runs already" {
	bare --max-procs 20 -- python3 -c '
import os, time
made = 0
try:
    while made < 200:
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
        made += 1
except OSError as error:
    print(error.errno, made < 40)'
	[[ $stdout == '11 True' ]] || { show_result; false; }
}

@test "the temporary directory is the host's" {
	export TMPDIR=$BATS_TEST_TMPDIR
	bare -c 'echo "$TMPDIR"; mktemp'
	[[ $stdout == "$TMPDIR"$'\n'"$TMPDIR"/* ]] || { show_result; false; }
	unset TMPDIR
	bare -c 'echo "${TMPDIR-none}"'
	[[ $stdout == none ]]
}

@test "events say that there is none" {
	bare --events "$BATS_TEST_TMPDIR/events" -c 'exit 3'
	ends 3
	python3 - "$BATS_TEST_TMPDIR/events" <<'PY'
import json, sys
start, end = map(json.loads, open(sys.argv[1], encoding="utf-8"))
assert start["backend"] == "none" and start["trust"] == "safe", start
import os
held = {name: grip for name, grip in start["clauses"].items() if grip != "refused"}
limit = "emulated" if os.geteuid() == 0 else "enforced"
want = {"wall_time": "emulated", "output": "enforced", "memory": "emulated"}
want |= dict.fromkeys(["open_files", "file_size", "cpu_time", "core_dumps"], limit)
want |= {} if os.geteuid() == 0 else {"process_count": "emulated"}
assert held == want, held
assert end["code"] == 3 and end["reason"] == "exited", end
PY
}

@test "what the machine denies is not blamed on a sandbox" {
	bare -c 'echo "touch: cannot touch '"'/etc/x'"': Permission denied" >&2; exit 1'
	[[ $status -eq 1 && $stderr == *denied && $stderr != *sandbox_violations* ]]
	inside --trust safe --yes -c 'echo "touch: cannot touch '"'/etc/x'"': Permission denied" >&2; exit 1'
	[[ $status -eq 1 && $stderr == *sandbox_violations* ]]
}

@test "wrong requests" {
	inside --no-sandbox true
	refuses '--trust safe or --trust plan'
	inside --trust safe --no-sandbox --backend native true
	refuses 'exclude each other'
	inside --backend native --backend native true
	refuses '--backend: can be given only once'
	inside --trust safe --no-sandbox --tty true
	refuses 'exclude each other'
	koda shell --trust safe --no-sandbox
	refuses 'the shell you are in'
	inside --accept network true
	refuses '--accept needs --trust safe or --trust plan'
	inside --trust safe --accept nonsense true
	refuses "--accept: 'nonsense' is not a clause"
}

@test "accepting what is there changes nothing" {
	inside --trust safe --yes --accept network --accept network --accept memory -c 'echo $KODA_SANDBOX'
	silent 0
	[[ $stdout == 1 ]]
}
