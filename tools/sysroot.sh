#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes DIR a tree of the libraries that a build for another architecture links, unpacked from
# Debian's packages of it. apt works on lists of its own below DIR: the machine keeps its
# architectures (no dpkg --add-architecture) and its packages, and root is not needed. A second call
# with the same packages does nothing. Writes DIR/cross.ini, which completes tools/cross/ARCH.ini.
# KODA_APT_SOURCES may name a file of sources for apt, in place of the machine's.
# Usage: tools/sysroot.sh aarch64 DIR
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "$0")/.."

# What the product and its unit tests link; apt adds what these need.
libraries=(
	libjansson-dev libidn2-dev libpsl-dev libunistring-dev libpcre2-dev
	libuv1-dev libssl-dev libseccomp-dev
	libcmocka-dev libhttp-parser-dev
)
# The C library of the launcher. Its packages want a compiler, so they come without what they need.
launcher=(musl musl-dev)

machine=$1
dir=$(realpath -m -- "$2")
case $machine in
aarch64) debian=arm64 ;;
*)
	echo "sysroot: no such architecture: $machine; there is aarch64" >&2
	exit 1
	;;
esac
if [[ $dir == *[[:space:]\'\#\&]* ]]; then
	echo "sysroot: the compiler's specs cannot name a path with blanks or quotes: $dir" >&2
	exit 1
fi
tree=$dir/tree
made=$dir/made
wanted="$machine ${libraries[*]} ${launcher[*]} $(cksum <"$0")"
if [[ -f $made && $(<"$made") == "$wanted" ]]; then
	exit 0
fi
for tool in apt-get dpkg-deb; do
	if ! command -v "$tool" >/dev/null; then
		echo "sysroot: no $tool; name the libraries of $machine in a cross file of your own, see doc/aarch64.md" >&2
		exit 1
	fi
done
sources=()
if [[ -n ${KODA_APT_SOURCES:-} ]]; then
	if [[ ! -r $KODA_APT_SOURCES ]]; then
		echo "sysroot: KODA_APT_SOURCES cannot be read: $KODA_APT_SOURCES" >&2
		exit 1
	fi
	sources=(-o Dir::Etc::sourcelist="$(realpath -- "$KODA_APT_SOURCES")" -o Dir::Etc::sourceparts=-)
fi

# What an earlier call began is made anew; nothing else is removed.
if [[ -e $dir && ! -f $dir/apt/status && ! -f $made && -n $(ls -A -- "$dir") ]]; then
	echo "sysroot: $dir has files of others; name another directory" >&2
	exit 1
fi
echo "sysroot: unpacking libraries of $debian into $dir"
rm -rf -- "$dir"
mkdir -p -- "$dir"/apt/{lists,archives}/partial "$tree"/usr/{bin,lib,sbin}
: >"$dir/apt/status"
ln -s usr/bin usr/lib usr/sbin "$tree"
options=(
	-o APT::Architecture="$debian" -o APT::Architectures="$debian"
	-o Dir::State="$dir/apt" -o Dir::State::status="$dir/apt/status"
	-o Dir::Cache="$dir/apt" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
	-o APT::Sandbox::User= -o APT::Install-Recommends=false
	"${sources[@]}"
)
# Hooks of the machine's apt tell others that its packages have changed: not here.
for hook in APT::Update::Post-Invoke-Success APT::Update::Post-Invoke APT::Update::Pre-Invoke; do
	options+=(-o "#clear=$hook")
done

# run WHAT COMMAND...: shows the command's output only if it fails; WHAT says what that means.
run() {
	local what=$1
	shift
	if ! "$@" >"$dir/log" 2>&1; then
		cat -- "$dir/log" >&2
		echo "sysroot: $what" >&2
		exit 1
	fi
}

elsewhere="KODA_APT_SOURCES=FILE names other sources, see doc/aarch64.md"
run "apt cannot read lists of $debian from its sources; $elsewhere" \
	apt-get "${options[@]}" -q update
run "the sources of apt lack packages of $debian, or apt could not get them; $elsewhere" \
	apt-get "${options[@]}" -q -y --download-only install "${libraries[@]}"
(cd -- "$dir/apt/archives" &&
	run "the sources of apt lack the musl of $debian, or apt could not get it; $elsewhere" \
		apt-get "${options[@]}" -q download "${launcher[@]}")
# With new times: what was built with older files of these names is built anew.
for package in "$dir"/apt/archives/*.deb; do
	dpkg-deb --fsys-tarfile "$package" |
		tar -C "$tree" -x -m --keep-directory-symlink --no-same-owner --exclude='./usr/share/doc' --exclude='./usr/share/man'
done

# musl-gcc as musl-tools has it, for this architecture and below the tree.
sed "s#/usr/\(include\|lib\)/$machine-linux-musl#$tree&#g" \
	"$tree/usr/lib/$machine-linux-musl/musl-gcc.specs" >"$dir/musl-gcc.specs"
printf '#!/bin/sh\nexec %q "$@" -specs %q\n' "$machine-linux-gnu-gcc" "$dir/musl-gcc.specs" >"$dir/musl-gcc"
chmod +x "$dir/musl-gcc"

printf "[constants]\nsysroot = '%s'\nmusl_gcc = '%s'\n" "$tree" "$dir/musl-gcc" >"$dir/cross.ini"
rm -rf -- "$dir/apt" "$dir/log"
echo "$wanted" >"$made"
