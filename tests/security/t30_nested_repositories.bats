#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:write_protected
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-30: the git directories of nested repositories, submodules and worktrees.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

# A git directory with what git itself looks for.
repository() {
	mkdir -p "$1/objects" "$1/refs" "$1/hooks"
	echo 'ref: refs/heads/main' >"$1/HEAD"
	echo '[core]' >"$1/config"
}

cannot_touch() {
	refused_each <<-ACTS
		create	$1/hooks/pre-commit
		open-write	$1/config
		rename	$1/config	moved
		rename	$1/hooks	moved
		create	$1/config.worktree
		create	$1/commondir
		create	$1/info/attributes
		rename	$1	moved
	ACTS
}

# bats test_tags=clause:missing_names
@test "repositories at every depth that the policy searches" {
	repository .git
	repository a/.git
	repository a/b/c/d/.git
	mkdir -p a/.git/info a/b/c/d/.git/info .git/info
	cannot_touch .git
	cannot_touch a/.git
	cannot_touch a/b/c/d/.git
}

# bats test_tags=clause:missing_names
@test "six, seven and eight levels down, though the policy says less" {
	local dir
	for dir in 1/2/3/4/5/6 1/2/3/4/5/6/7 1/2/3/4/5/6/7/8; do
		repository "$dir/.git"
		mkdir "$dir/.git/info"
	done
	box=(--trust safe --yes)
	for dir in 1/2/3/4/5/6 1/2/3/4/5/6/7 1/2/3/4/5/6/7/8; do
		cannot_touch "$dir/.git"
	done
	policy_where "d['fs']['mandatory_deny_search_depth'] = 0"
	cannot_touch 1/2/3/4/5/6/7/8/.git
	# The twin: git works there.
	allowed create 1/2/3/4/5/6/7/8/.git/objects/new
}

# bats test_tags=clause:missing_names
@test "deeper if the policy says so, and no deeper than forty" {
	local deep=. i
	for ((i = 1; i <= 41; i++)); do
		deep+=/$i
	done
	repository "${deep%/*}/.git"
	repository "$deep/.git"
	mkdir "${deep%/*}/.git/info"
	policy_where "d['fs']['mandatory_deny_search_depth'] = 255"
	cannot_touch "${deep%/*}/.git"
	allowed create "$deep/.git/hooks/pre-commit"
}

@test "the pointer file of a worktree or submodule" {
	mkdir sub
	echo 'gitdir: ../elsewhere' >sub/.git
	refused_each <<-ACTS
		open-write	sub/.git
		unlink	sub/.git
		rename	sub/.git	moved
		rename	sub	moved
	ACTS
}

# bats test_tags=clause:link_names
@test "a pointer file that a link leads to" {
	repository store/g
	mkdir nested pointers
	echo 'gitdir: ../store/g' >pointers/nested
	ln -s ../pointers/nested nested/.git
	refused_each <<-ACTS
		open-write	pointers/nested
		rename	pointers/nested	moved
		rename	pointers	moved
		unlink	nested/.git
	ACTS
	chmod 0000 pointers
	run run_box sh -c "chmod 755 pointers; '$KODA_PROBE' open-write pointers/nested"
	chmod 755 pointers
	[[ $status -ne 0 ]]
}

# No search goes there, and the pointer cannot be read.
@test "where a pointer file leads that is behind a link, in a directory that was closed" {
	repository .git
	repository .git/store/nested
	mkdir nested pointers
	echo 'gitdir: ../.git/store/nested' >pointers/nested
	ln -s ../pointers/nested nested/.git
	local mode
	for mode in 0000 0300 0600; do
		chmod "$mode" pointers
		run run_box "$KODA_PROBE" create .git/store/nested/hooks/pre-commit
		chmod 755 pointers
		[[ $status -ne 0 && ! -e .git/store/nested/hooks/pre-commit ]] ||
			{ echo "mode $mode: $output"; false; }
	done
	# Twin: nothing leads there.
	rm nested/.git
	allowed create .git/store/nested/hooks/pre-commit
}

# bats test_tags=clause:missing_names
@test "the git directories of submodules" {
	repository .git
	repository .git/modules/sub
	repository .git/modules/deep/er
	mkdir -p sub .git/modules/sub/info
	echo 'gitdir: ../.git/modules/sub' >sub/.git
	cannot_touch .git/modules/sub
	refused create .git/modules/deep/er/hooks/pre-commit
}

@test "the git directories of worktrees" {
	git init -q . || lacking git
	git -c user.name=t -c user.email=t@example.org commit -q --allow-empty -m first
	git worktree add -q wt
	refused_each <<-ACTS
		open-write	.git/worktrees/wt/gitdir
		open-write	.git/worktrees/wt/commondir
		create	.git/worktrees/wt/config.worktree
		open-write	wt/.git
	ACTS
}

# Of a worktree elsewhere, nothing but this directory tells.
@test "the git directory of a worktree that was closed, and one below a directory that was" {
	repository .git
	mkdir -p .git/worktrees/wt
	local mode dir
	for dir in .git/worktrees .git/worktrees/wt; do
		for mode in 0000 0300 0600; do
			echo ../.. >.git/worktrees/wt/commondir
			chmod "$mode" "$dir"
			run run_box sh -c "chmod 755 $dir; '$KODA_PROBE' open-write .git/worktrees/wt/commondir"
			chmod 755 "$dir"
			[[ $status -ne 0 ]] || { echo "$dir, mode $mode: $output"; false; }
		done
	done
}

