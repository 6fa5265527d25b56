#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:caches
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # box is the helper's; shells inside expand
# T-24: a command poisons the package caches that the host's tools read, or reads another project's.

setup() {
	load helper
	new_project
	mkdir -p "$HOME"/.cargo/{registry,git,bin} "$HOME"/.npm/_cacache "$HOME"/.cache/tool/old
	for cache in .cargo/registry .cargo/git .npm/_cacache .cache; do
		echo host >"$HOME/$cache/file"
	done
	echo secret >"$HOME/.cache/secret"
	copies=$HOME/.local/state/koda/caches
}

teardown() {
	end_background
}

# The host's side of it, as it must stay.
host_caches() {
	(cd "$HOME" && find .cargo .npm .cache -printf '%p %y %m %s %T@\n' | sort)
}

@test "what is written, removed and renamed in a cache is not on the host" {
	host_caches >"$BATS_TEST_TMPDIR/before"
	for cache in .cargo/registry .cargo/git .npm/_cacache .cache; do
		run_box sh -c 'cd "$1" && echo bad >file && echo bad >new && mkdir dir && chmod 700 . &&
			mv new dir && rm file' sh "$HOME/$cache"
	done
	run_box sh -c 'rm -r ~/.cache/tool && ln -s /etc ~/.cache/tool'
	host_caches | diff "$BATS_TEST_TMPDIR/before" -
}

@test "the next command of the project finds it, another project does not" {
	run_box sh -c 'echo mine >~/.cache/new; echo mine >~/.cache/file'
	[[ $(run_box sh -c 'cat ~/.cache/new ~/.cache/file') == $'mine\nmine' ]]
	mkdir "$HOME/other"
	cd "$HOME/other"
	refused_with ENOENT open-read "$HOME/.cache/new"
	[[ $(run_box cat "$HOME/.cache/file") == host ]]
}

@test "what the host adds appears" {
	run_box touch "$HOME/.cache/new"
	echo later >"$HOME/.cache/later"
	echo changed >"$HOME/.npm/_cacache/file"
	[[ $(run_box sh -c 'cat ~/.cache/later ~/.npm/_cacache/file') == $'later\nchanged' ]]
}

@test "doctor keeps no copy, for a directory that will never be there again" {
	"$KODA_BIN" doctor >/dev/null
	[[ ! -e $copies ]]
}

@test "the copies are out of reach, from their first run on" {
	refused open-read "$copies"
	refused open-read "$HOME/.local/state/koda"
	allowed open-read "$HOME/.local/state"
	refused open-read "$copies"
	refused create "$copies/x"
	# Outside they are there, and closed to other users. Kept placeholders are 0755 below a closed directory.
	[[ -d $copies && -z $(find "$HOME/.local/state/koda" -path '*/koda/directories/*' -prune -o \
		-type d -perm /077 -print) ]]
	# Nor is anything in it that its owner could not remove.
	[[ -z $(find "$HOME/.local/state/koda" -type d ! -perm -700) ]]
	# Nothing leads to them: no descriptor, no option of a mount.
	run run_box sh -c 'grep -F koda/caches /proc/self/mountinfo; ls -l /proc/self/fd'
	[[ $output != *koda/caches* ]]
}

@test "programs of the host beside the caches stay closed" {
	refused create "$HOME/.cargo/bin/cargo"
	refused create "$HOME/.cargo/config.toml"
	refused create "$HOME/.npm/x"
	allowed create "$HOME/.cargo/registry/x"
}

@test "a PATH directory in a cache" {
	mkdir -p "$HOME/.cache/tool/bin"
	PATH=$PATH:$HOME/.cache/tool/bin
	refused create "$HOME/.cache/tool/bin/git"
	refused_with EBUSY rename "$HOME/.cache/tool" "$HOME/.cache/moved"
	allowed create "$HOME/.cache/tool/x"
	[[ ! -e $HOME/.cache/tool/x ]]
}

@test "what the policy denies inside a cache, there or not" {
	box=(--deny-read "$HOME/.cache/secret" --deny-read "$HOME/.cache/later/secret"
		--deny-write "$HOME/.cache/tool")
	refused open-read "$HOME/.cache/secret"
	refused open-write "$HOME/.cache/secret"
	refused rename "$HOME/.cache/secret" "$HOME/.cache/moved"
	refused create "$HOME/.cache/tool/x"
	refused create "$HOME/.cache/later/secret"
	refused create "$HOME/.cache/later/secret/x"
	refused_with EBUSY rename "$HOME/.cache/later" "$HOME/.cache/moved"
	allowed create "$HOME/.cache/later/public"
	[[ ! -e $HOME/.cache/later ]]
	# It was there after all, later.
	mkdir "$HOME/.cache/later"
	echo secret >"$HOME/.cache/later/secret"
	refused open-read "$HOME/.cache/later/secret"
	box=()
	allowed open-read "$HOME/.cache/secret"
	allowed create "$HOME/.cache/tool/x"
}

