#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # status, stdout, stderr and project come from helper.bash
# shellcheck disable=SC2016 # the shell inside expands what is quoted here
# git inside the sandbox: everyday work goes on without a word, and what the host's git would run
# or trust afterwards stays as it was.

setup() {
	load helper
	load run_helper
	new_project
	git_identity
	new_repository "$project"
}

# quietly ARG...: git inside succeeds and has nothing to complain about.
quietly() {
	inside git "$@"
	silent 0
}

# What is on the host after a run: no complaint from git there either.
sound() {
	git -C "${1:-$project}" fsck --no-progress --strict >/dev/null 2>"$BATS_TEST_TMPDIR/fsck"
	[[ ! -s $BATS_TEST_TMPDIR/fsck ]]
	git -C "${1:-$project}" status --porcelain >/dev/null 2>"$BATS_TEST_TMPDIR/fsck"
	[[ ! -s $BATS_TEST_TMPDIR/fsck ]]
}

# fails TEXT: this shell text does not succeed inside.
fails() {
	inside "${@:2}" -c "$1"
	if [[ $status -eq 0 || $status -ge 124 ]]; then
		show_result
		echo "should have failed: $1"
		return 1
	fi
}

# keep PATH NAME, kept PATH NAME: what is there now, and whether it still is.
keep() {
	mkdir -p "$BATS_TEST_TMPDIR/kept"
	cp -a -- "$1" "$BATS_TEST_TMPDIR/kept/$2"
}

kept() {
	diff -r -- "$1" "$BATS_TEST_TMPDIR/kept/$2"
}

# ---- work ----------------------------------------------------------------------------------

@test "status, add, commit, log and diff" {
	quietly status --porcelain
	[[ -z $stdout ]] # placeholders do not show
	echo two >file
	echo new >src/new
	quietly status --porcelain
	[[ $stdout == $' M file\n?? src/' ]]
	quietly diff --stat
	quietly add -A
	quietly commit -q -m second
	quietly log --format='%an <%ae> %cn <%ce> %s' -1
	[[ $stdout == 'A U Thor <author@example.org> C O Mitter <committer@example.org> second' ]]
	[[ $(git log --format=%s -1) == second ]]
	[[ -z $(git status --porcelain) ]]
	sound
}

@test "a commit without an identity fails as it does outside" {
	unset GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
	echo two >file
	inside git -c user.useConfigOnly=true commit -q -a -m second
	[[ $status -eq 128 && $stderr == *'tell me who you are'* ]]
}

@test "branch, checkout, switch, merge, rebase, tag, stash, reset" {
	quietly branch topic
	quietly checkout -q topic
	echo two >file
	quietly commit -q -a -m second
	quietly switch -q main
	echo other >other
	quietly add other
	quietly commit -q -m third
	quietly merge -q -m merged topic
	quietly tag v1
	quietly tag -a -m annotated v2
	echo three >file
	quietly stash -q
	quietly stash pop -q
	quietly reset -q --hard HEAD~1
	quietly rebase -q topic
	[[ $(git log --format=%s) == $'third\nsecond\nfirst' ]]
	sound
}

@test "gc, repack and clone" {
	quietly gc -q
	quietly repack -a -d -q
	quietly clone -q . copy
	[[ $(git -C copy log --format=%s) == first ]]
	inside -c 'git clone -q . other && rm -rf other' # while it is new, it is the command's own
	silent 0
	sound
	sound "$project/copy"
}

@test "add a worktree and work in it" {
	quietly worktree add -q -b side tree
	[[ $(git -C tree log --format=%s) == first ]]
	echo side >tree/file
	quietly -C tree status --porcelain
	[[ $stdout == ' M file' ]]
	quietly -C tree commit -q -a -m side
	[[ $(git log --format=%s side -1) == side ]]
	quietly worktree list
	[[ $stdout == *tree* ]]
	sound
	sound "$project/tree"
}

