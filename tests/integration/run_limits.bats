#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # status, stdout, stderr and project come from helper.bash
# shellcheck disable=SC2016 # the shell inside expands what is quoted here
# shellcheck disable=SC2030,SC2031 # a test is a function, and bats runs it in a shell of its own
# The limits of the trust table, of a policy and of the options, each reached from inside.

bats_require_minimum_version 1.5.0

setup() {
	load helper
	load run_helper
	new_project
	runner=
}

teardown() {
	end_runner
}

# limits JSON ARG...: koda-sandbox run ARG... with a policy that has these limits.
limits() {
	printf '{"fs": {"allow_write": ["%s"]}, "limits": %s}' "$project" "$1" \
		>"$BATS_TEST_TMPDIR/policy"
	shift
	inside --policy-fd 4 "$@" 4<"$BATS_TEST_TMPDIR/policy"
}

# limit_is LETTER VALUE ARG...: what ulimit says inside, soft and hard.
limit_is() {
	local letter=$1 value=$2
	shift 2
	inside "$@" -- bash -c "ulimit -S $letter; ulimit -H $letter"
	silent 0
	[[ $stdout == "$value"$'\n'"$value" ]] || {
		show_result
		echo "expected $value"
		return 1
	}
}

@test "the limits of the trust table" {
	limit_is -c 0
	limit_is -u 2048
	limit_is -n 16384
	limit_is -f $((64 * 1024 * 1024))
	limit_is -c 0 --trust plan
	limit_is -u 512 --trust plan
	limit_is -n 4096 --trust plan
	limit_is -f $((8 * 1024 * 1024)) --trust plan
}

@test "options only lower limits" {
	limit_is -u 100 --max-procs 100
	limit_is -u 2048 --max-procs 1000000
	limit_is -u 512 --trust plan --max-procs 600
	limit_is -m $((256 * 1024)) --memory 256M
	inside bash -c 'ulimit -H -m'
	silent 0
	[[ $stdout =~ ^[0-9]+$ ]]
	limit_is -m "$stdout" --memory 1000000G
}

# within LETTER VALUE ARG...: inside, for a caller who has no more of it.
within() {
	local letter=$1 value=$2
	shift 2
	(ulimit "$letter" "$value" && "$KODA_BIN" run "$@" -c "ulimit $letter") </dev/null
}

@test "who is limited further already stays so, and can run" {
	[[ $(within -n 1024) == 1024 ]]
	[[ $(within -f 100000) == $((2 * 100000)) || $(within -f 100000) == 100000 ]]
	# A sanitized program needs more than that for itself.
	grep -aq __asan_init "$KODA_BIN" || [[ $(within -d 4000000) == 4000000 ]]
	[[ $(within -n 1024 --backend bwrap) == 1024 ]]
}

@test "no limit can be raised again" {
	for letter in -c -u -n -f -m -d; do
		inside --memory 256M -- bash -c "ulimit -H $letter unlimited"
		[[ $status -eq 1 && $stderr == *ulimit* ]]
	done
}

# bomb DEPTH: shell text that starts about 2^DEPTH processes and holds on to them until "go".
bomb() {
	# Words of its own, so that a shell that cannot fork still ends.
	echo 'f() { if [ "$1" -gt 0 ]; then f $(($1 - 1)) & f $(($1 - 1)) & fi
		until test -e go; do sleep 0.2; done; wait; }'
	echo "touch ready; f $1 & until test -e go; do sleep 0.2; done; wait"
}

@test "processes: a bomb is bounded, and gone afterwards" {
	local mark=koda-bomb-$$-$RANDOM
	start --max-procs 40 -c ": $mark; $(bomb 6)"
	appears ready
	if ((EUID == 0)); then
		# The kernel does not count root's processes; init does, and ends all of them.
		family "$runner" >"$BATS_TEST_TMPDIR/family"
		finish
		((status == 137))
	else
		# It grows until it is refused more.
		eventually grep -q fork "$BATS_TEST_TMPDIR/err"
		family "$runner" >"$BATS_TEST_TMPDIR/family"
		touch go
		finish
		# Runner, guardian and init are not the command's.
		count=$(wc -l <"$BATS_TEST_TMPDIR/family")
		echo "$count processes"
		[[ $count -ge 10 && $count -le 43 ]]
	fi
	all_gone "$BATS_TEST_TMPDIR/family"
	run ! pgrep -f "$mark"
}

