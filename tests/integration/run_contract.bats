#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # status, stdout, stderr and project come from helper.bash
# shellcheck disable=SC2016 # the shell inside expands what is quoted here
# shellcheck disable=SC2030,SC2031 # a test is a function, and bats runs it in a shell of its own
# What programs that call koda-sandbox run rely on: exit status, streams, signals, and that nothing
# is left behind.

setup() {
	load helper
	load run_helper
	new_project
	runner=
}

teardown() {
	end_runner
}

# ---- exit status ---------------------------------------------------------------------------

@test "the command's own status" {
	for code in 0 1 2 42 88 124 125 126 127 128 255; do
		inside -c "exit $code"
		silent "$code"
	done
}

@test "a user with many groups" {
	local become=()
	if [[ $EUID -eq 0 ]]; then # nobody else can have more than there are
		become=(setpriv --groups "$(seq -s , 1000000 1002000)")
	fi
	"${become[@]}" "$KODA_BIN" run true </dev/null
}

@test "128+n for a command that a signal ended" {
	for signal in HUP INT QUIT ABRT KILL SEGV USR1 PIPE ALRM TERM; do
		inside -c "kill -$signal \$\$"
		silent $((128 + $(kill -l "$signal")))
	done
}

@test "signals that the caller ignores are not ignored inside" {
	trap '' PIPE INT
	inside -c 'kill -PIPE $$'
	silent 141
	inside -c 'kill -INT $$'
	silent 130
	trap - PIPE INT
}

@test "124 when the wall time has passed, and nothing survives" {
	remember
	start --wall-time 5 -c 'trap "" HUP INT TERM
		echo begun
		setsid sleep 600 &
		touch ready
		sleep 600
		sleep 600'
	appears ready
	family "$runner" >"$BATS_TEST_TMPDIR/family"
	finish
	says 124 "wall time"
	[[ $stdout == begun ]]
	all_gone "$BATS_TEST_TMPDIR/family"
	rm ready
	unchanged
}

@test "124 also when nobody reads the output" {
	mkfifo "$BATS_TEST_TMPDIR/pipe"
	exec 8<>"$BATS_TEST_TMPDIR/pipe"
	status=0
	timeout 60 "$KODA_BIN" run --wall-time 1 -c 'yes' </dev/null >&8 2>"$BATS_TEST_TMPDIR/err" || status=$?
	exec 8>&-
	slurp stderr "$BATS_TEST_TMPDIR/err"
	says 124
}

@test "1 when the output of a command that has ended is not read in time" {
	run -0 python3 -c '
import os, subprocess, sys
reader, writer = os.pipe()
os.set_blocking(writer, False)
try:
    while True:
        os.write(writer, bytes(4096))
except BlockingIOError:
    os.set_blocking(writer, True)
runner = subprocess.Popen([sys.argv[1], "run", "--wall-time", "2", "-c", "echo lost"],
                          stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE)
print(runner.communicate(timeout=30)[1].decode().strip())
print(runner.returncode)' "$KODA_BIN"
	[[ $output == $'koda-sandbox: output was lost, its reader did not take it in time\n1' ]]
}

@test "126 for what is there but cannot be executed" {
	echo 'echo no' >script
	inside ./script
	says 126 './script: '
	inside "$project/src"
	says 126 'src: '
	inside .
	says 126
	printf '#!/nowhere/interpreter\n' >script
	chmod +x script
	inside ./script
	says 126 './script: cannot be executed: its interpreter'
	mv script no-other-is-so-called
	PATH=$project:$PATH inside no-other-is-so-called
	says 126 'so-called: cannot be executed: its interpreter'
}

@test "a script that names no interpreter is one for sh" {
	mkdir bin
	printf 'echo "$0" "$#" "$2"; exit 7\n' >bin/script
	chmod +x bin/script
	inside ./bin/script one 'two  words'
	silent 7
	[[ $stdout == './bin/script 2 two  words' ]]
	PATH=$project/bin:$PATH inside script
	silent 7
	[[ $stdout == "$project/bin/script 0 " ]]
	: >empty
	chmod +x empty
	inside ./empty
	silent 0
	printf '\177ELF\0\0\0\necho ran\n' >foreign
	chmod +x foreign
	inside ./foreign
	says 126 './foreign: cannot be executed: Exec format error'
}