@test "the pointers of a worktree" {
	git worktree add -q -b side tree
	keep tree/.git pointer
	keep .git/worktrees/tree/gitdir gitdir
	keep .git/worktrees/tree/commondir commondir
	fails 'echo "gitdir: /tmp" >tree/.git'
	fails 'mv tree/.git tree/old'
	fails 'mv tree gone'
	fails 'echo /tmp >.git/worktrees/tree/gitdir'
	fails 'echo /tmp >.git/worktrees/tree/commondir'
	fails 'rm .git/worktrees/tree/commondir'
	fails 'echo "[core]" >.git/worktrees/tree/config.worktree'
	fails 'mv .git/worktrees/tree .git/worktrees/old'
	fails 'mv .git/worktrees .git/old'
	kept tree/.git pointer
	kept .git/worktrees/tree/gitdir gitdir
	kept .git/worktrees/tree/commondir commondir
	[[ ! -e .git/worktrees/tree/config.worktree ]]
	sound "$project/tree"
}

@test "a project that is a worktree keeps its pointer" {
	git worktree add -q -b side "$BATS_TEST_TMPDIR/side"
	cd "$BATS_TEST_TMPDIR/side"
	keep .git pointer
	fails 'echo "gitdir: /tmp/evil" >.git'
	fails 'rm -f .git'
	fails 'mv .git moved'
	fails 'touch new && mv -T new .git'
	fails 'mkdir dir && mv -T dir .git'
	kept .git pointer
	inside -c 'echo two >file'
	silent 0
	[[ $(<file) == two ]]
	sound "$BATS_TEST_TMPDIR/side"
}

@test "submodules" {
	new_repository "$BATS_TEST_TMPDIR/library"
	git -c protocol.file.allow=always submodule --quiet add "$BATS_TEST_TMPDIR/library" lib
	git commit -q -m 'with a library'
	quietly submodule status
	[[ $stdout == *' lib '* ]]
	quietly -C lib status --porcelain
	[[ -z $stdout ]]
	echo two >lib/file
	quietly -C lib commit -q -a -m 'in the library'
	quietly add lib
	quietly commit -q -m moved
	[[ $(git -C lib log --format=%s -1) == 'in the library' ]]
	keep .git/modules/lib/config config
	keep .git/modules/lib/hooks hooks
	keep lib/.git pointer
	fails 'git -C lib config core.fsmonitor evil'
	fails 'echo x >>.git/modules/lib/config'
	fails 'echo x >.git/modules/lib/hooks/post-checkout'
	fails 'mv .git/modules/lib/hooks .git/modules/lib/old'
	fails 'mv .git/modules .git/old'
	fails 'mv .git/modules/lib .git/modules/old'
	fails 'echo "gitdir: /tmp" >lib/.git'
	fails 'rm lib/.git'
	fails 'mv lib gone'
	kept .git/modules/lib/config config
	kept .git/modules/lib/hooks hooks
	kept lib/.git pointer
	sound
}

@test "a nested repository is protected like the project's" {
	new_repository "$project/vendor/deep/inner"
	keep vendor/deep/inner/.git/config config
	keep vendor/deep/inner/.git/hooks hooks
	quietly -C vendor/deep/inner status --porcelain
	echo two >vendor/deep/inner/file
	quietly -C vendor/deep/inner commit -q -a -m second
	fails 'git -C vendor/deep/inner config core.pager evil'
	fails 'echo x >vendor/deep/inner/.git/hooks/pre-commit'
	fails 'mv vendor/deep/inner/.git vendor/deep/inner/old'
	fails 'mv vendor/deep/inner vendor/deep/old'
	fails 'mv vendor/deep vendor/old'
	fails 'mv vendor old'
	fails 'rm -rf vendor'
	kept vendor/deep/inner/.git/config config
	kept vendor/deep/inner/.git/hooks hooks
}

@test "a directory without a repository" {
	rm -rf .git
	inside -c 'touch a; mkdir b; ls'
	silent 0
	[[ -e a && -d b && ! -e .git ]]
}

# ---- what must not change ------------------------------------------------------------------

