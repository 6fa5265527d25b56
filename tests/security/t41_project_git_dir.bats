#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:write_protected
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # box is the helper's; shells inside expand
# T-41: a project's .git file leads to a git directory elsewhere. It is opened only if it names the
# project back, and never the names in it that the host's git runs or trusts.

setup() {
	load helper
	new_project
	command -v git >/dev/null || lacking git
	git config --global user.name A
	git config --global user.email a@example.org
	main=$elsewhere/main
	git init -q -b main "$main"
	echo one >"$main/file"
	git -C "$main" add file
	git -C "$main" commit -q -m first
}

teardown() {
	end_background
}

# The project becomes a worktree of the repository elsewhere.
make_worktree() {
	cd "$HOME" || return
	rm -rf "$project"
	git -C "$main" worktree add -q -b side "$project"
	cd "$project" || return
	common=$main/.git
	gitdir=$common/worktrees/project
}

# The project becomes a submodule of one that lies around it.
make_submodule() {
	cd "$HOME" || return
	rm -rf "$project"
	git init -q -b main "$HOME/super"
	git -C "$HOME/super" -c protocol.file.allow=always submodule --quiet add "$main" sub
	git -C "$HOME/super" commit -q -m super
	project=$HOME/super/sub
	cd "$project" || return
	gitdir=$HOME/super/.git/modules/sub
}

# git's everyday work inside.
works() {
	run_box sh -ec '
		git status --porcelain
		echo two >file
		git add file
		git commit -q -m second
		git branch topic
		git checkout -q topic
		git checkout -q -
		git branch -q -D topic
		test -z "$(git status --porcelain)"'
	[[ $(git log --format=%s -1) == second ]]
	git fsck --strict --no-progress
}

names_are_closed() {
	refused_each <<-ACTS
		open-write	$1/config
		rename	$1/config	$1/moved
		create	$1/hooks/pre-commit
		rename	$1/hooks	$1/moved
		create	$1/config.worktree
		create	$1/info/attributes
		mkdir	$1/modules/new
		rename	$1	$1-moved
	ACTS
}

# bats test_tags=backend:view
@test "a linked worktree: git works, hooks, configuration and pointers are closed" {
	make_worktree
	git -C "$main" worktree add -q -b other "$elsewhere/other"
	mkdir -p "$common/modules"
	works
	names_are_closed "$common"
	refused_each <<-ACTS
		open-write	$gitdir/gitdir
		open-write	$gitdir/commondir
		create	$gitdir/config.worktree
		rename	$gitdir	$common/worktrees/moved
		open-write	$common/worktrees/other/gitdir
		open-write	$common/worktrees/other/commondir
		create	$common/worktrees/other/config.worktree
		open-write	.git
		unlink	.git
		create	$main/new
		open-write	$main/file
		create	$elsewhere/other/new
	ACTS
	[[ $(find "$main/.git" -name config.worktree -o -name 'moved*') == '' ]]
}

@test "policy check says the same" {
	make_worktree
	run "$KODA_BIN" policy check write "$common/objects/x"
	[[ $status -eq 0 && $output == *"(project.git_dir: $common)"* ]]
	run "$KODA_BIN" policy check write "$common/config"
	[[ $status -eq 1 ]]
	run "$KODA_BIN" policy check write "$main/file"
	[[ $status -eq 1 ]]
	run "$KODA_BIN" policy check --read-only write "$common/objects/x"
	[[ $status -eq 1 ]]
}

# bats test_tags=backend:view
@test "a submodule: git works, hooks and configuration are closed" {
	make_submodule
	mkdir -p "$gitdir/modules"
	works
	names_are_closed "$gitdir"
	refused_each <<-ACTS
		create	$HOME/super/new
		create	$HOME/super/.git/new
		create	$HOME/super/.git/modules/new
		open-write	.git
	ACTS
}

# bats test_tags=backend:view
@test "a worktree inside the bare repository it belongs to: only what a commit needs" {
	git clone -q --bare "$main" "$HOME/bare"
	git -C "$HOME/bare" worktree add -q -b side "$HOME/bare/side"
	git -C "$HOME/bare" worktree add -q -b other "$HOME/bare/other"
	mkdir -p "$HOME/bare/logs"
	cd "$HOME/bare/side" || return
	run_box sh -ec 'echo two >file; git commit -q -a -m second; git branch topic'
	[[ $(git log --format=%s -1) == second ]]
	refused_each <<-ACTS
		create	../new
		create	../other/new
		open-write	../config
		create	../hooks/pre-commit
	ACTS
}

# The same project, the same pointer; only the way back differs.
stays_closed() {
	refused_each <<-ACTS
		create	$common/new
		open-write	$common/HEAD
		create	$common/objects/new
		create	$gitdir/new
		create	$common/hooks/pre-commit
	ACTS
	[[ $("$KODA_BIN" policy check write "$common/objects/x") == deny* ]]
}

@test "a pointer to somebody's repository opens nothing" {
	make_worktree
	allowed create "$common/objects/twin"
	git -C "$main" worktree add -q -b victim "$elsewhere/victim"
	gitdir=$common/worktrees/victim
	echo "gitdir: $gitdir" >.git
	stays_closed
	gitdir=$common
	echo "gitdir: $gitdir" >.git
	stays_closed
}

