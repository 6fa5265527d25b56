#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:write_protected
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-05: a program that the host runs next, or that guards the next run, is replaced.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

@test "a directory of PATH in the project cannot be written" {
	mkdir -p tools/bin
	echo '#!/bin/sh' >tools/bin/tool
	PATH=$project/tools/bin:$PATH
	refused_each <<-ACTS
		create	tools/bin/new
		open-write	tools/bin/tool
		rename	tools/bin/tool	moved
		rename	tools/bin	moved
		rename	tools	moved
	ACTS
}

@test "twin: another directory with programs can be written" {
	mkdir -p tools/bin
	allowed create tools/bin/new
	allowed rename tools moved
}
