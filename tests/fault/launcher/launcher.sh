#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes a project, a home and a policy with some of everything, and lets test_launcher fail and kill
# its way through starts in it.
# Usage: launcher.sh as-is|as-user BACKEND [no-runner]
# Needs KODA_BIN, KODA_PROBE and KODA_LAUNCHER; KODA_TEST_BASE may name the directory to work below.
set -euo pipefail

# /proc/net/unix lists the sockets of one network namespace. In a namespace of its own the runner sees
# the one socket made below, and not those that other programs of this machine open and close: for a
# socket that disappears during a start the runner starts the launcher a second time. An ordinary user
# would need a user namespace, too, where /usr/bin/bwrap does not belong to root: judge.c repeats runs.
if ((EUID == 0)) && [[ ! ${KODA_FAULT_NETNS-} ]]; then
	KODA_FAULT_NETNS=1 exec unshare --net -- "$0" "$@"
fi

as=$1 backend=$2
shift
nobody=65534
umask 022

base=
for dir in "${KODA_TEST_BASE-}" /srv /opt /var/lib "${HOME-}" "$PWD"; do
	case $(realpath -q -- "${dir:-/tmp}" || echo /tmp)/ in
	/tmp/* | /var/tmp/* | /run/* | /dev/* | /proc/*) continue ;;
	esac
	base=$(mktemp -d -- "$dir/koda-fault.XXXXXX" 2>/dev/null) && break
	base=
done
if [[ ! $base ]]; then
	echo '1..0 # SKIP no directory to work in outside /tmp: set KODA_TEST_BASE'
	exit "$((${KODA_TEST_MUST_RUN:-0} == 1))"
fi
cleanup() {
	[[ ! ${listener-} ]] || kill "$listener" 2>/dev/null || true
	chmod -R u+rwX -- "$base" 2>/dev/null || true
	rm -rf -- "$base"
}
trap cleanup EXIT

home=$base/home root=$base/project
mkdir -p "$home"/.config/koda/db "$root"/{veiled/hole,closed,.claude/agents,.git/hooks,.git/info,conf,nested/.git/hooks}
# The journal of placeholders, and what is kept of them, is made by the first run that needs it; every
# run is to make the same calls.
mkdir -p "$home/.local/state"
mkdir -m 700 "$home"/.local/state/koda{,/placeholders,/directories}
echo secret | tee "$root"/{secret,veiled/secret,closed/file} "$home/.config/koda/db/key" >/dev/null
echo public | tee "$root"/{file,veiled/hole/file,.claude/settings.json} >/dev/null
echo x | tee "$root"/{,nested/}.git/{config,HEAD} >/dev/null
# A link among the protected names is what bubblewrap cannot hold.
if [[ $backend == bwrap ]]; then
	mkdir "$root/.vscode"
else
	ln -s conf "$root/.vscode"
fi
cp -- "$KODA_PROBE" "$base/probe"
cat >"$base/policy" <<END
{"fs": {"allow_write": ["$root"], "deny_read": ["$root/secret", "$root/veiled", "$root/unmade"],
  "allow_read_within_deny": ["$root/veiled/hole"],
  "deny_write_within_allow": ["$root/closed", "$root/later/on"]},
 "net": {"denied_domains": ["*"], "allow_local_binding": false},
 "limits": {"wall_time_secs": 60, "cpu_time_secs": 30, "max_open_fds": 256,
  "max_rss_bytes": 1000000000}}
END

# Renames come in pairs: one that succeeds is taken back.
{
	printf 'open-read\t%s\n' secret veiled veiled/secret veiled/hole/file file /proc/1/environ \
		"$home/.config/koda/db/key" /dev/kmsg /dev/zero
	printf 'open-write\t%s\n' file .git/config nested/.git/config closed/file .claude/settings.json \
		veiled/hole/file "$base/acts" /proc/sys/kernel/ns_last_pid /dev/null
	for name in .claude .git .vscode .codex later .git/info secret; do
		printf 'rename\t%s\tmoved\nrename\tmoved\t%s\n' "$name" "$name"
	done
	printf 'create-once\t%s\n' .codex .envrc .mcp.json .koda later unmade .git/commondir .git/hooks/x nested/.git/hooks/x \
		.git/info/attributes .claude/agents/x conf/x closed/x veiled/x veiled/hole/x new \
		/tmp/new /run/new /dev/shm/new /new "$base/new" "$home/new"
	printf 'find-writable\t%s\n' /proc/sys
	printf 'find-devices\t/dev\nfind-processes\t4\nfind-capabilities\nfind-descriptors\n'
	printf 'bind-tcp\nconnect-unix\t%s\nconnect-tcp\t127.0.0.1\t9\n' "$root/socket"
	printf 'find-status-not\t%s\n' $'NoNewPrivs\t1' $'Seccomp\t2'
	printf 'call\t%s\n' mount setns ptrace
	printf 'unshare\t0x10000000\nraise-core\n'
	# Without a namespace that counts its own, the limit of processes depends on who else is there.
	[[ $backend == landlock ]] || echo limits
} >"$base/acts"

# A socket of the host, to be hidden.
python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(64)
time.sleep(1800)' "$root/socket" &
listener=$!
for ((i = 0; i < 100; i++)); do
	[[ ! -S $root/socket ]] || break
	sleep 0.05
done

become=()
if [[ $as == as-user ]]; then
	become=(setpriv --reuid "$nobody" --regid "$nobody" --clear-groups --)
	chown -R -h -- "$nobody:$nobody" "$base"
	"${become[@]}" test -x "$KODA_BIN"
fi
chmod 755 "$base" "$base/probe"
"${become[@]}" "$KODA_LAUNCHER" "$KODA_BIN" "$base" "$@"