@test "hooks cannot be added, changed, removed or replaced" {
	printf '#!/bin/sh\nexit 0\n' >.git/hooks/pre-push
	chmod +x .git/hooks/pre-push
	keep .git/hooks hooks
	fails 'echo x >.git/hooks/pre-commit'
	fails 'echo x >>.git/hooks/pre-push'
	fails 'rm .git/hooks/pre-push'
	fails 'chmod 0 .git/hooks/pre-push'
	fails 'ln -s /bin/true .git/hooks/post-commit'
	fails 'ln file .git/hooks/post-commit'
	fails 'mkdir .git/hooks/post-commit'
	fails 'mv .git/hooks .git/old'
	fails 'rm -rf .git/hooks'
	fails 'touch -d 2000-01-01 .git/hooks'
	kept .git/hooks hooks
	[[ ! -e .git/old && ! -e .git/hooks/pre-commit ]]
}

@test "a hooks directory that does not exist cannot be made" {
	rm -rf .git/hooks
	remember
	fails 'mkdir .git/hooks && echo x >.git/hooks/pre-commit'
	fails 'echo x >.git/hooks/pre-commit'
	fails 'ln -s /tmp .git/hooks'
	fails 'mkdir .git/h && mv -T .git/h .git/hooks && test -w .git/hooks'
	rm -rf .git/h
	unchanged
}

@test "the configuration cannot be changed" {
	keep .git/config config
	fails 'git config core.hooksPath /tmp'
	fails 'git config --worktree core.fsmonitor evil'
	fails 'echo x >>.git/config'
	fails 'rm .git/config'
	fails 'mv .git/config .git/old'
	fails 'mv file .git/config'
	fails 'echo x >.git/config.worktree'
	fails 'echo /tmp >.git/commondir'
	fails 'echo "* filter=evil" >.git/info/attributes'
	fails 'mv .git/info .git/old'
	kept .git/config config
	for name in config.worktree commondir info/attributes config.lock old; do
		[[ ! -e .git/$name ]]
	done
	sound
}

@test "the git directory cannot be renamed, removed or replaced" {
	keep .git/config config
	fails 'mv .git old'
	fails 'mkdir new && mv -T new .git'
	rm -rf new
	fails 'rm -rf .git && test ! -e .git'
	fails 'python3 -c "import os; os.rename(\".git\", \"old\")" || perl -e "rename \".git\", \"old\" or exit 1"'
	kept .git/config config
	[[ -d .git/hooks && ! -e old ]]
}

@test "repeated runs leave nothing in the git directory" {
	remember
	for _ in 1 2 3; do
		inside true
		silent 0
	done
	unchanged
	inside --wall-time 1 sleep 600
	says 124
	unchanged
}

# ---- opening the configuration -------------------------------------------------------------

@test "allow_git_config opens the configuration and nothing else" {
	keep .git/hooks hooks
	printf '{"fs": {"allow_write": ["%s"], "allow_git_config": true}}' "$project" \
		>"$BATS_TEST_TMPDIR/policy"
	inside --policy-fd 4 git config user.name Someone 4<"$BATS_TEST_TMPDIR/policy"
	silent 0
	[[ $(git config user.name) == Someone ]]
	fails 'echo x >.git/hooks/pre-commit' --policy-fd 4 4<"$BATS_TEST_TMPDIR/policy"
	fails 'mv .git/hooks .git/old' --policy-fd 4 4<"$BATS_TEST_TMPDIR/policy"
	fails 'mv .git old' --policy-fd 4 4<"$BATS_TEST_TMPDIR/policy"
	fails 'echo "* filter=evil" >.git/info/attributes' --policy-fd 4 4<"$BATS_TEST_TMPDIR/policy"
	kept .git/hooks hooks
	# A child cannot ask for it.
	keep .git/config config
	fails 'git config user.name Other' --narrow-fd 4 4<<<'{"fs": {"allow_git_config": true}}'
	kept .git/config config
	sound
}