@test "nor if the worktree was said to be elsewhere, or to share another directory" {
	make_worktree
	cp "$gitdir/gitdir" "$BATS_TEST_TMPDIR/gitdir"
	echo "$elsewhere/.git" >"$gitdir/gitdir"
	stays_closed
	cp "$BATS_TEST_TMPDIR/gitdir" "$gitdir/gitdir"
	echo "$elsewhere" >"$gitdir/commondir"
	stays_closed
	echo ../.. >"$gitdir/commondir"
	allowed create "$common/objects/twin"
}

# bats test_tags=clause:link_names
@test "a git directory made up in the project cannot vouch for one outside" {
	common=$main/.git gitdir=$project/fake
	mkdir fake fake/objects fake/refs
	cp "$common/HEAD" fake/
	echo "$project/.git" >fake/gitdir
	echo "$common" >fake/commondir
	echo 'gitdir: fake' >.git
	refused create "$common/objects/new"
	mkdir -p fake/worktrees
	mv fake fake-worktree
	mkdir -p fake/worktrees
	mv fake-worktree fake/worktrees/project
	echo 'gitdir: fake/worktrees/project' >.git
	refused create "$common/objects/new"
	ln -s "$common/worktrees" link
	mkdir -p "$common/worktrees"
	echo 'gitdir: link/project' >.git
	refused create "$common/objects/new"
}

@test "a submodule whose repository has another work tree opens nothing" {
	make_submodule
	allowed create "$gitdir/objects/twin"
	sed -i 's|worktree = .*|worktree = ../../../elsewhere|' "$gitdir/config"
	refused create "$gitdir/objects/new"
	sed -i '/worktree = /d' "$gitdir/config"
	refused create "$gitdir/objects/new"
}

# bats test_tags=backend:locked
@test "a policy that does not open the project does not open its git directory" {
	make_worktree
	mkdir src
	box=(--read-only)
	refused create "$common/objects/new"
	box=(--trust plan)
	refused create "$common/objects/new"
	box=(--narrow-fd 9)
	policy=$BATS_TEST_TMPDIR/child
	echo "{\"fs\": {\"allow_write\": [\"$project/src\"]}}" >"$policy"
	refused create "$common/objects/new"
	allowed create src/new
	echo "{\"fs\": {\"allow_write\": [\"$common\"]}}" >"$policy"
	refused create "$common/objects/new"
	box=(--deny-write "$common/objects")
	refused create "$common/objects/new"
	allowed create "$common/refs/twin"
	box=(--deny-read "$common/objects")
	refused open-read "$common/objects/pack"
	refused create "$common/objects/new"
}

@test "what is refused as a project is not opened as a git directory" {
	cp -r "$main/.git/." "$HOME"
	git -C "$HOME" worktree add -q -f -b home-side "$elsewhere/wt"
	cd "$elsewhere/wt" || return
	refused create "$HOME/objects/new"
	refused create "$HOME/new"
	mkdir -p "$HOME/.ssh"
	git clone -q --bare "$main" "$HOME/.ssh/repo"
	git -C "$HOME/.ssh/repo" worktree add -q -b ssh-side "$elsewhere/wt2"
	cd "$elsewhere/wt2" || return
	refused create "$HOME/.ssh/repo/objects/new"
	refused create "$HOME/.ssh/new"
}

# bats test_tags=backend:view
@test "two runs, in the repository and in its worktree, share what they reserve" {
	make_worktree
	find "$common" | LC_ALL=C sort >"$BATS_TEST_TMPDIR/before"
	(cd "$main" && exec "$KODA_BIN" run -- sh -c 'touch ready
		until [ -e go ]; do sleep 0.05; done') 3>&- &
	background+=($!)
	wait_for "$main/ready"
	run_box git status
	touch "$main/go"
	wait "${background[0]}"
	find "$common" | LC_ALL=C sort >"$BATS_TEST_TMPDIR/after"
	diff "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after"
}

# Whoever makes the link cannot read what it leads to; who plans the next command can.
@test "a pointer that is a link to what is hidden is not read, and nothing of it is told" {
	printf 'SECRET%0300d\n' 1 >"$elsewhere/token"
	box=(--deny-read "$elsewhere/token")
	mkdir -p nested/.git/hooks other
	ln -s "$elsewhere/token" nested/.git/commondir
	run run_box true
	[[ $status -eq 125 && $output != *SECRET* && $output == *"git's pointers are not read through links"* ]] ||
		{ echo "$output"; false; }
	rm nested/.git/commondir
	printf 'gitdir: SECRET%0300d\n' 1 >"$elsewhere/token"
	ln -s "$elsewhere/token" other/.git
	run run_box true
	[[ $output != *SECRET* ]]
	# Twin: a file that leads nowhere keeps nobody from anything.
	rm other/.git
	printf '%0300d\n' 1 >nested/.git/commondir
	mkdir free
	allowed create free/new
}

# Opening a device can do something. Of a FIFO its writer hears.
# bats test_tags=clause:link_names
@test "nothing but a file is opened because it is where a pointer belongs, or a link leads there" {
	mkdir -p nested/.git/hooks other third free
	mkfifo nested/.git/commondir "$elsewhere/fifo"
	ln -s "$elsewhere/fifo" other/.git
	ln -s /proc/kmsg third/.git
	local fifo
	for fifo in nested/.git/commondir "$elsewhere/fifo"; do
		sh -c 'exec >"$1"; touch "$2"' sh "$fifo" "$BATS_TEST_TMPDIR/heard" 3>&- &
		background+=($!)
	done
	allowed create free/new
	sleep 0.1
	[[ ! -e $BATS_TEST_TMPDIR/heard ]]
	# Twin: they would have heard.
	timeout 5 cat nested/.git/commondir
	wait_for "$BATS_TEST_TMPDIR/heard"
}
