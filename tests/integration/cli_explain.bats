#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # status, stdout, stderr and project come from helper.bash
# shellcheck disable=SC2030,SC2031 # tests are subshells
# Denials explained: by run --explain after a command, and from event files, whole or damaged.

setup() {
	load helper
	load run_helper
	new_project
	events=$BATS_TEST_TMPDIR/events
}

# said EXPRESSION: Python over e, the list that explain --json printed, is true.
said() {
	python3 -c '
import json, sys
e = json.load(open(sys.argv[1], encoding="utf-8"))
assert all({"cause", "rule", "count", "targets", "hint"} <= set(x) for x in e), e
if not eval(sys.argv[2]):
    print(json.dumps(e, indent=1))
    sys.exit(1)' "$BATS_TEST_TMPDIR/out" "$1"
}

deny() {
	printf '{"type":"violation","time":1.5,"id":"1","kind":"file_write","target":"%s","rule":"default","source":"stderr","command":"x","hint":{"fs":{"allow_write":["%s"]}}}\n' "$1" "$1"
}

@test "run --explain: behind the block, for a command that failed" {
	inside --explain --events "$events" -c 'echo x >/etc/koda-x; echo x >/etc/koda-y; echo x >.mcp.json; exit 3'
	[[ $status -eq 3 && $stderr == *$'</sandbox_violations>\n3 denials\n\n2  writing outside of fs.allow_write\n     /etc/koda-x\n     /etc/koda-y\n   would be allowed with {"fs":{"allow_write":["/etc/koda-x","/etc/koda-y"]}}\n\n1  writing: floor.project\n'*'no policy allows it' ]] ||
		{ show_result; false; }
	koda explain --json "$events"
	succeeds
	said '[(x["count"], len(x["targets"])) for x in e] == [(2, 2), (1, 1)]'
	said 'e[0]["hint"] == {"fs": {"allow_write": ["/etc/koda-x", "/etc/koda-y"]}} and e[1]["hint"] == {"floor": "floor.project"}'
	# A hint without "remove" is a policy.
	python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)[0]["hint"]))' \
		<"$BATS_TEST_TMPDIR/out" >"$BATS_TEST_TMPDIR/hint"
	koda policy compose "$BATS_TEST_TMPDIR/hint" "$BATS_TEST_TMPDIR/hint"
	succeeds
}

@test "run --explain: a command that did not fail, or without denials, is not explained" {
	inside --explain -c 'echo x >/etc/koda-x; exit 0'
	[[ $stderr != *denial* ]] || { show_result; false; }
	inside --explain -c 'exit 3'
	silent 3
	inside -c 'echo x >/etc/koda-x; exit 3'
	[[ $stderr != *'1 denial'* && $stderr == *'</sandbox_violations>' ]] || { show_result; false; }
}

@test "standard input, several files, most frequent cause first" {
	{ deny /a; deny /b; deny /b; } >"$events"
	koda explain <"$events"
	succeeds
	[[ $stdout == $'3 denials\n\n3  writing outside of fs.allow_write\n     /a\n     /b\n'* ]] || { show_result; false; }
	printf '{"type":"limit","which":"memory","value":5,"hint":null}\n' >"$events-2"
	koda explain --json "$events-2" "$events" - </dev/null
	succeeds
	said '[x["count"] for x in e] == [3, 1] and e[1]["cause"] == "the limit memory" and e[1]["hint"] is None'
}

@test "no events: an empty file has none, and that is no error" {
	koda explain </dev/null
	succeeds
	[[ $stdout == 'nothing was denied' ]]
}

@test "damaged files: the line number is told, and the rest shown" {
	{ deny /a; echo 'x'; echo; deny /b; deny /c | head -c 50; } >"$events"
	koda explain "$events"
	[[ $status -eq 0 && $stdout == '2 denials'* ]] || { show_result; false; }
	[[ $stderr == *"$events: line 2 is left out: "*"$events: line 5 is left out: "* ]] || { show_result; false; }
	# Of many, the first ten are told one by one.
	{ deny /a; yes x | head -n 1000; deny /b; } >"$events"
	koda explain "$events"
	[[ $status -eq 0 && $stdout == '2 denials'* && $stderr == *': 990 further lines are left out' ]] ||
		{ show_result; false; }
	line_count "$BATS_TEST_TMPDIR/err" 11
}

@test "a file that is no event file, or cannot be read" {
	for file in "$KODA_BIN" "$BATS_TEST_DIRNAME/cli_explain.bats"; do
		koda explain "$file"
		[[ $status -eq 125 && -z $stdout && $stderr == *': has no line that is an event' ]] ||
			{ show_result; false; }
	done
	koda explain "$BATS_TEST_TMPDIR/none"
	refuses 'cannot be read'
	koda explain "$BATS_TEST_TMPDIR"
	refuses 'cannot be read'
}

@test "what drives a terminal, or is not UTF-8, is escaped" {
	deny '/a\u001b[31m\u202e\n9  forged' >"$events"
	printf '{"type":"violation","kind":"file_read","target":"%%/b%%FF"}\n' >>"$events"
	koda explain "$events"
	succeeds
	[[ $stdout == *'/a\x1b[31m\xe2\x80\xae\x0a9  forged'* && $stdout == *'/b\xff'* ]] || { show_result; false; }
	LC_ALL=C grep -q '[^ -~]' "$BATS_TEST_TMPDIR/out" && false
	true
}

# bats test_tags=needs:address-space
@test "memory does not grow with the file" {
	python3 -c '
for i in range(60000):
    print("""{"type":"violation","kind":"file_write","target":"/%d%s","rule":"%d"}""" % (i, "x" * 900, i % 500))' >"$events"
	status=0
	(ulimit -v 65536 && "$KODA_BIN" explain "$events" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err") || status=$?
	[[ $status -eq 0 && ! -s $BATS_TEST_TMPDIR/err ]]
	grep -q '^60000 denials$' "$BATS_TEST_TMPDIR/out"
	grep -q '^36000 further denials' "$BATS_TEST_TMPDIR/out"
}