@test "processes: forking fails with a message, not with a hang" {
	local text='i=0; while [ $i -lt 60 ]; do sleep 20 & i=$((i + 1)); done; sleep 1; echo all'
	# Who is to be ended stays until the slowest machine has looked.
	inside --max-procs 20 -c "${text/sleep 1;/sleep 15;}"
	if ((EUID == 0)); then
		[[ $status -eq 137 && -z $stdout ]]
	else
		[[ $status -ne 0 && $status -ne 124 && -z $stdout && $stderr == *fork* ]]
	fi
	# The same work with room for it.
	inside --max-procs 200 -c "$text"
	silent 0
	[[ $stdout == all ]]
}

@test "processes: who is ended for it is told" {
	local events=$BATS_TEST_TMPDIR/events
	inside --max-procs 20 --events "$events" \
		-c 'i=0; while [ $i -lt 60 ]; do sleep 20 & i=$((i + 1)); done; wait'
	if ((EUID == 0)); then
		says 137 "process limit"
		grep -q '"type":"limit".*"which":"processes","value":20' "$events"
	fi
	inside --max-procs 40 --events "$events" \
		-c 'i=0; while [ $i -lt 30 ]; do sleep 0.2 & i=$((i + 1)); done; wait'
	silent 0
}

@test "processes: one run does not use up another's" {
	start --max-procs 20 -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 600 & done; touch ready; wait'
	appears ready
	inside --max-procs 20 -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 0.1 & done; wait; echo fine'
	silent 0
	[[ $stdout == fine ]]
	kill -TERM "$runner"
	finish
}

@test "open files" {
	limits '{"max_open_fds": 64}' -- bash -c 'ulimit -n
		for ((fd = 10; fd < 100; fd++)); do eval "exec $fd</dev/null" 2>/dev/null || break; done
		echo $fd; ulimit -n 65 2>/dev/null || echo held'
	silent 0
	[[ $stdout == $'64\n64\nheld' ]]
	limits '{"max_open_fds": 200}' -- bash -c 'for ((fd = 10; fd < 100; fd++)); do
		eval "exec $fd</dev/null" || break; done; echo $fd'
	silent 0
	[[ $stdout == 100 ]]
}

@test "file size" {
	# Sparse: no byte is written.
	inside --trust plan -c 'truncate -s 7G /tmp/file && stat -c %s /tmp/file'
	silent 0
	[[ $stdout == 7516192768 ]]
	inside --trust plan -c 'truncate -s 9G /tmp/file; echo $?; stat -c %s /tmp/file'
	[[ $status -eq 0 && $stdout == *$'\n0' && $stdout != 0* ]]
	inside --trust plan -c 'exec dd if=/dev/zero of=/tmp/file bs=1 count=1 seek=8589934591 status=none'
	silent 0
	inside --trust plan -c 'exec dd if=/dev/zero of=/tmp/file bs=1 count=1 seek=8589934592 \
		conv=notrunc status=none'
	[[ $status -eq $((128 + $(kill -l XFSZ))) ]]
	# A command that does not want the signal gets an error.
	inside --trust plan -c 'trap "" XFSZ; dd if=/dev/zero of=/tmp/file bs=1 count=1 \
		seek=8589934592 conv=notrunc status=none'
	[[ $status -eq 1 && $stderr == *"File too large"* ]]
}

@test "no core is dumped" {
	inside -c 'ulimit -c; kill -SEGV $$'
	silent 139
	[[ $stdout == 0 ]]
	inside -c 'ulimit -c unlimited 2>/dev/null || echo held'
	[[ $stdout == held ]]
	[[ $(ls -A) == src ]]
}