# bats test_tags=clause:link_names
@test "the git directories of worktrees behind a link that an earlier command made" {
	repository .git
	mkdir -p .git/elsewhere/wt
	echo ../.. >.git/elsewhere/wt/commondir
	ln -s elsewhere .git/worktrees
	refused_each <<-ACTS
		open-write	.git/elsewhere/wt/commondir
		create	.git/elsewhere/wt/config.worktree
		unlink	.git/worktrees
		rename	.git/worktrees	moved
	ACTS
	# One that leads nowhere keeps nobody from the rest.
	rm .git/worktrees
	ln -s worktrees .git/worktrees
	mkdir free
	allowed create free/new
}

@test "a repository in a directory that was closed to be overlooked" {
	repository nested/.git
	local mode
	for mode in 0000 0311 0111 0600 0644; do
		chmod "$mode" nested
		run run_box sh -c "chmod 755 nested; '$KODA_PROBE' create nested/.git/hooks/pre-commit"
		chmod 755 nested
		[[ $status -ne 0 && ! -e nested/.git/hooks/pre-commit ]] ||
			{ echo "mode $mode: $output"; false; }
	done
}

@test "a git directory that was closed, and one below a directory that was" {
	repository .git
	repository outer/nested/.git
	local mode dir
	for dir in .git outer/nested/.git outer; do
		for mode in 0000 0300 0600; do
			chmod "$mode" "$dir"
			run run_box sh -c "chmod 755 $dir; '$KODA_PROBE' create .git/hooks/pre-commit ||
				'$KODA_PROBE' create outer/nested/.git/hooks/pre-commit"
			chmod 755 "$dir"
			[[ $status -ne 0 && ! -e .git/hooks/pre-commit &&
				! -e outer/nested/.git/hooks/pre-commit ]] ||
				{ echo "$dir, mode $mode: $output"; false; }
		done
	done
	# Twin: a closed directory keeps nobody from the rest.
	mkdir closed free
	chmod 0600 closed
	allowed create free/new
	chmod 755 closed
}

# No search goes there: only the pointer tells.
@test "a git directory that a pointer leads to, in a directory that was closed" {
	repository .git
	repository .git/store/nested
	mkdir nested
	echo 'gitdir: ../.git/store/nested' >nested/.git
	local mode
	for mode in 0000 0300 0600; do
		chmod "$mode" .git/store
		run run_box sh -c "chmod 755 .git/store; '$KODA_PROBE' create .git/store/nested/hooks/pre-commit"
		chmod 755 .git/store
		[[ $status -ne 0 && ! -e .git/store/nested/hooks/pre-commit ]] ||
			{ echo "mode $mode: $output"; false; }
	done
}

@test "repositories in whatever else may be written" {
	local repository
	for repository in "$elsewhere" "$elsewhere/deep/nested"; do
		mkdir -p "$repository/.git/hooks"
		echo x | tee "$repository/.git/config" >"$repository/.git/hooks/pre-commit"
	done
	policy_where "d['fs']['allow_write'].append('$elsewhere')"
	for repository in "$elsewhere" "$elsewhere/deep/nested"; do
		refused create "$repository/.git/hooks/post-commit"
		refused open-write "$repository/.git/hooks/pre-commit"
		refused open-write "$repository/.git/config"
		refused rename "$repository/.git" "$elsewhere/moved"
	done
	allowed open-write "$elsewhere/file"
	# Also if the policy names what is in one, be it a file.
	policy_where "d['fs']['allow_write'].append('$elsewhere/.git/hooks')"
	refused create "$elsewhere/.git/hooks/post-commit"
	policy_where "d['fs']['allow_write'] += ['$elsewhere/.git/config', '$elsewhere/file']"
	refused open-write "$elsewhere/.git/config"
	allowed open-write "$elsewhere/file"
}

@test "twin: the rest of a repository can be written" {
	repository .git
	repository nested/.git
	allowed create .git/objects/new
	allowed create nested/.git/refs/new
	allowed open-write .git/HEAD
	outside create nested/.git/hooks/pre-commit
}

@test "a repository without a work tree, below the project and as the project" {
	repository "$project/vendor.git"
	cannot_touch "$project/vendor.git"
	allowed create "$project/vendor.git/refs/new"
	repository "$project"
	cannot_touch "$project"
}

# It is known by its configuration, too, which cannot be moved.
# bats test_tags=clause:missing_names
@test "a repository without a work tree that an earlier command took apart" {
	git init -q --bare "$project/vendor.git" || lacking git
	run_box sh -c 'mkdir away; cd vendor.git && mv HEAD objects refs ../away'
	[[ ! -e $project/vendor.git/HEAD ]]
	cannot_touch "$project/vendor.git"
	# As other programs than git write it.
	mkdir -p "$project/other.git/hooks"
	printf '[core]\n\tbare = true\n' >"$project/other.git/config"
	refused create "$project/other.git/hooks/new"
	# Twin: a directory with other files of these names.
	mkdir -p "$project/own/hooks"
	echo '[server]' >"$project/own/config"
	allowed open-write "$project/own/config"
	allowed create "$project/own/hooks/new"
}

@test "what a killed run has left does not stop the next" {
	mkdir -p sub
	python3 -c 'import os, stat; os.mknod("sub/.git", stat.S_IFSOCK)' || lacking 'sockets by mknod'
	run run_box true
	[[ $status -eq 0 ]] || { echo "$output"; false; }
}
