#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:write_protected,backend:view
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-30: more repositories than get mounts of their own, and trees made to keep the survey busy.
bats_require_minimum_version 1.5.0

setup() {
	load helper
	new_project
}

# repositories COUNT: in directories of a hundred, as git makes them; and the project's own.
repositories() {
	python3 - "$1" <<-'PYTHON'
		import os, sys
		def make(git):
		    for part in ("objects", "refs", "hooks"):
		        os.makedirs(git + "/" + part)
		    with open(git + "/HEAD", "w") as f:
		        f.write("ref: refs/heads/main\n")
		    with open(git + "/config", "w") as f:
		        f.write("[core]\n\trepositoryformatversion = 0\n")
		make(".git")
		for i in range(int(sys.argv[1])):
		    make("g%d/r%d/.git" % (i // 100, i))
	PYTHON
}

@test "of many repositories none can be changed" {
	repositories 700
	for git in g0/r0/.git g3/r377/.git g6/r699/.git; do
		printf '%s\t%s\n' create "$git/hooks/pre-commit" open-write "$git/config" create "$git/commondir" \
			create "$git/x" rename "$git"$'\t'moved rename "${git%/.git}"$'\t'moved
	done >"$BATS_TEST_TMPDIR/acts"
	refused_each <"$BATS_TEST_TMPDIR/acts"
	# Twin: their work trees are open.
	allowed create g3/r377/file
	refused create .git/hooks/pre-commit
	allowed create .git/x
}

@test "the host is told that their git directories are closed" {
	local most=512
	[[ ${KODA_TEST_BACKEND-} != bwrap ]] || most=128
	repositories $((most + 1))
	run -125 "$KODA_BIN" run --events-fd 5 -- sh -c 'exit 125' 5>events
	[[ $output == *'so many repositories'*'--root'* ]]
	grep -q '"type":"limit".*"which":"repositories","value":'"$most" events
	"$KODA_BIN" run -- true 2>err
	[[ ! -s err ]]
	# Twin: of fewer nothing is said, and a nested one can be written to.
	rm -r "g$((most / 100))"
	run -125 "$KODA_BIN" run --events-fd 5 -- sh -c 'exit 125' 5>events
	[[ $output != *repositories* ]]
	run ! grep -q '"type":"limit"' events
	allowed create g0/r0/.git/x
}

# T-43. Nothing is reserved beside a git directory that is closed as a whole: git stops at it.
@test "the top of one of many does not become a git directory" {
	command -v git >/dev/null || lacking git
	repositories 520
	local ran=$BATS_TEST_TMPDIR/ran top=g3/r333
	cat >evil <<-CONFIG
		[core]
			repositoryformatversion = 0
			worktree = $project/$top
			fsmonitor = "touch '$ran'; false"
	CONFIG
	local plant='mkdir -p objects refs/heads; echo "ref: refs/heads/main" >HEAD; cp ../../evil config'
	refused_each <<-ACTS
		rename	$top/.git/HEAD	$top/.git/away
		rename	$top/.git/HEAD	away
		unlink	$top/.git/HEAD
		open-write	$top/.git/HEAD
		rename	$top/.git	$top/away
		rename	$top	away
		rename	$top/.git/refs	away
		rename	$top/.git/objects	away
		chmod	$top/.git	000
		chmod	$top/.git/HEAD	000
	ACTS
	"$KODA_BIN" run -- sh -c 'cd "$1" || exit; '"$plant"'
		mv .git/HEAD .git/away; rm -f .git/HEAD; echo >.git/HEAD
		chmod 000 .git; chmod 000 .git/HEAD .git/refs .git/objects
		umount -l .git; mv .git away; mv ../r333 ../moved; mkdir new && mount --bind new .git
		:' sh "$top" 2>/dev/null
	[[ -e $top/config && -e $top/HEAD ]]
	git -C "$top" status >/dev/null
	[[ $(git -C "$top" rev-parse --absolute-git-dir) == "$project/$top/.git" && ! -e $ran ]]
	# As the project, or one of few, its .git is open: so nothing runs beside what was put there.
	run -125 "$KODA_BIN" run --root "$top" -- mv .git/HEAD .git/away
	[[ $output == *"/$top: has a .git and is a git directory itself"* ]]
	rm -r g0 g1 g2 g4 g5
	run -125 "$KODA_BIN" run -- mv "$top/.git/HEAD" "$top/.git/away"
	[[ $output == *"/$top: has a .git and is a git directory itself"* && ! -e $ran ]]
	# Twins: it is that which git obeys, and without it all is as usual.
	mv "$top/.git/HEAD" "$top/.git/away"
	git -C "$top" status >/dev/null 2>&1 || true
	[[ -e $ran ]]
	mv "$top/.git/away" "$top/.git/HEAD"
	rm "$top/HEAD"
	"$KODA_BIN" run --root "$top" -- touch .git/x
}

# What makes these valid is not all in a directory that is closed, or they are not.
@test "the top of one of many where git may look further" {
	command -v git >/dev/null || lacking git
	repositories 520
	: >g0/r0/.git/HEAD
	ln g0/r1/.git/HEAD head
	rm g0/r2/.git/HEAD && ln -s ../../../head g0/r2/.git/HEAD
	mv g0/r3/.git/refs refs3 && ln -s ../../../refs3 g0/r3/.git/refs
	mkdir -p store/objects store/refs && echo ../../../store >g0/r4/.git/commondir
	rmdir g0/r5/.git/objects
	for top in g0/r0 g0/r1 g0/r2 g0/r3 g0/r4 g0/r5; do
		printf '%s\t%s\n' mkdir "$top/refs" create "$top/commondir"
	done >"$BATS_TEST_TMPDIR/acts"
	refused_each <"$BATS_TEST_TMPDIR/acts"
	allowed mkdir g0/r6/refs
}

# Git ends at a .git file that leads to no git directory. So nothing is reserved beside many of them,
# and as many submodules start as fast as other repositories.
@test "the top of a submodule, one of many, does not become a git directory" {
	command -v git >/dev/null || lacking git
	local ran=$BATS_TEST_TMPDIR/ran top=s/r333
	git init -q .
	git -c user.name=t -c user.email=t@t commit -q --allow-empty -m first
	git worktree add -q wt
	mkdir -p lost/a
	echo 'gitdir: ../../nowhere' >lost/a/.git
	python3 - <<-'PYTHON'
		import os
		for i in range(520):
		    git = ".git/modules/r%d" % i
		    for part in ("objects", "refs", "hooks"):
		        os.makedirs(git + "/" + part)
		    with open(git + "/HEAD", "w") as f:
		        f.write("ref: refs/heads/main\n")
		    with open(git + "/config", "w") as f:
		        f.write("[core]\n\trepositoryformatversion = 0\n\tworktree = ../../../s/r%d\n" % i)
		    os.makedirs("s/r%d" % i)
		    with open("s/r%d/.git" % i, "w") as f:
		        f.write("gitdir: ../../.git/modules/r%d\n" % i)
	PYTHON
	printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "touch %s; false"\n' "'$ran'" >evil
	allowed mkdir s/r1/refs
	"$KODA_BIN" run -- sh -c 'mv .git/worktrees/wt/HEAD away; rm -f .git/worktrees/wt/HEAD
		mv .git/modules/r333/HEAD away; mv .git/HEAD away
		for top in s/r333 wt lost/a; do
			rm -f "$top/.git"; mv "$top/.git" "$top/away"; chmod 000 "$top/.git"; echo >"$top/.git"
			mv "$top" moved; mkdir -p "$top/objects" "$top/refs"
			echo "ref: refs/heads/main" >"$top/HEAD"; { cat evil; echo "worktree = $PWD/$top"; } >"$top/config"
		done
		:' 2>/dev/null
	for top in s/r333 wt lost/a; do
		[[ -f $top/.git && -e $top/HEAD && -e $top/config ]]
		git -C "$top" status >/dev/null 2>&1 || true
		[[ ! -e $ran ]]
	done
	# Twin.
	rm wt/.git
	git -C wt status >/dev/null 2>&1 || true
	[[ -e $ran ]]
}

# T-44, and a submodule that is not checked out: git enters it by itself.
@test "the settings of one of many lead elsewhere" {
	repositories 520
	mkdir g3/r333/.husky g3/r333/sub
	printf '[core]\n\thooksPath = .husky\n[include]\n\tpath = ../more\n' >>g3/r333/.git/config
	printf '[submodule "sub"]\n\tpath = sub\n' >g3/r333/.gitmodules
	refused_each <<-ACTS
		create	g3/r333/.husky/pre-commit
		create	g3/r333/more
		mkdir	g3/r333/sub/.git
	ACTS
	allowed create g3/r334/more
}

# bats test_tags=clause:link_names
@test "a hook of one of many that is a link" {
	repositories 520
	mkdir scripts
	rmdir g3/r333/.git/hooks
	ln -s ../../../scripts g3/r333/.git/hooks
	refused create scripts/pre-commit
	allowed create g0/r1/script
}

@test "a hook of one of many that has another name" {
	repositories 520
	echo >script
	ln script g3/r333/.git/hooks/pre-commit
	refused open-write script
	outside open-write script
}

# bats test_tags=needs:root
@test "something of the host's is mounted between many repositories" {
	repositories 520
	mkdir g3/r333/mounted
	run -0 unshare -m sh -c 'mount -t tmpfs none g3/r333/mounted && echo seen >g3/r333/mounted/file &&
		"$1" run -- cat g3/r333/mounted/file' sh "$KODA_BIN"
	[[ $output == *seen* ]]
}

@test "a survey that takes too long ends with the wall time" {
	python3 - <<-'PYTHON'
		import os
		os.mkdir("c")
		os.symlink(os.getcwd() + "/c", "c/l0")
		for k in range(1, 38):
		    os.symlink(os.getcwd() + "/c/l%d" % (k - 1), "c/l%d" % k)
		os.symlink("../../c/l37", "c/dot_git")
		for i in range(20000):
		    os.makedirs("d/%d" % i)
		    os.link("c/dot_git", "d/%d/.git" % i, follow_symlinks=False) # an inode less to remove
	PYTHON
	run -125 "$KODA_BIN" run --wall-time 1 -- true
	[[ $output == *"$project"*': looking at the project takes too long'*'raise the wall time'* ]]
}
