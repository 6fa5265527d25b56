#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:link_names
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-12: a protected name that is itself a link: replaced, or changed at its other end.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

@test "the link stays" {
	mkdir -p conf
	ln -s conf .vscode
	ln -s "$elsewhere/file" .envrc
	ln -s nowhere .mcp.json
	for name in .vscode .envrc .mcp.json; do
		refused_each <<-ACTS
			unlink	$name
			rename	$name	moved
			rename	file	$name
			exchange	$name	file
			symlink	file	$name
		ACTS
	done
	[[ $(readlink .vscode) == conf && $(readlink .mcp.json) == nowhere ]]
	allowed open-read .envrc
}

@test "what the link leads to in the project is protected" {
	mkdir -p conf
	echo x >conf/tasks.json
	ln -s conf .vscode
	refused_each <<-ACTS
		create	.vscode/new
		create	conf/new
		open-write	conf/tasks.json
		unlink	conf/tasks.json
		rename	conf	moved
	ACTS
}

@test "what a chain of links leads to is protected, and so is every link of it" {
	mkdir -p real
	ln -s real middle
	ln -s middle .vscode
	refused_each <<-ACTS
		create	real/new
		unlink	middle
		rename	middle	moved
		rename	real	moved
	ACTS
}

# One link less, and the kernel follows it to the end.
@test "a chain of links that is too long by one stays so" {
	local i
	mkdir -p .git real
	ln -s ../c1 .git/hooks
	for ((i = 1; i < 40; i++)); do
		ln -s "c$((i + 1))" "c$i"
	done
	ln -s real c40
	refused_each <<-ACTS
		unlink	c40
		rename	real	c40
		rename	c40	moved
		unlink	c1
		create	.git/hooks/pre-commit
	ACTS
	# Twin: without the sandbox that makes a directory of hooks of it.
	run ! ls .git/hooks/
	outside unlink c40
	outside rename real c40
	# A walk that Linux begins again, since an entry has left the cache, counts each link twice: ELOOP.
	for ((i = 0; i < 20; i++)); do
		! ls .git/hooks/ || break
	done
	outside create .git/hooks/pre-commit
}

@test "hooks that are a link to tracked ones are protected" {
	mkdir -p .git tools/hooks
	ln -s ../tools/hooks .git/hooks
	refused_each <<-ACTS
		create	.git/hooks/pre-commit
		create	tools/hooks/pre-commit
		rename	tools/hooks	moved
		rename	tools	moved
		unlink	.git/hooks
	ACTS
}

@test "a git directory that is reached by a link is protected" {
	mkdir -p real/hooks
	echo x >real/config
	ln -s real .git
	refused_each <<-ACTS
		create	real/hooks/pre-commit
		open-write	real/config
		unlink	.git
		rename	real	moved
	ACTS
}

@test "a link to nowhere is not filled in" {
	ln -s nowhere .envrc
	refused create nowhere
	refused create .envrc
	[[ ! -e nowhere ]]
}

@test "a link that leads nowhere, being too long for anybody, stays and keeps nobody from the rest" {
	mkdir -p a/.git b/.git c/.git d/.git free
	ln -s hooks a/.git/hooks
	ln -s info b/.git/info
	ln -s "$(printf '%0300d' 1)" c/.git/hooks
	ln -s l1 d/.git/hooks
	local i
	for i in {1..60}; do ln -s "l$((i + 1))" "d/.git/l$i"; done
	refused_each <<-ACTS
		unlink	a/.git/hooks
		rename	b/.git/info	moved
		unlink	c/.git/hooks
		rename	d/.git/l50	d/.git/l1
		unlink	d/.git/l1
		rename	d/.git/l60	d/.git/l20
		unlink	d/.git/l39
	ACTS
	allowed create free/new
	outside rename d/.git/l50 d/.git/l1
}

@test "twin: other links in the project can be removed, replaced and written through" {
	mkdir conf
	ln -s conf link
	ln -s nowhere dangling
	allowed create link/new
	allowed rename link moved
	allowed unlink moved
	allowed create nowhere
	ln -s conf .vscode
	outside create .vscode/other
	outside unlink .vscode
}

# Only in there can be seen where it leads.
@test "a link in a directory that an earlier command closed" {
	mkdir -p .claude conf nested/.git .git/modules/part tools/hooks tools/part shut way
	echo here | tee conf/soft conf/hard conf/denied conf/further tools/part/file >tools/hooks/file
	ln -s ../conf/soft .claude/settings.json
	ln conf/hard .claude/settings.local.json
	ln -s ../../tools/hooks nested/.git/hooks
	ln -s ../../../tools/part .git/modules/part/hooks
	ln -s ../conf/denied shut/link
	ln -s ../conf/further way/link
	ln -s way/link .envrc
	local dir mode
	box=(--deny-write "$project/shut/link")
	for dir in .claude nested/.git .git/modules/part shut way; do
		for mode in 0000 0300 0600; do
			chmod "$mode" "$dir"
			run run_box sh -c 'for file in conf/* tools/*/file; do echo x >"$file"; done'
			chmod 755 "$dir"
			[[ $(cat conf/* tools/*/file | sort -u) == here ]] || { echo "$dir, mode $mode: $output"; false; }
			# Root sees it all the same. Otherwise it is told what to do, and where.
			[[ $EUID -eq 0 || $status -ne 125 || $output == *"(chmod u+rwx): $project/$dir" ]] || { echo "$output"; false; }
		done
	done
	# Twin: what nobody asked to protect.
	echo here >free
	allowed open-write free
	box=()
	allowed open-write conf/denied
}
