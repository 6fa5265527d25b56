#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:none
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # box is the helper's; shells inside expand
# T-99: processes of ours outlive the runner. Where PID 1 waits for none of them, they pile up.
#
# KODA_TEST_RUNS says how many runs there are at least; 1000 take about as many hundredths of a second.

setup() {
	load helper
	new_project
	runs=${KODA_TEST_RUNS:-120}
	journal=$HOME/.local/state/koda/placeholders
	mkdir -p "$HOME/.cache" .git/info
	echo 'ref: refs/heads/main' >.git/HEAD
	export KODA_BIN
}

teardown() {
	: >"$BATS_TEST_TMPDIR/enough"
	end_background
}

# under_pid1 RUNS PARALLEL PROGRAM ARG...: as KODA_PID1 has it. Tests that call it are tagged needs:pid1.
under_pid1() {
	status=0
	"$KODA_PID1" "$@" >"$BATS_TEST_TMPDIR/said" 2>&1 </dev/null || status=$?
	tail -n 30 "$BATS_TEST_TMPDIR/said"
	[[ $status -ne 77 ]] || lacking 'a pid namespace of its own'
	return "$status"
}

# Nothing is left in the project, and nothing to be removed from it.
all_removed() {
	no_litter $'./.git\n./.git/HEAD\n./.git/info\n./file'
	[[ ! $(ls -A "$journal" 2>/dev/null) ]]
}

# bats test_tags=needs:pid1
@test "twin: what outlives its runner is seen, as a zombie too" {
	if under_pid1 4 2 sh -c 'sleep 0.1 & exit 0'; then
		return 1
	fi
	grep -q 'outlived its runner' "$BATS_TEST_TMPDIR/said"
	under_pid1 4 2 sh -c 'sleep 0.1 & wait'
}

# bats test_tags=needs:pid1
@test "runs of one project beside each other leave no process behind" {
	under_pid1 "$runs" 8 "$KODA_BIN" run -- true
	all_removed
}

# bats test_tags=needs:pid1
@test "runs of every kind leave no process behind" {
	cat >"$BATS_TEST_TMPDIR/kinds" <<-'EOF'
		exec </dev/null >/dev/null 2>&1
		case $(($1 % 12)) in
		0) exec "$KODA_BIN" run --tty -- sh -c 'tty; (setsid sleep 100 &)' ;;
		1) exec "$KODA_BIN" run -- python3 -c '
		import socket
		s = socket.create_connection(("127.0.0.1", 3128))
		s.sendall(b"GET http://host.invalid/ HTTP/1.0\r\n\r\n")
		s.recv(100)' ;;
		2) exec "$KODA_BIN" run --wall-time 1 -- sh -c 'trap "" TERM; sleep 100 & sleep 100' ;;
		3) exec "$KODA_BIN" run -- sh -c '(setsid sleep 100 &); (sleep 100 &)
			sh -c "trap \"\" TERM HUP; sleep 100; sleep 100" & true' ;;
		4) ulimit -n 24; exec "$KODA_BIN" run -- true ;;
		5) exec "$KODA_BIN" run --deny-write "$PWD/denied$1" -- true ;;
		6) exec "$KODA_BIN" run -- /does/not/exist ;;
		7) exec "$KODA_BIN" run --cwd /does/not/exist -- true ;;
		8) exec "$KODA_PROGRAM" run --no-sandbox --trust safe --yes -- sh -c '(setsid sleep 100 &); sleep 100 & true' ;;
		9) exec "$KODA_BIN" run -- sh -c 'echo x >"$HOME/.cache/x"; sleep 0.4' ;;
		10) exec "$KODA_BIN" run -- sh -c 'kill -KILL $$' ;;
		11) exec "$KODA_BIN" run -- python3 -c '
		import os, tempfile
		top = tempfile.mkdtemp()
		open(top + "/file", "w").close()
		for i in range(20000):
		    os.link(top + "/file", top + f"/{i}")' ;;
		esac
	EOF
	KODA_PID1_STATUS=any under_pid1 96 8 sh "$BATS_TEST_TMPDIR/kinds"
	all_removed
}

# strike PROCESS SIGNAL: to be started by KODA_PID1; a run, and a signal to it at some moment.
strike='
import os, random, subprocess, sys, time
who, number, run = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(n) for n in f.read().split()]
    except OSError:
        return []