@test "127 for what is not there" {
	inside no-such-program
	says 127 'no-such-program: command not found'
	inside ./no-such-program
	says 127 './no-such-program: '
	inside /no/such/program
	says 127
	inside $'evil\nname\e[2J'
	says 127 '\x0a' '\x1b'
	inside ''
	says 127
	inside -c 'no-such-program'
	[[ $status -eq 127 && $stderr == *no-such-program* ]] # the shell's own words
}

@test "125 and one line when the request is wrong, and nothing ran" {
	remember
	inside
	refuses 'run: needs -c COMMAND or a program'
	inside -c 'touch ran' touch ran
	refuses 'not both'
	inside -c 'touch ran' -c 'touch ran'
	refuses 'only once'
	inside --backend nonsense touch ran
	refuses "--backend: 'nonsense' is not a backend"
	inside --wall-time 301 touch ran
	refuses --wall-time
	inside --policy-fd 9 touch ran 9<&-
	refuses '--policy-fd 9'
	inside --narrow-fd 9 touch ran 9<<<'{"fs": 1}'
	refuses '--narrow-fd 9: /fs: '
	unchanged
}

@test "125 for a root that is refused" {
	mkdir -p "$HOME/.config/koda/db"
	for root in / "$HOME" /tmp /etc /usr /usr/bin /var/tmp /proc /dev "$HOME/.config"; do
		inside --root "$root" touch ran
		refuses "$root: " 'refused as project root'
	done
	ln -s / link
	inside --root link touch ran
	refuses 'refused as project root'
	[[ ! -e ran && ! -e /ran && ! -e $HOME/ran ]]
}

@test "125 for a root that is not there or no directory" {
	remember
	for trust in plan auto; do
		inside --trust "$trust" --root missing true
		refuses "$project/missing"
		inside --trust "$trust" --root missing/below true
		refuses "$project/missing/below"
	done
	unchanged
	touch file
	for trust in plan auto; do
		inside --trust "$trust" --root file true
		refuses "$project/file"
		inside --trust "$trust" --root /dev/null true
		refuses /dev
	done
	rm file
	unchanged
}

