#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:memory
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # box is the helper's; shells inside expand
# T-31: a command uses up the memory of the machine, in ways that no limit of a process sees.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

# filler KIND MIB PROCESSES SECONDS: fills memory, keeps it for a while, and says so. What is to be
# ended keeps it for so long that the slowest machine has looked.
filler='
import ctypes, mmap, os, sys, time
kind, size, count = sys.argv[1], int(sys.argv[2]) << 20, int(sys.argv[3])
keep = float(sys.argv[4])

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
            time.sleep(keep)
            os._exit(0)
elif kind == "guests":
    # In the memory of this process, as after vfork: all they do is sleep.
    kind = "private"
    kept = fill()
    libc, stacks, vm, sigchld = ctypes.CDLL(None), [], 0x100, 17
    for _ in range(count):
        stacks.append(ctypes.create_string_buffer(65536))
        top = (ctypes.addressof(stacks[-1]) + 65536) & ~15
        children.append(libc.clone(libc.sleep, ctypes.c_void_p(top), vm | sigchld,
                                   ctypes.c_void_p(int(keep + 1))))
else:
    for _ in range(count):
        children.append(os.fork())
        if children[-1] == 0:
            block = fill()
            time.sleep(keep)
            os._exit(0)
ends = [os.waitpid(pid, 0)[1] for pid in children]
print("filled" if not any(ends) else "failed")'

# fill KIND MIB PROCESSES SECONDS: in the sandbox; status and answer are left.
fill() {
	status=0
	answer=$(run_box python3 -c "$filler" "$@" 2>"$BATS_TEST_TMPDIR/err") || status=$?
}

# ended KIND MIB PROCESSES
ended() {
	: >"$BATS_TEST_TMPDIR/events"
	fill "$@" 20
	[[ $status -eq 137 && -z $answer ]] || explain "not ended: $*"
	grep -q '"type":"limit".*"which":"memory","value":209715200' "$BATS_TEST_TMPDIR/events" ||
		explain "no event: $*"
}

# What fits stays for longer than the longest time between two looks. fits KIND MIB PROCESSES begins,
# several at once, and all_fit waits for them.
looked_at=2.5

fits() {
	local to=$BATS_TEST_TMPDIR/fits.${#background[@]}
	run_box python3 -c "$filler" "$@" "$looked_at" >"$to" 2>"$to.err" </dev/null 3>&- &
	background+=("$!")
}

all_fit() {
	local i
	for i in "${!background[@]}"; do
		status=0
		wait "${background[i]}" || status=$?
		answer=$(<"$BATS_TEST_TMPDIR/fits.$i")
		mv "$BATS_TEST_TMPDIR/fits.$i.err" "$BATS_TEST_TMPDIR/err"
		[[ $status -eq 0 && $answer == filled ]] || explain "number $i did not fit" || return
	done
	background=()
}

@test "several processes together" {
	box=(--memory 200M --events "$BATS_TEST_TMPDIR/events")
	ended private 100 3
	fits private 40 3
	box=(--memory 1G)
	fits private 100 3
	all_fit
}

@test "memory that several share is counted once" {
	box=(--memory 200M --events "$BATS_TEST_TMPDIR/events")
	fits forked 80 5
	fits guests 120 3
	fits shared 100 1
	all_fit
	ended shared 150 2
}

@test "files in memory" {
	box=(--memory 200M --events "$BATS_TEST_TMPDIR/events")
	local dir
	for dir in /tmp /dev/shm; do
		ended "$dir" 150 2
	done
	fits /tmp 60 2
	fits /dev/shm 60 2
	all_fit
}

@test "a process that closes itself to others" {
	box=(--memory 200M --events "$BATS_TEST_TMPDIR/events")
	filler="import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)$filler"
	ended private 100 3
	fits private 40 3
	all_fit
}

@test "a process whose first thread has ended" {
	box=(--memory 64M)
	run run_box python3 -c '
import ctypes, mmap, os, sys, threading, time
def fill():
    block = mmap.mmap(-1, 300 << 20)
    for at in range(0, len(block), 4096):
        block[at] = 1
    time.sleep(20)
    os.write(1, b"filled\n")
    os._exit(0)
if os.fork():
    os.wait()
else:
    threading.Thread(target=fill).start()
    ctypes.CDLL(None).syscall(60, 0)'
	[[ $status -eq 137 && $output != *filled* ]] || { echo "$status $output"; false; }
}

# What no process has, but the kernel for it. The first is ended, the twin with fewer fits.
@test "tables of pages that are only read" {
	box=(--memory 64M)
	local read_pages='
import mmap, sys, time
# Each page lies so that it needs a table of its own.
blocks = []
for _ in range(int(sys.argv[1])):
    block = mmap.mmap(-1, 16 << 30, mmap.MAP_PRIVATE | 0x4000, mmap.PROT_READ)
    block.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, len(block), 2 << 20):
        block[at]
    blocks.append(block)
time.sleep(float(sys.argv[2]))
print("filled")'
	run run_box python3 -c "$read_pages" 6 20
	[[ $status -eq 137 && $output != *filled* ]] || { echo "$status $output"; false; }
	run run_box python3 -c "$read_pages" 1 "$looked_at"
	[[ $status -eq 0 && $output == filled ]] || { echo "$status $output"; false; }
}

