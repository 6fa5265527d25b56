# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034 # box is helper.bash's
# For attempts at what the landlock backend does in its own way, on top of helper.bash.

# What it does not hold, and a person has to accept.
landlock=(--backend landlock --trust safe --yes --accept missing_names --accept private_dirs
	--accept second_layer)

use_landlock() {
	"${KODA_PROGRAM:-$KODA_BIN}" run "${landlock[@]}" -- true 2>"$BATS_TEST_TMPDIR/landlock" ||
		lacking "the landlock backend: $(<"$BATS_TEST_TMPDIR/landlock")"
	KODA_BIN=${KODA_PROGRAM:-$KODA_BIN}
	box=("${landlock[@]}")
}

# landlock_policy STATEMENT: as policy_where, for this backend.
landlock_policy() {
	policy_where "$1"
	box=("${landlock[@]}" --policy-fd 9)
}

# python TEXT ARG...: inside; what it prints is in output.
python() {
	local text=$1
	shift
	run run_box python3 -c "$text" "$@"
}
