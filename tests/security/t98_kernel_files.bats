#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:hidden_reads
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-98: the kernel's files tell of the host's users, processes and secrets.

bats_require_minimum_version 1.5.0

setup() {
	load helper
	new_project
}

# readable PATH...: those that this user may read.
readable() {
	local path
	for path; do
		"$KODA_PROBE" open-read "$path" >/dev/null 2>&1 && printf '%s\n' "$path"
	done
	true
}

@test "the user's keys cannot be seen" {
	python3 -c '
import ctypes, ctypes.util
libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
number = {"x86_64": 248, "aarch64": 217}[__import__("os").uname().machine]
user_keyring = -4
assert libc.syscall(number, b"user", b"koda-t98", b"secret", 6, user_keyring) > 0' ||
		lacking 'keys cannot be made here'
	grep -q koda-t98 /proc/keys
	refused_each <<-ACTS
		open-read	/proc/keys
		open-read	/proc/key-users
		open-read	/proc/self/root/proc/keys
	ACTS
	run run_box cat /proc/keys
	[[ $output != *koda-t98* ]]
}

@test "what the kernel tells of the host cannot be read or listed" {
	mapfile -t paths < <(readable /proc/{keys,key-users,cmdline,interrupts,kallsyms,modules,slabinfo,vmallocinfo,pagetypeinfo} \
		/proc/{kpagecount,kpageflags,kpagecgroup,timer_list,timer_stats,sched_debug,latency_stats} \
		/sys/firmware /sys/devices/virtual/powercap /sys/kernel/security/integrity)
	((${#paths[@]} >= 2))
	# Outside they can: readable has tried.
	printf 'open-read\t%s\n' "${paths[@]}" | refused_each
}

# The host may have none of these mounted; a tmpfs stands in for each, in a mount namespace of the test.
# bats test_tags=needs:root
@test "what is mounted in /sys for the kernel's sake cannot be looked at" {
	local dir mounted=()
	for dir in /sys/kernel/debug /sys/kernel/tracing /sys/fs/bpf /sys/fs/pstore; do
		[[ -d $dir ]] && mounted+=("$dir")
	done
	((${#mounted[@]})) || lacking 'directories for mounts in /sys'
	run -0 unshare -m sh -c 'bin=$1 probe=$2
		shift 2
		for dir; do
			mount -t tmpfs none "$dir" && echo seen >"$dir/file" && cat "$dir/file" || exit
			"$bin" run -- "$probe" open-read "$dir/file"
			"$bin" run -- "$probe" open-read "$dir"
		done
		true' sh "$KODA_BIN" "$KODA_PROBE" "${mounted[@]}"
	printf '%s\n' "$output"
	[[ $(grep -cx seen <<<"$output") -eq ${#mounted[@]} ]]
	[[ $(grep -cE '^E[A-Z0-9]+$' <<<"$output") -eq $((2 * ${#mounted[@]})) ]]
}

@test "no policy opens them" {
	policy_where "d['fs']['deny_read'] = ['/proc', '/sys']
d['fs']['allow_read_within_deny'] = ['/proc', '/proc/keys', '/sys', '/sys/firmware']"
	refused open-read /proc/keys
	box=()
	run "$KODA_BIN" policy check --root "$project" read /proc/keys
	[[ $status -eq 1 && $output == *floor.kernel_hidden* ]]
	run "$KODA_BIN" policy check --root "$project" read /proc/meminfo
	[[ $status -eq 0 ]]
}

@test "what programs look at stays" {
	allowed open-read /proc/cpuinfo
	allowed open-read /proc/meminfo
	allowed open-read /proc/stat
	allowed open-read /proc/loadavg
	allowed open-read /proc/uptime
	allowed open-read /proc/version
	allowed open-read /proc/filesystems
	allowed open-read /proc/sys/kernel/pid_max
	allowed open-read /sys/devices/system/cpu
	run run_box nproc
	[[ $status -eq 0 && $output -ge 1 ]]
}
