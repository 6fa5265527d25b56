#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:missing_names
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-32: placeholders get in nobody's way, and stay in the command's.

setup() {
	load helper
	new_project
	export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a \
		GIT_COMMITTER_EMAIL=a@b
}

teardown() {
	end_background
}

new_repository() {
	git init -q .
	git add file
	git commit -qm one
}

# begin COMMAND...: a sandbox that waits until there is a file "over" and then runs the command.
begin() {
	rm -f began over
	run_box sh -c ': >began; until [ -e over ]; do sleep 0.02; done; exec "$0" "$@"' "${@:-true}" \
		<"${acts_from:-/dev/null}" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	background+=($!)
	wait_for began
}

# finish: lets it go on; what came of it is in status and answer.
finish() {
	: >over
	status=0
	wait "${background[-1]}" || status=$?
	answer=$(<"$BATS_TEST_TMPDIR/out")
	rm -f began over
}

# quietly COMMAND...: it succeeds and says nothing about errors.
quietly() {
	local said
	said=$("$@" 2>&1 >/dev/null) && [[ ! $said ]] && return
	printf '%s: %s\n' "$*" "$said"
	return 1
}

# What walks the tree it is in, one in a line; $1 is where it may put a copy.
walkers() {
	cat <<-'WALKERS'
		cp -r . "$1/cp"
		cp -a . "$1/cp-a"
		tar -cf "$1/tar" .
		find . -type f -exec cat {} +
		python3 -c "import shutil, sys; shutil.copytree(\".\", sys.argv[1] + \"/copytree\")" "$1"
		python3 -c "import shutil, sys; shutil.make_archive(sys.argv[1] + \"/archive\", \"zip\", \".\")" "$1"
	WALKERS
	! command -v zip >/dev/null || echo 'zip -qr "$1/zip.zip" .'
	! command -v rsync >/dev/null || echo 'rsync -a . "$1/rsync"'
	! command -v node >/dev/null ||
		echo 'node -e "require(\"fs\").cpSync(\".\", process.argv[1] + \"/cpSync\", { recursive: true })" "$1"'
}

# Is nothing left in the project?
is_tidy() {
	[[ $(ls -A) == file ]]
}

# is_reserved NAME...: they are placeholders.
is_reserved() {
	local name
	for name; do
		[[ -d $name && $(stat -c %a:%Y "$name") == 755:951827696 ]] || return
	done
}

@test "whatever walks the project on the host passes placeholders" {
	mkdir "$elsewhere/copies"
	for kind in plain repository; do
		[[ $kind == plain ]] || new_repository
		begin
		is_reserved .vscode .mcp.json .claude
		[[ $kind == repository || ! $(find .vscode .mcp.json refs .git -mindepth 1) ]]
		while IFS= read -r walker; do
			quietly sh -c "$walker" sh "$elsewhere/copies" </dev/null
		done < <(walkers)
		[[ -d $elsewhere/copies/cp/.vscode && -e $elsewhere/copies/cp/file ]]
		rm -rf "$elsewhere/copies"
		mkdir "$elsewhere/copies"
		finish
		[[ $status -eq 0 ]]
	done
}

@test "whatever walks the project inside passes placeholders" {
	for kind in plain repository; do
		[[ $kind == plain ]] || new_repository
		walkers >"$BATS_TEST_TMPDIR/walkers"
		while IFS= read -r walker; do
			status=0
			run_box sh -c "$walker" sh /tmp </dev/null >/dev/null 2>"$BATS_TEST_TMPDIR/err" || status=$?
			[[ $status -eq 0 && ! -s $BATS_TEST_TMPDIR/err ]] || explain "$walker"
		done <"$BATS_TEST_TMPDIR/walkers"
	done
}

@test "git on the host passes placeholders, and what it tidies up opens no name" {
	new_repository
	begin "$KODA_PROBE" create .vscode/tasks.json
	echo more >>file
	echo new >new
	[[ $(git status --porcelain) == $' M file\n?? began\n?? new' ]]
	quietly git add -A --dry-run
	git add new
	quietly git stash -u
	[[ $(<file) == here && ! -e new ]]
	is_reserved .vscode .mcp.json .idea
	quietly git stash pop
	[[ -e new && $(git status --porcelain) == $' M file\nA  new\n?? began' ]]
	git rm -qf --cached new
	quietly git clean -fdq -e began
	[[ ! -e new ]]
	is_reserved .vscode .mcp.json .idea
	finish
	[[ $status -eq 1 && $answer == EROFS ]] || explain 'not refused'
	[[ $(git status --porcelain) == ' M file' && $(ls -A) == $'.git\nfile' ]]
}

