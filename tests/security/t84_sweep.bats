#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:none
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # box is the helper's; shells inside expand
# T-84: what killed runs leave behind fills the disk, or whoever sweeps it is led to something else.

setup() {
	load helper
	load landlock
	new_project
	planted=("$HOME/.local")
}

teardown() {
	local path
	end_background
	for path in "${planted[@]}"; do
		chmod -R u+rwX -- "$path" 2>/dev/null || true
		rm -rf -- "$path"
	done
}

# A name as temporary directories of runs have it, that nobody has.
new_name() {
	name=/tmp/koda-$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
	planted+=("$name")
}

# A directory as a killed run leaves it: deep, full, and closed to its owner.
new_stale() {
	new_name
	mkdir -m 700 -- "$name"
	mkdir -p -- "$name/a/b/c" "$name/closed"
	touch -- "$name/file" "$name/a/b/c/file" "$name/closed/file"
	ln -s -- "$PWD/precious" "$name/link"
	chmod 000 -- "$name/closed"
	touch -d '1 hour ago' -- "$name"
}

# sweep_until TEST...: a command that goes on until it is so.
sweep_until() {
	"$KODA_BIN" run "${box[@]}" --wall-time 60 -- sh -c 'while [ ! -e enough ]; do sleep 0.05; done' \
		>/dev/null 2>&1 3>&- &
	background+=("$!")
	for ((i = 0; i < 600; i++)); do
		"$@" && break
		sleep 0.05
	done
	: >enough
	wait "${background[-1]}" || true
	rm -f enough
	"$@"
}

gone() {
	[[ ! -e $1 && ! -L $1 ]]
}

@test "the temporary directory of a run that was killed whole goes with a later run" {
	use_landlock
	echo keep >precious
	new_stale
	sweep_until gone "$name"
	[[ $(<precious) == keep ]]
}

@test "that of a run that goes on stays, and so does one that was just made" {
	local live fresh stale
	use_landlock
	"$KODA_BIN" run "${box[@]}" --wall-time 60 -- sh -c \
		'echo kept >"$TMPDIR/file" && touch -d "1 hour ago" "$TMPDIR" && echo "$TMPDIR" >new && mv new up
		while [ ! -e "$TMPDIR/end" ]; do sleep 0.05; done; cat "$TMPDIR/file" >seen' >/dev/null 2>&1 3>&- &
	background+=("$!")
	for ((i = 0; i < 600; i++)); do
		[[ -e up ]] && break
		sleep 0.05
	done
	live=$(<up)
	new_name
	fresh=$name
	mkdir -m 700 -- "$fresh"
	new_stale
	stale=$name
	sweep_until gone "$stale"
	[[ -d $live && -d $fresh ]]
	: >"$live/end"
	wait "${background[0]}"
	[[ $(<seen) == kept ]]
	gone "$live"
}

@test "links, files, and names that are not quite right stay" {
	local link file short
	use_landlock
	mkdir -m 700 target
	echo keep >target/file
	touch -d '1 hour ago' target
	new_name
	link=$name
	ln -s -- "$PWD/target" "$link"
	new_name
	file=$name
	echo keep >"$file"
	touch -d '1 hour ago' -- "$file"
	new_name
	short=${name}0
	planted+=("$short")
	mkdir -m 700 -- "$short"
	touch -d '1 hour ago' -- "$short"
	new_stale
	sweep_until gone "$name"
	[[ -L $link && $(<target/file) == keep && $(<"$file") == keep && -d $short ]]
}

# bats test_tags=needs:root
@test "directories of others stay" {
	local other
	use_landlock
	new_stale
	other=$name
	chown -R -h 65533:65533 -- "$other"
	touch -d '1 hour ago' -- "$other"
	new_stale
	sweep_until gone "$name"
	[[ -f $other/a/b/c/file ]]
}

# copy PROJECT AGE: a slot of a project's copy of a cache, as a run that ended then left it.
copy() {
	local slot=$copies/=$1/.cache/0
	mkdir -p -- "$slot/upper/deep/er" "$slot/work"
	echo kept >"$slot/upper/deep/er/file"
	chmod -R go= -- "$copies/=$1"
	chmod 000 -- "$slot/upper/deep/er"
	touch -d "$2" -- "$slot/work" "$slot" "$copies/=$1/.cache" "$copies/=$1"
}

@test "a copy of a cache that nobody used for long goes, others stay" {
	local lock
	"$KODA_BIN" run --trust safe --yes -- true 2>/dev/null || lacking 'namespaces'
	box=(--trust safe --yes)
	copies=$HOME/.local/state/koda/caches
	mkdir -p "$HOME/.cache"
	echo keep >precious
	run_box true
	copy %2fold '40 days ago'
	copy %2fnew '1 day ago'
	copy %2fused '40 days ago'
	ln -s -- "$PWD" "$copies/=%2flink"
	exec {lock}<"$copies/=%2fused/.cache/0"
	flock -x "$lock"
	sweep_until gone "$copies/=%2fold"
	[[ -d $copies/=%2fnew/.cache/0/upper && -d $copies/=%2fused/.cache/0/upper ]]
	[[ -L $copies/=%2flink && $(<precious) == keep ]]
	exec {lock}<&-
	# Twin: it was the lock that kept it.
	sweep_until gone "$copies/=%2fused"
	[[ -d $copies/=%2fnew/.cache/0/upper ]]
}

# bats test_tags=backend:view
@test "journals that somebody keeps locked hold up the end of no run" {
	local journals=$HOME/.local/state/koda/placeholders start i
	mkdir -p "$journals"
	chmod 700 "$HOME/.local/state/koda" "$journals"
	for i in {1..12}; do
		: >"$journals/1-$i"
	done
	python3 -c '
import fcntl, os, sys, time
files = [open(os.path.join(sys.argv[1], name)) for name in os.listdir(sys.argv[1])]
for file in files:
    fcntl.flock(file, fcntl.LOCK_EX)
open(sys.argv[2], "w").close()
time.sleep(60)' "$journals" "$PWD/locked" 3>&- &
	background+=("$!")
	wait_for locked
	start=${EPOCHREALTIME/./}
	"$KODA_BIN" run "${box[@]}" -- sleep 0.4
	((${EPOCHREALTIME/./} - start < 3000000))
}
