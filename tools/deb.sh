#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes Debian packages: koda-sandbox (program, helpers, manual, completions, AppArmor profile),
# libkoda-sandbox0 (shared library) and libkoda-sandbox-dev (headers, archive, pkg-config).
# Usage: tools/deb.sh BUILDDIR OUTDIR
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "$0")/.."
. tools/build_dir.bash
umask 022

build=$1
out=$2
build_dir_check "$out"
version=$(cat VERSION)
arch=$(dpkg --print-architecture)
soname=libkoda-sandbox.so.0
maintainer=${DEBFULLNAME:-koda-sandbox}' <'${DEBEMAIL:-root@localhost}'>'
# Times inside the packages: one source makes one package, byte for byte.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}

work=$(mktemp -d "${TMPDIR:-/tmp}/koda-deb.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
tools/install.sh /usr "$work/all" "$build" >"$work/said" 2>&1 || {
	cat -- "$work/said" >&2
	exit 1
}
# dpkg keeps its own list.
rm -- "$work/all/usr/share/koda-sandbox/installed-files"
gzip -9nr -- "$work/all/usr/share/man"

# take PACKAGE PATTERN...: moves the files below usr/ into the package's tree.
take() {
	local tree=$work/$1 pattern file
	shift
	mkdir -p -- "$tree/DEBIAN"
	for pattern in "$@"; do
		(cd -- "$work/all" && find usr ! -type d -path "usr/$pattern" -print0) |
			while IFS= read -r -d '' file; do
				mkdir -p -- "$tree/$(dirname -- "$file")"
				mv -- "$work/all/$file" "$tree/$file"
			done
	done
}

take koda-sandbox 'bin/*' 'libexec/*' 'share/man/man1/*' 'share/man/man5/*' 'share/man/man8/*' 'share/bash-completion/*' \
	'share/zsh/*' 'share/fish/*' 'share/koda-sandbox/*'
take libkoda-sandbox0 'lib/*.so.*'
take libkoda-sandbox-dev 'include/*' 'lib/*.so' 'lib/*.a' 'lib/*.pc' 'share/man/man3/*'
left=$(find "$work/all" ! -type d)
if [[ -n $left ]]; then
	echo "deb: no package takes $left" >&2
	exit 1
fi

# shared_libraries PACKAGE: prints the packages of the shared libraries that its programs and
# libraries need.
shared_libraries() {
	local path files=()
	while IFS= read -r -d '' path; do
		readelf -d -- "$path" | grep -F '(NEEDED)' >/dev/null && files+=("$path")
	done < <(find "$work/$1/usr" -type f \( -path '*/libexec/*' -o -name '*.so.*' \) -print0)
	# dpkg-shlibdeps wants a source package around it.
	mkdir -p -- "$work/shlibs/debian"
	: >"$work/shlibs/debian/control"
	(cd -- "$work/shlibs" && dpkg-shlibdeps --warnings=0 -O "${files[@]}") |
		sed -n 's/^shlibs:Depends=//p'
}

# pack PACKAGE SECTION DEPENDS SUMMARY DESCRIPTION: writes the control files and the package.
pack() {
	local name=$1 section=$2 depends=$3 summary=$4 description=$5 tree=$work/$1 doc multi_arch='same'
	# A program serves every architecture, and a library only its own.
	[[ $name != koda-sandbox ]] || multi_arch='foreign'
	doc=$tree/usr/share/doc/$name
	mkdir -p -- "$doc"
	cp -- LICENSE "$doc/copyright"
	gzip -9n <CHANGELOG.md >"$doc/changelog.gz"
	(cd -- "$tree" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
	{
		echo "Package: $name"
		echo 'Source: koda-sandbox'
		echo "Version: $version"
		echo "Architecture: $arch"
		echo "Maintainer: $maintainer"
		echo "Installed-Size: $(du -sk --apparent-size -- "$tree/usr" | cut -f 1)"
		[[ -z $depends ]] || echo "Depends: $depends"
		[[ $name != koda-sandbox ]] || echo 'Suggests: bubblewrap'
		echo "Section: $section"
		echo 'Priority: optional'
		echo "Multi-Arch: $multi_arch"
		echo "Description: $summary"
		fold -s -w 76 <<<"$description" | sed 's/ *$//; s/^/ /'
	} >"$tree/DEBIAN/control"
	find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" -- {} +
	dpkg-deb --root-owner-group --build "$tree" "$out/${name}_${version}_$arch.deb" >/dev/null
	echo "$out/${name}_${version}_$arch.deb"
}

mkdir -p -- "$out"
echo "${soname%.so.*} ${soname##*.} libkoda-sandbox0 (>= $version)" >"$work/libkoda-sandbox0/DEBIAN/shlibs"
echo 'activate-noawait ldconfig' >"$work/libkoda-sandbox0/DEBIAN/triggers"

# In variables of their own, so that a failure ends the script.
program_needs=$(shared_libraries koda-sandbox)
library_needs=$(shared_libraries libkoda-sandbox0)
pack koda-sandbox utils "$program_needs" 'sandbox for commands that an AI agent chooses' \
	'Runs commands with a policy of files, hosts and resources that the kernel enforces: namespaces, Landlock, seccomp, and an egress proxy as the only route to the network.'
# The library starts the helpers.
pack libkoda-sandbox0 libs "koda-sandbox (= $version), $library_needs" \
	'sandbox for commands that an AI agent chooses (library)' \
	'Makes policies, asks them for verdicts, and runs commands in sandboxes, for programs that embed an agent.'
pack libkoda-sandbox-dev libdevel \
	"libkoda-sandbox0 (= $version), libjansson-dev, libidn2-dev, libpsl-dev, libunistring-dev" \
	'sandbox for commands that an AI agent chooses (development files)' \
	'Headers, archive, pkg-config file and manual page of libkoda-sandbox.'