# bats test_tags=backend:view
@test "empty files in memory" {
	box=(--memory 64M)
	local make_files='
import os, sys, time
for directory in "/tmp", "/dev/shm", "/run", "/var/tmp":
    for n in range(int(sys.argv[1])):
        os.mknod(f"{directory}/{n}")
time.sleep(float(sys.argv[2]))
print("filled")'
	run run_box python3 -c "$make_files" 20000 20
	[[ $status -eq 137 && $output != *filled* ]] || { echo "$status $output"; false; }
	run run_box python3 -c "$make_files" 1000 "$looked_at"
	[[ $status -eq 0 && $output == filled ]] || { echo "$status $output"; false; }
}

# Whoever looks then rests, for seconds if other processes of the machine give memory back in this
# moment: hence the long wait of the first. The twin stays within the limit.
@test "a command that makes looking at it slow, and then takes more" {
	box=(--memory 1G)
	local take='
import mmap, os, sys, time
block = mmap.mmap(-1, 400 << 20)
block.madvise(mmap.MADV_NOHUGEPAGE)
block.write(bytes(len(block)))
ready, told = os.pipe()
for _ in range(30):
    if os.fork() == 0:
        block.madvise(22) # MADV_POPULATE_READ
        os.write(told, b".")
        time.sleep(60)
for _ in range(30):
    os.read(ready, 1)
time.sleep(1)
more = [bytearray(b"x") * (50 << 20) for _ in range(int(sys.argv[1]))]
time.sleep(float(sys.argv[2]))
print("filled")'
	run run_box python3 -c "$take" 16 20
	[[ $status -eq 137 && $output != *filled* ]] || { echo "$status $output"; false; }
	run run_box python3 -c "$take" 1 3
	[[ $status -eq 0 && $output == filled ]] || { echo "$status $output"; false; }
}

@test "nothing of it is left" {
	box=(--memory 200M)
	fill private 100 3 20 "$BATS_TEST_TMPDIR"
	[[ $status -eq 137 ]]
	run pgrep -f "private 100 3 20 $BATS_TEST_TMPDIR"
	[[ $status -eq 1 ]]
}

@test "twin: outside it fits" {
	[[ $(python3 -c "$filler" private 100 3 0) == filled ]]
	[[ $(python3 -c "$filler" shared 150 2 0) == filled ]]
}

@test "memory that the kernel can neither take back nor count is not to be had" {
	refused secret-memory 32
	refused lock-file 4096
	allowed lock-file 32
	if [[ $(ulimit -l) == unlimited || $(ulimit -l) -ge 4096 ]]; then
		outside lock-file 4096
	fi
}

@test "init's own limits cannot be changed from inside" {
	run run_box python3 -c '
import os, resource, sys
for pid in (1, os.getpid()):
    for what in (lambda: resource.prlimit(pid, resource.RLIMIT_DATA, (1 << 30, 1 << 30)),
                 lambda: os.sched_setaffinity(pid, {0}),
                 lambda: os.setpriority(os.PRIO_PROCESS, pid, 19)):
        try:
            what()
            print(pid == 1, "done")
        except PermissionError:
            print(pid == 1, "refused")'
	[[ $(grep -c '^True refused' <<<"$output") -eq 3 && $(grep -c '^False done' <<<"$output") -eq 3 ]] ||
		{ echo "$output"; false; }
}

@test "nor as one of all the user's processes" {
	local renice='
import ctypes, os
for what in (lambda: os.setpriority(os.PRIO_USER, 0, 19),
             lambda: ctypes.CDLL(None, use_errno=True).syscall(251, 3, os.getuid(), 3 << 13)):
    try:
        print("refused" if what() == -1 else "done")
    except PermissionError:
        print("refused")
print("init", os.getpriority(os.PRIO_PROCESS, 1))'
	run run_box python3 -c "$renice"
	[[ $output == $'refused\nrefused\ninit '$(nice) ]] || { echo "$output"; false; }
	# The twin: where there are no others of this user, it works.
	run unshare --user --map-current-user --pid --fork python3 -c "$renice"
	[[ $output == $'done\ndone\ninit 19' ]] || { echo "$output"; false; }
}
