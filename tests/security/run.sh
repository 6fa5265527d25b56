#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs a bats file in a directory of its own that the sandbox does not cover with a private one.
# Usage: run.sh as-is|as-user FILE. "as-user" gives up root first; for an ordinary user it has
# nothing to add and says so.
#
# Needs KODA_BIN, KODA_PROBE and KODA_HELPER; KODA_TEST_BASE may name the directory to work below.
# With KODA_TEST_MUST_RUN=1 nothing is skipped: what cannot be tried fails.
#
# KODA_TEST_BACKEND names a backend to try instead of the best. Each test states what it proves by its
# tags: clause:NAME, or clause:none if it is about no clause; backend:native if it is about how that one
# works, backend:view if about mounts or a network of the command's own, which Landlock alone lacks. On
# another backend only tests run of which every clause is one that the backend claims, in the words of
# koda-sandbox doctor, to enforce; the others are not counted. needs:root and needs:user say who can try
# it, needs:pid1 that it runs below a PID 1 of its own. KODA_TEST_LACK names what the machine is to lack,
# as KODA_WITHOUT knows it; tests tagged backend:locked need all of it.
set -euo pipefail

as=$1 file=$2
nobody=65534
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin

skip_all() {
	if [[ ${KODA_TEST_MUST_RUN-} == 1 ]]; then
		printf '1..1\nnot ok 1 - %s\n' "$1"
	else
		printf '1..0 # SKIP %s\n' "$1"
	fi
	exit 0
}

if [[ $as == as-user ]] && ((EUID != 0)); then
	printf '1..0 # SKIP this is an ordinary user already\n'
	exit 0
fi

base=
for dir in "${KODA_TEST_BASE-}" /srv /opt /var/lib "${HOME-}" "$PWD"; do
	case $(realpath -q -- "${dir:-/tmp}" || echo /tmp)/ in
	/tmp/* | /var/tmp/* | /run/* | /dev/* | /proc/*) continue ;;
	esac
	base=$(mktemp -d -- "$dir/koda-security.XXXXXX" 2>/dev/null) && break
	base=
done
[[ $base ]] || skip_all 'no directory to work in outside /tmp: set KODA_TEST_BASE'
# What a test made unreadable must go, too.
trap 'chmod -R u+rwX -- "$base" 2>/dev/null || true; rm -rf -- "$base"' EXIT
cp -- "$KODA_PROBE" "$base/probe"
chmod 755 "$base" "$base/probe"
export KODA_PROBE=$base/probe TMPDIR=$base HOME=$base
unset BATS_TMPDIR BATS_RUN_TMPDIR XDG_CONFIG_HOME XDG_STATE_HOME XDG_RUNTIME_DIR

become=()
if [[ $as == as-user ]]; then
	become=(setpriv --reuid "$nobody" --regid "$nobody" --clear-groups --)
	chown -- "$nobody:$nobody" "$base"
	for program in "$KODA_BIN" "$KODA_HELPER" "$file"; do
		"${become[@]}" test -r "$program" -a -x "$(dirname -- "$program")" ||
			skip_all "an ordinary user cannot reach $program"
	done
fi
CDPATH='' cd -- "$base"

# unclaimed BACKEND: a filter that leaves out what the backend does not claim.
unclaimed() {
	{ "${become[@]}" "${lack[@]}" "$KODA_BIN" doctor --json || true; } | python3 -c '
import json, sys
state = next(b for b in json.load(sys.stdin)["backends"] if b["name"] == sys.argv[1])
if not state["usable"]:
    sys.exit("%s does not work: %s" % (sys.argv[1], state["why"]))
tags = ["backend:native"] + ["backend:locked"] * int(sys.argv[2])
tags += ["backend:view"] * (sys.argv[1] == "landlock")
tags += ["clause:" + name for name, clause in state["clauses"].items() if clause["grip"] != "enforced"]
print(",".join("!" + tag for tag in tags))' "$1" "$((${#lack[@]} > 0))"
}

export KODA_PROGRAM=$KODA_BIN
# Some acts are only root's to prepare, or only others' to try.
tags='!needs:user' lack=()
if [[ $as == as-user ]] || ((EUID != 0)); then
	tags='!needs:root'
fi
if [[ ${KODA_TEST_LACK-} ]]; then
	cp -- "$KODA_WITHOUT" "$base/without"
	lack=("$base/without" "$KODA_TEST_LACK")
fi
if [[ ${KODA_TEST_BACKEND-} ]]; then
	# An ordinary user gets a PID 1 only with a user namespace, in which no file belongs to root any more,
	# and a bubblewrap that does not belong to root is not used.
	if [[ $KODA_TEST_BACKEND == bwrap && $tags == *needs:root* ]]; then
		tags+=',!needs:pid1'
	fi
	tags+=,$(unclaimed "$KODA_TEST_BACKEND") || skip_all "$KODA_TEST_BACKEND does not work here"
	# Tests call the program in many ways; all of them are to use the backend. What it does not
	# claim a person has to accept, which trust mode auto does not let anybody do.
	KODA_BIN=$base/koda-sandbox
	accept=
	if [[ $KODA_TEST_BACKEND == landlock ]]; then
		accept='--yes --accept missing_names --accept private_dirs --accept second_layer'
	fi
	cat >"$KODA_BIN" <<-WRAPPER
		#!/bin/bash
		case \${1-} in
		run | shell | plan)
			words=($accept)
			[[ ! \${words[*]} || " \$* " == *' --trust '* ]] || words+=(--trust safe)
			exec ${lack[*]@Q} '$KODA_PROGRAM' "\$1" --backend '$KODA_TEST_BACKEND' "\${words[@]}" "\${@:2}"
			;;
		esac
		exec '$KODA_PROGRAM' "\$@"
	WRAPPER
	chmod 755 "$KODA_BIN"
	export KODA_BIN
fi
status=0
"${become[@]}" bats --formatter tap --filter-tags "$tags" "$file" >"$base/tap" || status=$?
if [[ ${KODA_TEST_BACKEND-} ]] && grep -qx '1\.\.0' "$base/tap"; then
	printf '1..0 # SKIP nothing that %s claims\n' "$KODA_TEST_BACKEND"
else
	cat -- "$base/tap"
fi
exit "$status"