@test "processor time: first a signal that can be handled" {
	limits '{"cpu_time_secs": 1, "wall_time_secs": 120}' -- \
		bash -c 'trap "echo warned; exit 5" XCPU; while :; do :; done'
	silent 5
	[[ $stdout == warned ]]
	limits '{"cpu_time_secs": 1, "wall_time_secs": 120}' -- bash -c 'while :; do :; done'
	says $((128 + $(kill -l XCPU))) 'limit of processor time'
}

@test "processor time: then the end" {
	limits '{"cpu_time_secs": 1, "wall_time_secs": 120}' -- \
		bash -c 'trap "" XCPU; while :; do :; done'
	silent 137
	# Sleeping costs nothing.
	limits '{"cpu_time_secs": 1, "wall_time_secs": 120}' -- sleep 2
	silent 0
}

# The process gets no more, or, with a control group, is ended.
had_too_little() {
	[[ $stderr == *memory* && $status =~ ^(1|137)$ ]]
}

@test "memory of a process" {
	inside --memory 64M -- dd if=/dev/zero of=/dev/null bs=200M count=1 status=none
	had_too_little
	inside --memory 500M -- dd if=/dev/zero of=/dev/null bs=200M count=1 status=none
	silent 0
	limits '{"max_rss_bytes": 67108864}' -- dd if=/dev/zero of=/dev/null bs=200M count=1 status=none
	had_too_little
}