@test "git inside passes placeholders" {
	new_repository
	run_box sh -ec '
		echo more >>file; echo new >new; mkdir empty
		[ "$(git status --porcelain)" = " M file
?? new" ]
		git add -A
		[ "$(git status --porcelain)" = "M  file
A  new" ]
		git reset -q
		git stash -qu
		[ ! -e new ]
		git stash pop -q
		git clean -fdq
		[ ! -e new ] && [ ! -e empty ] && [ -d .vscode ]
		git checkout -q file
		git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two'
	# With -x it is told that they stay.
	echo ignored >.gitignore
	: >ignored
	status=0
	run_box git clean -fdxq 2>"$BATS_TEST_TMPDIR/err" || status=$?
	[[ $status -eq 1 && $(<"$BATS_TEST_TMPDIR/err") == *.vscode* && ! -e ignored ]]
	refused create .vscode/tasks.json
	refused mkdir .vscode
	[[ $(ls -A) == $'.git\nfile' ]]
}

@test "git init beside a command makes a repository of the host's" {
	begin "$KODA_PROBE" create .git/hooks/pre-commit
	quietly git init -q .
	git add file
	quietly git commit -qm one
	finish
	[[ $status -eq 1 && $answer == EROFS ]] || explain 'not refused'
	[[ $(git status --porcelain) == '' && $(ls -A) == $'.git\nfile' ]]
	[[ ! -e .git/.gitignore ]]
	# Twin: the next command may use it, and its hooks are as closed.
	run_box git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two
	refused create .git/hooks/pre-commit
}

@test "git init inside fails, and leaves nothing" {
	status=0
	run_box git init -q . 2>"$BATS_TEST_TMPDIR/err" || status=$?
	[[ $status -ne 0 ]]
	no_litter ./file
}

@test "what an editor puts there stays, as a directory of the user's" {
	for kind in plain repository; do
		[[ $kind == plain ]] || new_repository
		begin "$KODA_PROBE" create .vscode/tasks.json
		mkdir -p .vscode
		echo '{}' >.vscode/settings.json
		echo '{}' >.idea/other.xml
		rm .idea/other.xml
		finish
		[[ $status -eq 1 && $answer == EROFS ]] || explain 'not refused'
		[[ $(stat -c %a:%u .vscode .idea | uniq) == 755:$EUID ]]
		[[ $(ls -A .vscode .idea) == $'.idea:\n\n.vscode:\nsettings.json' ]]
		[[ ! -e .mcp.json ]]
		refused create .vscode/tasks.json
		refused create .idea/other.xml
		[[ -d .idea && -e .vscode/settings.json ]]
		rm -r .vscode .idea
	done
}

@test "the user's own empty directories stay" {
	mkdir -m 0755 .vscode .claude refs
	mkdir -m 1755 .cursor
	mkdir -m 0700 .idea
	mkdir -m 1777 .codex
	run_box true
	refused create .vscode/tasks.json
	refused create .claude/settings.json
	[[ $(stat -c %a .vscode .claude refs .cursor .idea .codex | tr '\n' ' ') == '755 755 755 1755 700 1777 ' ]]
	no_litter $'./.claude\n./.codex\n./.cursor\n./.idea\n./.vscode\n./file\n./refs'
}

@test "nothing is left after a timeout, nor after the next run if all of it was killed" {
	local runner guardian
	status=0
	"$KODA_BIN" run --wall-time 1 -- sleep 30 || status=$?
	[[ $status -eq 124 ]]
	no_litter ./file
	for who in runner guardian both; do
		rm -f began
		"$KODA_BIN" run --wall-time 30 -- sh -c ': >began; sleep 30' 3>&- &
		runner=$!
		background+=("$runner")
		wait_for began
		guardian=$(<"/proc/$runner/task/$runner/children")
		guardian=${guardian%% *}
		is_reserved .vscode
		case $who in
		runner) kill -KILL "$runner" ;;
		guardian) kill -KILL "$guardian" ;;
		both) kill -STOP "$guardian" && kill -KILL "$runner" "$guardian" ;;
		esac
		wait "$runner" || true
		rm began
		[[ $who == runner ]] || run_box true
		eventually is_tidy
	done
}

# By commands, which may set times and modes of their own directories.
@test "the mark of a placeholder on a git directory with contents opens nothing" {
	mkdir -p nested/.git/hooks
	echo x >nested/.git/HEAD
	run_box touch -m -d @951827696 nested/.git
	refused create nested/.git/hooks/post-commit
	run_box chmod 1700 nested/.git
	refused create nested/.git/hooks/post-commit
	[[ -e nested/.git/HEAD ]]
}

