#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:hidden_reads
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-15: something the policy hides is made by the host while the command runs, and then read.

setup() {
	load helper
	new_project
	mkdir "$elsewhere/dir"
}

teardown() {
	end_background
}

# start_reader NAME PATH...: a command that waits for the file NAME, and then tries to read each.
start_reader() {
	local name=$1
	shift
	run_box sh -c 'name=$1; shift
		until [ -e "go-$name" ]; do [ "$ready" ] || echo "ready" && ready=1; sleep 0.02; done
		for path; do cat "$path" 2>&1; ls "$path" 2>&1; done
		echo finished' sh "$name" "$@" >"$BATS_TEST_TMPDIR/out-$name" 2>&1 3>&- &
	background+=($!)
	eventually grep -q ready "$BATS_TEST_TMPDIR/out-$name" || { cat "$BATS_TEST_TMPDIR/out-$name"; false; }
}

# let_read NAME: it reads now; what it got is in $output.
let_read() {
	: >"$project/go-$1"
	eventually grep -q finished "$BATS_TEST_TMPDIR/out-$1" || { cat "$BATS_TEST_TMPDIR/out-$1"; false; }
	output=$(<"$BATS_TEST_TMPDIR/out-$1")
}

# ended: every reader, and whatever tidies up behind it.
ended() {
	local pid
	for pid in "${background[@]}"; do
		wait "$pid" || true
	done
	background=()
}

# make_secret PATH: as a host program would, a file or a directory with one.
make_secret() {
	mkdir -p -- "${1%/*}"
	{ echo secret >"$1"; } 2>/dev/null || { mkdir -p -- "$1" && echo secret >"$1/key"; }
}

@test "a hidden path that the host makes meanwhile cannot be read, what it makes elsewhere can" {
	box=(--deny-read "$elsewhere/later" --deny-read "$elsewhere/a/b/later")
	start_reader one "$elsewhere/later" "$elsewhere/later/key" "$elsewhere/a/b/later" "$elsewhere/a/b/later/key" \
		"$elsewhere/a" "$elsewhere/dir/open"
	make_secret "$elsewhere/later"
	make_secret "$elsewhere/a/b/later"
	echo public >"$elsewhere/dir/open"
	let_read one
	[[ $output != *secret* && $output == *public* ]] || { echo "$output"; false; }
	ended
	# It is the host's, and stays.
	grep -rq secret "$elsewhere/later" && grep -q secret "$elsewhere/a/b/later"
	[[ ! -k $elsewhere/later && ! -k $elsewhere/a ]]
}

@test "koda's own state that the host makes meanwhile cannot be read" {
	start_reader one "$HOME/.config/koda/db/key" "$HOME/.local/state/koda/key"
	mkdir -p "$HOME/.config/koda/db" "$HOME/.local/state/koda"
	echo secret | tee "$HOME/.config/koda/db/key" >"$HOME/.local/state/koda/key"
	let_read one
	[[ $output != *secret* ]] || { echo "$output"; false; }
	ended
	grep -q secret "$HOME/.config/koda/db/key"
}

@test "where the command may not write its project, neither can it read what is hidden in it" {
	box=(--read-only --deny-read "$project/later")
	start_reader one later later/key
	make_secret "$project/later"
	let_read one
	[[ $output != *secret* ]] || { echo "$output"; false; }
}

@test "a run that ends does not uncover what another still hides" {
	box=(--deny-read "$elsewhere/a/later")
	start_reader one "$elsewhere/a/later"
	start_reader two "$elsewhere/a/later" "$elsewhere/a/later/key"
	let_read one
	wait "${background[0]}" || true
	make_secret "$elsewhere/a/later"
	let_read two
	[[ $output != *secret* ]] || { echo "$output"; false; }
}

# bats test_tags=backend:view
@test "nothing is left of it, also if the runner is killed" {
	box=(--deny-read "$elsewhere/later" --deny-read "$elsewhere/a/b/later")
	# Where the guardian lists such names, and keeps directories.
	(umask 077 && mkdir -p "$HOME"/.local/state/koda/{placeholders,directories})
	listing() {
		find "$HOME" "$elsewhere" -not -path '*/koda/directories/*' | LC_ALL=C sort
	}
	before=$(listing)
	run_box true
	[[ $(listing) == "$before" ]]
	"$KODA_BIN" run "${box[@]}" -- sleep 60 3>&- &
	background+=($!)
	eventually test -d "$elsewhere/later"
	kill -KILL "${background[0]}"
	eventually test ! -e "$elsewhere/later"
	eventually test ! -e "$elsewhere/a"
	[[ $(listing) == "$before" ]]
}

@test "where the user can make nothing, nothing is made, and the command runs" {
	mkdir "$elsewhere/closed"
	chmod 555 "$elsewhere/closed"
	box=(--deny-read "$elsewhere/closed/later" --deny-read /proc/nothing --deny-read /sys/nothing)
	allowed open-read file
	rmdir "$elsewhere/closed"
}

# bats test_tags=backend:view
@test "what is beside a hidden name in a directory that is missing is missing, and not an error" {
	type -p git >/dev/null || lacking git
	git init -q .
	run run_box git status --short
	[[ $status -eq 0 && $output != *warning* && $output != *denied* ]] || { echo "$output"; false; }
	run run_box "$KODA_PROBE" open-read "$HOME/.config/git/ignore"
	[[ $output == ENOENT ]] || { echo "$output"; false; }
}
