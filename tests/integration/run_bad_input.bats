#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # what is quoted so is for another shell
# shellcheck disable=SC2034 # status, stdout and stderr are for the helpers
# What a launch can meet on a machine that is not as it should be: one line with the reason and the
# remedy, the right status, nothing run and nothing left.

load helper
load run_helper

setup() {
	new_project
	remember
}

# lacking CALL ERRNO [CALL ERRNO...]: a run on a kernel where these calls fail so. Without a way down the
# fallback, which tests/security/t49_bubblewrap.bats has.
lacking() {
	status=0 stdout='' stderr=''
	"$KODA_DENY" "$@" -- "$KODA_BIN" run --backend native touch ran </dev/null \
		>"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	slurp stdout "$BATS_TEST_TMPDIR/out"
	slurp stderr "$BATS_TEST_TMPDIR/err"
}

# elsewhere SCRIPT: a shell in mount and user namespaces of its own, for changes to the machine that
# nobody else sees; what it says and how it ends as after koda. $KODA_BIN and $project are there.
elsewhere() {
	status=0 stdout='' stderr=''
	project=$project unshare --user --map-root-user --mount sh -euc "$1" </dev/null \
		>"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	slurp stdout "$BATS_TEST_TMPDIR/out"
	slurp stderr "$BATS_TEST_TMPDIR/err"
}

# nothing_ran TEXT...: refused with a line that has the texts, and the project is as it was.
nothing_ran() {
	refuses "$@" && unchanged
}

@test "the twin: with everything there it runs, also behind a filter that denies nothing of it" {
	lacking open_tree EINVAL
	nothing_ran
	status=0
	"$KODA_DENY" -- "$KODA_BIN" run touch ran </dev/null
	[[ -e ran ]]
	elsewhere 'exec "$KODA_BIN" run touch ran2'
	silent 0
	[[ -e ran2 ]]
}

@test "a root that is missing, a file, or not to be had" {
	inside --root missing touch ran
	nothing_ran 'missing: ' 'No such file or directory; make it first'
	echo >"$HOME/file"
	inside --root "$HOME/file" touch ran
	nothing_ran "$HOME/file: " 'not a directory; name the directory'
	inside --root "$HOME/file/below" touch ran
	nothing_ran 'the project root cannot be used' '; name another'
	for root in / /tmp /usr "$HOME"; do
		inside --root "$root" touch ran
		nothing_ran 'refused as project root' 'use one below it'
	done
}

@test "a place to start in that the policy hides" {
	inside --deny-read src --cwd src touch ran
	nothing_ran "$project/src: " 'Permission denied; the policy hides it, or it is another'
	inside --deny-read src ls
	silent 0
}

@test "root in the project of another user, which is closed" {
	[[ $EUID -eq 0 ]] || return 0 # nobody else gets there
	mkdir -p closed/project
	chown 65534 closed
	chmod 700 closed
	remember
	inside --root closed/project touch ran
	nothing_ran "$project/closed/project: " 'run it as the owner of the project'
	inside --root closed/project --read-only touch ran
	nothing_ran "$project/closed/project: " 'Permission denied; '
}

@test "a command that is missing, and one that cannot be executed" {
	inside no-such-program
	says 127 'no-such-program: command not found'
	echo 'touch ran' >"$project/plain"
	remember
	inside ./plain
	says 126 './plain: cannot be executed: Permission denied'
	inside "$project"
	says 126 'cannot be executed'
	inside ./plain/below
	[[ $status -eq 126 || $status -eq 127 ]]
	unchanged
}

@test "arguments that are more than the kernel takes" {
	# Each may have 128 KiB, and so may the environment; all of them together too much for one.
	ulimit -s 1024 # a quarter of it is the kernel's limit
	local long
	printf -v long '%200000s' ''
	inside /bin/echo "${long:0:100000}" "${long:0:100000}" "${long:0:40000}" || true
	case $status in
	0) [[ ${#stdout} -ge 240000 ]] ;;
	126) says 126 'cannot be executed' ;;
	*) show_result && false ;;
	esac
	unchanged
}

