#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:none
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # shells inside expand
# T-92: what a command leaves behind that git on the host obeys. It cannot be kept from being made
# everywhere, so it is told; each twin shows that the host's git does obey it.
bats_require_minimum_version 1.5.0

setup() {
	load helper
	new_project
	export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a
	export GIT_COMMITTER_EMAIL=a@b
	git init -q .
	git commit -q --allow-empty -m start
	mkdir -p work/a work/b
	obeyed=$BATS_TEST_TMPDIR/obeyed
	bait="[core]
	repositoryformatversion = 0
	worktree = $project/work/a
	fsmonitor = \"touch '$obeyed'; false\""
}

# leaving SCRIPT [ARG]: runs it; the events are in the array left, what a person sees in said.
leaving() {
	"$KODA_BIN" run --events-fd 5 -- sh -ec "$1" sh "$bait" "${@:2}" 5>events 2>err
	said=$(<err)
	mapfile -t left < <(python3 -c '
import json, sys
for line in open("events"):
    event = json.loads(line)
    if event["type"] == "left_behind":
        print(event["what"], event["path"])
    last = event["type"]
assert last == "exit"')
	rm events err
}

# left_is WHAT PATH: nothing else is.
left_is() {
	printf '%s\n' "${left[@]}" "$said"
	[[ ${#left[@]} -eq 1 && ${left[0]} == "$1 $project/$2" ]]
	[[ $said == *"koda-sandbox: left behind: $project/$2 "*'host tools that run there obey it'* ]]
}

# git_obeys DIR: on the host.
git_obeys() {
	[[ ! -e $obeyed ]]
	git -C "$1" status >/dev/null 2>&1 || true
	[[ -e $obeyed ]]
}

@test "a git directory in a directory that was there" {
	leaving 'git init -q work/a; printf "%s\n" "$1" >work/a/.git/config'
	left_is git_dir work/a/.git
	git_obeys work/a
}

@test "a git file, and a link" {
	leaving 'git init -q work/new; printf "%s\n" "$1" >work/new/.git/config
		echo "gitdir: ../new/.git" >work/a/.git'
	left_is git_file work/a/.git
	git_obeys work/a
	rm "$obeyed" work/a/.git
	leaving 'ln -s ../new/.git work/a/.git'
	left_is git_file work/a/.git
	git_obeys work/a
}

# bats test_tags=backend:view
@test "a git file whose target comes later" {
	echo 'gitdir: ../new/.git' >work/a/.git
	echo 'gitdir: ../../other' >work/b/.git
	leaving 'mkdir -p work/d; touch work/d/file'
	[[ ${#left[@]} -eq 0 && ! $said ]]
	leaving 'git init -q work/new; printf "%s\n" "$1" >work/new/.git/config'
	left_is git_file work/a/.git
	git_obeys work/a
	leaving :
	[[ ${#left[@]} -eq 0 && ! $said ]]
}

# bats test_tags=backend:native
@test "a link whose target comes later" {
	ln -s ../new/.git work/a/.git
	ln -s ../../nowhere work/b/.git
	leaving 'mkdir -p work/d; touch work/d/file'
	[[ ${#left[@]} -eq 0 && ! $said ]]
	leaving 'git init -q work/new; printf "%s\n" "$1" >work/new/.git/config'
	left_is git_file work/a/.git
	git_obeys work/a
	leaving :
	[[ ${#left[@]} -eq 0 && ! $said ]]
}

# bats test_tags=backend:view
@test "a directory that is a link now, and one behind it" {
	mkdir -p work/a/deep
	leaving 'git init -q new; printf "%s\n" "$1" >new/.git/config
		mkdir -p new/b; mv work/a gone; ln -s ../new/b work/a'
	left_is git_dir new/.git
	git_obeys work/a
	rm -rf work/a gone new "$obeyed"
	mkdir -p work/a/deep
	leaving 'git init -q new/deep; printf "%s\n" "$1" >new/deep/.git/config; rm -r work/a; ln -s ../new work/a'
	left_is git_dir new/deep/.git
	git_obeys work/a/deep
	# Nothing is said where a link leads to directories that were there, out of the project, or nowhere.
	rm -rf work/a new
	mkdir -p work/a work/c old
	git init -q old
	leaving 'rm -r work/a work/b work/c; ln -s ../old work/a; ln -s / work/b; ln -s c work/c'
	[[ ${#left[@]} -eq 0 && ! $said ]]
}

# A command may put any link there, and the runner follows it when the command ends.
# bats test_tags=backend:native
@test "a link to a file that is no git file" {
	local target
	mkfifo fifo
	for target in /proc/kmsg /etc/passwd /dev/null "$project/fifo" /proc/self/fd/0 /; do
		ln -sfn "$target" work/a/.git
		leaving 'touch work/b/file'
		[[ ${#left[@]} -eq 0 && ! $said ]]
	done
}

@test "a directory that becomes a git directory itself" {
	leaving 'cd work/a; mkdir objects refs; echo ref: refs/heads/main >HEAD; printf "%s\n" "$1" >config'
	left_is bare_git_dir work/a
	git_obeys work/a
}

@test "one that has most of it elsewhere" {
	leaving 'git init -q --bare work/new; printf "[core]\nrepositoryformatversion = 0\n[extensions]\nworktreeConfig = true\n" >work/new/config
		cd work/a; echo ref: refs/heads/main >HEAD; echo ../new >commondir
		printf "%s\n" "$1" >config.worktree'
	left_is bare_git_dir work/a
	git_obeys work/a
}

@test "Mercurial, Sapling, Jujutsu" {
	for name in .hg .sl .jj; do
		leaving 'mkdir "work/a/$2"' "$name"
		left_is hg_dir "work/a/$name"
		leaving 'touch work/a/x'
		[[ ${#left[@]} -eq 0 && ! $said ]]
	done
}

# bats test_tags=backend:view
@test "an entry of the index that leads into a new directory" {
	leaving 'git init -q work/new; git -C work/new -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
		printf "%s\n" "$1" | grep -v worktree >work/new/.git/config; git add work/new'
	left_is gitlink work/new/.git
	git_obeys .
}

# bats test_tags=backend:view
@test "an entry of the index that comes later than the repository" {
	leaving 'git init -q work/new; git -C work/new -c user.name=a -c user.email=a@b commit -q --allow-empty -m x'
	[[ ${#left[@]} -eq 0 && ! $said ]]
	leaving 'git add work/new'
	left_is gitlink work/new/.git
	leaving 'touch work/b/x; git add work/b/x'
	[[ ${#left[@]} -eq 0 && ! $said ]]
}

# new_link: a repository in a new directory, in the index.
new_link='git init -q work/new; git -C work/new -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
	printf "%s\n" "$1" | grep -v worktree >work/new/.git/config; git add work/new'

# bats test_tags=backend:view
@test "an index that is a link" {
	leaving "$new_link; mv .git/index .git/real; ln -s real .git/index"
	left_is gitlink .git
	git_obeys .
	# Later the file behind it may change.
	leaving 'touch .git/real'
	left_is gitlink .git
}

# bats test_tags=backend:view
@test "an index of which the rest is a link" {
	leaving "$new_link; git update-index --split-index; cd .git
		for i in sharedindex.*; do mv \$i real; ln -s real \$i; done"
	left_is gitlink .git
	git_obeys .
}

# Root reads everything.
# bats test_tags=backend:view,needs:user
@test "an index that cannot be read now" {
	leaving "$new_link; chmod 000 .git/index"
	left_is gitlink .git
}

# bats test_tags=backend:view
@test "a submodule whose directory comes back" {
	git init -q "$elsewhere/sub"
	git -C "$elsewhere/sub" commit -q --allow-empty -m x
	git update-index --add --cacheinfo "160000,$(git -C "$elsewhere/sub" rev-parse HEAD),work/sub"
	leaving 'git init -q work/sub'
	left_is gitlink work/sub/.git
}

# Root looks into everything.
# bats test_tags=needs:user
@test "a directory that is closed now" {
	leaving 'git init -q work/a; chmod 000 work'
	chmod 700 work
	left_is git_dir work
	leaving 'git init -q work/b; chmod 600 work/b'
	chmod 700 work/b
	left_is git_dir work/b
	# One that was closed before is none.
	chmod 000 work/b
	leaving true
	chmod 700 work/b
	[[ ${#left[@]} -eq 0 ]]
}

# bats test_tags=backend:view,needs:user
@test "an entry of the index that leads into a new directory that is closed now" {
	leaving "$new_link; chmod 000 work/new"
	chmod 700 work/new
	left_is gitlink work/new/.git
}

@test "nothing is said where nothing was left" {
	leaving 'echo x >work/a/file; mkdir -p work/new/deep; git init -q work/new; git init -q --bare work/b/c'
	[[ ${#left[@]} -eq 0 && ! $said ]]
}

# bats test_tags=backend:view
@test "nor of what was there when the command started" {
	git init -q work/new
	git init -q --bare work/b/c
	mkdir work/a/.hg
	leaving 'touch work/new/file work/b/c/file work/x work/a/x; git -C work/new add file'
	[[ ${#left[@]} -eq 0 && ! $said ]]
}

@test "nothing is looked for where nothing can be written" {
	run -0 "$KODA_BIN" run --read-only --events-fd 5 -- true 5>"$BATS_TEST_TMPDIR/events"
	[[ ! $output ]]
	run ! grep left_behind "$BATS_TEST_TMPDIR/events"
}

@test "times that are set back hide nothing" {
	touch -d '2001-01-01' work/a
	leaving 'git init -q work/a; touch -d 2001-01-01 work/a'
	left_is git_dir work/a/.git
}

@test "a command that is ended is looked at as well" {
	run -124 "$KODA_BIN" run --wall-time 1 -- sh -c 'git init -q work/a; sleep 100'
	[[ $output == *"left behind: $project/work/a/.git is a git directory"* ]]
	"$KODA_BIN" run -- sh -c 'git init -q work/b; echo ready >work/b/ready; sleep 100' 2>err &
	background=("$!")
	for _ in {1..300}; do
		[[ ! -s work/b/ready ]] || break
		sleep 0.1
	done
	kill -TERM "$!"
	wait "$!" || true
	background=()
	grep -F "left behind: $project/work/b/.git is a git directory" err
}

@test "so is one whose launcher died" {
	local children
	"$KODA_BIN" run --events-fd 5 -- sh -c 'git init -q work/a; echo ready >work/a/ready; sleep 100' \
		3>&- 5>events 2>err &
	background=("$!")
	for _ in {1..300}; do
		[[ ! -s work/a/ready ]] || break
		sleep 0.1
	done
	read -ra children <"/proc/$!/task/$!/children" || true # it ends without a newline
	kill -KILL "${children[@]}"
	wait "$!" || true
	background=()
	cat err events
	grep -F "left behind: $project/work/a/.git is a git directory" err
	grep -F '"left_behind"' events
}

@test "names of directories do not forge lines" {
	mkdir $'work/a\n\e[1mforged'
	leaving 'for d in work/a?*; do git init -q "$d"; done'
	[[ ${#left[@]} -ge 1 && $said != *$'\e'* ]]
	[[ $(wc -l <<<"$said") -eq 1 ]]
}

@test "a directory that was known, of which the git directory is exchanged" {
	mkdir work/nested
	git init -q work/nested
	# It cannot be: its name stays what it is.
	refused rename work/nested/.git moved
	refused rename work/nested moved
}

# A repository that the command adds to the index as a gitlink; the script goes on with $2.
linked='git init -q evil; git -C evil -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; git add evil 2>/dev/null
	printf "%s\n" "$1" | grep -v worktree >evil/.git/config'

# patch_index PYTHON: changes the bytes d of the index and writes its checksum anew.
patch_index='
import hashlib
d = bytearray(open(".git/index", "rb").read())[:-20]
%s
open(".git/index", "wb").write(d + hashlib.sha1(d).digest())'

# bats test_tags=backend:view
@test "a gitlink whose mode has further bits" {
	# shellcheck disable=SC2059 # the format is ours
	printf -v script "$patch_index" 'd[36:40] = (0o160755).to_bytes(4, "big")'
	leaving "$linked
python3 -c '$script'"
	left_is gitlink .git
	git_obeys .
}

# bats test_tags=backend:view
@test "a directory with a configuration becomes a git directory in the next run" {
	leaving 'printf "%s\n" "$1" >work/a/config'
	[[ ${#left[@]} -eq 0 ]]
	leaving 'cd work/a; mkdir objects refs; echo ref: refs/heads/main >HEAD'
	left_is bare_git_dir work/a
	git_obeys work/a
}

@test "an empty file that looks like a placeholder is told of" {
	leaving ': >work/a/.git; chmod 1444 work/a/.git'
	left_is git_file work/a/.git
}

# bats test_tags=backend:view
@test "a .git that was none becomes one in the next run" {
	leaving 'mkdir work/a/.git; : >work/a/.git/x'
	[[ ${#left[@]} -eq 0 ]]
	leaving 'cd work/a/.git; mkdir -p objects refs && echo ref: refs/heads/main >HEAD || true'
	[[ ${#left[@]} -eq 1 && ${left[0]} == "git_dir $project/work/a/.git" ]]
}

# bats test_tags=backend:view
@test "a gitlink in a directory of a sparse index" {
	mkdir kept away
	touch kept/a away/a
	git add kept away
	git commit -q -m more
	git sparse-checkout set --cone kept
	# A sparse directory "away/", whose tree has the gitlink "evil".
	cat >sparse.py <<-'EOF'
		import hashlib, struct, sys
		def entry(mode, name, id, flags):
		    start = struct.pack(">10I", 0, 0, 0, 0, 0, 0, mode, 0, 0, 0) + bytes.fromhex(id)
		    start += struct.pack(">HH", 0x4000 | len(name), flags) + name
		    return start + b"\0" * (8 - len(start) % 8)
		d = b"DIRC" + struct.pack(">II", 3, 2)
		d += entry(0o40000, b"away/", sys.argv[1], 0x4000) + entry(0o100644, b"kept/a", sys.argv[2], 0)
		d += b"sdir" + bytes(4)
		open(".git/index", "wb").write(d + hashlib.sha1(d).digest())
	EOF
	leaving 'mkdir -p away; git init -q away/evil
		git -C away/evil -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
		tree=$(printf "160000 commit %s\tevil\n" "$(git -C away/evil rev-parse HEAD)" | git mktree --missing)
		python3 sparse.py "$tree" "$(git rev-parse HEAD:kept/a)"
		printf "%s\n" "$1" | grep -v worktree >away/evil/.git/config'
	left_is gitlink away/evil/.git
	git_obeys .
	# Files there that git does not know are nothing to tell of.
	rm -rf away/evil
	git read-tree HEAD
	git sparse-checkout set --cone --sparse-index kept
	mkdir -p away/build
	leaving 'touch kept/b; git add kept/b'
	[[ ${#left[@]} -eq 0 && ! $said ]]
}

# bats test_tags=backend:view
@test "an index whose entries are elsewhere for the threads of git" {
	touch a b
	git add a b
	git commit -q -m more
	git config index.threads 3
	# The entries "a" and "b" come first, but the table of blocks leads to "a" and "evil".
	cat >blocks.py <<-'EOF'
		import hashlib, struct, sys
		def entry(mode, name, id):
		    start = struct.pack(">10I", 0, 0, 0, 0, 0, 0, mode, 0, 0, 0) + bytes.fromhex(id)
		    start += struct.pack(">H", len(name)) + name
		    return start + b"\0" * (8 - len(start) % 8)
		def extension(name, bytes):
		    return name + struct.pack(">I", len(bytes)) + bytes
		a = entry(0o100644, b"a", sys.argv[2])
		evil = entry(0o160000, b"evil", sys.argv[1])
		d = b"DIRC" + struct.pack(">II", 2, 2) + a + entry(0o100644, b"b", sys.argv[2])
		at = len(d) + 8
		table = extension(b"IEOT", struct.pack(">5I", 1, at, 1, at + len(a), 1))
		d += extension(b"JUNK", a + evil + table)
		d += extension(b"EOIE", struct.pack(">I", at + len(a + evil)) + hashlib.sha1(table[:8]).digest())
		open(".git/index", "wb").write(d + hashlib.sha1(d).digest())
	EOF
	leaving 'git init -q evil; git -C evil -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
		python3 blocks.py "$(git -C evil rev-parse HEAD)" "$(git rev-parse HEAD:a)"
		printf "%s\n" "$1" | grep -v worktree >evil/.git/config'
	left_is gitlink .git
	git_obeys .
	# What git writes itself is read.
	git read-tree HEAD
	leaving 'echo x >a; git add a'
	[[ ${#left[@]} -eq 0 && ! $said ]]
}

# bats test_tags=backend:view
@test "an entry of the index that leads to an earlier repository, deeper than is looked" {
	local deep=work/1/2/3/4/5/6/7/8/9/10/11
	leaving "mkdir -p $deep; git init -q $deep; git -C $deep -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
		printf '%s\n' \"\$1\" | grep -v worktree >$deep/.git/config"
	[[ ${#left[@]} -eq 0 && ! $said ]]
	sleep 3 # times may be coarse
	leaving "git add $deep"
	left_is gitlink "$deep/.git"
	git_obeys .
}

# bats test_tags=backend:view
@test "the same in a linked worktree" {
	local deep=1/2/3/4/5/6/7/8/9/10/11
	git worktree add -q work/tree
	mkdir -p "work/tree/$deep"
	git init -q "work/tree/$deep"
	git -C "work/tree/$deep" commit -q --allow-empty -m x
	sleep 3
	leaving "cd work/tree; git add $deep; printf '%s\n' \"\$1\" | grep -v worktree >$deep/.git/config"
	left_is gitlink "work/tree/$deep/.git"
	git_obeys work/tree
}

# bats test_tags=backend:view
@test "an index that comes later than the repository, in a linked worktree" {
	git worktree add -q work/tree
	leaving 'git init -q work/tree/new; git -C work/tree/new -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
		printf "%s\n" "$1" | grep -v worktree >work/tree/new/.git/config'
	[[ ${#left[@]} -eq 0 && ! $said ]]
	sleep 3
	leaving 'cd work/tree; git add new'
	left_is gitlink work/tree/new/.git
	git_obeys work/tree
}

# Git does not compare a shared index with its name.
# bats test_tags=backend:view
@test "a shared index that is changed beside an index that is not" {
	cat >shared.py <<-'EOF'
		import glob, os, struct, sys
		def entry(mode, name, id):
		    start = struct.pack(">10I", 0, 0, 0, 0, 0, 0, mode, 0, 0, 0) + bytes.fromhex(id)
		    start += struct.pack(">H", len(name)) + name
		    return start + b"\0" * (8 - len(start) % 8)
		name = glob.glob(".git/sharedindex.*")[0]
		hash = open(name, "rb").read()[-20:]
		os.chmod(name, 0o644)
		open(name, "wb").write(b"DIRC" + struct.pack(">II", 2, 2) + entry(0o100644, b"a", sys.argv[2]) +
		                       entry(0o160000, b"evil", sys.argv[1]) + hash)
	EOF
	touch a
	git add a
	leaving 'git update-index --split-index; git init -q evil
		git -C evil -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
		printf "%s\n" "$1" | grep -v worktree >evil/.git/config'
	[[ ${#left[@]} -eq 0 && ! $said ]]
	sleep 3
	leaving 'python3 shared.py "$(git -C evil rev-parse HEAD)" "$(git rev-parse :a)"'
	left_is gitlink evil/.git
	git_obeys .
}

# bats test_tags=backend:view
@test "a submodule that is deeper than is looked, and was there, is not told of" {
	local deep=work/1/2/3/4/5/6/7/8/9/10/11
	mkdir -p $deep
	git init -q $deep
	git -C $deep commit -q --allow-empty -m x
	git config -f .gitmodules submodule.deep.path $deep
	git add .gitmodules $deep
	sleep 3
	leaving 'touch x; git add x'
	[[ ${#left[@]} -eq 0 && ! $said ]]
}
