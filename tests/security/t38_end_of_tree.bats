#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:none
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # box is the helper's; shells inside expand
# T-38: without a namespace that ends with the command, something of it goes on.

bats_require_minimum_version 1.5.0

setup() {
	load helper
	load landlock
	new_project
	use_landlock
	mark=$((RANDOM % 10000 + 20000)).$((RANDOM % 1000))$$
}

teardown() {
	local i
	end_background
	# What a twin has left behind, one sleep after the other.
	for ((i = 0; i < 20; i++)); do
		sleepers | xargs -r kill -KILL 2>/dev/null || true
		sleep 0.05
		[[ $(sleepers) ]] || break
	done
}

# Everything that sleeps for our own number of seconds, as this machine numbers it.
sleepers() {
	local file words
	for file in /proc/[0-9]*/cmdline; do
		mapfile -d '' -t words 2>/dev/null <"$file" || continue
		[[ ${words[0]-} == sleep && ${words[1]-} == "$mark" ]] && echo "${file//[^0-9]/}"
	done
	return 0
}

# sleeping COUNT: at least so many.
sleeping() {
	[[ $(sleepers | wc -l) -ge $1 ]]
}

no_sleepers() {
	[[ ! $(sleepers) ]]
}

all_gone() {
	eventually no_sleepers && return
	echo "still there: $(sleepers)"
	return 1
}

