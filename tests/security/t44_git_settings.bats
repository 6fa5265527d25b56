#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:write_protected
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-44: git's configuration has hooks, included files or programs in the project, which a command writes.

setup() {
	load helper
	new_project
	command -v git >/dev/null || lacking git
	ran=$BATS_TEST_TMPDIR/ran
	export GIT_CONFIG_NOSYSTEM=1
	git config --global init.defaultBranch main
	git config --global user.name t
	git config --global user.email t@example.org
	git init -q .
	echo text >tracked
	git add tracked
	git commit -q -m first
	mkdir work
}

teardown() {
	end_background
}

# plant DIR/NAME MARK: a program that makes the file MARK, quoted for a shell, where a command can put it; as much as it can.
plant='plant() {
	mkdir -p "$(dirname "$1")"
	printf "#!/bin/sh\ntouch %s\nexit 0\n" "$2" >"$1"
	chmod 755 "$1"
}'

# host_is_safe [DIR]: whatever a person does there next runs nothing of the command's.
host_is_safe() {
	git -C "${1-.}" status >/dev/null 2>&1 || true
	git -C "${1-.}" commit -q --allow-empty -m next >/dev/null 2>&1 || true
	[[ ! -e $ran ]] || { echo 'git ran what the command wrote'; false; }
}

# safe_from SCRIPT [DIR]: the attack fails inside; the twin outside succeeds.
safe_from() {
	run_box sh -c "$plant
		$1" sh "'$ran'" 2>/dev/null || true
	host_is_safe "${2-.}"
	sh -c "$plant
		$1" sh "'$ran'"
	git -C "${2-.}" status >/dev/null 2>&1 || true
	git -C "${2-.}" commit -q --allow-empty -m twin >/dev/null 2>&1 || true
	[[ -e $ran ]] || { echo "the twin does nothing: $1"; false; }
	rm "$ran"
}

@test "core.hooksPath of the repository" {
	mkdir hooks.d
	git config core.hooksPath hooks.d
	safe_from 'plant hooks.d/pre-commit "$1"'
}

@test "core.hooksPath as husky sets it" {
	mkdir -p .husky/_
	git config core.hooksPath .husky/_
	printf '#!/bin/sh\n. "${0%%/*}/h"\n' >.husky/_/pre-commit
	printf 'sh "${0%%/*}/../${0##*/}"\n' >.husky/_/h
	printf 'true\n' >.husky/pre-commit
	chmod 755 .husky/_/pre-commit
	refused_each <<-ACTS
		create	.husky/_/commit-msg
		open-write	.husky/_/h
		open-write	.husky/pre-commit
		create	.husky/commit-msg
		rename	.husky	moved
		rename	.husky/_	moved
	ACTS
	safe_from 'rm -f .husky/pre-commit; plant .husky/pre-commit "$1"'
}

# bats test_tags=clause:missing_names
@test "core.hooksPath that does not exist" {
	git config core.hooksPath tools/hooks
	safe_from 'plant tools/hooks/pre-commit "$1"'
	git config core.hooksPath "$project/other"
	safe_from 'plant other/pre-commit "$1"'
}

# bats test_tags=clause:missing_names
@test "core.hooksPath that is the root: the hooks alone" {
	git config core.hooksPath "$project"
	safe_from 'plant pre-commit "$1"'
	run_box touch work/new
}

# bats test_tags=clause:missing_names
@test "core.hooksPath of the user" {
	git config --global core.hooksPath .githooks
	safe_from 'plant .githooks/pre-commit "$1"'
	# In a nested repository, too.
	git init -q nested
	safe_from 'plant nested/.githooks/pre-commit "$1"' nested
}

# bats test_tags=clause:missing_names
@test "a linked worktree as the root" {
	git worktree add -q ../wt
	git config core.hooksPath .githooks
	project=$HOME/wt
	cd "$project"
	mkdir work
	safe_from 'plant .githooks/pre-commit "$1"'
	refused create "$HOME/project/.git/hooks/pre-commit"
}

# bats test_tags=clause:missing_names
@test "a subdirectory as the root" {
	git config core.hooksPath work/.husky/_
	project=$project/work
	cd "$project"
	safe_from 'plant .husky/_/pre-commit "$1"'
	refused create "$HOME/project/.git/hooks/pre-commit"
}

# bats test_tags=clause:missing_names
@test "included files: of the repository and of the user, conditional, in a chain, existing or not" {
	local evil='printf "[core]\n\tfsmonitor = \"touch %s; false\"\n" "$1"'
	git config include.path ../work/one
	safe_from "$evil >work/one"
	rm -f work/one
	printf '[include]\n\tpath = deep/two\n' >work/one
	safe_from "mkdir -p work/deep; $evil >work/deep/two"
	rm -rf work/one work/deep
	git config --unset include.path
	git config --global "includeIf.gitdir:$HOME/.path" "$project/work/three"
	safe_from "$evil >work/three"
	rm -f work/three
	: >work/three
	safe_from "$evil >work/three"
}

