#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:none
# shellcheck disable=SC2016 # shells inside expand
# T-85: a descriptor that the host hands over on purpose gives more than it was handed over for.

bats_require_minimum_version 1.5.0

setup() {
	load helper
	new_project
	: "${KODA_PASS_FDS:?set KODA_PASS_FDS to the host that hands over}"
	: "${KODA_TRUSTING_RUNNER:?set KODA_TRUSTING_RUNNER to the host that does not look}"
	mkfifo "$elsewhere/fifo"
	# What is a way out.
	forbidden=("directory=$elsewhere" "path=$elsewhere" "path=$elsewhere/file"
		"file=$elsewhere/file" "log=$elsewhere/file" "fifo=$elsewhere/fifo"
		file=/proc/self/mem file=/proc/self/ns/net file=/proc/self/ns/user file=/dev/null
		file=/dev/ptmx tcp udp datagrams unconnected "listening=$elsewhere/socket"
		pidfd eventfd epoll "unnamed=$elsewhere")
}

# hand NUMBER:KIND... -- COMMAND...: with the backend that is tried, and another host if one is named.
hand() {
	local -a words=("${host:-$KODA_PASS_FDS}" "${KODA_TEST_BACKEND:-native}" "$project" "$@")
	if [[ ${KODA_TEST_LACK-} ]]; then
		words=("$KODA_WITHOUT" "$KODA_TEST_LACK" "${words[@]}")
	fi
	"${words[@]}"
}

# Every number below 200 that is open.
open_numbers='
import os
def is_open(n):
    try:
        os.fstat(n)
    except OSError:
        return False
    return True
print(*filter(is_open, range(200)))'

@test "what is a way out is refused, and nothing runs" {
	local kind
	for kind in "${forbidden[@]}"; do
		run -103 hand "6:$kind" -- touch ran
		[[ $output == *"not started: descriptors[0]: "* && ! -e ran ]]
		rm -f "$elsewhere/socket"
	done
}

@test "the launcher does not believe a runner that has not looked" {
	local kind host=$KODA_TRUSTING_RUNNER
	for kind in "${forbidden[@]}"; do
		run -125 hand 5:pipe "6:$kind" -- touch ran
		[[ $output == *'not waited for: '*'a descriptor cannot be passed'* && ! -e ran ]]
		rm -f "$elsewhere/socket"
	done
	# Twin: what may be handed over is, by the same runner.
	run -0 --separate-stderr hand 5:pipe 6:sealed 7:stream -- \
		bash -c 'cat <&6; touch ran; echo "by socket" >&7'
	[[ $output == *remembered* && $output == *'heard by socket'* && -e ran ]]
}

@test "twin: without the library the same descriptors lead out" {
	exec 6<"$elsewhere"
	outside open-read /proc/self/fd/6/file
	exec 6<"$elsewhere/file"
	outside reopen-fd 6
	exec 6<&-
}

@test "impossible requests run nothing" {
	local -a many
	for list in '0:pipe' '2:pipe' '-1:pipe' '128:pipe' '6:pipe 7:pipe 6:memory' '6:closed'; do
		# shellcheck disable=SC2086 # a list
		run -104 hand $list -- touch ran
		[[ ! -e ran ]]
	done
	mapfile -t many < <(printf '%d:pipe\n' {3..19})
	run -104 hand "${many[@]}" -- touch ran
	[[ ! -e ran ]]
}

@test "twin: as many as there can be, at any number, arrive; nothing else does" {
	local -a many
	mapfile -t many < <(printf '%d:pipe\n' {3..17})
	exec 20<"$elsewhere/file" 150<"$elsewhere"
	run -0 --separate-stderr hand "${many[@]}" 127:pipe -- python3 -c "$open_numbers"
	exec 20<&- 150<&-
	[[ $output == "0 1 2 $(echo {3..17}) 127" ]]
	run -0 --separate-stderr hand 5:pipe -- python3 -c "$open_numbers"
	[[ $output == '0 1 2 5' ]]
	run -0 --separate-stderr hand -- python3 -c "$open_numbers"
	[[ $output == '0 1 2' ]]
}

@test "a pipe, a socket and files in memory do what they are for" {
	run -0 --separate-stderr hand 3:pipe 4:memory 5:sealed 6:stream -- \
		bash -c 'cat <&3 <&3; cat <&4; cat <&5; echo "by socket" >&6; ! echo no >&5'
	[[ $output == *'from the host'* && $output == *$'remembered\nremembered'* ]]
	[[ $output == *'heard by socket'* ]]
	run -0 --separate-stderr hand 4:packets -- bash -c 'echo "one packet" >&4'
	[[ $output == 'heard one packet' ]]
}

@test "a memory file that is sealed cannot be written, by whatever way; one that is not can" {
	local write='{ echo changed >&9; echo changed >/proc/self/fd/9; } 2>/dev/null; read -r line <&9; echo "$line"'
	run -0 --separate-stderr hand 9:sealed -- bash -c "$write"
	[[ $output == remembered ]]
	run -0 --separate-stderr hand 9:memory -- bash -c 'echo changed >&9'
}

@test "nobody but the command keeps them: their end is the host's to see" {
	run -0 --separate-stderr hand 7:drained 8:go -- \
		bash -c 'echo said >&7; exec 7>&-; read -r word <&8; echo "$word"'
	[[ $output == $'heard said\ngo' ]]
}

@test "a command that cannot be executed is told, whatever its numbers" {
	run -127 hand 3:pipe 4:pipe 5:pipe -- no-such-program
	run -126 hand 4:pipe -- "$project/file"
}

@test "a limit of open files below a number refuses to run" {
	(
		ulimit -n 100
		run -125 hand 120:pipe -- touch ran
	)
	[[ ! -e ran ]]
}

# bats test_tags=backend:native
@test "where a person wants no sandbox they are held to the same" {
	run -0 --separate-stderr "$KODA_PASS_FDS" none "$project" 4:pipe 5:sealed -- bash -c 'cat <&4; cat <&5'
	[[ $output == $'from the host\nremembered' ]]
	run -103 "$KODA_PASS_FDS" none "$project" "4:directory=$elsewhere" -- touch ran
	[[ ! -e ran ]]
	run -127 "$KODA_PASS_FDS" none "$project" 4:pipe -- no-such-program
}
