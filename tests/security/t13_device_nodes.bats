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

@test "a device node in a tree of the host is dead" {
	mkdir closed
	mknod zero c 1 5
	mknod closed/zero c 1 5
	mknod "$elsewhere/zero" c 1 5
	box=(--deny-write "$project/closed")
	outside open-read zero
	refused open-read zero
	refused open-write zero
	refused open-write closed/zero
	refused open-write "$elsewhere/zero"
}
