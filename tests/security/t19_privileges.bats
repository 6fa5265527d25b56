#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:privileges
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-19: a capability, a set-user-id program or a kernel file gives back what was dropped.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

# bats test_tags=backend:view
@test "no capability is left in any set, of the command or its init" {
	refused find-capabilities
	refused find-status-not NoNewPrivs 1
	refused find-status-not Seccomp 2
}

@test "the kernel's files cannot be written" {
	refused_each <<-ACTS
		open-write	/proc/sys/kernel/core_pattern
		open-write	/proc/sys/kernel/hostname
		open-write	/proc/sys/kernel/modprobe
		open-write	/proc/sys/vm/drop_caches
		open-write	/proc/sys/net/ipv4/ip_forward
		open-write	/proc/sysrq-trigger
		open-write	/sys/kernel/uevent_helper
		open-write	/sys/power/state
		create-once	/sys/fs/cgroup/koda-test
	ACTS
	refused find-writable /sys
	inside find-writable /proc
	# Pressure triggers are for everybody and change nothing.
	! grep '^/' <<<"$answer" | grep -qv '^/proc/pressure/' || explain 'can be written'
}

@test "the kernel's memory and logs cannot be read" {
	refused_each <<-ACTS
		open-read	/proc/kcore
		open-read	/proc/kmsg
		open-read	/dev/mem
		open-read	/dev/kmsg
	ACTS
}

# bats test_tags=backend:view
@test "twin: a harmless file of the kernel can be written, and root outside may write the rest" {
	allowed open-write /proc/self/comm
	allowed open-write /dev/null
	if is_root; then
		outside open-write /proc/sys/kernel/core_pattern
		outside find-capabilities
	fi
	outside find-status-not Seccomp 2
}

# make HOW: a program with mode MODE appears in the project, by one of the calls that can do it.
make_program() {
	rm -f made other
	touch other
	run run_box python3 -c '
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
how, mode = sys.argv[1], int(sys.argv[2], 8)
def check(r):
    if r < 0:
        raise OSError(ctypes.get_errno(), how)
if how == "chmod": os.chmod("other", mode); os.rename("other", "made")
elif how == "fchmod": f = os.open("made", os.O_CREAT | os.O_WRONLY, 0o755); os.fchmod(f, mode)
elif how == "fchmodat2": os.rename("other", "made"); check(libc.syscall(452, -100, b"made", mode, 0))
elif how == "open": os.umask(0); os.open("made", os.O_CREAT | os.O_WRONLY, mode)
elif how == "mknod": os.umask(0); os.mknod("made", 0o100000 | mode)
elif how == "tmpfile":
    os.umask(0)
    f = os.open(".", os.O_TMPFILE | os.O_WRONLY, mode)
    os.link("/proc/self/fd/%d" % f, "made", src_dir_fd=0, follow_symlinks=True)
elif how == "openat2":
    import struct
    how_arg = struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, mode, 0)
    check(libc.syscall(437, -100, b"made", how_arg, 24))' "$1" "$2"
}

# bats test_tags=clause:privileges
@test "no program is left behind that runs as its owner, or as its group" {
	local how mode
	for how in chmod fchmod fchmodat2 open mknod tmpfile openat2; do
		for mode in 4755 2755 6711; do
			make_program "$how" "$mode"
			[[ ! -u made && ! -g made ]] || { echo "$how $mode: $output"; ls -l made; false; }
		done
	done
	# Twin: the same calls make other programs, but for the one whose mode nobody sees.
	for how in chmod fchmod fchmodat2 open mknod; do
		make_program "$how" 755
		[[ -x made ]] || { echo "$how: $output"; false; }
	done
}

# is_locking UID: one of the user's processes has dropped its privileges; the keyring comes next.
is_locking() {
	local pid
	for pid in $(pgrep -u "$1"); do
		! grep -qs '^NoNewPrivs:.1' "/proc/$pid/status" || return 0
	done
	return 1
}

# Each run takes two of the keyrings that a user may have, and the kernel frees them late. A user of
# its own, for others run as nobody at the same time, and would find none left.
# bats test_tags=needs:root
@test "a run waits for a keyring while there is none left" {
	local holder uid=$((60100 + $$ % 4800))
	local become=(setpriv --reuid "$uid" --regid "$uid" --clear-groups --)
	chown -R "$uid:$uid" "$HOME"
	chmod 711 "$BATS_RUN_TMPDIR" "${BATS_TEST_TMPDIR%/*}" "$BATS_TEST_TMPDIR"
	"${become[@]}" python3 -c '
import ctypes, errno, time
libc = ctypes.CDLL(None, use_errno=True)
made = 0
while made < 100000 and libc.syscall(248, b"keyring", b"k%d" % made, None, 0, -2) >= 0:
    made += 1
print(errno.errorcode[ctypes.get_errno()], flush=True)
time.sleep(60)' >"$BATS_TEST_TMPDIR/full" 3>&- &
	holder=$!
	background+=("$holder")
	eventually test -s "$BATS_TEST_TMPDIR/full"
	[[ $(<"$BATS_TEST_TMPDIR/full") == EDQUOT ]]
	opened "${become[@]}" "$KODA_BIN" run --wall-time 60 -- "$KODA_PROBE" open-read file \
		>"$BATS_TEST_TMPDIR/waited" 2>&1 </dev/null 3>&- &
	background+=("$!")
	eventually is_locking "$uid"
	[[ ! -s $BATS_TEST_TMPDIR/waited ]]
	kill -KILL "$holder"
	wait "${background[-1]}" || { cat "$BATS_TEST_TMPDIR/waited"; false; }
	[[ $(<"$BATS_TEST_TMPDIR/waited") == ok ]]
}
