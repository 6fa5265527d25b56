#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:private_dirs
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-29: bytes are typed into the terminal that started the sandbox.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

# on_tty COMMAND...: with a terminal of its own as 0-2 and controlling terminal; prints what came.
on_tty() {
	python3 -c '
import os, pty, select, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
out = b""
end = time.monotonic() + 20
while time.monotonic() < end:
    if select.select([fd], [], [], 0.2)[0]:
        try:
            part = os.read(fd, 4096)
        except OSError:
            break
        if not part:
            break
        out += part
os.close(fd)
os.waitpid(pid, 0)
sys.stdout.write(out.decode(errors="replace").replace("\r", ""))' "$@"
}

attempts() {
	printf '%s\n' "'$KODA_PROBE' tiocsti 0" "'$KODA_PROBE' tiocsti-high 0" "'$KODA_PROBE' tioclinux 0"
	printf '%s\n' "exec 3<>/dev/tty && '$KODA_PROBE' tiocsti 3"
}

@test "nothing can be typed into it, from any descriptor" {
	# shellcheck disable=SC2016 # the shell inside expands it
	while IFS= read -r line; do
		run on_tty "$KODA_BIN" run -c "$line"
		[[ $output =~ ^E[A-Z]+$ ]] || { echo "$line: $output"; false; }
	done < <(attempts)
}

@test "the host's terminal is not the command's" {
	run on_tty "$KODA_BIN" run --no-tty -c 'echo >/dev/tty && echo reached'
	[[ $output != *reached* ]]
	# Its own is of another instance of the terminals' file system.
	run on_tty sh -c 'stat -Lc "at %d" /proc/self/fd/0; exec "$0" run -c "stat -Lc at\\ %d /dev/pts/0"' "$KODA_BIN"
	[[ $(grep -c '^at [0-9]' <<<"$output") -eq 2 && $(sort -u <<<"$output" | grep -c '^at') -eq 2 ]] ||
		{ echo "$output"; false; }
	outer=$(ps -o tty= -p $$ || true)
	run on_tty "$KODA_BIN" run -c 'readlink /proc/self/fd/0'
	[[ $output != /dev/pts/*[0-9]* || $output == /dev/pts/0* ]] || { echo "$output ($outer)"; false; }
}

@test "twin: outside, a terminal takes it" {
	[[ $(</proc/sys/dev/tty/legacy_tiocsti) == 1 ]] || is_root ||
		lacking 'a kernel that still has TIOCSTI'
	run on_tty "$KODA_PROBE" tiocsti 0
	[[ $output == *ok* ]]
}
