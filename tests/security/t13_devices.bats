#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:private_dirs
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-13: devices of the host are used, made or changed.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

@test "only the harmless devices are there, and none can be made" {
	refused find-devices /dev
	refused mknod zero
	refused mknod /tmp/zero
	refused create /dev/new
	refused unlink /dev/null
	# The node is the host's own, so what is tried must do no harm if it works.
	refused chmod /dev/null 0666
	refused open-read /dev/kvm
	refused open-read /dev/fuse
	refused open-read /dev/net/tun
	outside find-devices /dev
	if is_root; then
		outside chmod /dev/null 0666
		outside mknod zero
	fi
}

# Anybody can do that on the host, who has no sandbox around.
# bats test_tags=backend:locked
@test "the times of a node stay what they are" {
	refused utime /dev/null
	outside utime /dev/null
}

@test "twin: the devices work" {
	allowed open-read /dev/zero
	allowed open-read /dev/urandom
	allowed open-write /dev/null
	run run_box sh -c 'echo gone >/dev/null && head -c 3 /dev/zero | wc -c'
	[[ $output == 3 ]]
}