@test "a command of the same project does not prepare the ground" {
	# With other rules it is another copy: nothing that the first left is in the way.
	run_box sh -c 'rm -rf ~/.cache/tool ~/.cache/secret; ln -s /etc ~/.cache/tool; ln -s / ~/.cache/later'
	box=(--deny-write "$HOME/.cache/tool/old" --deny-read "$HOME/.cache/secret"
		--deny-read "$HOME/.cache/later/x")
	refused create "$HOME/.cache/tool/old/x"
	refused open-read "$HOME/.cache/secret"
	refused create "$HOME/.cache/later/x"
}

@test "a cache that is denied, or where nothing may be written" {
	box=(--deny-write "$HOME/.cache")
	refused create "$HOME/.cache/x"
	box=(--deny-read "$HOME/.cache")
	refused open-read "$HOME/.cache/file"
	for option in --read-only --trust=plan; do
		box=("$option")
		refused_with EROFS create "$HOME/.cache/x"
		allowed open-read "$HOME/.cache/file"
	done
	[[ ! -e $copies/x ]]
}

@test "a cache that is a link is not copied, and nothing is written through it" {
	mv "$HOME/.cache" "$elsewhere/cache"
	ln -s "$elsewhere/cache" "$HOME/.cache"
	allowed open-read "$HOME/.cache/file"
	refused create "$HOME/.cache/x"
	refused create "$elsewhere/cache/x"
}

@test "sockets of the host in a cache" {
	listen_unix "$HOME/.cache/socket"
	outside connect-unix "$HOME/.cache/socket"
	refused connect-unix "$HOME/.cache/socket"
	run_box sh -c 'mv ~/.cache/socket ~/.cache/moved || true'
	refused connect-unix "$HOME/.cache/moved"
}

@test "runs at the same time have copies of their own" {
	run_box sh -c 'echo one >~/.cache/new; touch ready; until test -e go; do sleep 0.05; done
		cat ~/.cache/new' >"$BATS_TEST_TMPDIR/first" 3>&- &
	background+=($!)
	wait_for ready
	refused_with ENOENT open-read "$HOME/.cache/new"
	run_box sh -c 'echo two >~/.cache/new'
	touch go
	wait "${background[0]}"
	[[ $(<"$BATS_TEST_TMPDIR/first") == one ]]
	[[ $(run_box cat "$HOME/.cache/new") == one ]]
}

@test "a copy is free again when its command ends, whoever else runs" {
	run_box sh -c 'touch ready; until test -e go; do sleep 0.05; done' 3>&- &
	background+=($!)
	wait_for ready
	run_box sh -c 'echo two >~/.cache/new'
	[[ $(run_box cat "$HOME/.cache/new") == two ]]
	touch go
	wait "${background[0]}"
}

@test "more runs than copies" {
	local i store
	run_box true
	store=("$copies"/=*/.cache)
	for ((i = 1; i < 16; i++)); do
		mkdir -m 700 "${store[0]}/$i"
	done
	python3 -c '
import fcntl, glob, os, sys, time
kept = [os.open(p, os.O_RDONLY) for p in glob.glob(glob.escape(sys.argv[1]) + "/*")]
for fd in kept:
    fcntl.flock(fd, fcntl.LOCK_EX)
open(sys.argv[2], "w").close()
time.sleep(60)' "${store[0]}" "$BATS_TEST_TMPDIR/locked" 3>&- &
	background+=($!)
	wait_for "$BATS_TEST_TMPDIR/locked"
	# A directory of the sandbox's own: works, is empty, and is gone afterwards.
	run_box sh -c 'test ! -e ~/.cache/file && echo x >~/.cache/x && cat ~/.cache/x'
	refused_with ENOENT open-read "$HOME/.cache/x"
	[[ ! -e $HOME/.cache/x ]]
	refused open-read "$copies"
}

@test "where copies cannot be kept" {
	# A file where the directory would be.
	rm -rf "$HOME/.local"
	: >"$HOME/.local"
	run_box sh -c 'echo x >~/.cache/x && cat ~/.cache/x'
	[[ ! -e $HOME/.cache/x && -f $HOME/.local ]]
	rm "$HOME/.local"
	# A copy that others can get at is not used.
	run_box sh -c 'echo x >~/.cache/x'
	chmod 755 "$copies"/=*/.cache/0
	refused_with ENOENT open-read "$HOME/.cache/x"
}

@test "what policy check says" {
	run "$KODA_BIN" policy check write "$HOME/.cache/x"
	[[ $status -eq 0 && $output == *cache.copy_on_write* ]]
	run "$KODA_BIN" policy check --trust plan write "$HOME/.cache/x"
	[[ $status -eq 1 ]]
	run "$KODA_BIN" policy check write "$HOME/.cargo/bin/x"
	[[ $status -eq 1 ]]
}

@test "no cache, nothing kept" {
	rm -rf "$HOME"/.cargo "$HOME"/.npm "$HOME"/.cache
	run_box true
	[[ ! -e $HOME/.local ]]
}

@test "twin: outside a cache is written as any directory" {
	outside create "$HOME/.cache/x"
	outside open-read "$HOME/.cache/x"
	outside open-write "$HOME/.cargo/registry/file"
}