@test "any of the three streams closed" {
	local closed
	for closed in '<&-' '>&-' '2>&-' '<&- >&-' '<&- 2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
		rm -f ran
		status=0
		eval "\"\$KODA_BIN\" run -c 'touch ran; exit 7' $closed" || status=$?
		[[ $status -eq 7 && -e ran ]]
		status=0
		eval "\"\$KODA_BIN\" run --root /nowhere -c 'touch ran2' $closed" 2>/dev/null || status=$?
		[[ $status -eq 125 && ! -e ran2 ]]
	done
	rm ran
	unchanged
}

@test "no HOME, one that is missing, one that is not absolute" {
	local home
	# Without one the account's counts, and with it the state that is kept there.
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
	for home in '' /no/such/home; do
		HOME=$home inside -c 'echo ran'
		silent 0
	done
	status=0
	env -u HOME "$KODA_BIN" run touch ran </dev/null
	rm ran
	unchanged
}

@test "a home that is read-only" {
	elsewhere 'mount --bind "$HOME" "$HOME"; mount -o remount,bind,ro "$HOME"
		if touch "$HOME/x" 2>/dev/null; then exit 99; fi
		exec "$KODA_BIN" run -c "echo ran"'
	silent 0
	[[ $stdout == ran ]]
}

@test "a /tmp of the host that is full" {
	local place bin
	place=$(mktemp -d -p /var/tmp koda-test.XXXXXX)
	mkdir "$place/tmp" "$place/project"
	bin=$(dirname -- "$KODA_BIN")
	# What is tested may itself be below /tmp.
	elsewhere "mount --rbind /tmp $place/tmp; mount -t tmpfs -o size=64k,nr_inodes=64 none /tmp
		case '$bin' in /tmp/*) mkdir -p '$bin'; mount --bind '$place$bin' '$bin' ;; esac
		head -c 100000 /dev/zero >/tmp/full 2>/dev/null || true
		if echo more >/tmp/more 2>/dev/null && test -s /tmp/more; then exit 99; fi
		cd $place/project; exec '$KODA_BIN' run -c 'echo ran; echo fits >/tmp/inside'"
	rm -rf -- "$place"
	silent 0
	[[ $stdout == ran ]]
}

@test "a project on a file system that is full, or read-only" {
	elsewhere 'mount -t tmpfs -o size=1m,nr_inodes=3 none "$project/src"; cd "$project/src"
		mkdir a b 2>/dev/null || true
		exec "$KODA_BIN" run touch ran'
	nothing_ran 'reserve a protected name' 'No space left on device; free some disk space'
	elsewhere 'mount --bind "$project" "$project"; mount -o remount,bind,ro "$project"
		cd "$project"; exec "$KODA_BIN" run touch ran'
	nothing_ran 'reserve a protected name' 'use --read-only'
	elsewhere 'mount --bind "$project" "$project"; mount -o remount,bind,ro "$project"
		cd "$project"; exec "$KODA_BIN" run --read-only -c "echo ran"'
	silent 0
}

@test "a project in which nothing can be made" {
	# Only root can say so, and only of some file systems; there are some that have no sockets.
	if [[ $EUID -ne 0 ]] || ! chattr +i "$project" 2>/dev/null; then
		return 0
	fi
	inside touch ran
	chattr -i "$project"
	nothing_ran 'reserve a protected name' 'use --read-only, or a project elsewhere'
}

@test "no user namespaces" {
	lacking clone3 ENOSYS
	nothing_ran 'create namespaces' 'are switched off; allow them'
	lacking clone3 EPERM
	nothing_ran 'Operation not permitted; '
	elsewhere 'echo 0 >/proc/sys/user/max_user_namespaces
		exec "$KODA_BIN" run --backend native touch ran'
	nothing_ran 'create namespaces' 'raise user.max_user_namespaces'
}

@test "no user namespaces within one" {
	elsewhere 'echo 1 >/proc/sys/user/max_user_namespaces
		exec "$KODA_BIN" run --backend native touch ran'
	nothing_ran 'lock the view' 'raise user.max_user_namespaces'
}

@test "no network namespaces" {
	lacking unshare EPERM
	nothing_ran 'create a network namespace' 'are switched off; allow them'
	lacking unshare ENOSPC
	nothing_ran 'create a network namespace' 'raise user.max_net_namespaces'
	elsewhere 'echo 0 >/proc/sys/user/max_net_namespaces
		exec "$KODA_BIN" run --backend native touch ran'
	nothing_ran 'create a network namespace' 'raise user.max_net_namespaces'
}

@test "namespaces that give no privileges, as AppArmor makes them" {
	lacking mount_setattr EPERM
	nothing_ran 'are switched off; allow them'
	lacking move_mount EACCES
	nothing_ran 'Permission denied'
}

@test "no Landlock" {
	lacking landlock_create_ruleset EOPNOTSUPP
	nothing_ran 'Landlock, the second layer under the view, is switched off' 'add landlock to the lsm='
	lacking landlock_create_ruleset ENOSYS
	nothing_ran 'the kernel has no Landlock' 'use a kernel of version 5.19 or later'
}

@test "no system-call filters" {
	lacking seccomp ENOSYS
	nothing_ran 'install the system-call filter' 'CONFIG_SECCOMP_FILTER'
	lacking seccomp EINVAL
	nothing_ran 'install the system-call filter' 'CONFIG_SECCOMP_FILTER'
}

@test "a kernel that is too old" {
	local call
	for call in open_tree move_mount mount_setattr openat2 memfd_create pidfd_open; do
		lacking "$call" ENOSYS
		# A guardian that cannot be held on to is killed; the next run tidies up.
		[[ $call != pidfd_open ]] || inside true && lacking "$call" ENOSYS
		refuses 'Function not implemented; this needs Linux 5.19 or newer'
		[[ ! -e ran ]]
	done
	inside true
	unchanged
}

@test "a /proc that is covered in parts, as containers have it" {
	elsewhere 'mount -t tmpfs none /proc/fs && exec "$KODA_BIN" run touch ran'
	nothing_ran /proc 'a container has to show all of /proc'
}

@test "within another sandbox" {
	status=0 stdout=''
	"$KODA_DENY" openat2 ENOSYS clone3 ENOSYS -- "$KODA_BIN" run touch ran </dev/null 2>"$BATS_TEST_TMPDIR/err" || status=$?
	slurp stderr "$BATS_TEST_TMPDIR/err"
	nothing_ran 'a protected name' 'a filter hides its calls, as another sandbox does: start it outside'
}

@test "sockets that neither the kernel nor the table will name" {
	elsewhere 'mount -t tmpfs none /proc; exec "$KODA_DENY" socket EPERM -- "$KODA_BIN" run touch ran'
	# A sanitized program looks for leaks in /proc at its end, and for the option not to.
	[[ $stderr != *'LeakSanitizer has encountered a fatal error'* ]] || status=125
	stderr=$(grep -v '^==[0-9]*==' "$BATS_TEST_TMPDIR/err")
	[[ $status -eq 125 && $stderr == 'koda-sandbox: '*'; mount /proc'* ]] ||
		{ show_result; false; }
	unchanged
}

@test "a policy on a descriptor that is not open" {
	status=0
	timeout 20 "$KODA_BIN" run --policy-fd 9 touch ran 9>&- </dev/null \
		>"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	[[ $status -eq 125 && $(<"$BATS_TEST_TMPDIR/err") == *'--policy-fd 9'* && ! -e ran ]]
}

@test "a limit of file sizes that leaves no room for the plan" {
	# Standard error may not be a file.
	(ulimit -f 0 && exec "$KODA_BIN" run touch ran) </dev/null 2>&1 >/dev/null |
		cat >"$BATS_TEST_TMPDIR/err"
	status=${PIPESTATUS[0]} stderr=$(<"$BATS_TEST_TMPDIR/err")
	[[ $status -eq 125 && $stderr == koda-sandbox:*'raise the limit of file sizes'* ]]
	unchanged
}
