#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:none,backend:view
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # shells inside expand
# T-92: an index leads into the project from a repository whose .git is not in it, or not beside its work tree.
bats_require_minimum_version 1.5.0

setup() {
	load helper
	new_project
	export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a
	export GIT_COMMITTER_EMAIL=a@b
	main=$project
	git init -q .
	touch file
	git add file
	git commit -q -m start
	obeyed=$BATS_TEST_TMPDIR/obeyed
	bait="[core]
	repositoryformatversion = 0
	fsmonitor = \"touch '$obeyed'; false\""
}

# leaving SCRIPT [ARG]: runs it in the project; the events are in the array left.
leaving() {
	"$KODA_BIN" run --root "$project" --events-fd 5 -- sh -ec "$1" sh "$bait" "${2-}" \
		5>"$BATS_TEST_TMPDIR/events" 2>"$BATS_TEST_TMPDIR/err"
	cat "$BATS_TEST_TMPDIR/err"
	mapfile -t left < <(python3 -c '
import json, sys
for line in open(sys.argv[1]):
    event = json.loads(line)
    if event["type"] == "left_behind":
        print(event["what"], event["path"])' "$BATS_TEST_TMPDIR/events")
}

# left_is WHAT PATH: nothing else is.
left_is() {
	printf '%s\n' "${left[@]}"
	[[ ${#left[@]} -eq 1 && ${left[0]} == "$1 $2" ]]
}

git_obeys() {
	[[ ! -e $obeyed ]]
	git "$@" status >/dev/null 2>&1 || true
	[[ -e $obeyed ]]
}

# A repository in the new directory "new".
new='git init -q new; git -C new -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
	printf "%s\n" "$1" >new/.git/config'

@test "a linked worktree as the root: the index of the main work tree around it" {
	git worktree add -q wt
	project=$main/wt
	cd "$project"
	leaving "$new; git --git-dir=\"\$2\" update-index --add --cacheinfo 160000,\$(git -C new rev-parse HEAD),wt/new" \
		"$main/.git"
	left_is gitlink "$project/new/.git"
	git_obeys -C "$main"
	# Twin: what is normal there.
	rm -rf new
	git -C "$main" read-tree HEAD
	leaving 'touch a; git add a; mkdir b; touch b/c; git add b/c; git init -q own'
	[[ ${#left[@]} -eq 0 ]]
}

@test "a linked worktree as the root: a repository of an earlier command" {
	git worktree add -q wt
	project=$main/wt
	cd "$project"
	leaving "$new"
	[[ ${#left[@]} -eq 0 ]]
	sleep 3 # times may be coarse
	leaving 'git --git-dir="$2" update-index --add --cacheinfo 160000,$(git -C new rev-parse HEAD),wt/new' "$main/.git"
	left_is gitlink "$project/new/.git"
	git_obeys -C "$main"
	sleep 3
	leaving 'touch more'
	[[ ${#left[@]} -eq 0 ]]
}

@test "a linked worktree as the root: an index of the main work tree that is none" {
	git worktree add -q wt
	project=$main/wt
	cd "$project"
	leaving 'printf x >>"$2/index"' "$main/.git"
	left_is gitlink "$main/.git"
}

@test "a subdirectory as the root: a submodule that is not checked out" {
	mkdir work
	git update-index --add --cacheinfo "160000,$(git rev-parse HEAD),work/new"
	project=$main/work
	cd "$project"
	leaving "$new"
	left_is gitlink "$project/new/.git"
	git_obeys -C "$main"
	# Twin: a repository that no index has.
	rm -rf new
	leaving 'git init -q other; touch x'
	[[ ${#left[@]} -eq 0 ]]
}

@test "a subdirectory as the root: a submodule that was there is not told of" {
	mkdir work
	git init -q work/sub
	git -C work/sub commit -q --allow-empty -m x
	git add work/sub
	project=$main/work
	cd "$project"
	leaving 'mkdir d; touch sub/x; git -C sub add x'
	[[ ${#left[@]} -eq 0 ]]
}

@test "a work tree that core.worktree names" {
	mkdir tree
	git init -q --bare store
	git -C store config core.bare false
	git -C store config core.worktree ../tree
	leaving "cd tree; $new; git --git-dir=../store add new"
	left_is gitlink "$project/tree/new/.git"
	git_obeys -C store
	rm -rf tree/new
	git -C store read-tree --empty
	leaving 'touch tree/x; mkdir tree/d; git --git-dir=store --work-tree=tree add x'
	[[ ${#left[@]} -eq 0 ]]
}

@test "a work tree that core.worktree names, and has a .git of another repository" {
	mkdir tree
	git init -q tree
	git init -q --bare store
	git -C store config core.bare false
	git -C store config core.worktree ../tree
	leaving "cd tree; $new; git --git-dir=../store add new"
	left_is gitlink "$project/tree/new/.git"
	git_obeys -C store
}