@test "memory that is only reserved is free" {
	local reserve='
import mmap
block = mmap.mmap(-1, 1 << 44, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
block[1 << 43] = 1'
	inside -- python3 -c "$reserve"
	silent 0
}

# hold SECONDS MIB...: shell text that fills so much memory in as many processes, and holds it for so
# long: where it is to be ended, long enough for a machine that has other things to do.
hold() {
	local seconds=$1 mib
	shift
	for mib; do
		echo "{ head -c ${mib}M /dev/zero; sleep $seconds; } | tail -c ${mib}M >/dev/null &"
	done
	echo 'wait; echo all'
}

@test "memory of all processes together" {
	inside --memory 200M -c "$(hold 15 90 90 90)"
	says 137 memory
	[[ -z $stdout ]]
	inside --memory 200M -c "$(hold 1 30 30 30)"
	silent 0
	[[ $stdout == all ]]
	limits '{"max_rss_bytes": 209715200}' -c "$(hold 15 90 90 90)"
	says 137 memory
	# Short commands end before anybody looks, and their own limit holds.
	inside --memory 64M -- true
	silent 0
	# The least that there is.
	inside --memory 1M -- true
	silent 0
}

@test "memory of the runner itself" {
	local peak
	start -c 'touch ready; sleep 600'
	appears ready
	peak=$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$runner/status")
	kill -TERM "$runner"
	finish
	echo "$peak KiB"
	# A sanitized program needs more than that for itself.
	grep -aq __asan_init "$KODA_BIN" || ((peak > 0 && peak < 8192))
}

@test "wall time from a policy" {
	limits '{"wall_time_secs": 1}' sleep 600
	says 124 "wall time"
	limits '{"wall_time_secs": 0}' sleep 600
	says 124 "wall time"
	# A policy's own figure may not be exceeded by more than the mode's ceiling allows.
	limits '{"wall_time_secs": 1}' --wall-time 30 sleep 2
	silent 0
	limits '{"wall_time_secs": 1}' --wall-time 301 true
	refuses --wall-time
}

# T-87
@test "wall time: also if the runner cannot look at it" {
	start --wall-time 10 -c 'while :; do echo >>beat; sleep 0.05; done'
	appears beat
	# The runner itself stays.
	family "$runner" | grep -v "^$runner " >"$BATS_TEST_TMPDIR/family"
	[[ $(wc -l <"$BATS_TEST_TMPDIR/family") -ge 3 ]]
	kill -STOP "$runner"
	: >beat
	eventually test -s beat # the twin: it goes on meanwhile
	all_gone "$BATS_TEST_TMPDIR/family"
	kill -CONT "$runner"
	finish
	says 124 "wall time"
}

@test "wall time: who was ready in time is not told otherwise" {
	local signal
	# The second is handled, and interrupts the wait.
	for signal in STOP TSTP; do
		rm -f ready
		start --wall-time 6 -c 'touch ready; sleep 0.3; exit 5'
		appears ready
		kill "-$signal" "$runner"
		sleep 8
		kill -CONT "$runner"
		finish
		silent 5
	done
}

@test "wall time: a terminal that nobody reads does not prolong it" {
	run -0 python3 -c '
import os, pty, select, subprocess, sys, time
ours, theirs = pty.openpty()
# Lines grow on their way, so at the end there is room for a part of what is written at once.
flood = "yes & while :; do echo >>beat; sleep 0.05; done"
runner = subprocess.Popen([sys.argv[1], "run", "--wall-time", "5", "-c", flood],
                          stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL)
while not os.path.exists("beat"):
    time.sleep(0.05)
command = runner.pid
for _ in range(3): # the guardian, init, the command
    with open(f"/proc/{command}/task/{command}/children") as file:
        command = int(file.read().split()[0])
print("ended" if select.select([os.pidfd_open(command)], [], [], 30)[0] else "goes on")
os.close(theirs)
os.set_blocking(ours, False)
while runner.poll() is None:
    try:
        os.read(ours, 65536)
    except OSError:
        time.sleep(0.01)
print(runner.returncode)' "$KODA_BIN"
	[[ $output == $'ended\n124' ]]
}

# T-95. The messages at the end go there too.
@test "wall time: a standard error that nobody reads does not prolong it" {
	run -0 python3 -c '
import os, subprocess, sys
reader, writer = os.pipe()
runner = subprocess.Popen([sys.argv[1], "run", "--wall-time", "1", "-c", "yes >&2"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=writer)
try:
    print(runner.wait(30))
except subprocess.TimeoutExpired:
    runner.kill()
    print("goes on")' "$KODA_BIN"
	[[ $output == 124 ]]
}

# T-95. Directories that exist, below a protected name: each was opened once for every one below it.
@test "wall time: error messages that name deep paths are not looked into for long" {
	python3 -c '
import os
os.mkdir(".idea")
os.chdir(".idea")
for _ in range(1900):
    os.mkdir("d")
    os.chdir("d")'
	inside --wall-time 2 -- python3 -c '
import os, sys
for _ in range(16):
    sys.stderr.write("mkdir: " + os.getcwd() + "/.idea" + "/d" * 1900 + "/x: File exists\n")
sys.exit(3)'
	[[ $status -eq 3 ]]
	# The first is told of, and the rest is no other.
	[[ $(grep -c '^deny file-write' <<<"$stderr") -eq 1 ]]
	rm -rf .idea
}

@test "limits that can no longer be watched end everything" {
	local init
	# Without a control group, init is who watches.
	unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none /sys/fs/cgroup
		exec "$KODA_BIN" run --memory 256M -c "touch ready; sleep 600"' </dev/null \
		>"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	runner=$!
	appears ready
	init=$(guardian_of "$(guardian_of "$runner")")
	family "$runner" >"$BATS_TEST_TMPDIR/family"
	if [[ $EUID -eq 0 ]]; then
		nsenter --target "$init" --mount mount -t tmpfs -o mode=000 none /proc
	else # only root gets there; without any descriptors init cannot go on either
		prlimit --pid "$init" --nofile=0:0
	fi
	all_gone "$BATS_TEST_TMPDIR/family"
	finish
	says 125 'the launcher died'
}

@test "processes: threads count, however many groups the user has" {
	local become=() threads='
import threading, time
for i in range(60):
    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
time.sleep(30)'
	if [[ $EUID -eq 0 ]]; then # nobody else can have more than there are
		become=(setpriv --groups "$(seq -s , 1000000 1002000)")
	fi
	status=0
	"${become[@]}" "$KODA_BIN" run --max-procs 40 python3 -c "$threads" </dev/null || status=$?
	[[ $status -ne 0 ]]
}
