#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # status, stdout, stderr and project come from helper.bash
# The renderings of koda-sandbox plan.

setup() {
	load helper
	new_project
}

@test "JSON has every step of the text, in the same order" {
	koda plan --deny-read src -c true
	succeeds
	cp "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/text"
	koda plan --json --deny-read src -c true
	succeeds
	python3 - "$BATS_TEST_TMPDIR/text" "$BATS_TEST_TMPDIR/out" <<'PY'
import json, sys
# Sockets of the host come and go between the two.
passing = "a socket of the host"
text = [line.rstrip("\n").split(None, 1) for line in open(sys.argv[1], encoding="utf-8") if passing not in line]
plan = json.load(open(sys.argv[2], encoding="utf-8"))
plan["steps"] = [s for s in plan["steps"] if passing not in (s["why"] or "")]
apart = {"rlimit", "net", "cwd", "env", "arg"}
assert [w[0] for w in text if w[0] not in apart] == [s["op"] for s in plan["steps"]]
for kind, count in (("rlimit", len(plan["limits"])), ("env", len(plan["env"])),
                    ("arg", 1 + len(plan["argv"])), ("net", 1), ("cwd", 1)):
    assert sum(w[0] == kind for w in text) == count, kind
for words, step in zip((w for w in text if w[0] not in apart), plan["steps"]):
    if "path" in step and step["op"] != "denied-read": # of the first mask, whichever that is
        assert (words[1] + "  ").startswith(step["path"] + " "), (words, step) # the path may have spaces
PY
}

@test "JSON says things by name" {
	koda plan --json --trust plan --max-procs 7 -- ls -l
	succeeds
	json_is 'd["program"]' ls
	json_is 'd["argv"]' '["ls", "-l"]'
	json_is 'd["cwd"]' "$project"
	json_is '"KODA_SANDBOX=1" in d["env"]' true
	json_is 'd["limits"]["processes"]' '{"soft": 7, "hard": 7}'
	json_is 'd["limits"]["core_bytes"]["hard"]' 0
	json_is 'd["network"]' '{"proxy_port": null, "bind": false}'
	json_is '[s["rights"] for s in d["steps"] if s["op"] == "landlock" and s["path"] == "/"]' \
		'[["execute", "read_file", "read_dir"]]'
	json_is '[s["mode"] for s in d["steps"] if s["op"] == "tmpfs" and s["path"] == "/tmp"]' '["1777"]'
	json_is 'all(s["instructions"] > 10 for s in d["steps"] if s["op"] == "filter")' true
	json_is 'any("floor" in (s["why"] or "") for s in d["steps"])' true
}

@test "where directories of placeholders are kept is said if there are any" {
	koda plan --json -c true
	succeeds
	json_is '[s["path"] for s in d["steps"] if s["op"] == "store"]' "[\"$HOME/.local/state/koda/directories\"]"
	koda plan --json --trust plan -c true
	succeeds
	json_is '[s for s in d["steps"] if s["op"] in ("placeholder", "store") and "hidden" not in s.get("flags", [])]' '[]'
}

@test "JSON of names with any bytes" {
	local odd=$project/$'a"\n\xff'
	mkdir -p "$odd"
	koda plan --json --root "$odd" -c true
	succeeds
	json_is 'd["cwd"][0]' %
	json_is '__import__("urllib.parse").parse.unquote_to_bytes(d["cwd"][1:]).endswith(b"/a\"\n\xff")' true
}

@test "the filter names what it refuses, and its default" {
	koda plan --seccomp
	succeeds
	for call in process_vm_readv mount bpf keyctl io_uring_setup clone3 socket unshare; do
		grep -qF "\"$call\"" "$BATS_TEST_TMPDIR/out"
	done
	grep -q "^# ptrace: EPERM but for" "$BATS_TEST_TMPDIR/out"
	grep -q "^# ioctl: ENOTTY but for" "$BATS_TEST_TMPDIR/out"
	grep -q 'default action' "$BATS_TEST_TMPDIR/out"
	grep -q 'action ALLOW' "$BATS_TEST_TMPDIR/out"
	grep -q 'action KILL_PROCESS' "$BATS_TEST_TMPDIR/out"
	grep -q 'ENOSYS' "$BATS_TEST_TMPDIR/out"
	cp "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/first"
	koda plan --seccomp --trust plan -c true
	cmp "$BATS_TEST_TMPDIR/first" "$BATS_TEST_TMPDIR/out"
}

@test "only plan has renderings, one at a time, of a sandbox" {
	koda run --json -c true
	refuses "unknown option '--json'"
	koda run --seccomp -c true
	refuses "unknown option '--seccomp'"
	koda plan --json --seccomp
	refuses 'exclude each other'
	koda plan --bwrap --backend landlock -c true
	refuses '--bwrap and --backend landlock exclude each other'
	koda plan --json
	refuses 'needs -c COMMAND or a program'
	koda plan --trust safe --no-sandbox -c true
	refuses 'no plan with --no-sandbox'
}
