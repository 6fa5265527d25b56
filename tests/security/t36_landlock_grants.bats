#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:none
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # box is the helper's; shells inside expand
# T-36: without mounts, what is denied inside something allowed is reached all the same.

setup() {
	load helper
	load landlock
	new_project
	use_landlock
}

teardown() {
	end_background
}

@test "protected files stay as they are, where they are" {
	mkdir -p .git/hooks .git/refs sub .vscode
	echo safe >.git/config
	echo safe >.git/hooks/post-commit
	echo safe >.envrc
	echo safe >.vscode/tasks.json
	echo mine >sub/mine
	for name in .git/config .git/hooks/post-commit .envrc .vscode/tasks.json; do
		printf '%s\t%s\n' open-write "$name" truncate "$name" unlink "$name" utime "$name"
		printf 'chmod\t%s\t0777\n' "$name"
		printf '%s\t%s\t%s\n' rename "$name" sub/away rename sub/mine "$name" \
			link "$name" sub/alias exchange sub/mine "$name"
	done >"$BATS_TEST_TMPDIR/list"
	refused_each <"$BATS_TEST_TMPDIR/list"
	# The twin: the same acts on a neighbour.
	echo mine >sub/other
	allowed open-write sub/mine
	allowed truncate sub/mine
	allowed utime sub/mine
	allowed chmod sub/mine 0600
	allowed link sub/mine sub/alias2
	allowed rename sub/mine sub/moved
	allowed exchange sub/moved sub/other
	allowed unlink sub/moved
	allowed open-write file
}

@test "the way to a protected file is not moved, removed or covered" {
	mkdir -p deep/er/.git/hooks deep/free
	echo safe >deep/er/.git/config
	printf 'ref: refs/heads/main\n' >deep/er/.git/HEAD
	mkdir deep/er/.git/objects deep/er/.git/refs
	refused rename deep/er deep/gone
	refused rename deep gone
	refused rename deep/er/.git deep/er/git
	refused create deep/er/.git/hooks/pre-push
	refused rmdir deep/er/.git/hooks
	refused open-write deep/er/.git/config
	allowed create deep/free/new
	allowed rename deep/free/new deep/free/newer
	[[ $(<deep/er/.git/config) == safe ]]
}

@test "what is hidden is not read, by any name" {
	mkdir -p "$HOME/secret/inner" "$HOME/secret/open"
	echo key >"$HOME/secret/key"
	echo fine >"$HOME/secret/open/file"
	ln -s "$HOME/secret/key" alias
	ln -s "$HOME/secret" dir
	landlock_policy "d['fs']['deny_read'] = ['$HOME/secret']; d['fs']['allow_read_within_deny'] = ['$HOME/secret/open']"
	for name in "$HOME/secret/key" alias dir/key "$HOME/secret" "$HOME/secret/inner" dir \
		"/proc/self/root$HOME/secret/key" "/proc/self/cwd/../secret/key"; do
		printf 'open-read\t%s\n' "$name"
	done >"$BATS_TEST_TMPDIR/list"
	refused_each <"$BATS_TEST_TMPDIR/list"
	outside_each <"$BATS_TEST_TMPDIR/list"
	allowed open-read "$HOME/secret/open/file"
	refused open-write "$HOME/secret/open/file"
	# Nor by moving it to where reading is allowed.
	refused rename "$HOME/secret/key" key
	refused link "$HOME/secret/key" key
	allowed open-read file
}

@test "a hidden file does not hide its neighbours' names" {
	mkdir sub
	echo key >sub/key
	echo other >sub/other
	landlock_policy "d['fs']['deny_read'] = ['$project/sub/key']"
	run run_box ls sub
	[[ $status -eq 0 && $output == $'key\nother' ]]
	refused open-read sub/key
	allowed open-read sub/other
}

