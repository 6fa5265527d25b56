#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:write_protected
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-43: a directory that the host's git looks into becomes a git directory, whose configuration it obeys.

setup() {
	load helper
	new_project
	command -v git >/dev/null || lacking git
	ran=$BATS_TEST_TMPDIR/ran
	export GIT_CONFIG_NOSYSTEM=1
	git config --global init.defaultBranch main
	git config --global user.name t
	git config --global user.email t@example.org
	git config --global protocol.file.allow always
	cat >"$BATS_TEST_TMPDIR/evil" <<-CONFIG
		[core]
			repositoryformatversion = 0
			worktree = $project
			fsmonitor = "touch '$ran'; false"
	CONFIG
	mkdir plain flags
	cp "$BATS_TEST_TMPDIR/evil" plain/evil
	rounds='1 2'
}

teardown() {
	chmod 755 "$project/.git" 2>/dev/null || true
	end_background
}

repository() {
	git init -q "$1"
	echo text >"$1/tracked"
	git -C "$1" add tracked
	git -C "$1" commit -q -m first
}

# What makes $1 a git directory, as a shell inside does it; as much of it as is possible.
become_git='
	become() {
		mkdir -p "$1/objects" "$1/refs/heads"
		echo "ref: refs/heads/main" >"$1/HEAD"
		cp plain/evil "$1/config"
	}
	become_by_commondir() {
		mkdir -p plain/store/objects plain/store/refs
		{ grep -v worktree plain/evil; echo "[extensions]"; echo "worktreeConfig = true"; } >plain/store/config
		{ echo "[core]"; grep worktree plain/evil; } >"$1/config.worktree"
		echo "$2" >"$1/commondir"
		echo "ref: refs/heads/main" >"$1/HEAD"
	}
'

# The host's git, in DIR, runs nothing of the command's.
host_is_safe() {
	git -C "$1" status >/dev/null 2>&1 || true
	git -C "$1" diff >/dev/null 2>&1 || true
	[[ ! -e $ran ]] || { echo "git ran the command's program in $1"; ls -la "$1"; false; }
}

# attack DIR SCRIPT: git on the host, in DIR, runs nothing while the command that has done it goes on,
# after that, and while and after another one tries the same again.
attack() {
	local dir=$1 round pid
	for round in $rounds; do
		run_box sh -c "$become_git $2"'
			: >flags/began; until [ -e flags/enough ]; do sleep 0.02; done' 2>/dev/null 3>&- &
		pid=$!
		background+=("$pid")
		wait_for flags/began
		host_is_safe "$dir"
		: >flags/enough
		wait "$pid" || true
		host_is_safe "$dir"
		rm flags/began flags/enough
	done
}

# twin DIR SCRIPT: what the attack tries works where it is allowed.
twin() {
	chmod 755 .git 2>/dev/null || true
	sh -c "$become_git $2" 2>/dev/null || true
	git -C "$1" status >/dev/null 2>&1 || true
	[[ -e $ran ]] || { echo "the twin of the attack on $1 does nothing"; ls -la "$1"; false; }
}

away='mv .git/HEAD .git/away;'

@test "the root of a repository whose .git/HEAD was moved away" {
	repository .
	attack . "$away become ."
	twin . "$away become ."
}

@test "the root of a repository whose .git was closed" {
	repository .
	rounds=1 # nothing runs where .git is closed
	attack . 'become .; chmod 000 .git'
	chmod 755 .git
	if is_root; then
		return # closed to others only
	fi
	twin . 'become .; chmod 000 .git'
}

@test "the root of a repository, by a commondir" {
	repository .
	attack . "$away become_by_commondir . plain/store"
	twin . "$away become_by_commondir . plain/store"
}

# bats test_tags=clause:missing_names
@test "a root without .git" {
	attack . 'become .'
	twin . 'become .'
}

# bats test_tags=clause:missing_names
@test "a root without .git, by a commondir" {
	attack . 'become_by_commondir . plain/store'
	twin . 'become_by_commondir . plain/store'
}

# bats test_tags=clause:missing_names
@test "a root that is a subdirectory of a repository" {
	repository "$HOME"
	attack . 'become .'
	attack . 'rm -rf objects HEAD config; become_by_commondir . plain/store'
	twin . 'become_by_commondir . plain/store'
}

@test "the top of a nested repository" {
	repository .
	repository nested/inner
	attack nested/inner 'mv nested/inner/.git/HEAD nested/inner/.git/away; become nested/inner'
	attack nested/inner 'rm -rf nested/inner/objects nested/inner/HEAD nested/inner/config
		become_by_commondir nested/inner ../../plain/store'
	twin nested/inner 'mv nested/inner/.git/HEAD nested/inner/.git/away; become_by_commondir nested/inner ../../plain/store'
}

@test "the top of a linked worktree, and of one as the root" {
	repository main
	git -C main worktree add -q ../wt
	attack wt 'mv main/.git/worktrees/wt/HEAD plain/away; become wt'
	git -C main worktree add -q "$project/other"
	project=$project/other
	cd "$project"
	mkdir plain flags
	cp "$BATS_TEST_TMPDIR/evil" plain/evil
	attack . 'mv ../main/.git/worktrees/other/HEAD plain/away; become .'
	attack . 'become_by_commondir . plain/store'
}