struck = os.environ.get("KODA_STRUCK", "run -- sleep 1").split()
runner = subprocess.Popen([os.environ["KODA_BIN"]] + struck, stdin=subprocess.DEVNULL,
    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
time.sleep(random.Random(run).random() * 0.04)
found = [runner.pid]
for _ in range(("runner", "guardian", "init").index(who)):
    found = [below for above in found for below in children(above)][:1]
for pid in found:
    try:
        os.kill(pid, number)
    except OSError:
        pass
runner.wait()'

# bats test_tags=needs:pid1
@test "nor do runs that a signal ends, whenever it comes" {
	for number in 2 15; do
		under_pid1 24 8 python3 -c "$strike" runner "$number"
	done
	KODA_STRUCK=doctor under_pid1 12 4 python3 -c "$strike" runner 15
	all_removed
}

# bats test_tags=needs:pid1
@test "nor do runs whose guardian or init is killed" {
	for process in guardian init; do
		under_pid1 24 8 python3 -c "$strike" "$process" 9
	done
	# What a killed guardian has left goes with the next run.
	run_box true
	all_removed
}

# bats test_tags=needs:pid1
@test "of a runner that is killed only the guardian is left, and it tidies up" {
	under_pid1 24 8 python3 -c "$strike" runner 9 || true
	[[ $(grep -c 'outlived its runner' "$BATS_TEST_TMPDIR/said") -le 24 ]]
	[[ $(tail -n 1 "$BATS_TEST_TMPDIR/said") =~ ^24\ runs,\ 0.*,\ ([0-9]+)\ processes\ left$ && ${BASH_REMATCH[1]} -le 24 ]]
}

# bats test_tags=needs:pid1
@test "a signal ends a runner that waits for a reader, and its proxy" {
	cat >"$BATS_TEST_TMPDIR/stuck" <<-'EOF'
		import os, signal, subprocess, sys, time
		out = os.pipe()
		runner = subprocess.Popen([os.environ["KODA_BIN"], "run", "--", "python3", "-c",
		    "import socket, sys; s = socket.create_connection(('127.0.0.1', 3128)); "
		    "sys.stdout.write('x' * 150000)"], stdin=subprocess.DEVNULL, stdout=out[1], stderr=out[1])
		def children():
		    with open(f"/proc/{runner.pid}/task/{runner.pid}/children") as f:
		        return f.read().split()
		# The guardian has ended, the proxy has not.
		end = time.monotonic() + 30
		while len(children()) != 2 and time.monotonic() < end:
		    time.sleep(0.01)
		while len(children()) != 1 and time.monotonic() < end:
		    time.sleep(0.01)
		time.sleep(0.05)
		runner.send_signal(signal.SIGTERM)
		try:
		    sys.exit(runner.wait(30) != -signal.SIGTERM)
		finally:
		    runner.kill()
	EOF
	under_pid1 4 2 python3 "$BATS_TEST_TMPDIR/stuck"
}

# bats test_tags=needs:pid1
@test "children that the runner had before are not waited for, and those it adopts are" {
	sh -c 'sleep 300 3>&- & echo $! >"$1"; shift; exec "$@"' sh "$BATS_TEST_TMPDIR/pid" \
		"$KODA_BIN" run "${box[@]}" -- true
	kill "$(<"$BATS_TEST_TMPDIR/pid")" # fails if the runner has waited for it
	# Twin: what a killed guardian leaves is. The other child ends before the runner that has it.
	cat >"$BATS_TEST_TMPDIR/beside" <<-'EOF'
		#!/bin/sh
		sleep 0.05 &
		exec "$KODA_PLAIN_BIN" "$@"
	EOF
	chmod +x "$BATS_TEST_TMPDIR/beside"
	export KODA_PLAIN_BIN=$KODA_BIN
	KODA_BIN=$BATS_TEST_TMPDIR/beside under_pid1 8 4 python3 -c '
import os, signal, subprocess, time
runner = subprocess.Popen([os.environ["KODA_BIN"], "run", "--", "sh", "-c", "echo; sleep 300"], stdin=subprocess.DEVNULL,
    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
runner.stdout.readline() # the command runs
with open(f"/proc/{runner.pid}/task/{runner.pid}/children") as f:
    before, guardian = (int(n) for n in f.read().split()[:2])
for _ in range(3000):
    with open(f"/proc/{before}/stat") as f:
        if f.read().split()[2] == "Z":
            break
    time.sleep(0.01)
os.kill(guardian, signal.SIGKILL)
runner.wait()'
}

# bats test_tags=backend:view,clause:missing_names
@test "the last run removes what only one that ended before had reserved" {
	local first last
	box=(--deny-write "$project/denied")
	run_box sh -c ': >began; until [ -e enough ]; do sleep 0.02; done' 3>&- &
	first=$!
	background+=("$first")
	wait_for began
	box=()
	run_box sh -c ': >joined; until [ -e over ]; do sleep 0.02; done' 3>&- &
	last=$!
	background+=("$last")
	wait_for joined
	: >enough
	wait "$first"
	# Twin: as long as a run goes on, they stay.
	[[ -e denied && -e .vscode && $(ls -A "$journal") ]]
	: >over
	wait "$last"
	rm -f began joined enough over
	all_removed
}

# bats test_tags=backend:view,clause:missing_names
@test "a name that only one run had reserved goes, although that run is killed whole" {
	local runner guardian
	box=(--deny-write "$project/denied")
	# The first such run makes the journal's directory when it ends.
	run_box true
	"$KODA_BIN" run --wall-time 60 "${box[@]}" -- sh -c ': >began; sleep 60' 3>&- &
	runner=$!
	background+=("$runner")
	wait_for began
	read -r guardian _ <"/proc/$runner/task/$runner/children" || true
	kill -STOP "$runner"
	kill -KILL "$guardian" "$runner"
	wait "$runner" || true
	[[ -e denied ]]
	box=()
	rm -f began
	run_box true
	all_removed
}

# bats test_tags=backend:view,clause:missing_names,needs:pid1
@test "where there is no journal, a run that ends leaves no process and waits for no other" {
	local first
	rm -rf "$HOME/.local"
	echo 'no directory' >"$HOME/.local"
	cat >"$BATS_TEST_TMPDIR/two" <<-'EOF'
		"$KODA_BIN" run -- sh -c ': >began; until [ -e enough ]; do sleep 0.02; done' &
		until [ -e began ]; do sleep 0.02; done
		"$KODA_BIN" run -- true
		: >enough
		wait
	EOF
	under_pid1 1 1 sh "$BATS_TEST_TMPDIR/two"
	rm -f began enough
	all_removed
}

# A process outside that traces one inside: the kernel cannot take that apart, nor its namespace, until
# the tracer is gone. how: exited: it is a zombie. exiting: it has not begun to exit.
trace='
import ctypes, os, sys, time
pid, how, up, enough = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
SEIZE, TRACE_EXIT = 0x4206, 0x40
result = libc.ptrace(SEIZE, pid, 0, TRACE_EXIT if how == "exiting" else 0)
with open(up + ".new", "w") as f:
    f.write(str(result))
os.rename(up + ".new", up)
end = time.monotonic() + 100
while not os.path.exists(enough) and time.monotonic() < end:
    time.sleep(0.02)'

# ended_slowly HOW: a run of which the kernel has something to take apart that it cannot.
ended_slowly() {
	local traced mark=$((RANDOM % 10000 + 20000)).$((RANDOM % 1000))$$ up=$BATS_TEST_TMPDIR/up
	rm -f "$up" "$BATS_TEST_TMPDIR/enough" began
	run_box sh -c 'sleep "$1" & : >began; until [ -e over ]; do sleep 0.02; done' sh "$mark" 3>&- &
	runner=$!
	background+=("$runner")
	wait_for began
	eventually pgrep -f "^sleep $mark" >"$BATS_TEST_TMPDIR/traced"
	traced=$(<"$BATS_TEST_TMPDIR/traced")
	python3 -c "$trace" "$traced" "$1" "$up" "$BATS_TEST_TMPDIR/enough" 3>&- &
	background+=($!)
	wait_for "$up"
	[[ $(<"$up") == 0 ]] || lacking 'tracing a process of a sandbox'
	: >over
	wait "$runner"
	rm -f began over
}

# bats test_tags=backend:view,clause:missing_names
@test "a namespace that the kernel cannot take apart yet keeps neither the runner nor a placeholder" {
	ended_slowly exited
	all_removed
}

# bats test_tags=backend:view,clause:missing_names
@test "as long as something inside may still make a call, its placeholders stay, and then go" {
	ended_slowly exiting
	[[ -e .vscode && -e .git/commondir ]]
	# Nor does another run take them away.
	run_box true
	[[ -e .vscode && -e .git/commondir ]]
	: >"$BATS_TEST_TMPDIR/enough"
	wait "${background[-1]}"
	no_longer_there() {
		run_box true
		[[ ! -e .vscode ]]
	}
	eventually no_longer_there
	all_removed
}
