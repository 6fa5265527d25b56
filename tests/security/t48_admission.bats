#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:none,backend:native
# shellcheck disable=SC2154 # project and elsewhere come from helper.bash
# T-48: a command runs with less containment than its user believes. Machines that lack something
# are made by KODA_WITHOUT; each refusal has a twin in which the same command runs.

setup() {
	load helper
	new_project
	: "${KODA_WITHOUT:?set KODA_WITHOUT to tests/security/without}"
	cp -- "$KODA_WITHOUT" "$BATS_TEST_TMPDIR/without"
	lack=()
}

# attempt OPTION...: a command that leaves a file behind; its status is in status.
attempt() {
	rm -f ran
	status=0
	"${lack[@]}" "$KODA_BIN" run --wall-time 30 --yes "$@" -c 'echo in; touch ran 2>/dev/null; :' \
		</dev/null >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
}

# did_not_run TEXT...: it did not run, and one line says why.
did_not_run() {
	local text
	if [[ $status -ne 125 || -s $BATS_TEST_TMPDIR/out || -e ran ||
		$(wc -l <"$BATS_TEST_TMPDIR/err") -ne 1 ]]; then
		explain 'it ran'
		return 1
	fi
	for text in "$@"; do
		grep -qF -- "$text" "$BATS_TEST_TMPDIR/err" || explain "not said: $text" || return
	done
}

did_run() {
	[[ $status -eq 0 && $(<"$BATS_TEST_TMPDIR/out") == in ]] || explain 'it did not run'
}

# among WORD...: from now on commands are run behind these words.
among() {
	lack=("$@")
}

# lacking_here WHAT: from now on commands are run on a machine without it.
lacking_here() {
	answer=
	lack=("$BATS_TEST_TMPDIR/without" "$1")
}

# doctor_says EXPRESSION VALUE: Python over d, what doctor --json prints there.
doctor_says() {
	local found
	found=$("${lack[@]}" "$KODA_BIN" doctor --json | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(eval(sys.argv[1]))' "$1")
	[[ $found == "$2" ]] || {
		printf '%s is %s, expected %s\n' "$1" "$found" "$2"
		return 1
	}
}

@test "twin: with everything there, every mode runs" {
	answer=
	for trust in plan safe auto; do
		attempt --trust "$trust"
		did_run
	done
	"$KODA_BIN" doctor >"$BATS_TEST_TMPDIR/doctor"
	grep -q '^native: works$' "$BATS_TEST_TMPDIR/doctor"
}

@test "without user namespaces nothing runs, and nothing is accepted instead" {
	lacking_here user-namespaces
	for trust in plan safe auto; do
		attempt --trust "$trust"
		did_not_run
	done
	attempt --trust safe --accept write_outside --accept network --accept processes
	did_not_run
}

@test "doctor sees that, says what to do, and fails" {
	lacking_here user-namespaces
	run "${lack[@]}" "$KODA_BIN" doctor
	[[ $status -eq 1 && $output == *'native: does not work: '*'remedy: '*seccomp* ]] ||
		{ echo "$output"; false; }
	doctor_says 'd["backends"][0]["usable"]' False
	doctor_says '{c["grip"] for c in d["backends"][0]["clauses"].values()}' "{'refused'}"
	doctor_says 'all("filter" in c["why"] and c["remedy"] for c in d["backends"][0]["clauses"].values())' True
}

@test "doctor names the restriction of the container, and its engine's setting for it" {
	lacking_here user-namespaces
	export CODESPACES=true
	doctor_says '[r["matters"] for r in d["restrictions"] if r["name"] == "seccomp"]' '[True]'
	doctor_says '["runArgs" in r["remedy"] for r in d["restrictions"] if r["name"] == "seccomp"]' '[True]'
	# What covers a part of /proc keeps a new /proc from being mounted. The twin has no such cover.
	# shellcheck disable=SC2016 # the shell inside expands it
	among unshare --user --map-root-user --mount bash -c 'mount -t tmpfs none /proc/sys/fs && exec "$@"' bash
	doctor_says 'd["backends"][0]["usable"]' False
	doctor_says '[(r["matters"], "systempaths=unconfined" in r["remedy"]) for r in d["restrictions"]
		if r["name"] == "masked_proc"]' '[(True, True)]'
	among unshare --user --map-root-user --mount
	doctor_says 'd["backends"][0]["usable"]' True
	doctor_says '[r["name"] for r in d["restrictions"] if r["matters"]]' '[]'
}

