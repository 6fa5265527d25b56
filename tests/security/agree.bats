#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:write_outside,clause:write_protected,clause:missing_names,clause:hidden_reads
# Random policies and trees: what the kernel lets a command do is what the verdicts say.

setup() {
	load helper
}

@test "a probe inside agrees with the verdicts at every sampled path" {
	run "$KODA_HELPER" run "${KODA_AGREE_CASES:-60}" "$BATS_TEST_TMPDIR" "$KODA_PROBE"
	printf '%s\n' "$output"
	printf '%s\n' "${lines[0]}" "${lines[-1]}" >&3
	[[ $status -eq 0 ]]
}