@test "the user's own configuration, where it lies in the project" {
	mv "$HOME/.gitconfig" work/gitconfig
	ln -s "$project/work/gitconfig" "$HOME/.gitconfig"
	safe_from 'printf "[core]\n\tfsmonitor = \"touch %s; false\"\n" "$1" >>work/gitconfig'
}

@test "a file that a linked configuration includes by a relative path: from the link, and from its target" {
	local evil='printf "[core]\n\tfsmonitor = \"touch %s; false\"\n" "$1"'
	mv "$HOME/.gitconfig" work/gitconfig
	ln -s "$project/work/gitconfig" "$HOME/.gitconfig"
	git config --global include.path "$(realpath --relative-to="$HOME" work/more)"
	: >work/more
	safe_from "$evil >work/more"
	git config --global include.path beside
	: >work/beside
	refused open-write work/beside
}

# bats test_tags=clause:missing_names
@test "the user's configuration that a variable names" {
	git config --file "$elsewhere/own" core.hooksPath .githooks
	git config --file "$elsewhere/own" user.name t
	git config --file "$elsewhere/own" user.email t@example.org
	GIT_CONFIG_GLOBAL=$elsewhere/own
	export GIT_CONFIG_GLOBAL
	safe_from 'plant .githooks/pre-commit "$1"'
}

@test "programs that git starts: by a path, and as the script of an interpreter" {
	local quote=
	[[ $project != *[[:space:]]* ]] || quote=\'
	echo 'exit 1' >work/monitor
	git config core.fsmonitor "sh $quote$project/work/monitor$quote"
	safe_from 'plant work/monitor "$1"'
	printf '#!/bin/sh\nexit 1\n' >work/monitor
	chmod 755 work/monitor
	git config core.fsmonitor work/monitor
	safe_from 'rm -f work/monitor; plant work/monitor "$1"'
	git config --unset core.fsmonitor
	echo cat >work/filter
	git config filter.own.clean 'sh ./work/filter'
	echo 'tracked filter=own' >.gitattributes
	safe_from 'rm -f work/filter; plant work/filter "$1"; touch tracked'
}

@test "programs by a path from the home directory, and with blanks in quotes" {
	local from_home name homes
	from_home=$(realpath --relative-to="$HOME" work)/monitor
	homes=('"$HOME"/')
	# The shell splits these at the blanks of a home.
	# shellcheck disable=SC2088 # git and the shell expand it
	[[ $HOME == *[[:space:]]* ]] || homes+=('$HOME/' '${HOME}/' '~/')
	for name in "${homes[@]}"; do
		printf '#!/bin/sh\nexit 1\n' >work/monitor
		chmod 755 work/monitor
		git config core.fsmonitor "$name$from_home"
		safe_from 'rm -f work/monitor; plant work/monitor "$1"'
	done
	mkdir 'work/a b'
	printf '#!/bin/sh\nexit 1\n' >'work/a b/monitor'
	chmod 755 'work/a b/monitor'
	git config core.fsmonitor "'$project/work/a b/monitor'"
	safe_from 'rm -f "work/a b/monitor"; plant "work/a b/monitor" "$1"'
}

@test "programs of commands that people use: pagers, aliases, templates and others" {
	local -A names=([pager.log]=work/pager [alias.do]='!sh work/alias' [mergetool.own.cmd]='sh work/tool "$BASE"'
		[remote.origin.uploadpack]=work/pack [submodule.sub.update]='!sh work/update' [trailer.x.cmd]=work/trailer)
	local name
	for name in "${!names[@]}"; do
		git config "$name" "${names[$name]}"
	done
	touch work/{pager,alias,tool,pack,update,trailer}
	git config --global init.templateDir "$project/template"
	refused_each <<-ACTS
		open-write	work/pager
		open-write	work/alias
		open-write	work/tool
		open-write	work/pack
		open-write	work/update
		open-write	work/trailer
		mkdir	template
	ACTS
	mkdir -p template/hooks
	run_box sh -c "$plant"'; plant template/hooks/pre-commit "$1"' sh "'$ran'" 2>/dev/null || true
	git init -q new
	host_is_safe new
	sh -c "$plant"'; plant template/hooks/pre-commit "$1"' sh "'$ran'"
	git init -q twin
	git -C twin commit -q --allow-empty -m twin
	[[ -e $ran ]]
}

# computed VALUE PROGRAM: the setting names it by a path that a shell computes.
computed() {
	git config core.fsmonitor "$1"
	rm -rf "$2"
	mkdir -p "$(dirname "$2")"
	printf '#!/bin/sh\nexit 1\n' >"$2"
	chmod 755 "$2"
	safe_from "rm -f '$2'; plant '$2' \"\$1\""
}

@test "programs by a path that a shell computes" {
	computed '"$PWD"/work/monitor' work/monitor
	computed '"`pwd`"/work/monitor' work/monitor
	computed '"$(git rev-parse --show-toplevel)"/work/monitor' work/monitor
	computed 'cd work && ./monitor' work/monitor
	computed 'F=work/monitor; sh $F' work/monitor
	computed 'F=monitor; cd work; sh "$F"' work/monitor
	computed 'work\/monitor' work/monitor
	computed 'env A=1 work/monitor' work/monitor
	computed "sh -c 'cd work && exec ./monitor'" work/monitor
	computed 'PATH=work:$PATH own-monitor' work/own-monitor
	computed 'sh "$GIT_DIR"/own 2>/dev/null || sh .git/own' .git/own
}

