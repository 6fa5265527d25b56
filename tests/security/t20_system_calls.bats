#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:system_calls
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-20: a system call leads around the view: namespaces, mounts, rings, keys, other memory,
# snapshots of a file system.

bats_require_minimum_version 1.5.0

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

@test "every listed call is refused" {
	"$KODA_PROBE" calls | grep -vx ok >"$BATS_TEST_TMPDIR/calls"
	[[ $(wc -l <"$BATS_TEST_TMPDIR/calls") -ge 45 ]]
	refused_each < <(sed 's/^/call\t/' "$BATS_TEST_TMPDIR/calls")
	# These look absent, because programs ask for them and have another way.
	for name in io_uring_setup io_uring_enter io_uring_register number-463; do
		refused_with ENOSYS call "$name"
	done
}

@test "no new namespace, by any of the three calls" {
	local flag
	for flag in 0x10000000 0x00020000 0x20000000 0x40000000 0x08000000 0x04000000 0x02000000; do
		printf 'unshare\t%s\nclone\t%s\nclone3\t%s\n' "$flag" "$flag" "$flag"
	done >"$BATS_TEST_TMPDIR/namespaces"
	printf 'unshare\t0x80\nclone3\t0\n' >>"$BATS_TEST_TMPDIR/namespaces"
	refused_each <"$BATS_TEST_TMPDIR/namespaces"
	refused_with ENOSYS clone3 0
}

# A sanitizer has to see the registers, and more than that nobody gets.
@test "not even a child can be traced, changed or read" {
	refused ptrace-child
	refused ptrace-change
	refused ptrace-me
	refused vm-read
	allowed ptrace-look
}

@test "the other entries into the kernel are closed" {
	[[ $(uname -m) == x86_64 ]] || lacking 'x86_64'
	refused_with ENOSYS x32
	refused i386
}

# Snapshots and subvolumes of Btrfs and bcachefs, copies of OCFS2; generation, layout, encryption and
# verity, label, freezing, trimming and shutting down; layouts of Lustre and Ceph, what F2FS and FAT have;
# namespaces, processes and block devices; bridges, tunnels and their like. By their size the numbers differ; the filter must not mind.
@test "no file system makes or changes by a directory what cannot be made by path" {
	local number
	for number in 0x50009401 0x5000940e 0x5000940f 0x50009417 0x50009418 0x5000943f 0x4008941a \
		0xc0c89425 0xc0c09425 0x4020bc10 0x4020bc11 0x8008bc40 0x40186f04 0x40086604 0x40046604 \
		0x6609 0x800c6613 0x40806685 0x40087602 0x41009432 0xc0045877 0xc0185879 0x8004587d \
		0x4008669a 0x40289702 0xf501 0xc020f509 0x40047211 0xb702 0xff05 0x1260 0xae00 0x100009401 \
		0x8940 0x8941 0x8980 0x8982 0x89a0 0x89f0; do
		printf 'control\t%s\n' "$number"
	done >"$BATS_TEST_TMPDIR/controls"
	refused_each <"$BATS_TEST_TMPDIR/controls"
	[[ $(sort -u "$BATS_TEST_TMPDIR/out") == ENOTTY ]]
	outside_each <"$BATS_TEST_TMPDIR/controls"
}

# With a terminal of one's own that has the kernel load drivers. What is refused does not depend on it.
@test "no terminal is given to another driver" {
	refused_with EPERM control 0x5423
	refused_with EPERM control 0x100005423
	# Twin: which one it has can be asked.
	allowed control 0x5424
	outside control 0x5423
}

