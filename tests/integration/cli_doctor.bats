#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # status, stdout, stderr and project come from helper.bash
# koda-sandbox doctor: what it prints where a sandbox can be made. Machines that lack something are
# in tests/security/t48_admission.bats.

setup() {
	load helper
	new_project
}

@test "every backend and every clause, for people" {
	koda doctor
	succeeds
	[[ $stdout == 'koda-sandbox '*', Linux '"$(uname -r)"* ]]
	for clause in write_outside write_protected missing_names link_names hidden_reads private_dirs sockets processes \
		privileges system_calls second_layer network local_binding end_of_tree; do
		grep -qE "^  $clause +enforced" "$BATS_TEST_TMPDIR/out"
	done
	for backend in native bwrap landlock; do
		grep -qE "^$backend: (works$|not in this release$|does not work: )" "$BATS_TEST_TMPDIR/out"
	done
	[[ $stdout == *'The kernel enforces every containment clause; trust mode auto can run here.'* ]]
}

@test "JSON in its stable form" {
	koda doctor --json
	succeeds
	json_is 'sorted(d)' '["backends", "ci", "container", "kernel", "restrictions", "version"]'
	json_is 'd["kernel"]' "$(uname -r)"
	json_is '"koda-sandbox " + d["version"]' "$("$KODA_BIN" --version)"
	json_is '[b["name"] for b in d["backends"]]' '["native", "bwrap", "landlock"]'
	json_is 'd["backends"][0]["usable"]' true
	json_is '{k for b in d["backends"] for k in b} == {"name", "usable", "place", "why", "clauses"}' true
	json_is 'all(sorted(c) == ["grip", "remedy", "why"] for b in d["backends"] for c in b["clauses"].values())' true
	json_is 'len({tuple(b["clauses"]) for b in d["backends"]})' 1
	json_is 'd["backends"][0]["clauses"]["write_outside"]["grip"]' enforced
	json_is 'all(b["usable"] or b["why"] for b in d["backends"])' true
}

@test "a clause that is not enforced has a reason" {
	koda doctor --json
	json_is 'all(c["why"] for b in d["backends"] for c in b["clauses"].values() if c["grip"] != "enforced")' true
}

@test "root's processes are counted, those of others limited" {
	local expected=enforced
	((EUID != 0)) || expected=emulated
	koda doctor --json
	json_is 'd["backends"][0]["clauses"]["process_count"]["grip"]' "$expected"
}

@test "the project does not matter, and nothing is left behind" {
	local before
	before=$(compgen -G '/tmp/koda-doctor.*' || true)
	cd /
	koda doctor
	succeeds
	[[ $(compgen -G '/tmp/koda-doctor.*' || true) == "$before" ]]
	[[ -z $(ls -A "$project/src") ]]
}

@test "the container and the service around it are named" {
	CODESPACES=true GITHUB_ACTIONS=true koda doctor
	succeeds
	[[ $stdout == *$'\ncontainer: GitHub Codespaces\ncontinuous integration: GitHub Actions\n'* ]]
	CODESPACES=true GITHUB_ACTIONS=true koda doctor --json
	json_is 'd["container"] + ", " + d["ci"]' 'GitHub Codespaces, GitHub Actions'
	json_is 'any(r["matters"] for r in d["restrictions"])' false
}

@test "wrong requests" {
	koda doctor now
	refuses "unexpected argument 'now'"
	koda doctor --jsno
	refuses "did you mean '--json'"
}

@test "a full disk is an error" {
	status=0
	"$KODA_BIN" doctor >/dev/full 2>"$BATS_TEST_TMPDIR/err" || status=$?
	[[ $status -eq 125 && -s $BATS_TEST_TMPDIR/err ]]
}
