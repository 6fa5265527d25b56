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

# marked DIR...: as a placeholder is.
marked() {
	touch -m -d @951827696 -- "$@"
}

# beside ACT ARG...: by a run that began, with the options of second, while another had its placeholders
# there, after that one has ended.
beside() {
	local first other
	rm -f began joined enough over
	run_box sh -c ': >began; until [ -e enough ]; do sleep 0.02; done' 3>&- &
	first=$!
	background+=("$first")
	wait_for began
	box=("${second[@]}")
	run_box sh -c ': >joined; until [ -e over ]; do sleep 0.02; done; exec "$0" "$@"' \
		"$KODA_PROBE" "$@" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	other=$!
	background+=("$other")
	box=()
	wait_for joined
	: >enough
	wait "$first"
	: >over
	status=0
	wait "$other" || status=$?
	answer=$(<"$BATS_TEST_TMPDIR/out")
}

# refused_beside ACT ARG...
refused_beside() {
	beside "$@"
	[[ $status -eq 1 && $answer =~ ^E[A-Z0-9]+$ ]] || explain "not refused: $*"
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

@test "what Mercurial and Copilot run, once their directory is there; and one can be made" {
	run_box mkdir .hg .github .github/workflows
	mkdir dir
	refused_each < <(ways .hg/hgrc && ways .hg/sharedpath && ways .github/hooks && ways .github/lsp.json)
	run_box touch .hg/requires
	no_litter $'./.github\n./.github/workflows\n./.hg\n./.hg/requires\n./dir\n./file'
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
	# One that was being made, one that was there, and what earlier builds had.
	mkdir .claude
	chmod 1700 .claude
	mkdir .vscode
	marked .vscode
	python3 -c 'import os, stat; os.mknod(".codex", stat.S_IFSOCK)'
	refused_each <<-ACTS
		create	.vscode/tasks.json
		chmod	.vscode	0755
		unlink	.vscode
		rename	.vscode	moved
		unlink	.claude
		mkdir	.claude/agents
		create	.codex
		create	.codex/inside
	ACTS
	no_litter ./file
}

@test "placeholders of another run are known as such, also where an ACL takes rights from new files" {
	mkdir -p .git/info
	second=()
	refused_beside create .git/commondir
	# By a command: the owner may read, nobody else; then nobody at all.
	for rights in 7 0; do
		for dir in .git .git/info; do
			run_box python3 -c '
import os, struct, sys
acl = [(1, int(sys.argv[2])), (4, 0), (32, 0)]
acl = b"".join(struct.pack("<HHI", tag, rights, 0xffffffff) for tag, rights in acl)
os.setxattr(sys.argv[1], "system.posix_acl_default", struct.pack("<I", 2) + acl)' "$dir" "$rights" ||
				lacking 'no ACLs here'
		done
		refused_beside create .git/commondir
		refused_beside create .git/gitdir
		refused_beside create .git/info/attributes
	done
	rm -f began joined enough over
	no_litter $'./.git\n./.git/info\n./file'
}

# bats test_tags=backend:locked,clause:hidden_reads
@test "a placeholder means the same to a run that hides the name as to one that protects it" {
	mkdir -p .git/info
	for name in .git/info/attributes .git/commondir; do
		box=()
		second=(--deny-read "$project/$name")
		refused_beside create "$name"
		refused_beside open-read "$name"
		box=(--deny-read "$project/$name")
		second=()
		refused_beside create "$name"
	done
	rm -f began joined enough over
	no_litter $'./.git\n./.git/info\n./file'
}

@test "who may change a placeholder of another run changes no other by that" {
	mkdir -p .git/hooks
	box=(--deny-write "$project/denied")
	run_box sh -c ': >began; until [ -e enough ]; do sleep 0.02; done' 3>&- &
	background+=($!)
	wait_for began
	policy_where 'd["fs"]["allow_git_config"] = True'
	allowed chmod denied 0755
	allowed chmod .git/config.worktree 0644
	allowed create denied/file
	[[ $(stat -c %a:%h .git/config.worktree) == 644:1 ]]
	[[ $(stat -c %a .mcp.json .vscode .git/modules) == $'755\n755\n1444' ]]
	# Twin: the others are names of one.
	[[ .git/branches -ef .git/modules ]]
	: >enough
	wait "${background[@]}"
	[[ ! -e .mcp.json && ! -e .git/modules && -e denied/file ]]
}

# cargo new found no repository at a commondir of ".", and cargo package stopped at an empty gitdir,
# and at a remotes that is no directory.
@test "placeholders in a git directory are what libgit2 and gitoxide pass over, too" {
	mkdir -p .git/hooks
	[[ $(run_box sh -c 'cat .git/commondir; find .git/gitdir .git/remotes -prune -type d') == \
		$'./\n.git/gitdir\n.git/remotes' ]]
	refused create .git/gitdir/x
	refused create .git/remotes/x
	refused rmdir .git/remotes
	[[ ! -e .git/commondir && ! -e .git/gitdir && ! -e .git/remotes ]]
}

@test "where a file is in the place of a directory, nothing can be made below it, nor in its place" {
	echo x >.claude
	echo x >.koda
	refused_each < <(ways .claude/agents && ways .claude/commands && ways .koda/skills)
	refused_each <<-ACTS
		unlink	.claude
		rename	.claude	moved
		unlink	.koda
		rename	file	.koda
	ACTS
	allowed create new
	no_litter $'./.claude\n./.koda\n./file\n./new'
}

@test "what resembles the placeholder of another name keeps no command from running" {
	run_box sh -c 'mkdir -p nested/.git && cd nested/.git &&
		for name; do echo . >"$name" && chmod 1444 "$name" || exit; done' \
		sh config config.worktree gitdir
	refused open-write nested/.git/config
	refused create nested/.git/commondir
	allowed open-read nested/.git/gitdir
	[[ $(cat nested/.git/config nested/.git/gitdir) == $'.\n.' ]]
	# A node where a file would be, as a command can make it.
	python3 -c '
import os, socket
os.makedirs("other/.git")
for name in "other/.git/config", "other/.git/gitdir":
    socket.socket(socket.AF_UNIX).bind(name)
    os.chmod(name, 0)'
	refused create other/.git/config
	refused unlink other/.git/gitdir
	[[ ! -e other/.git/config && ! -e other/.git/gitdir ]]
	# And a directory.
	run_box sh -c 'mkdir -p third/.git/config third/.git/hooks && touch -m -d @951827696 third/.git/*'
	refused create third/.git/config/file
	refused create third/.git/hooks/post-commit
	[[ ! -e third/.git/config && ! -e third/.git/hooks ]]
}

@test "what is the user's own stays, empty and read-only as it may be" {
	mkdir -p .git/info
	local mode
	for mode in 444 400 0; do
		: | tee .git/info/attributes .git/config.worktree >.git/commondir
		chmod "$mode" .git/info/attributes .git/config.worktree .git/commondir
		refused create-once .git/info/attributes
		refused unlink .git/config.worktree
		[[ $(stat -c %a .git/info/attributes .git/config.worktree .git/commondir | uniq) == "$mode" ]]
		rm -f .git/info/attributes .git/config.worktree .git/commondir
	done
	# Twin: what a run that was killed has left goes.
	: >.git/config.worktree
	chmod 1444 .git/config.worktree
	run_box true
	[[ ! -e .git/config.worktree ]]
}

# left_locked: a run that ends while another process has the directory locked, and leaves its
# placeholders to others.
left_locked() {
	exec 5<.
	flock -s 5
	box=(--deny-write "$project/denied")
	run_box true 5<&-
	[[ -d .vscode && -d denied ]]
	exec 5<&-
	box=()
}

@test "who keeps the directory locked while a run ends has nothing left behind for good" {
	left_locked
	run_box true
	no_litter ./file
}

@test "nor if no other run comes to the project, but one elsewhere" {
	left_locked
	(
		cd -- "$elsewhere" || exit
		run_box sh -c 'for i in $(seq 600); do [ -e "$1/denied" ] || exit 0; sleep 0.05; done; exit 1' sh "$project"
	)
	no_litter ./file
}

@test "what a command closes behind it keeps nothing there" {
	mkdir -p .git/info
	local mode
	for mode in 555 0; do
		run_box chmod "$mode" .git/info .git "$project"
		[[ $(stat -c %a "$project") == "$mode" ]]
		chmod 755 "$project"
		[[ $(stat -c %a .git) == "$mode" ]]
		chmod 755 .git .git/info
		no_litter $'./.git\n./.git/info\n./file'
	done
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
	# Twin: with more of them it runs, also if they are to be had only.
	(ulimit -Sn 64 && run_box true)
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
	second=()
	beside create other
	[[ $status -eq 0 ]] || explain 'not created'
}
