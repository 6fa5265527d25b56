#!/bin/bash
# SPDX-License-Identifier: MIT
# Takes every op out of a plan in turn; the launcher must refuse what is left, or a probe must give
# another answer. Prints what nobody missed, and fails if there is anything.
# Needs KODA_MUTATE, KODA_PROBE and KODA_STAGE2.
set -euo pipefail

base=
for dir in "${KODA_TEST_BASE-}" /srv /opt /var/lib "${HOME-}" "$PWD"; do
	[[ $dir && $dir != /tmp* ]] || continue
	base=$(mktemp -d -- "$dir/koda-mutate.XXXXXX" 2>/dev/null) && break
	base=
done
if [[ ! $base ]]; then
	echo 'no directory to work in outside /tmp: set KODA_TEST_BASE'
	exit 77
fi
cleanup() {
	[[ ! ${listener-} ]] || kill "$listener" 2>/dev/null || true
	rm -rf -- "$base"
}
trap cleanup EXIT

account=$(getent passwd "$(id -u)" | cut -d : -f 6)
home=$base/home root=$base/home/project
mkdir -p "$root"/{veiled/hole,closed,.claude/agents,.git/hooks,.git/info,nested/.git/hooks,conf}
echo secret | tee "$root"/{secret,veiled/secret,closed/file} >/dev/null
echo public | tee "$root"/{file,veiled/hole/file,.claude/settings.json,nested/.git/config} >/dev/null
echo x | tee "$root"/.git/{config,HEAD} >/dev/null
mkdir -p "$home"/{.ssh,.config/koda/db,.local/state/koda,.cache}
echo key | tee "$home"/{.ssh/id,.config/koda/db/key,.local/state/koda/key} >/dev/null
ln -s conf "$root/.vscode"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test \
	-keyout "$root/ca.key" -out "$root/ca.pem" 2>/dev/null
cp -- "$KODA_PROBE" "$base/probe"
chmod 755 "$base" "$base/probe"
# A socket of the host, to be hidden.
python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(4)
time.sleep(120)' "$root/socket" &
listener=$!
for ((i = 0; i < 100; i++)); do [[ ! -S $root/socket ]] || break; sleep 0.05; done

# What each op is there for.
{
	for name in .claude .git .git/info nested nested/.git .koda .roo later veiled; do
		printf 'rename\t%s\tmoved\nrename\tmoved\t%s\n' "$name" "$name"
	done
	for name in .codex .cursor .envrc .idea .mcp.json .claude/commands .claude/settings.local.json \
		.amazonq .devcontainer .devcontainer.json .gemini .helix .kiro .opencode .roo/mcp.json .windsurf .zed \
		.koda/agents .koda/skills .git/config.worktree .git/commondir .git/gitdir \
		.git/info/attributes nested/.git/commondir nested/.git/gitdir \
		nested/.git/config.worktree nested/.git/info/attributes later/on; do
		printf 'create-once\t%s\ncreate-once\t%s/x\n' "$name" "$name"
		printf 'rename\t%s\tmoved\nrename\tmoved\t%s\n' "$name" "$name"
	done
	for name in .claude/agents .git/hooks nested/.git/hooks closed .vscode conf veiled/hole; do
		printf 'create-once\t%s/x\n' "$name"
	done
	for name in .claude/settings.json .git/config nested/.git/config closed/file secret; do
		printf 'open-write\t%s\n' "$name"
	done
	# Of the home that the account has, if there is any; HOME says another.
	printf 'open-read\t%s\n' "$account"/.config/koda/db "$account"/.local/state/koda
	# From one mount to another: what is hidden before it is there.
	for name in .config .config/koda .local .local/state .local/state/koda; do
		printf 'rename\t%s/x\t%s/moved\n' "$account/$name" "$account"
	done
	printf 'open-read\t%s\n' "$home/tokens" /proc/{keys,key-users,cmdline,interrupts,kallsyms,modules}
	printf 'open-read\t%s\n' secret veiled veiled/secret veiled/hole/file file /proc/1/status \
		"$home/.config/koda/db/key" "$home/.local/state/koda/key" /dev/zero /dev/kmsg \
		ca.pem ca.key /run/koda/ca-bundle.pem
	printf 'open-write\t%s\n' file /dev/null /proc/sys/kernel/core_pattern /proc/self/comm \
		/proc/sys/kernel/ns_last_pid
	printf 'create-once\t%s\n' new /tmp/new /var/tmp/new /run/new /dev/shm/new /new "$base/new" "$home/.cache/new"
	printf 'find-writable\t%s\n' /proc/irq /proc/bus /proc/fs /proc/acpi /proc/sys
	printf 'find-devices\t/dev\nfind-processes\t6\nbind-tcp\nconnect-unix\tsocket\n'
	printf 'connect-tcp\t127.0.0.1\t9\nunlink\t.vscode\nrename\t.vscode\tmoved\n'
	printf 'call\tmount\nraise-core\nlimits\n'
} >"$base/acts"

"$KODA_MUTATE" all "$root" "$home" "$base/probe" "$base/acts"
