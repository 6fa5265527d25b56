#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:missing_names
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-32: a protected name that does not exist is created.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

# Every way to bring NAME into being.
ways() {
	printf '%s\t%s\n' create "$1" mkdir "$1" create "$1/inside" mkdir "$1/inside"
	printf 'symlink\tfile\t%s\nlink\tfile\t%s\nrename\tfile\t%s\nrename\tdir\t%s\n' "$1" "$1" "$1" "$1"
}

@test "no project name can be created, in any way" {
	mkdir dir
	"$KODA_HELPER" names project >"$BATS_TEST_TMPDIR/names"
	[[ $(wc -l <"$BATS_TEST_TMPDIR/names") -ge 12 ]]
	while IFS= read -r name; do
		refused_each < <(ways "$name")
	done <"$BATS_TEST_TMPDIR/names"
	no_litter $'./dir\n./file'
}

@test "no project name can be created when the directory above exists" {
	mkdir dir .claude .koda
	while IFS= read -r name; do
		refused_each < <(ways "$name")
	done < <("$KODA_HELPER" names project)
	no_litter $'./.claude\n./.koda\n./dir\n./file'
}

@test "no git name can be created: in the project's repository, a nested one, or none" {
	mkdir -p dir nested/.git
	for repository in .git nested/.git; do
		while IFS= read -r name; do
			refused_each < <(ways "$repository/$name")
		done < <("$KODA_HELPER" names git)
	done
	no_litter $'./dir\n./file\n./nested\n./nested/.git'
}

@test "no git name that exists can be changed" {
	mkdir -p .git/hooks .git/info
	for name in config config.worktree commondir gitdir info/attributes hooks/pre-commit; do
		echo x >".git/$name"
		refused open-write ".git/$name"
		refused unlink ".git/$name"
		refused rename file ".git/$name"
	done
	refused create .git/hooks/post-commit
}

@test "a leftover placeholder of a killed run is no way in, and goes" {
	python3 -c '
import os, stat
os.mknod(".vscode", stat.S_IFSOCK)
os.mknod(".claude", stat.S_IFSOCK)'
	refused_each <<-ACTS
		create	.vscode/tasks.json
		chmod	.vscode	0755
		unlink	.vscode
		rename	.vscode	moved
		unlink	.claude
		mkdir	.claude/agents
	ACTS
	no_litter ./file
}

@test "who keeps the directory locked while a run ends has nothing left behind for good" {
	exec 5<.
	flock -s 5
	run_box true 5<&-
	[[ -S .vscode ]]
	exec 5<&-
	for ((i = 0; i < 600; i++)); do
		[[ -e .vscode ]] || break
		sleep 0.05
	done
	no_litter ./file
}

# bats test_tags=backend:view
@test "a project with more repositories than there are descriptors is left as it was" {
	local before i
	for ((i = 0; i < 80; i++)); do
		mkdir -p "nested/$i/.git/info"
	done
	before=$(find . -mindepth 1 | LC_ALL=C sort)
	status=0
	(ulimit -n 64 && run_box true) 2>"$BATS_TEST_TMPDIR/err" || status=$?
	[[ $status -eq 125 ]] || explain 'not refused'
	no_litter "$before"
	# Twin: with more of them it runs.
	allowed create nested/0/new
	no_litter "$(printf '%s\n./nested/0/new' "$before" | LC_ALL=C sort)"
}

@test "twin: other names can be created in all these ways, and these ones outside" {
	mkdir dir
	allowed create new
	allowed mkdir .claude-not
	allowed symlink file link
	allowed link file hard
	allowed rename dir moved
	outside create .mcp.json
	outside mkdir .vscode
	policy_where 'd["fs"]["allow_git_config"] = True'
	mkdir .git
	allowed create .git/config
	refused create .git/hooks
}
