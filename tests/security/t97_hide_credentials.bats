#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:hidden_reads
# shellcheck disable=SC2030,SC2031,SC2034,SC2154 # box is the helper's
# T-97: credential stores, for a command that is not to see them.

dirs=(.ssh .aws .gnupg .kube .azure .password-store .terraform.d .claude .android)
files=(.netrc .git-credentials .npmrc .pypirc .docker/config.json .vault-token .env
	.cargo/credentials.toml .cargo/credentials .pgpass .my.cnf .mylogin.cnf .gem/credentials .composer/auth.json
	.config/git/credentials .config/containers/auth.json .config/composer/auth.json)
config=(gcloud gh op helm netlify vercel fly doppler stripe heroku glab-cli)

setup() {
	load helper
	new_project
	local name
	for name in "${dirs[@]}" "${config[@]/#/.config/}"; do
		mkdir -p "$HOME/$name"
		echo secret >"$HOME/$name/key"
	done
	for name in "${files[@]}"; do
		mkdir -p "$(dirname "$HOME/$name")"
		echo secret >"$HOME/$name"
	done
}

# acts ACT: one for every store.
acts() {
	local name
	for name in "${dirs[@]}" "${config[@]/#/.config/}"; do
		printf '%s\t%s\n' "$1" "$HOME/$name/key"
	done
	for name in "${files[@]}"; do
		printf '%s\t%s\n' "$1" "$HOME/$name"
	done
}

@test "every store is hidden, and can be read without the option" {
	box=(--hide-credentials)
	acts open-read | refused_each
	allowed open-read file
	# What they are read for otherwise, and what lies beside them.
	echo public >"$HOME/.docker/other"
	allowed open-read "$HOME/.docker/other"
	box=()
	acts open-read | each_inside
	[[ $status -eq 0 ]]
}

@test "a store that is a link, and a configuration directory elsewhere" {
	mv "$HOME/.ssh" "$elsewhere/keys"
	ln -s "$elsewhere/keys" "$HOME/.ssh"
	mkdir -p "$elsewhere/config/gh"
	echo secret >"$elsewhere/config/gh/key"
	export XDG_CONFIG_HOME=$elsewhere/config
	allowed open-read "$elsewhere/keys/key"
	allowed open-read "$elsewhere/config/gh/key"
	box=(--hide-credentials)
	refused open-read "$HOME/.ssh/key"
	refused open-read "$elsewhere/keys/key"
	refused open-read "$elsewhere/config/gh/key"
	refused open-read "$HOME/.config/gh/key"
}

@test "no hole of the policy stays open in one" {
	policy_where "d['fs']['deny_read'] = ['$HOME/.ssh']; d['fs']['allow_read_within_deny'] = ['$HOME/.ssh/key']"
	allowed open-read "$HOME/.ssh/key"
	box+=(--hide-credentials)
	refused open-read "$HOME/.ssh/key"
}