# bats test_tags=backend:locked
@test "the mark of a placeholder on a hidden directory with contents opens nothing" {
	local mark
	mkdir secret
	echo x >secret/key
	for mark in 'touch -m -d @951827696' 'chmod 1700'; do
		box=()
		# shellcheck disable=SC2086 # words
		run_box $mark secret
		box=(--deny-read "$project/secret")
		refused open-read secret/key
	done
	[[ -e secret/key ]]
}

@test "a default ACL of the project takes nothing from placeholders" {
	local rights
	for rights in 7 5 0; do
		# By a command: the owner may do so much, nobody else anything.
		run_box python3 -c '
import os, struct, sys
acl = [(1, int(sys.argv[1])), (4, 0), (32, 0)]
acl = b"".join(struct.pack("<HHI", tag, rights, 0xffffffff) for tag, rights in acl)
os.setxattr(".", "system.posix_acl_default", struct.pack("<I", 2) + acl)' "$rights" || lacking 'no ACLs here'
		begin "$KODA_PROBE" create .vscode/tasks.json
		is_reserved .vscode .mcp.json .claude
		refused create .vscode/tasks.json
		finish
		[[ $status -eq 1 && $answer == EROFS ]] || explain 'not refused'
		no_litter ./file
	done
}

# bats test_tags=backend:locked,clause:hidden_reads
@test "what is hidden and made by the host meanwhile stays hidden" {
	box=(--deny-read "$project/secret" --deny-read "$project/some/where/key")
	acts_from=$BATS_TEST_TMPDIR/acts
	printf '%s\t%s\n' open-read secret open-read secret/key open-read some/where/key create secret/new \
		create some/new mkdir secret mkdir some/where >"$acts_from"
	begin "$KODA_PROBE" each
	mkdir -p secret some/where
	echo x >secret/key
	echo x >some/where/key
	finish
	[[ $answer == $'EACCES\nEACCES\nENOENT\nEACCES\nEROFS\nEEXIST\nEROFS' ]] || explain 'not refused'
	[[ $(cat secret/key some/where/key) == $'x\nx' ]]
	box=(--deny-read "$project/secret" --deny-read "$project/some/where/key")
	refused open-read secret/key
}

# bats test_tags=backend:view
@test "a directory that is kept for the next run comes back to where it was, and gets nowhere else" {
	local kept=$HOME/.local/state/koda/directories other inode
	other=$HOME/other
	mkdir -p "$other" outer/inner
	mkdir -p "$HOME/.local/state/koda"
	chmod 700 "$HOME/.local/state/koda"
	cd outer/inner
	run_box true
	[[ $(stat -c %a "$kept") == 700 && $(ls -A "$kept") ]]
	inode=$(run_box stat -c %i .vscode)
	[[ $(run_box stat -c %i .vscode) == "$inode" ]]
	cd "$other"
	run_box true
	[[ $(run_box stat -c %i .vscode) != "$inode" ]]
	# A command to which it is no protected name has it open, and goes on when it is put away.
	cd "$project/outer"
	begin
	(cd inner && run_box sh -c ': >began; until [ -e over ]; do sleep 0.02; done') 3>&- &
	background+=($!)
	wait_for inner/began
	: >over
	wait "${background[0]}"
	rm over
	run_box python3 -c '
import os, time
fd = os.open("inner/.vscode", os.O_RDONLY)
open("held", "w").close()
while not os.path.exists("again"):
    time.sleep(0.02)
try:
    os.close(os.open("planted", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
except OSError as e:
    print(e)
open("planted", "w").close()
while not os.path.exists("over"):
    time.sleep(0.02)' >/dev/null 3>&- &
	background+=($!)
	wait_for held
	: >inner/over
	wait "${background[1]}"
	[[ ! -e inner/.vscode ]]
	: >again
	wait_for planted
	cd "$other"
	[[ ! $(run_box ls -A .vscode) && ! -e .vscode ]]
	# If it could, the next command there says so, or it is where the command could have put it.
	cd "$project/outer/inner"
	run_box true || run_box true
	: >../over
	wait "${background[2]}"
}

# bats test_tags=backend:view
@test "where nothing can be kept, directories are made and removed" {
	local state
	: >"$BATS_TEST_TMPDIR/none"
	mkdir -p "/dev/shm/koda-none-$$/koda"
	chmod 700 "/dev/shm/koda-none-$$/koda"
	for state in "$HOME/missing" "$BATS_TEST_TMPDIR/none" "/dev/shm/koda-none-$$"; do
		export XDG_STATE_HOME=$state
		refused create .vscode/tasks.json
		refused create .mcp.json
		no_litter ./file
		new_repository
		run_box sh -c 'git stash -u; git clean -fdq'
		refused create .vscode/tasks.json
		[[ $(ls -A) == $'.git\nfile' ]]
		rm -rf .git
	done
	[[ ! -e $HOME/missing ]]
	rm -rf "/dev/shm/koda-none-$$"
}