# Every way to be left behind: by a double fork, in a session of one's own, deaf, as nobody's child.
leave='
(sleep $1 &)
(setsid sh -c "trap \"\" HUP INT TERM; sleep $1; sleep $1" >/dev/null 2>&1 &)
nohup sleep $1 >/dev/null 2>&1 &
python3 -c "
import ctypes, os, signal, sys, time
for s in set(range(1, 65)) - {signal.SIGCHLD}:
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        if os.fork() == 0:
            os.execvp(\"sleep\", [\"sleep\", sys.argv[1]])
        os.execvp(\"sleep\", [\"sleep\", sys.argv[1]])
    os._exit(0)
os.wait()" "$1"
'

@test "whoever is left behind ends with the command" {
	run run_box sh -c "$leave"'sleep 0.3; echo over' sh "$mark"
	[[ $status -eq 0 && $output == over ]]
	[[ ! $(sleepers) ]]
}

@test "twin: without a sandbox they go on" {
	sh -c "$leave" sh "$mark" 3>&-
	eventually sleeping 4
	mapfile -t background < <(sleepers)
}

@test "the wall time ends them too" {
	run "$KODA_BIN" run "${landlock[@]}" --wall-time 1 -- sh -c "$leave"'sleep $1' sh "$mark"
	[[ $status -eq 124 ]]
	[[ ! $(sleepers) ]]
}

# started: a command that leaves processes and files behind and goes on; sets runner, guardian, init.
started() {
	"$KODA_BIN" run "${landlock[@]}" --wall-time 120 -- sh -c "$leave"'
		mkdir -p "$TMPDIR/a/b"; echo x >"$TMPDIR/a/b/file"
		sleep 0.3; echo "$TMPDIR" >new; mv new up; sleep $1' sh "$mark" >/dev/null 2>&1 3>&- &
	runner=$!
	background+=("$runner")
	wait_for up
	# The file does not end its line.
	read -r guardian _ <"/proc/$runner/task/$runner/children" || true
	read -r init _ <"/proc/$guardian/task/$guardian/children" || true
	eventually sleeping 4
	[[ -e $(<up)/a/b/file ]]
}

# gone_with PROCESS: that one is killed, and nothing is left.
gone_with() {
	started
	kill -KILL "${!1}"
	all_gone
	eventually test ! -e "$(<up)"
}

@test "when the runner is killed, everything ends" {
	gone_with runner
}

@test "when the runner is killed, everything ends, although a fork of it has its descriptors" {
	local backend backends=(native landlock)
	if command -v bwrap; then
		backends+=(bwrap)
	fi
	for backend in "${backends[@]}"; do
		rm -f up
		# Into a file: the fork also has a pipe that run would read to its end.
		status=0
		KODA_HAND_HEIR=up "$KODA_PASS_FDS" "$backend" "$project" -- \
			sh -c 'touch up; sleep "$1"' sh "$mark" >heir 3>&- || status=$?
		[[ $status -eq 137 ]]
		background+=("$(<heir)")
		all_gone
		kill -0 "$(<heir)" # it is still there
	done
}

@test "when the guardian is killed, everything ends" {
	gone_with guardian
}

@test "when init is killed, everything ends" {
	gone_with init
}

# filled: a command with a large temporary directory, that ends when there is a file go; sets runner,
# guardian, dir. Names of one file are quickly made, also where files are not.
filled() {
	local i
	rm -f up go
	"$KODA_BIN" run "${landlock[@]}" --wall-time 120 -- python3 -c '
import os, time
top = os.environ["TMPDIR"]
for i in range(200):
    os.mkdir(f"{top}/{i}")
    open(f"{top}/{i}/file", "w").close()
    for j in range(300):
        os.link(f"{top}/{i}/file", f"{top}/{i}/{j}")
with open("new", "w") as f:
    f.write(top)
os.rename("new", "up")
while not os.path.exists("go"):
    time.sleep(0.01)' >/dev/null 2>&1 3>&- &
	runner=$!
	background+=("$runner")
	for ((i = 0; i < 3000; i++)); do
		[[ -e up ]] && break
		sleep 0.02
	done
	dir=$(<up)
	read -r guardian _ <"/proc/$runner/task/$runner/children" || true
	[[ $guardian && $(find "$dir" -mindepth 1 -maxdepth 1 | wc -l) -eq 200 ]]
}

# swept: what is left of the directory goes with later runs, once it is old.
swept() {
	local i
	for ((i = 0; i < 60; i++)); do
		[[ -e $dir ]] || return 0
		touch -c -d '1 hour ago' -- "$dir"
		run_box sleep 1
	done
	return 1
}

@test "T-22: the temporary directory goes with the run, or what is left of it with the next ones" {
	local guardian runner dir
	filled
	: >go
	wait "$runner"
	[[ ! -e /proc/$guardian ]]
	swept
}

@test "T-22: the temporary directory goes, even if the guardian does before it is empty" {
	local i guardian runner dir
	filled
	: >go
	# It has begun; some of it is left.
	for ((i = 0; i < 3000; i++)); do
		[[ $(find "$dir" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l) -lt 200 ]] && break
		sleep 0.01
	done
	kill -KILL "$guardian" 2>/dev/null || true
	wait "$runner" || true
	swept
}

# A connection to a socket whose queue is full, while others see to it that it waits.
hold='
import fcntl, os, socket, subprocess, sys
path = os.environ["TMPDIR"] + "/full"
server = socket.socket(socket.AF_UNIX)
server.bind(path)
server.listen(0)
kept = []
for _ in range(10):
    kept.append(socket.socket(socket.AF_UNIX))
    kept[-1].setblocking(False)
    if kept[-1].connect_ex(path) != 0:
        break
kept.append(subprocess.Popen(["sleep", sys.argv[1]]))
s = socket.socket(socket.AF_UNIX)
own = os.getpid()
for _ in range(2):
    if os.fork() == 0:
        while os.getppid() == own:
            fcntl.fcntl(s, fcntl.F_SETFL, 0)
        os._exit(0)
open("up", "w").close()
while True:
    try:
        s.connect(path)
    except BlockingIOError:
        pass
'

@test "a connection that waits does not keep init from ending everything" {
	"$KODA_BIN" run "${landlock[@]}" --wall-time 120 -- python3 -c "$hold" "$mark" \
		>"$BATS_TEST_TMPDIR/hold" 2>&1 3>&- &
	runner=$!
	background+=("$runner")
	wait_for up
	read -r guardian _ <"/proc/$runner/task/$runner/children" || true
	read -r init _ <"/proc/$guardian/task/$guardian/children" || true
	background+=("$init")
	sleep 1
	[[ $(sleepers) ]] || { cat "$BATS_TEST_TMPDIR/hold"; false; }
	kill -KILL "$guardian"
	all_gone
	# The twin: without init in between it waits for ever.
	rm up
	TMPDIR=$BATS_TEST_TMPDIR timeout -s KILL 60 python3 -c "$hold" "$mark" 3>&- &
	background+=("$!")
	wait_for up
	read -r init _ <"/proc/${background[-1]}/task/${background[-1]}/children" || true
	background+=("$init")
	mapfile -t -O "${#background[@]}" background < <(sleepers)
	eventually grep -q '^State:.S' "/proc/$init/status"
}

@test "a command that forks as fast as it can ends" {
	# What the kernel refuses goes on until the wall time; what it lets root do is ended by init.
	run "$KODA_BIN" run "${landlock[@]}" --wall-time 3 --max-procs 300 -- \
		python3 -c '
import os, signal
# Ten times what is allowed, and no more: the machine has others to serve.
left, give = os.pipe()
os.write(give, bytes(3000))
os.set_blocking(left, False)
def bomb():
    while True:
        try:
            os.read(left, 1)
        except BlockingIOError:
            signal.pause()
        try:
            if os.fork() == 0:
                os.setsid()
        except OSError:
            pass
bomb()' "$mark"
	echo "$status $output"
	[[ $status -ne 0 && $output == *'everything was ended'* ]]
	run grep -als -- "$mark" /proc/[0-9]*/cmdline
	for file in "${lines[@]}"; do
		if tr '\0' ' ' 2>/dev/null <"$file" | grep '^python3 -c'; then
			return 1
		fi
	done 2>/dev/null
}

@test "limits are those of the tree, not of the host" {
	# Many processes of the same user outside do not count.
	local i
	for ((i = 0; i < 30; i++)); do
		sleep "$mark" 3>&- &
		background+=($!)
	done
	eventually sleeping 30
	run "$KODA_BIN" run "${landlock[@]}" --max-procs 10 -- sh -c 'sleep 0.3; echo fine'
	[[ $status -eq 0 && $output == fine ]]
	[[ $(sleepers | wc -l) -eq 30 ]]
	run "$KODA_BIN" run "${landlock[@]}" --max-procs 10 -- sh -c '
		for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 20 & done; wait; echo no'
	echo "$output"
	[[ $status -ne 0 && ( $output == *'process limit'* || $output == *ork* ) && $output != *no ]]
	# Nor are they ended with it.
	[[ $(sleepers | wc -l) -eq 30 ]]
}

@test "memory is that of the tree" {
	run "$KODA_BIN" run "${landlock[@]}" --memory 200M --wall-time 30 -- sh -c '
		for i in 1 2 3 4; do
			python3 -c "
import time
x = bytearray(100 << 20)
for i in range(0, len(x), 4096): x[i] = 1
time.sleep(20)" &
		done; wait'
	echo "$status $output"
	[[ $status -ne 0 && $output == *'memory limit'* ]]
}

# Where /proc hides processes, one that has closed itself to others shows neither memory nor children.
# bats test_tags=needs:root
@test "who cannot be counted does not go on" {
	cat >"$HOME/hiding" <<-'EOF'
		import ctypes, os, sys, time
		if sys.argv[1] == "hidden":
		    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
		    os.fork()
		# Who is to be ended stays until the slowest machine has looked.
		time.sleep(20 if sys.argv[1] == "hidden" else 1.5)
		open("survived", "w").close()
	EOF
	chmod 755 "$HOME/hiding"
	mkdir free
	chown -R 65534:65534 "$HOME" && chmod 711 "$BATS_RUN_TMPDIR" "${BATS_TEST_TMPDIR%/*}" "$BATS_TEST_TMPDIR"
	for how in hidden seen; do
		run opened unshare --mount --pid --fork sh -c '
			mount -t proc -o hidepid=2 proc /proc && cd free &&
			exec setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"' sh \
			"$KODA_BIN" run "${landlock[@]}" --wall-time 60 -- python3 "$HOME/hiding" "$how"
		echo "$how: $status $output"
		if [[ $how == hidden ]]; then
			[[ $status -ne 0 && $output == *'hides from being counted, and all were ended'* && ! -e free/survived ]]
		else
			[[ $status -eq 0 && -e free/survived ]]
		fi
	done
}

@test "the command cannot end, stop or trace those who watch it" {
	run run_box python3 -c '
import os, signal
tried = 0
pid = os.getpid()
# Init is the parent, the guardian its parent; numbers near by are whatever they are.
for victim in {os.getppid(), os.getppid() - 1, 1} - {pid, 0}:
    for s in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
        try:
            os.kill(victim, s)
            print("signalled", victim)
        except (PermissionError, ProcessLookupError):
            tried += 1
try:
    os.kill(-1, signal.SIGKILL)
except OSError:
    pass
print("still here")'
	[[ $output == 'still here' ]]
}