@test "modes, owners and times outside stay as they are" {
	python '
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
out = sys.argv[1].encode()
fd = os.open(out, os.O_RDONLY)
at = os.open(os.path.dirname(out), os.O_RDONLY)
name = os.path.basename(out)
tries = [
    ("chmod", lambda: libc.chmod(out, 0o777)),
    ("fchmod", lambda: libc.fchmod(fd, 0o777)),
    ("fchmodat", lambda: libc.fchmodat(at, name, 0o777, 0)),
    ("by link", lambda: libc.chmod(b"/proc/self/fd/%d" % fd, 0o777)),
    ("by another link", lambda: libc.chmod(b"/dev/fd/%d" % fd, 0o777)),
    ("chown", lambda: libc.chown(out, os.getuid(), os.getgid())),
    ("fchown", lambda: libc.fchown(fd, os.getuid(), os.getgid())),
    ("lchown", lambda: libc.lchown(out, os.getuid(), os.getgid())),
    ("utimensat", lambda: libc.utimensat(-100, out, None, 0)),
    ("futimens", lambda: libc.futimens(fd, None)),
    ("relative", lambda: (os.chdir(at), libc.chmod(name, 0o777))[1]),
]
for what, act in tries:
    if act() != -1:
        print("not refused:", what)
print("done")' "$elsewhere/file"
	echo "$output"
	[[ $output == 'done' ]]
	[[ $(stat -c %a "$elsewhere/file") != 777 ]]
	# The twin: what the command may write.
	python '
import os
os.chmod("file", 0o640)
os.chown("file", os.getuid(), os.getgid())
os.utime("file", (1, 2))
fd = os.open("file", os.O_RDONLY)
os.fchmod(fd, 0o600)
os.utime(fd, (3, 4))
# By a link to a descriptor, whatever numbers init has in use.
for number in range(3, 64):
    if number != fd:
        os.dup2(fd, number)
    os.chmod("/proc/self/fd/%d" % number, 0o640)
os.chmod("/proc/self/fd/50", 0o600)
print(oct(os.stat("file").st_mode & 0o777), int(os.stat("file").st_mtime))'
	[[ $output == '0o600 4' ]]
}

@test "a directory with too many neighbours of something protected says so" {
	mkdir .vscode
	python3 -c '
for i in range(17000):
    open("f%d" % i, "w").close()'
	run run_box true
	[[ $status -eq 125 && ${#lines[@]} -eq 1 ]]
	[[ $output == *'more than 16384'* && $output == *"$project"* ]]
}

@test "the host's temporary directories and devices are closed; the command has one of its own" {
	local mine
	mine=$(mktemp -d /tmp/koda-test.XXXXXX)
	echo secret >"$mine/file"
	refused open-read "$mine/file"
	refused create "$mine/new"
	refused create /tmp/koda-test-new
	refused create /dev/shm/koda-test-new
	refused open-read /dev/mem
	refused open-read /dev/ptmx
	outside open-read "$mine/file"
	rm -rf -- "$mine"
	run run_box sh -c 'set -e; mkdir "$TMPDIR/a"; echo x >"$TMPDIR/a/file"; chmod 0 "$TMPDIR/a"
		i=0; cd "$TMPDIR"; while [ $i -lt 300 ]; do mkdir deep; cd deep; i=$((i + 1)); done
		echo "$TMPDIR"'
	echo "$output"
	[[ $status -eq 0 && $output == /tmp/koda-* && ! -e $output ]]
}

@test "in plan mode nothing can be created, so missing names hold" {
	box=(--backend landlock --trust plan --yes --accept private_dirs --accept second_layer)
	refused create .mcp.json
	refused open-write file
	refused chmod file 0777
	allowed open-read file
}

@test "files that are replaced meanwhile do not keep a command from running" {
	local i
	# Beside something protected each file is granted by itself, and only the one that was seen.
	mkdir .vscode
	python3 -c '
import os, sys, time
open(sys.argv[1], "w").close()
for i in range(60000):
    with open("new", "w") as f:
        f.write("here\n")
    os.rename("new", "file")
    time.sleep(0.0005)' "$BATS_TEST_TMPDIR/replacing" 3>&- &
	background+=($!)
	wait_for "$BATS_TEST_TMPDIR/replacing"
	for ((i = 0; i < 15; i++)); do
		run run_box sh -c 'echo x >.vscode/made; echo ran'
		echo "$status $output"
		[[ $status -eq 0 && $output == *ran* && ! -e .vscode/made ]]
	done
}

@test "names that come and go, attributes and mounts are not told" {
	local text='
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print("watch", libc.inotify_init1(0) >= 0)
try:
    os.listxattr("/")
    print("attributes True")
except OSError:
    print("attributes False")'
	run run_box python3 -c "$text"
	[[ $output == $'watch False\nattributes False' ]]
	run python3 -c "$text"
	[[ $output == $'watch True\nattributes True' ]]
}
