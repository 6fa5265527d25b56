#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:write_outside,backend:view
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-25: something mounted on the host during the run appears inside.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

# In a mount namespace of its own whose root is shared, as most hosts' is: starts the sandbox,
# mounts a tmpfs on $1, and lets the sandbox look for it. Prints what the probe says.
late_mount() {
	# shellcheck disable=SC2016 # expanded inside
	unshare --mount --propagation private bash -c '
		mount --make-rshared / || exit 3
		"$KODA_BIN" run --wall-time 60 -- sh -c "
			echo ready >ready
			until [ -e go ]; do sleep 0.05; done
			\"$KODA_PROBE\" open-read \"$1/late\"" 3>&- &
		for i in {1..600}; do [[ -e ready ]] && break; sleep 0.05; done
		mount -t tmpfs none "$1" && echo late >"$1/late" && echo go >go
		[[ $2 != look ]] || cat -- "$1/late"
		wait' bash "$@"
}

@test "a late mount in the project, or elsewhere, is not seen" {
	is_root || lacking 'root, to mount something'
	mkdir sub
	export KODA_BIN KODA_PROBE
	run late_mount "$project/sub" no
	[[ $output == ENOENT ]] || { echo "$output"; false; }
	rm -f ready go
	run late_mount "$elsewhere" no
	[[ $output == ENOENT ]] || { echo "$output"; false; }
}

@test "a late mount below something hidden, read-only or anchored is not seen" {
	is_root || lacking 'root, to mount something'
	export KODA_BIN KODA_PROBE
	for place in .git/objects .claude .vscode/sub; do
		mkdir -p "$place"
		rm -f ready go
		run late_mount "$project/$place" no
		[[ $output == ENOENT ]] || { echo "$place: $output"; false; }
	done
}

@test "twin: the mount really is there for others, and earlier ones are seen" {
	is_root || lacking 'root, to mount something'
	mkdir sub
	export KODA_BIN KODA_PROBE project
	run late_mount "$project/sub" look
	[[ $output == *late* ]]
	# shellcheck disable=SC2016 # expanded inside
	run unshare --mount --propagation private bash -c '
		mount -t tmpfs none "$project/sub" && echo early >"$project/sub/early" &&
		"$KODA_BIN" run -- cat sub/early'
	[[ $output == early ]]
}
