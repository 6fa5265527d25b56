#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:memory
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # box is the helper's; shells inside expand
# T-31: a command uses up the memory of the machine, in ways that no limit of a process sees.

setup() {
	load helper
	new_project
}

# filler KIND MIB PROCESSES: fills memory, waits until all have, and says so.
filler='
import mmap, os, sys, time
kind, size, count = sys.argv[1], int(sys.argv[2]) << 20, int(sys.argv[3])

def fill():
    if kind == "private":
        block = bytearray(size)
    elif kind == "shared":
        block = mmap.mmap(-1, size)
    else:
        with open(f"{kind}/{os.getpid()}", "wb") as file:
            for _ in range(size >> 20):
                file.write(bytes(1 << 20))
        return None
    for at in range(0, size, 4096):
        block[at] = 1
    return block

kept, children = None, []
if kind == "forked":
    kind = "private"
    kept = fill()
    for _ in range(count):
        children.append(os.fork())
        if children[-1] == 0:
            time.sleep(1.5)
            os._exit(0)
else:
    for _ in range(count):
        children.append(os.fork())
        if children[-1] == 0:
            block = fill()
            time.sleep(1.5)
            os._exit(0)
ends = [os.waitpid(pid, 0)[1] for pid in children]
print("filled" if not any(ends) else "failed")'

# fill KIND MIB PROCESSES: in the sandbox; status and answer are left.
fill() {
	status=0
	answer=$(run_box python3 -c "$filler" "$@" 2>"$BATS_TEST_TMPDIR/err") || status=$?
}

# ended KIND MIB PROCESSES, fits KIND MIB PROCESSES
ended() {
	: >"$BATS_TEST_TMPDIR/events"
	fill "$@"
	[[ $status -eq 137 && -z $answer ]] || explain "not ended: $*"
	grep -q '"type":"limit".*"which":"memory","value":209715200' "$BATS_TEST_TMPDIR/events" ||
		explain "no event: $*"
}

fits() {
	fill "$@"
	[[ $status -eq 0 && $answer == filled ]] || explain "did not fit: $*"
}

@test "several processes together" {
	box=(--memory 200M --events "$BATS_TEST_TMPDIR/events")
	ended private 100 3
	fits private 40 3
	box=(--memory 1G)
	fits private 100 3
}

@test "memory that several share is counted once" {
	box=(--memory 200M --events "$BATS_TEST_TMPDIR/events")
	fits forked 80 5
	ended shared 150 2
	fits shared 100 1
}

@test "files in memory" {
	box=(--memory 200M --events "$BATS_TEST_TMPDIR/events")
	local dir
	for dir in /tmp /dev/shm; do
		ended "$dir" 150 2
		fits "$dir" 60 2
	done
}

@test "a process that closes itself to others" {
	box=(--memory 200M --events "$BATS_TEST_TMPDIR/events")
	filler="import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)$filler"
	ended private 100 3
	fits private 40 3
}

@test "a process whose first thread has ended" {
	box=(--memory 64M)
	run run_box python3 -c '
import ctypes, mmap, os, sys, threading, time
def fill():
    block = mmap.mmap(-1, 300 << 20)
    for at in range(0, len(block), 4096):
        block[at] = 1
    time.sleep(3)
    os.write(1, b"filled\n")
    os._exit(0)
if os.fork():
    os.wait()
else:
    threading.Thread(target=fill).start()
    ctypes.CDLL(None).syscall(60, 0)'
	[[ $status -eq 137 && $output != *filled* ]] || { echo "$status $output"; false; }
}

@test "nothing of it is left" {
	box=(--memory 200M)
	fill private 100 3 "$BATS_TEST_TMPDIR"
	[[ $status -eq 137 ]]
	run pgrep -f "private 100 3 $BATS_TEST_TMPDIR"
	[[ $status -eq 1 ]]
}

@test "twin: outside it fits" {
	[[ $(python3 -c "$filler" private 100 3) == filled ]]
	[[ $(python3 -c "$filler" shared 150 2) == filled ]]
}

@test "init's own limits cannot be changed from inside" {
	run run_box python3 -c '
import os, resource, sys
for pid in (1, os.getpid()):
    for what in (lambda: resource.prlimit(pid, resource.RLIMIT_DATA, (1 << 30, 1 << 30)),
                 lambda: os.sched_setaffinity(pid, {0}),
                 lambda: os.setpriority(os.PRIO_PROCESS, pid, 5)):
        try:
            what()
            print(pid == 1, "done")
        except PermissionError:
            print(pid == 1, "refused")'
	[[ $(grep -c '^True refused' <<<"$output") -eq 3 && $(grep -c '^False done' <<<"$output") -eq 3 ]] ||
		{ echo "$output"; false; }
}
