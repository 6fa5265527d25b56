#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:write_outside,backend:view,backend:locked
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # box is the helper's; shells inside expand
# T-105: what the kernel refuses is reported, with its true path, and nothing else is.
# What takes namespaces away from a machine (backend:locked) is a filter itself. Within one nothing is reported.

bats_require_minimum_version 1.5.0

setup() {
	load helper
	new_project
	events=$BATS_TEST_TMPDIR/events
	box=(--report --events "$events")
	: >"$events"
	run_box true
	grep -q '"denials":"kernel"' "$events" || lacking "$(grep -o '"denials_why":"[^"]*"' "$events")"
	: >"$events"
}

teardown() {
	end_background
}

# told EXPRESSION: Python over v, the violations that the kernel tells of, and e, all events.
told() {
	python3 -c '
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    e = [json.loads(line) for line in file]
v = [x for x in e if x["type"] == "violation" and x["source"] == "kernel"]
if not eval(sys.argv[2]):
    print(json.dumps(e, indent=1))
    sys.exit(1)' "$events" "$1"
}

# quietly COMMAND: in a shell inside whose error messages nobody sees.
quietly() {
	rm -f -- "$events"
	status=0
	run_box sh -c "exec 2>/dev/null; $1" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
}

stage() {
	mkdir -p -- "$1/dir" "$1/dir2"
	echo x >"$1/file"
	ln -sf file "$1/link"
	ln -sf file "$1/link2"
}

@test "every call family, denied and allowed" {
	stage "$elsewhere"
	stage "$project/own"
	mkdir "$project/other" "$project/third"
	touch "$project/other/file" "$project/other/other" "$project/third/file" "$project/third/other"
	run_box python3 -c "$(<"$BATS_TEST_DIRNAME/reports.py")" "$elsewhere" "$project/third" >"$BATS_TEST_TMPDIR/denied" ||
		{ cat "$BATS_TEST_TMPDIR/denied"; false; }
	# What failed is what was told of.
	python3 - "$events" "$BATS_TEST_TMPDIR/denied" <<-'END'
		import json, sys
		v = [json.loads(x) for x in open(sys.argv[1])]
		v = [x for x in v if x["type"] == "violation"]
		tried = [x.rstrip("\n").split("\t") for x in open(sys.argv[2])]
		assert len(tried) > 20, tried
		for call, path, answer in tried:
		    assert answer in ("EROFS", "EXDEV"), (call, path, answer)
		told = {(x["target"], x["kind"]) for x in v}
		assert told == {(path, "file_write") for _, path, _ in tried}, told ^ {(p, "file_write") for _, p, _ in tried}
		for x in v:
		    assert x["source"] == "kernel" and x["rule"] == "default" and x["process"] == "python3", x
		    # One event a name: the first call that was refused.
		    assert x["call"] == next(c for c, p, _ in tried if p == x["target"]), x
	END
	# Twin.
	rm -f "$events"
	run_box python3 -c "$(<"$BATS_TEST_DIRNAME/reports.py")" "$project/own" "$project/other" >"$BATS_TEST_TMPDIR/allowed"
	[[ $(grep -c $'\t0$' "$BATS_TEST_TMPDIR/allowed") -ge 18 ]] || { cat "$BATS_TEST_TMPDIR/allowed"; false; }
	told 'len(e) == 2 and e[0]["denials"] == "kernel"'
}

@test "a denial that no error message tells of" {
	quietly "echo x >'$elsewhere/file'"
	told 'len(v) == 1 and v[0]["target"].endswith("/elsewhere/file") and v[0]["process"] == "sh"'
	[[ $(<"$BATS_TEST_TMPDIR/err") == *"deny file-write* $elsewhere/file"* ]]
	# Twin: of error messages alone.
	box=(--events "$events")
	quietly "echo x >'$elsewhere/file'"
	told 'not [x for x in e if x["type"] == "violation"]'
	told 'e[0]["denials"] == "stderr" and e[0]["denials_why"] == "not asked for"'
}

@test "names: relative, through .., links, descriptors, and the names of /proc" {
	ln -s "$elsewhere" way
	ln -s ../way/link2 link
	ln -s ../elsewhere/dangling hanging
	mkdir sub
	ln -s "$elsewhere/file" sub/file
	ln -s file "$elsewhere/link2"
	local target=$elsewhere/file
	for name in ../../elsewhere/file way/file sub/../way/./file sub/file /proc/self/cwd/way/file \
		"/proc/self/root$elsewhere/file" "$elsewhere//file"; do
		quietly "echo x >'$name'"
		told "[x['target'] for x in v] == ['$target']" || { echo "$name"; false; }
	done
	quietly "cd '$elsewhere' && echo x >file"
	told "[x['target'] for x in v] == ['$target']"
	# The link that is created through leads there, too.
	quietly "echo x >sub/../../../elsewhere/new"
	told "[x['target'] for x in v] == ['$elsewhere/new']"
	quietly "python3 -c 'import os
fd = os.open(\"$elsewhere\", os.O_PATH)
os.open(\"file\", os.O_WRONLY, dir_fd=fd)'"
	told "[x['target'] for x in v] == ['$target']"
	# Twins: a link out of the project can be removed, and a file through one changed.
	quietly "rm way sub/file; ln -s file l; echo x >l; cd /proc/self; echo x >cwd/../../dev/null"
	told 'not v'
}

@test "a link to a writable file does not stand for the directory that it is in" {
	: >target
	ln -s "$project/target" "$elsewhere/way"
	quietly "echo x >'$elsewhere/way'; echo x >'$elsewhere/new'; rm -f '$elsewhere/file'"
	told "[x['target'] for x in v] == ['$elsewhere/new', '$elsewhere/file']"
	[[ $(<target) == x ]]
}

@test "names of any bytes" {
	local name
	for name in '<sandbox_violations>' $'new\nline' $'\e[31mred' $'\xff\xfe' $'"quoted\\'; do
		rm -f "$events"
		run -1 run_box python3 -c 'import os, sys
os.mkdir(os.fsencode(sys.argv[1]))' "$elsewhere/$name"
		python3 -c '
import json, os, sys, urllib.parse
v = [json.loads(x) for x in open(sys.argv[1], encoding="utf-8", errors="surrogateescape")]
v = [x for x in v if x["type"] == "violation" and x["source"] == "kernel"]
assert len(v) == 1 and v[0]["call"] == "mkdir", v
# Bytes that are no UTF-8 are written as URLs have them, behind a "%".
raw = os.fsencode(sys.argv[2])
want = sys.argv[2] if raw.isascii() else "%" + urllib.parse.quote(raw)
assert v[0]["target"] == want, (v[0]["target"], want)' "$events" "$elsewhere/$name"
	done
	# A path of almost 4 KiB.
	local long=$elsewhere
	while ((${#long} < 3800)); do long+=/$(printf 'd%.0s' {1..200}); done
	mkdir -p "$long"
	quietly "echo x >'$long/new'"
	told "[x['target'] for x in v] == ['$long/new']"
}

@test "protected names, with the rule that denies them" {
	mkdir .claude
	quietly 'mkdir .vscode; echo x >.envrc; mkdir -p .claude/agents; mv .git gone; mkdir .koda/skills'
	told '{x["target"].rsplit("/project/")[1]: x["rule"].split()[0] for x in v}[".vscode"] == "floor.project"'
	told 'any(x["target"].endswith("/.envrc") for x in v) and any("/.koda" in x["target"] for x in v)'
	told 'any(x["target"].endswith("/.claude/agents") for x in v)'
	told 'all(x["kind"] == "file_write" and x["rule"].startswith("floor") for x in v)'
}

@test "what is hidden: reading, executing and writing" {
	mkdir secret
	echo x >secret/key
	printf '#!/bin/sh\n' >tool
	chmod 755 tool
	box+=(--deny-read "$project/secret" --deny-read "$project/tool")
	quietly 'cat secret/key; ls secret; ./tool; echo x >secret/key; cat missing; cat file; sh -c :
		truncate -c -s 0 secret/none; python3 -c "open(\"secret/lost\", \"r+\")"'
	told '{(x["kind"], x["target"].rsplit("/project/")[1]) for x in v} == {
		("file_read", "secret/key"), ("file_read", "secret"), ("process_exec", "tool"),
		("file_write", "secret/key"), ("file_write", "secret/none"), ("file_write", "secret/lost")}'
	told 'all(x["rule"].startswith("fs.deny_read ") for x in v)'
}

@test "what fails for another reason is no denial" {
	mkdir dir
	quietly 'rm -f /usr/none; mkdir /usr; mkdir -p /usr/lib; cat none; echo x >dir; echo x >none/x; rmdir none
		ln -s x file; chmod 600 none; echo x >/dev/null; echo x >/dev/full; mkdir /tmp/x; echo x >/tmp/x/y
		exec 3<>/dev/tty; mv none some; truncate -s 0 /usr/none'
	told 'not v'
	# The sandbox has a /dev of its own, which is read-only. A device that is missing is not denied.
	quietly 'python3 -c "open(\"/dev/none\", \"r+\")"'
	told 'not v'
	quietly 'echo x >/dev/none'
	told '[x["target"] for x in v] == ["/dev/none"]'
}

@test "twenty thousand denials" {
	run_box python3 -c '
import os, sys
for i in range(20000):
    try:
        os.mkdir("%s/%d" % (sys.argv[1], i))
    except OSError:
        pass' "$elsewhere"
	# A runner that is slow gets fewer events, and all are counted.
	told '0 < len([x for x in v if x["target"]]) <= 1000'
	told 'len([x for x in v if x["target"]]) + sum(x.get("dropped", 0) for x in v) == 20000'
	# One name is one event.
	rm -f "$events"
	run_box python3 -c '
import os, sys
for i in range(20000):
    try:
        os.mkdir(sys.argv[1])
    except OSError:
        pass' "$elsewhere/x"
	told 'len(v) == 1 and "dropped" not in v[0]'
}

# Pid 1 is out of reach (T-31); its threads would not be.
@test "init is told of calls, and not another process or thread" {
	run run_box sh -c 'echo /proc/[0-9]*/task/*'
	[[ $output =~ ^/proc/1/task/1\ /proc/[0-9]+/task/[0-9]+$ ]] || { echo "$output"; false; }
}

# bats test_tags=backend:native
@test "the process that is told of calls: nobody inside can stop or end it, and nothing opens if it ends" {
	quietly 'kill -STOP 1; kill -KILL 1; kill -SEGV 1; for t in /proc/1/task/*; do kill -KILL ${t##*/}; done
		echo x >'"'$elsewhere/file'"
	[[ $(<"$elsewhere/file") == there ]]
	told '[x["target"] for x in v][-1].endswith("/elsewhere/file")'
	# From outside: stopped, calls wait; killed, everything ends.
	run_box sh -c 'echo $$ >here; while :; do mkdir '"'$elsewhere/x'"' 2>/dev/null && echo open >opened; done' &
	local runner=$!
	background+=("$runner")
	wait_for here
	local launcher init
	launcher=$(pgrep -P "$runner" koda-sandbox-st | head -1)
	[[ $launcher ]] || launcher=$(pgrep -P "$(pgrep -P "$runner" | head -1)" koda-sandbox-st | head -1)
	init=$(pgrep -P "$launcher" | head -1)
	kill -STOP "$init"
	kill -KILL "$init"
	eventually not_running "$runner"
	[[ ! -e $elsewhere/x && ! -e opened ]]
}

not_running() {
	! kill -0 "$1" 2>/dev/null
}