# bats test_tags=clause:missing_names
@test "a directory outside of the project that may be written" {
	policy_where "d['fs']['allow_write'].append('$elsewhere')"
	sed -i "s|worktree = .*|worktree = $elsewhere|" plain/evil
	attack "$elsewhere" "become '$elsewhere'"
	attack "$elsewhere" "mkdir '$elsewhere/.git' && become '$elsewhere/.git'"
	attack "$elsewhere" "become_by_commondir '$elsewhere' '$project/plain/store'"
	twin "$elsewhere" "become_by_commondir '$elsewhere' '$project/plain/store'"
}

# bats test_tags=clause:missing_names
@test "where the project has directories of these names" {
	repository .
	local names
	for names in refs objects 'refs objects'; do
		# shellcheck disable=SC2086 # several
		mkdir -p $names
		attack . "$away become ."
		rm -rf refs objects HEAD config
		git checkout -q -f main 2>/dev/null || mv .git/away .git/HEAD
	done
}

# One that began while something else was missing does not open what this one relies on.
# bats test_tags=clause:missing_names
@test "two commands at once, of which each may make what the other may not" {
	repository .
	mkdir refs
	rm -f plain/*.go
	run_box sh -c ': >plain/one; until [ -e plain/one.go ]; do sleep 0.02; done
		rm -rf refs; mkdir refs; echo "ref: refs/heads/main" >HEAD; cp plain/evil config' 2>/dev/null 3>&- &
	background+=($!)
	wait_for plain/one
	rm -r refs
	run_box sh -c ': >plain/two; until [ -e plain/two.go ]; do sleep 0.02; done
		rm -rf objects; mkdir objects; mv .git/HEAD .git/away' 2>/dev/null 3>&- &
	background+=($!)
	wait_for plain/two
	: >plain/two.go
	wait "${background[1]}" || true
	: >plain/one.go
	wait "${background[0]}" || true
	host_is_safe .
}

# Git enters them by itself.
# bats test_tags=clause:missing_names
@test "a submodule that is not checked out" {
	repository "$elsewhere/origin"
	repository .
	git submodule --quiet add "$elsewhere/origin" deep/er/sub
	repository nested
	git -C nested submodule --quiet add "$elsewhere/origin" sub
	git commit -q -m sub
	git -C nested commit -q -m sub
	git clone -q . "$project/fresh"
	git clone -q nested "$project/fresh/nested"
	project=$project/fresh
	cd "$project"
	[[ -d deep/er/sub && ! -e deep/er/sub/.git ]]
	mkdir plain flags
	sed "s|worktree = .*||" "$BATS_TEST_TMPDIR/evil" >plain/evil
	attack . 'mkdir deep/er/sub/.git && become deep/er/sub/.git'
	attack . 'mkdir -p plain/g && become plain/g && echo "gitdir: ../../../plain/g" >deep/er/sub/.git'
	attack nested 'mkdir nested/sub/.git && become nested/sub/.git'
	# Its directory is gone.
	rmdir deep/er/sub
	attack . 'mkdir -p deep/er/sub/.git && become deep/er/sub/.git'
	# Moved, with all above it.
	attack . 'mv deep plain/deep; mkdir -p deep/er/sub/.git && become deep/er/sub/.git'
	twin . 'mkdir -p deep/er/sub/.git && become deep/er/sub/.git'
}

# bats test_tags=backend:view
@test "git works beside all that, on the host and inside" {
	repository .
	repository "$elsewhere/origin"
	git submodule --quiet add "$elsewhere/origin" sub
	git commit -q -m sub
	git clone -q . "$project/fresh"
	cd fresh
	echo more >>tracked
	echo new >new
	run_box sh -c ': >began; until [ -e enough ]; do sleep 0.02; done' 3>&- &
	background+=($!)
	wait_for began
	local act
	for act in 'status --porcelain' 'diff HEAD' 'clean -n' 'stash -u' 'stash pop' 'add -A' 'commit -q -m more' \
		'rev-parse HEAD' 'log -1 refs/heads/main'; do
		# shellcheck disable=SC2086 # words
		git $act >/dev/null || { echo "on the host: git $act"; false; }
	done
	[[ $(git ls-files) == $'.gitmodules\nbegan\nnew\nsub\ntracked' ]]
	: >enough
	wait "${background[0]}"
	for act in 'status --porcelain' 'diff HEAD' 'add -A' 'commit -q -m again' 'rev-parse HEAD'; do
		# shellcheck disable=SC2086 # words
		run_box git $act >/dev/null || { echo "inside: git $act"; false; }
	done
	[[ $(git status --porcelain) == '' ]]
	[[ $(cd "$project/fresh" && echo *) == 'began enough new sub tracked' ]]
}

# A reserved .git would make git stop. What a command puts there is told (t92_left_behind).
# bats test_tags=backend:view
@test "a submodule with files, but without a .git: git works inside" {
	repository .
	repository "$elsewhere/origin"
	git submodule --quiet add "$elsewhere/origin" sub
	git commit -q -m sub
	git clone -q . "$project/fresh"
	cd fresh
	project=$PWD
	echo text >sub/file
	run_box git status --porcelain
	run run_box sh -c 'git init -q sub'
	[[ $status -eq 0 && $output == *"left behind: $project/sub/.git is a git directory"* ]] || { echo "$output"; false; }
}

# bats test_tags=clause:missing_names
@test "a repository without a work tree as the root: git works inside" {
	git init -q --bare "$project/bare.git"
	cd bare.git
	run_box git rev-parse --is-bare-repository
	run_box git update-ref refs/heads/x "$(git hash-object -t commit -w --stdin <<-COMMIT
		tree $(git hash-object -t tree -w /dev/null)
		author t <t@example.org> 0 +0000
		committer t <t@example.org> 0 +0000
	COMMIT
	)"
	git rev-parse -q --verify refs/heads/x
}
