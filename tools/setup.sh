#!/bin/bash
# SPDX-License-Identifier: MIT
# Installs the Debian packages of the named groups that are missing. When none is missing it does
# nothing: no network, no privileges.
# Usage: tools/setup.sh GROUP|PACKAGE...
set -euo pipefail

# One row for each reason: group, reason, packages.
table=(
	'build | C compiler                               | gcc libc6-dev'
	'build | build system                             | meson ninja-build pkgconf python3'
	'build | JSON, names of hosts; libunistring is for the static program | libjansson-dev libidn2-dev libpsl-dev libunistring-dev'
	'build | the egress proxy: event loop, TLS        | libuv1-dev libssl-dev'
	'build | system-call filters                      | libseccomp-dev'
	'build | the launcher: a C library that starts fast, kernel headers | musl-tools linux-libc-dev'
	'build | expressions of the file worker          | libpcre2-dev'
	'build | manual pages                             | scdoc'
	'run   | a client of the proxy in the tour        | curl ca-certificates'
	'test  | test frameworks                          | libcmocka-dev bats'
	'test  | gates that compile as C++, or twice      | clang'
	'test  | projects of the tests are repositories   | git'
	'test  | the second backend                       | bubblewrap'
	'test  | a second opinion on HTTP                 | libhttp-parser-dev'
	'test  | clients of the proxy                     | curl wget openssl openssh-client python3-httpx python3-requests'
	'test  | parser of the AppArmor profile           | apparmor'
	'test  | runs examples/agent.mjs                  | nodejs'
	'test  | reads Seatbelt profiles                  | guile-3.0'
	'lint  | formatter, static analysers              | clang-format clang-tidy cppcheck'
	'lint  | shell scripts, spelling                  | shellcheck codespell'
	'fuzz  | libFuzzer, sanitizers, readable traces   | clang libclang-rt-dev llvm'
	'bench | proxies to compare with; squid too, where it is | nginx tinyproxy-bin'
	'bench | searches to compare with                | ripgrep fd-find findutils'
	'deb   | dpkg-deb, dpkg-shlibdeps                 | dpkg dpkg-dev'
	'aarch64 | cross compiler; tools/sysroot.sh unpacks libraries of arm64 | gcc-aarch64-linux-gnu libc6-dev-arm64-cross'
	'aarch64 | runs the unit tests of aarch64         | qemu-user'
	'ci    | a browser that shows the page of koda-sandbox report | chromium'
	'ci    | clients and servers of the proxy that are tried where they are | golang-go nginx openssh-server'
)

packages=()
for wanted in "$@"; do
	found=0
	for row in "${table[@]}"; do
		IFS='|' read -r group _ names <<<"$row"
		[[ ${group// /} == "$wanted" ]] || continue
		found=1
		read -r -a names <<<"$names"
		packages+=("${names[@]}")
	done
	((found)) || packages+=("$wanted")
done
if ((!${#packages[@]})); then
	echo 'usage: tools/setup.sh GROUP|PACKAGE...; the groups are:' >&2
	printf '%s\n' "${table[@]}" >&2
	exit 1
fi
mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)

if ! command -v dpkg-query >/dev/null; then
	echo "setup: not a Debian system; going on without a check for: ${packages[*]}" >&2
	exit 0
fi

# dpkg-query also complains about packages it has never heard of; absence from its list is enough.
known=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
	grep -qx "installed $package" <<<"$known" || missing+=("$package")
done
((${#missing[@]})) || exit 0

as_root=()
if [[ $EUID -ne 0 ]]; then
	if ! command -v sudo >/dev/null; then
		echo "setup: these packages are missing: ${missing[*]}" >&2
		echo "setup: neither root nor sudo here; as root: apt-get install ${missing[*]}" >&2
		exit 1
	fi
	as_root=(sudo)
fi

# apt's own output is long; it is shown if apt fails.
log=$(mktemp)
trap 'rm -f -- "$log"' EXIT
echo "setup: installing ${missing[*]}"
if ! "${as_root[@]}" apt-get update -q >"$log" 2>&1 ||
	! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get install -q -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
	cat -- "$log" >&2
	echo "setup: apt-get could not install ${missing[*]}" >&2
	exit 1
fi