@test "without Landlock nothing runs" {
	lacking_here landlock
	for trust in plan safe auto; do
		attempt --trust "$trust"
		did_not_run Landlock 'nothing ran' CONFIG_SECURITY_LANDLOCK
	done
	attempt --trust safe --accept second_layer
	did_not_run Landlock
	run "${lack[@]}" "$KODA_BIN" doctor
	[[ $status -eq 1 ]]
}

@test "an old Landlock: auto refuses, the others run only if a person accepts it" {
	lacking_here landlock-abi=1
	attempt --trust auto
	did_not_run second_layer: 5.19
	attempt --trust auto --accept second_layer
	did_not_run --accept
	attempt --trust safe
	did_not_run second_layer: '--accept second_layer'
	attempt --trust safe --accept network
	did_not_run second_layer:
	attempt --trust safe --accept second_layer
	did_run
}

@test "a Landlock without ports: only a policy that forbids binding asks for it" {
	lacking_here landlock-abi=3
	attempt --trust auto
	did_run
	attempt --trust safe
	did_run
	attempt --trust plan
	did_not_run local_binding: 6.7 '--accept local_binding'
	attempt --trust plan --accept local_binding
	did_run
	box=(--trust plan --accept local_binding)
	status=0
	answer=$("${lack[@]}" "$KODA_BIN" run "${box[@]}" -- "$KODA_PROBE" bind-tcp 2>&1) || status=$?
	[[ $status -eq 0 ]] || explain 'what was given up is still held'
	box=(--trust plan)
	refused bind-tcp
	doctor_says 'd["backends"][0]["clauses"]["local_binding"]["grip"]' refused
	doctor_says 'd["backends"][0]["usable"]' True
	run "${lack[@]}" "$KODA_BIN" doctor
	[[ $status -eq 1 ]]
}

@test "what is accepted is only what is missing: the rest of the sandbox stays" {
	lacking_here landlock-abi=1
	status=0
	answer=$("${lack[@]}" "$KODA_BIN" run --yes --trust safe --accept second_layer --accept write_outside \
		--accept processes --accept network -- "$KODA_PROBE" open-write "$elsewhere/file" 2>&1) || status=$?
	[[ $status -eq 1 && ${answer##*$'\n'} =~ ^E[A-Z]+$ ]] || explain 'not refused'
	outside open-write "$elsewhere/file"
}

# ---- no sandbox at all ---------------------------------------------------------------------

@test "no sandbox: never with auto, given or not" {
	answer=
	attempt --no-sandbox
	did_not_run --no-sandbox '--trust safe'
	attempt --no-sandbox --trust auto
	did_not_run --no-sandbox
	attempt --no-sandbox --trust yolo
	did_not_run --no-sandbox
}

@test "no sandbox: a warning each time, and it is none" {
	answer=
	for trust in plan safe; do
		attempt --no-sandbox --trust "$trust"
		did_run
		[[ -e ran ]]
		grep -q 'WARNING: no sandbox' "$BATS_TEST_TMPDIR/err"
		"$KODA_BIN" run --no-sandbox --yes --trust "$trust" -- "$KODA_PROBE" open-write "$elsewhere/file" 2>/dev/null
	done
	box=(--trust safe --yes)
	refused open-write "$elsewhere/file"
}

@test "no sandbox: it also runs where no sandbox can be made" {
	lacking_here user-namespaces
	attempt --no-sandbox --trust safe
	did_run
}
