# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034 # box is helper.bash's
# For attempts at what the landlock backend does in its own way, on top of helper.bash.

# What it does not hold, and a person has to accept.
fence=(--backend landlock --trust safe --yes --accept missing_names --accept private_dirs
	--accept second_layer)

use_fence() {
	"${KODA_PROGRAM:-$KODA_BIN}" run "${fence[@]}" -- true 2>"$BATS_TEST_TMPDIR/fence" ||
		lacking "the landlock backend: $(<"$BATS_TEST_TMPDIR/fence")"
	KODA_BIN=${KODA_PROGRAM:-$KODA_BIN}
	box=("${fence[@]}")
}

# fence_policy STATEMENT: as policy_where, for this backend.
fence_policy() {
	policy_where "$1"
	box=("${fence[@]}" --policy-fd 9)
}

# python TEXT ARG...: inside; what it prints is in output.
python() {
	local text=$1
	shift
	run run_box python3 -c "$text" "$@"
}
