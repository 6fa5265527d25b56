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