@test "arguments that fit the runner but not the command" {
	# The environment inside is larger than the one outside, so the longest arguments that the
	# runner can be given are too long for what it executes.
	python3 - "$KODA_BIN" <<'PY'
import resource, subprocess, sys

def call(words):
    """The result, or None if already the runner could not be executed."""
    try:
        return subprocess.run([sys.argv[1], "run", *words], env={"HOME": "/nonexistent"},
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError:
        return None

def longest(words_of, low, high):
    """What the runner says to the longest words that it can be given."""
    assert call(words_of(low)) and not call(words_of(high))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if call(words_of(middle)) else (low, middle)
    return call(words_of(low))

def program(length):
    return ["true"] + ["x" * 1000] * (length // 1000) + ["x" * (length % 1000)]

def shell(length):
    return ["-c", ":" + " " * length]

# How much the kernel takes follows from the limit of the stack: a quarter of it.
for stack, words_of in ((1 << 20, program), (1 << 19, shell)):
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    resource.setrlimit(resource.RLIMIT_STACK, (stack, hard))
    result = longest(words_of, stack // 16, stack // 2)
    lines = result.stderr.decode().splitlines()
    print(result.returncode, result.stdout[:100], lines)
    assert result.returncode == 126 and not result.stdout and len(lines) == 1
    assert lines[0].startswith("koda-sandbox: ")
PY
}

# ---- approval ------------------------------------------------------------------------------

# policy TRUST: a policy that asks for this.
policy() {
	printf '{"fs": {"allow_write": ["%s"]}, "trust": "%s"}' "$project" "$1" >"$BATS_TEST_TMPDIR/policy"
}

# alone ARG...: without a terminal to ask on.
alone() {
	status=0
	setsid -w "$KODA_BIN" run "$@" </dev/null >"$BATS_TEST_TMPDIR/out" \
		2>"$BATS_TEST_TMPDIR/err" || status=$?
	slurp stdout "$BATS_TEST_TMPDIR/out"
	slurp stderr "$BATS_TEST_TMPDIR/err"
}

# on_terminal ANSWER ARG...: with a terminal that answers a question so; prints what it showed.
on_terminal() {
	python3 - "$KODA_BIN" "$@" <<'PY'
import os, pty, sys

program, answer, words = sys.argv[1], sys.argv[2], sys.argv[3:]
pid, fd = pty.fork()
if pid == 0:
    os.execv(program, [program, "run", *words])
shown = b""
asked = False
while True:
    try:
        piece = os.read(fd, 4096)
    except OSError:
        break
    if not piece:
        break
    shown += piece
    if not asked and b"[y/N]" in shown:
        asked = True
        os.write(fd, answer.encode() + b"\n")
sys.stdout.write(shown.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
}

@test "a policy that forbids" {
	policy forbid
	alone --policy-fd 4 touch ran 4<"$BATS_TEST_TMPDIR/policy"
	refuses forbids
	alone --policy-fd 4 --yes touch ran 4<"$BATS_TEST_TMPDIR/policy"
	refuses forbids
	alone --narrow-fd 4 --yes touch ran 4<<<'{"trust": "forbid"}'
	refuses forbids
	[[ ! -e ran ]]
}

@test "a policy that requires an approval" {
	policy require
	alone --policy-fd 4 touch ran 4<"$BATS_TEST_TMPDIR/policy"
	refuses approval --yes
	alone --trust safe touch ran
	refuses approval --yes
	alone --narrow-fd 4 touch ran 4<<<'{"trust": "require"}'
	refuses approval --yes
	[[ ! -e ran ]]
	alone --policy-fd 4 --yes touch ran 4<"$BATS_TEST_TMPDIR/policy"
	silent 0
	alone --trust safe --yes rm ran
	silent 0
	[[ ! -e ran ]]
}

@test "an approval on the terminal" {
	status=0
	shown=$(on_terminal n --trust safe touch ran) || status=$?
	[[ $status -eq 125 && $shown == *"touch"*"[y/N]"*'koda-sandbox: not approved'* && ! -e ran ]]
	status=0
	shown=$(on_terminal '' --trust safe touch ran) || status=$?
	[[ $status -eq 125 && ! -e ran ]]
	status=0
	shown=$(on_terminal y --trust safe touch ran) || status=$?
	[[ $status -eq 0 && -e ran ]]
	# What is asked about cannot rewrite the question.
	status=0
	shown=$(on_terminal n --trust safe -c $': \e[2J\rharmless') || status=$?
	[[ $status -eq 125 && $shown == *'\x1b[2J\x0dharmless'* && $shown != *$'\e'* ]]
}

# ---- what runs, and where ------------------------------------------------------------------

@test "a shell text with -c" {
	inside -c 'echo "$0 $#"; echo a && echo b | tr b c'
	silent 0
	[[ $stdout == $'sh 0\na\nc' ]]
	inside -c ''
	silent 0
	inside -c $'printf "caf\xe9"'
	silent 0
	[[ $stdout == $'caf\xe9' ]]
}

@test "a program with its arguments, byte for byte" {
	inside printf '[%s]' 'a b' '' $'\xff\n' '*' '$HOME' "'" -- --help
	silent 0
	[[ $stdout == $'[a b][][\xff\n][*][$HOME]['"'][--][--help]" ]]
	inside -- printf '%s' --trust
	silent 0
	[[ $stdout == --trust ]]
	inside printf '%s' -c x --root /
	silent 0
	[[ $stdout == -cx--root/ ]]
}

@test "the environment is the one that env prints" {
	export GITHUB_TOKEN=secret http_proxy=http://proxy.example:1 LD_PRELOAD=
	for option in --no-network --trust=auto; do
		koda env "$option" -0 -- env
		succeeds
		cp "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/expected"
		inside "$option" -- env -0
		silent 0
		cmp <(sort -z "$BATS_TEST_TMPDIR/out") <(sort -z "$BATS_TEST_TMPDIR/expected")
	done
	inside -c 'echo "$KODA_SANDBOX ${GITHUB_TOKEN-none}"'
	[[ $stdout == '1 none' ]]
}

@test "where a command starts" {
	inside -c 'pwd -P; echo "$PWD"'
	silent 0
	[[ $stdout == "$project"$'\n'"$project" ]]
	inside --cwd src -c 'pwd -P; echo "$PWD"'
	silent 0
	[[ $stdout == "$project/src"$'\n'"$project/src" ]]
	cd /
	inside --root "$project" --cwd "$project/src" pwd
	silent 0
	[[ $stdout == "$project/src" ]]
	cd "$project"
	inside --root src -c 'pwd; touch here'
	silent 0
	[[ $stdout == "$project/src" && -e src/here ]]
}

@test "where a command cannot start" {
	touch file
	ln -s /etc out
	for cwd in missing file .. / out /etc; do
		inside --cwd "$cwd" touch ran
		refuses
	done
	[[ ! -e ran && ! -e src/ran ]]
}

@test "roots with blanks, newlines, quotes and bytes that are not UTF-8" {
	for name in 'two words' $'new\nline' $'caf\xe9\xff' $'tab\tquote"\\back' '-c' '%41#$HOME*' $'\e[2J'; do
		project=$BATS_TEST_TMPDIR/project/$name
		mkdir -- "$project"
		cd -- "$project"
		remember
		inside -c 'pwd && echo hello >file && ! touch .envrc/x 2>/dev/null && { touch ../above 2>/dev/null || true; }'
		silent 0
		[[ $stdout == "$project" && $(<file) == hello ]]
		rm file
		unchanged
		inside --root "$project" true
		silent 0
		unchanged
		cd -- "$BATS_TEST_TMPDIR/project" || return
	done
	[[ ! -e above ]] # if it could be made at all, then in a /tmp of the command's own
}

@test "files are made with the caller's umask" {
	for mask in 0022 0027 0077 0002; do
		umask "$mask"
		inside -c 'umask; touch file; mkdir dir'
		silent 0
		[[ $stdout == "$mask" ]]
		[[ $(stat -c %04a file) == "$(printf '%04o' $((0666 & ~mask)))" ]]
		[[ $(stat -c %04a dir) == "$(printf '%04o' $((0777 & ~mask)))" ]]
		rm -r file dir
	done
}

@test "files with any name" {
	printf 'x' >$'odd\n\xff "name'
	inside -c 'cat ./odd*; mv ./odd* "$(printf "new\\n\\376")"'
	silent 0
	[[ $stdout == x && -e $'new\n\xfe' ]]
}

# ---- streams -------------------------------------------------------------------------------

@test "standard streams, byte for byte" {
	head -c 1048576 /dev/urandom >"$BATS_TEST_TMPDIR/data"
	koda run cat <"$BATS_TEST_TMPDIR/data"
	silent 0
	cmp "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/data"
	koda run -c 'cat >&2' <"$BATS_TEST_TMPDIR/data"
	[[ $status -eq 0 && ! -s $BATS_TEST_TMPDIR/out ]]
	cmp "$BATS_TEST_TMPDIR/err" "$BATS_TEST_TMPDIR/data"
	# Both at once, and the end of the input through a pipe.
	koda run -c 'tee /dev/stderr' < <(cat "$BATS_TEST_TMPDIR/data")
	[[ $status -eq 0 ]]
	cmp "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/data"
	cmp "$BATS_TEST_TMPDIR/err" "$BATS_TEST_TMPDIR/data"
}

@test "NUL bytes and output without a final newline" {
	printf 'a\0b\0\0c' >"$BATS_TEST_TMPDIR/data"
	koda run cat <"$BATS_TEST_TMPDIR/data"
	silent 0
	cmp "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/data"
	inside true
	silent 0
	[[ ! -s $BATS_TEST_TMPDIR/out ]]
}

@test "input that the command does not read" {
	for _ in 1 2 3; do
		koda run true < <(yes)
		silent 0
		koda run head -c 3 < <(yes)
		silent 0
		[[ $stdout == $'y\ny' ]]
	done
}

@test "input that never ends does not keep a finished command" {
	mkfifo "$BATS_TEST_TMPDIR/pipe"
	exec 8<>"$BATS_TEST_TMPDIR/pipe"
	status=0
	timeout 60 "$KODA_BIN" run -c 'echo done' <&8 >"$BATS_TEST_TMPDIR/out" || status=$?
	exec 8>&-
	[[ $status -eq 0 && $(<"$BATS_TEST_TMPDIR/out") == 'done' ]]
}

@test "closed streams" {
	koda run -c 'cat; echo read; exit 3' <&-
	silent 3
	[[ $stdout == read ]]
	status=0
	"$KODA_BIN" run -c 'echo lost; echo told >&2; exit 4' </dev/null >&- 2>"$BATS_TEST_TMPDIR/err" || status=$?
	[[ $status -eq 4 && $(<"$BATS_TEST_TMPDIR/err") == told ]]
	status=0
	"$KODA_BIN" run -c 'echo told; echo lost >&2; exit 5' </dev/null >"$BATS_TEST_TMPDIR/out" 2>&- || status=$?
	[[ $status -eq 5 && $(<"$BATS_TEST_TMPDIR/out") == told ]]
	status=0
	"$KODA_BIN" run -c 'cat; echo lost; echo lost >&2; exit 6' <&- >&- 2>&- || status=$?
	[[ $status -eq 6 ]]
	status=0
	"$KODA_BIN" run no-such-program <&- >&- 2>&- || status=$?
	[[ $status -eq 127 ]]
}

@test "a reader that goes away ends the writer" {
	set +o pipefail
	statuses=$(
		timeout 60 "$KODA_BIN" run yes </dev/null | head -n 1 >"$BATS_TEST_TMPDIR/out"
		echo "${PIPESTATUS[0]}"
	)
	[[ $statuses == 141 && $(<"$BATS_TEST_TMPDIR/out") == y ]]
}

@test "output that cannot be written is told of, and is no success" {
	for backend in native bwrap; do
		status=0
		"$KODA_BIN" run --backend "$backend" -c 'echo lost' </dev/null >/dev/full \
			2>"$BATS_TEST_TMPDIR/err" || status=$?
		[[ $status -eq 1 ]]
		[[ $(<"$BATS_TEST_TMPDIR/err") == "koda-sandbox: output was lost, it cannot be written: No space left on device" ]]
	done
	# Not by the end of it either, and the command's own status comes first.
	status=0
	"$KODA_BIN" run --max-output 2 -c 'echo lost; exit 3' </dev/null >/dev/full \
		2>"$BATS_TEST_TMPDIR/err" || status=$?
	[[ $status -eq 3 && $(<"$BATS_TEST_TMPDIR/err") == *"output was lost"* ]]
	status=0
	"$KODA_BIN" run -c 'echo lost >&2' </dev/null 2>/dev/full || status=$?
	[[ $status -eq 1 ]]
}

@test "output beyond the limit of the file is told of, and does not end the runner" {
	status=0
	(ulimit -f 512 && exec "$KODA_BIN" run --events events -c 'head -c 1000000 /dev/zero') </dev/null \
		>"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	[[ $status -eq 141 ]] # the command's own: nobody reads any more
	[[ $(<"$BATS_TEST_TMPDIR/err") == *"output was lost, it cannot be written: File too large" ]]
	# Nor do events, which have no room at all.
	status=0
	(ulimit -f 0 && exec "$KODA_BIN" run --events none -c 'exit 3') </dev/null 2>&1 | cat || status=$?
	[[ $status -eq 0 && -e none && ! -s none ]]
}

@test "output arrives while the command runs" {
	mkfifo "$BATS_TEST_TMPDIR/pipe"
	"$KODA_BIN" run -c 'echo first; until test -e go; do sleep 0.05; done; echo second' \
		</dev/null >"$BATS_TEST_TMPDIR/pipe" 3>&- &
	runner=$!
	exec 8<"$BATS_TEST_TMPDIR/pipe"
	read -r -t 30 line <&8
	[[ $line == first ]]
	touch go
	read -r -t 30 line <&8
	[[ $line == second ]]
	exec 8<&-
	wait "$runner"
	runner=
}

@test "too much output: the head, a note, the tail" {
	inside --max-output 1000 -c 'head -c 3000 /dev/zero | tr "\0" a; head -c 3000 /dev/zero | tr "\0" z'
	says 0 '5000 bytes of output were left out' 'of each stream 1000 are kept' --max-output
	a=$(printf 'a%.0s' {1..500})
	[[ $stdout == "$a"$'\n[... 5000 bytes left out ...]\n'"${a//a/z}" ]]
	# Each stream on its own.
	inside --max-output 1000 -c 'head -c 900 /dev/zero | tr "\0" o; head -c 2000 /dev/zero | tr "\0" e >&2'
	[[ $status -eq 0 && ${#stdout} -eq 900 ]]
	e=${a//a/e}
	[[ $stderr == "$e"$'\n[... 1000 bytes left out ...]\n'"$e"$'\nkoda-sandbox: 1000 bytes of output were left out'* ]]
	# Both streams together, and into a file, where nobody looks for a note in the middle.
	inside --max-output 1000 -c 'head -c 1500 /dev/zero | tr "\0" o; head -c 1700 /dev/zero | tr "\0" e >&2'
	[[ $stderr == *'koda-sandbox: 1200 bytes of output were left out'* ]]
}

@test "output that just fits is left alone" {
	head -c 1001 /dev/urandom >"$BATS_TEST_TMPDIR/data"
	for size in 999 1000 1001; do
		head -c "$size" "$BATS_TEST_TMPDIR/data" >"$BATS_TEST_TMPDIR/part"
		koda run --max-output 1001 cat <"$BATS_TEST_TMPDIR/part"
		silent 0
		cmp "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/part"
	done
	koda run --max-output 1000 cat <"$BATS_TEST_TMPDIR/data"
	says 0 '1 bytes of output were left out'
	grep -qa '^\[\.\.\. 1 bytes left out \.\.\.\]$' "$BATS_TEST_TMPDIR/out"
}

@test "output without end is bounded by the wall time" {
	inside --wall-time 5 --max-output 4K yes
	[[ $status -eq 124 && $stderr == 'koda-sandbox: the wall time'*$'\nkoda-sandbox: '*' bytes of output were left out'* ]]
	[[ $(wc -c <"$BATS_TEST_TMPDIR/out") -le 4200 ]]
	[[ $stdout == *'bytes left out'* ]]
}

# ---- signals and what is left --------------------------------------------------------------

@test "a signal to the runner reaches the command's trap" {
	for signal in TERM INT HUP USR1; do
		rm -f ready
		start -c "trap 'echo caught; exit 9' $signal; touch ready; while :; do sleep 0.05; done"
		appears ready
		kill "-$signal" "$runner"
		finish
		[[ $status -eq 9 && $stdout == caught ]]
	done
}

@test "a signal to the runner ends a command without a trap" {
	for signal in TERM INT HUP; do
		rm -f ready
		start -c 'touch ready; exec sleep 600'
		appears ready
		kill "-$signal" "$runner"
		finish
		silent $((128 + $(kill -l "$signal")))
	done
}

@test "a signal reaches the whole group of the command, and the runner waits for it" {
	start -c 'trap "sleep 0.3; echo parent; exit 0" TERM
		sh -c "trap \"echo child; exit 0\" TERM; touch ready; while :; do sleep 0.05; done" &
		while :; do wait; done'
	appears ready
	kill -TERM "$runner"
	finish
	[[ $status -eq 0 && $stdout == *child* && $stdout == *parent* ]]
}

@test "a signal that the runner was started to ignore is not passed on" {
	trap '' HUP
	start -c 'touch ready; until [ -e go ]; do sleep 0.05; done; echo fine'
	trap - HUP
	appears ready
	kill -HUP "$runner"
	touch go
	finish
	silent 0
	[[ $stdout == fine ]]
}

@test "a signal ends a runner that only waits for its reader" {
	mkfifo "$BATS_TEST_TMPDIR/pipe"
	exec 8<>"$BATS_TEST_TMPDIR/pipe"
	# More than the caller's pipe holds, less than that and the pipe inside.
	"$KODA_BIN" run -c 'head -c 100000 /dev/zero; touch ready' </dev/null >&8 \
		2>"$BATS_TEST_TMPDIR/err" 3>&- &
	runner=$!
	appears ready
	for ((i = 0; i < 600; i++)); do
		[[ -n $(<"/proc/$runner/task/$runner/children") ]] || break
		sleep 0.05
	done
	kill -TERM "$runner"
	for ((i = 0; i < 600; i++)); do
		kill -0 "$runner" 2>/dev/null || break
		sleep 0.05
	done
	[[ $i -lt 600 ]]
	status=0
	wait "$runner" || status=$?
	runner=
	exec 8>&-
	[[ $status -eq 143 ]]
}

# has_family COUNT: at least so many; they are listed.
has_family() {
	family "$runner" >"$BATS_TEST_TMPDIR/family"
	[[ $(wc -l <"$BATS_TEST_TMPDIR/family") -ge $1 ]]
}

@test "nothing outlives the command: background, sessions, double forks, ignored signals" {
	remember
	start -c 'sleep 600 &
		nohup sleep 600 >/dev/null 2>&1 &
		setsid sleep 600 &
		(setsid sleep 600 </dev/null >/dev/null 2>&1 &)
		setsid sh -c "(trap \"\" HUP INT QUIT TERM; setsid sleep 600 & sleep 600) &"
		(sh -c "(trap \"\" HUP INT QUIT TERM; while :; do sleep 600; done) & exit")
		touch ready
		until test -e go; do sleep 0.05; done
		exit 5'
	appears ready
	# Runner, guardian, init and command, and at least one each; the last may still be on its way.
	eventually has_family 10
	touch go
	finish
	silent 5
	all_gone "$BATS_TEST_TMPDIR/family"
	rm ready go
	unchanged
}

@test "the runner is killed: everything inside dies and nothing stays in the project" {
	git_identity
	new_repository "$project"
	remember
	start -c '(trap "" HUP INT TERM; setsid sleep 600 &) ; touch ready; sleep 600'
	appears ready
	eventually has_family 5
	kill -KILL "$runner"
	finish
	[[ $status -eq 137 ]]
	all_gone "$BATS_TEST_TMPDIR/family"
	rm ready
	unchanged
	[[ -z $(ls -A "$HOME") ]]
}

@test "the runner of one of two is killed: the other stays protected, and then nothing is left" {
	local killed i
	git_identity
	new_repository "$project"
	remember
	start -c 'touch first; sleep 600'
	appears first
	killed=$runner
	start -c 'touch second; until test -e go; do sleep 0.05; done
		echo x >.envrc || mkdir .vscode/x || mkdir -p .koda/agents || echo x >.git/commondir || exit 5'
	appears second
	family "$killed" >"$BATS_TEST_TMPDIR/family"
	kill -KILL "$killed"
	wait "$killed" || true
	all_gone "$BATS_TEST_TMPDIR/family"
	touch go
	finish
	[[ $status -eq 5 ]] || { show_result; false; }
	rm first second go
	# Whoever of the two is the last removes them.
	eventually unchanged >/dev/null || unchanged
}

@test "the guardian is killed: everything inside dies, the next run tidies up" {
	git_identity
	new_repository "$project"
	remember
	start -c '(setsid sleep 600 &) ; touch ready; sleep 600'
	appears ready
	family "$runner" >"$BATS_TEST_TMPDIR/family"
	guardian=$(guardian_of "$runner")
	kill -KILL "$guardian"
	finish
	says 125
	all_gone "$BATS_TEST_TMPDIR/family"
	rm ready
	inside true
	silent 0
	unchanged
}

@test "the guardian is killed: nobody claims that nothing ran" {
	start -c 'touch ready; sleep 600'
	appears ready
	guardian=$(guardian_of "$runner")
	kill -KILL "$guardian"
	finish
	says 125
	[[ $stderr != *'nothing ran'* ]]
}

@test "a killed run's places are protected in the next run" {
	start -c 'touch ready; sleep 600'
	appears ready
	guardian=$(guardian_of "$runner")
	kill -KILL "$guardian"
	finish
	rm ready
	for name in .envrc .vscode .mcp.json .claude/agents .claude/settings.json .koda/skills; do
		inside -c "echo x >$name || mkdir -p $name/x || rm -rf $name && mkdir -p $name/x"
		[[ $status -ne 0 ]]
		[[ ! -e $name ]]
	done
	[[ $(ls -A) == src ]]
}

@test "eight runs at once leave nothing" {
	git_identity
	new_repository "$project"
	remember
	local -a runners=()
	for i in {1..8}; do
		"$KODA_BIN" run -c "sleep 0.$i; ! echo x 2>/dev/null >.envrc && ! mkdir .vscode/x 2>/dev/null &&
			! touch .git/hooks/x 2>/dev/null && git status --porcelain" \
			</dev/null >"$BATS_TEST_TMPDIR/out.$i" 2>"$BATS_TEST_TMPDIR/err.$i" 3>&- &
		runners+=($!)
	done
	for i in {1..8}; do
		status=0
		wait "${runners[i - 1]}" || status=$?
		[[ $status -eq 0 && ! -s $BATS_TEST_TMPDIR/out.$i && ! -s $BATS_TEST_TMPDIR/err.$i ]] || {
			echo "run $i: exit $status"
			cat "$BATS_TEST_TMPDIR/out.$i" "$BATS_TEST_TMPDIR/err.$i"
			false
		}
	done
	unchanged
}

@test "runs that begin and end all the time leave nothing and get in nobody's way" {
	remember
	local -a runners=()
	for _ in {1..4}; do
		(
			for _ in {1..10}; do
				"$KODA_BIN" run true </dev/null || exit
			done
		) >>"$BATS_TEST_TMPDIR/log" 2>&1 3>&- &
		runners+=($!)
	done
	for pid in "${runners[@]}"; do
		wait "$pid" || {
			cat "$BATS_TEST_TMPDIR/log"
			false
		}
	done
	unchanged
}

@test "nothing is left in the home or the host's temporary directories" {
	name=left-${BATS_TEST_TMPDIR//\//-}
	inside -c "touch /tmp/$name /var/tmp/$name /dev/shm/$name"
	silent 0
	[[ ! -e /tmp/$name && ! -e /var/tmp/$name && ! -e /dev/shm/$name ]]
	[[ -z $(ls -A "$HOME") ]]
}

# ---- plan ----------------------------------------------------------------------------------

@test "plan prints what run would do and changes nothing" {
	remember
	koda plan --deny-read src -c 'touch ran'
	succeeds
	unchanged
	[[ $stdout == *"$project/.envrc"*"floor.project"* ]]
	[[ $stdout == *"mask"*"$project/src"*"fs.deny_read $project/src"* ]]
	[[ $stdout == *"KODA_SANDBOX=1"* && $stdout == *"touch ran"* ]]
	koda plan
	refuses 'plan: needs -c COMMAND or a program'
	koda plan --trust safe true </dev/null
	succeeds
}

@test "what a plan prints stays one line each" {
	mkdir $'evil\nwritable /'
	koda plan --root $'evil\nwritable /' printf $'a\nwritable /etc\e[2J'
	succeeds
	[[ $stdout != *$'\nwritable /'* ]]
	[[ $stdout != *$'\e'* ]]
	# Nor do characters of more than one byte deceive, or what is no character at all.
	koda plan printf $'\xe2\x80\xaeb\xc2\x9b2J\xff'
	succeeds
	[[ $stdout == *'\xe2\x80\xaeb\xc2\x9b2J\xff'* ]]
}
