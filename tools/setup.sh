#!/bin/bash
# SPDX-License-Identifier: MIT
# Installs the Debian packages that building, testing and checking need. When all of them are
# there it does nothing: no network, no privileges.
set -euo pipefail

packages=(
	# compilers and build
	gcc libc6-dev clang libclang-rt-dev llvm meson ninja-build pkgconf python3 git
	# libraries; libunistring is there for the static programs
	libjansson-dev libidn2-dev libpsl-dev libunistring-dev libseccomp-dev libuv1-dev
	# TLS of the proxy
	libssl-dev
	# the launcher: a C library that starts fast, and the kernel's headers
	musl-tools linux-libc-dev
	# manual, tests
	scdoc libcmocka-dev bats libhttp-parser-dev
	# clients of the proxy, and what they need; golang-go and openssh-server are tried if they are there
	curl wget openssl openssh-client python3-httpx python3-requests
	# what make bench compares with; squid too, where it is
	bubblewrap nginx tinyproxy-bin
	# make lint, and a test of the profile
	clang-format clang-tidy cppcheck shellcheck codespell apparmor
)
# More that only some tests use: an ssh server, a large compiler.
packages+=("$@")

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

echo "setup: installing ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
	apt-get install -q -y --no-install-recommends "${missing[@]}"