# bats test_tags=clause:missing_names
@test "programs by a path that a shell computes, which do not exist" {
	git config core.fsmonitor 'cd work && ./monitor'
	safe_from 'plant work/monitor "$1"'
	git config core.fsmonitor '"$(git rev-parse --show-toplevel)"/work/other'
	safe_from 'plant work/other "$1"'
	git config core.fsmonitor 'sh work/script'
	safe_from 'plant work/script "$1"'
}

# names_file PATH: the refusal starts with the path, of which a long one may lack its end.
names_file() {
	local shown=${output#koda-sandbox: }
	shown=${shown%%": git's configuration"*}
	[[ ${#shown} -ge 60 && $1 == "$shown"* ]] || { echo "$output"; false; }
}

# T-30. A command can write them into a repository of its own.
@test "a configuration that names more than anybody needs is refused, with the file" {
	git init -q work/own
	for i in {1..300}; do
		printf '[core]\n\thooksPath = h%s\n' "$i"
	done >>work/own/.git/config
	run run_box true
	[[ $status -eq 125 && $output == *'too many files and programs'*remove* ]] || { echo "$output"; false; }
	names_file "$project/work/own/.git/config"
	[[ ! -e work/own/h1 ]]
}

@test "hooks that are links into the project" {
	echo 'exit 0' >work/hook
	chmod 755 work/hook
	ln -s ../../work/middle .git/hooks/pre-commit
	ln -s hook work/middle
	safe_from 'plant work/hook "$1"'
	echo 'exit 0' >work/hook
	safe_from 'rm -f work/middle; plant work/middle "$1"'
	rm .git/hooks/pre-commit work/middle
	mkdir hooks.d
	ln -s ../work/hook hooks.d/pre-commit
	git config core.hooksPath hooks.d
	echo 'exit 0' >work/hook
	safe_from 'plant work/hook "$1"'
}

@test "attributes that the configuration names" {
	: >work/attributes
	git config core.attributesFile "$project/work/attributes"
	refused open-write work/attributes
	git config --unset core.attributesFile
	allowed open-write work/attributes
}

# bats test_tags=backend:view
@test "twin: what lies elsewhere, or is no path, closes nothing" {
	git config core.hooksPath /dev/null
	git config core.fsmonitor true
	git config core.editor vi
	git config core.pager '"$XDG_CONFIG_HOME"/work/pager'
	git config alias.top '!cd "$(git rev-parse --show-toplevel)" && git status'
	git config include.path /no/such/file
	run_box sh -c 'echo x >/dev/null && touch work/new work/pager vi true'
	[[ -e $project/work/new && -e $project/vi ]]
}

# What a command wrote into a repository of its own cannot have a file read that is hidden from it.
@test "a configuration that includes without end, or what is hidden" {
	git init -q work/own
	printf '[include]\n\tpath = config\n\tpath = ./config\n\tpath = ../.git/config\n' >>work/own/.git/config
	run_box true
	for i in {1..1100}; do
		printf '[include]\n\tpath = f%s\n' "$i"
	done >>work/own/.git/config
	run run_box true
	[[ $status -eq 125 && $output == *'too many files'* ]] || { echo "$output"; false; }
	names_file "$project/work/own/.git/config"
	rm -rf work/own
	printf '[core]\n\thooksPath = %s/work/secret-name\n' "$project" >"$elsewhere/hidden"
	git config include.path "$elsewhere/hidden"
	box=(--deny-read "$elsewhere")
	run_box mkdir work/secret-name
	[[ -d work/secret-name ]]
}

# Otherwise hooks would be what the policy lets a command write.
@test "a root in a git directory" {
	local root
	git init -q --bare "$HOME/bare.git"
	for root in .git .git/hooks .git/objects "$HOME/bare.git/hooks"; do
		run "$KODA_BIN" run --root "$root" -- touch "$root/pre-commit"
		[[ $status -eq 125 && $output == *'refused as project root'*'git directory'* ]] ||
			{ echo "$root: $output"; false; }
		[[ ! -e $root/pre-commit ]]
	done
	# Twin: a work tree in the directory of the repository that it is linked to.
	git push -q "$HOME/bare.git" main
	git -C "$HOME/bare.git" worktree add -q "$HOME/bare.git/wt" main
	project=$HOME/bare.git/wt
	cd "$project"
	mkdir work
	run_box touch work/new
	[[ -e work/new ]]
}

# Husky's step of an installation sets core.hooksPath, which is refused, and ends well.
@test "what husky does while packages are installed" {
	mkdir -p .husky/_
	git config core.hooksPath .husky/_
	run run_box git config core.hooksPath .husky/_
	[[ $status -ne 0 ]]
	[[ $(git config core.hooksPath) == .husky/_ ]]
}