# Clones of files, and looking, are nobody's business; nor are terminals, sockets and what is asked of
# any descriptor.
@test "twin: what programs ask files and descriptors comes through" {
	local number tool there
	for number in 0x40049409 0x4020940d 0xc0189436 0x80086601 0x80086603 0x80087601 0xc020660b \
		0x801c581f 0x800c581e 0xc0205838 0x8100587e 0xc0046686 0x2 0x5401 0x5413 0x802c542a \
		0x5421 0x541b 0x5450 0x5451 0x5452 0x5441 0x8912 0x8905 0x8946 0x10000541b; do
		printf 'control\t%s\n' "$number"
	done >"$BATS_TEST_TMPDIR/controls"
	each_inside <"$BATS_TEST_TMPDIR/controls"
	[[ $(sort -u "$BATS_TEST_TMPDIR/out") == ok ]] || explain 'not all of them'
	run run_box sh -c 'cp --reflink=auto file copy && cat copy'
	[[ $output == here ]]
	for tool in 'lsattr -v file' 'lsattr -p file' 'filefrag -v file'; do
		command -v "${tool%% *}" >/dev/null || continue
		run -0 sh -c "$tool 2>&1"
		there=$output
		run -0 run_box sh -c "$tool 2>&1"
		[[ $output == "$there" ]]
	done
}

@test "nobody has to wait for a command before he writes to a file" {
	refused_with EPERM lease file
	refused_with EPERM lease "$elsewhere/file"
	outside lease file
}

@test "socket families: unix, inet, inet6 and route netlink only" {
	local family
	for family in 0 3 4 5 9 11 15 17 21 24 29 30 31 38 39 40 41 42 43 44 45; do
		printf 'socket\t%s\t3\t0\nsocket\t%s\t1\t0\n' "$family" "$family"
	done >"$BATS_TEST_TMPDIR/families"
	# Netlink: audit, connector, generic, netfilter, sock_diag, xfrm, kobject.
	for family in 9 11 16 12 4 6 15; do
		printf 'socket\t16\t3\t%s\n' "$family"
	done >>"$BATS_TEST_TMPDIR/families"
	refused_each <"$BATS_TEST_TMPDIR/families"
	refused_with EAFNOSUPPORT socket 40 1 0
	refused_with EAFNOSUPPORT socket 17 3 0
	refused_with EAFNOSUPPORT socket 16 3 9
}

# The kernel makes both ends before it says that there are no pairs of that family; it would say
# EPERM, ENODEV or EOPNOTSUPP.
@test "pairs of sockets are no way to other families" {
	local family
	for family in 17 38 40 44; do
		refused_with EAFNOSUPPORT socket-pair "$family" 1
	done
	allowed socket-pair 1 1
}

@test "of the internet protocols TCP, UDP and ICMP only" {
	local protocol family
	# DCCP, L2TP, SCTP, UDP-Lite, SMC, multipath TCP
	for protocol in 33 115 132 136 256 262; do
		for family in 2 10; do
			printf 'socket\t%s\t1\t%s\nsocket\t%s\t2\t%s\nsocket\t%s\t5\t%s\n' \
				"$family" "$protocol" "$family" "$protocol" "$family" "$protocol"
		done
	done >"$BATS_TEST_TMPDIR/protocols"
	refused_each <"$BATS_TEST_TMPDIR/protocols"
	# By their types, without a number: what the kernel would make of it is another matter.
	for family in 2 10; do
		for protocol in 4 5 6 10 2058; do
			refused_with "ESOCKTNOSUPPORT|EACCES" socket "$family" "$protocol" 0
		done
	done
	allowed socket 1 5 0
	allowed socket 2 1 6
	allowed socket 10 1 6
}

# bats test_tags=backend:view
@test "twin: the allowed families, plain processes, and all of it outside" {
	allowed socket 1 1 0
	allowed socket 2 1 0
	allowed socket 2 2 0
	allowed socket 2 2 17
	allowed socket 16 3 0
	allowed clone 0
	outside socket 16 3 4
	outside ptrace-child
	outside ptrace-change
	outside ptrace-me
	outside vm-read
	outside unshare 0x10000000
	outside clone 0x10000000
	outside clone3 0
	for name in setns userfaultfd keyctl open_tree ptrace process_vm_readv mount_setattr; do
		outside call "$name"
	done
	if is_root; then
		for name in mount pivot_root fsopen bpf sethostname syslog swapon reboot; do
			outside call "$name"
		done
	fi
}
