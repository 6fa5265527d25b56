#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # status, stdout, stderr and project come from helper.bash
# The manual and the program agree about every option: what a page lists is accepted, with or
# without an argument as it says, and what some table in cli/ has is listed.

setup() {
	load helper
	new_project
	mapfile -t pages < <(manual_pages)
	documented=$BATS_TEST_TMPDIR/documented
	python3 "$KODA_SOURCE/tools/gen_cli.py" options "${pages[@]}" >"$documented"
}

# Every long option that any table of the program holds.
table_names() {
	grep -ohE '"[a-z-]+",[[:space:]]*(no|required|optional)_argument' "$KODA_SOURCE"/cli/*.[ch] |
		cut -d '"' -f 2 | sort -u
}

# try COMMAND WORD: gives the word to the command and prints what it says.
try() {
	local -a words
	read -ra words <<<"${1/#-/}"
	"$KODA_BIN" "${words[@]}" "$2" 2>&1 </dev/null || true
}

@test "the tables and pages are found" {
	[[ $(table_names | wc -l) -ge 15 ]]
	[[ $(wc -l <"$documented") -ge 40 ]]
}

@test "each command accepts exactly the options its page lists" {
	while read -r name; do
		while read -r command; do
			answer=$(try "$command" "--$name")
			if grep -qx -e "$command"$'\t'"$name"$'\t.*' "$documented"; then
				[[ $answer != *"unknown option"* ]] || {
					echo "$command does not know its --$name"
					false
				}
			else
				[[ $answer == *"unknown option '--$name'"* ]] || {
					echo "$command takes --$name, its page does not say so"
					false
				}
			fi
		done < <(cut -f 1 "$documented" | sort -u)
	done < <({
		table_names
		cut -f 2 "$documented" | grep -v '^-'
	} | sort -u)
}

@test "options take an argument exactly when their page says so" {
	while IFS=$'\t' read -r command name has_argument; do
		[[ $name != -* ]] || continue
		case $has_argument in
		yes) [[ $(try "$command" "--$name") == *"'--$name' needs an argument"* ]] ;;
		no) [[ $(try "$command" "--$name=x") == *"'--$name' takes no argument"* ]] ;;
		*) false ;;
		esac || {
			echo "$command --$name: $has_argument"
			false
		}
	done <"$documented"
}

@test "short options are the documented ones" {
	for command in - 'policy show' 'policy compose' 'policy check' env completion; do
		for letter in {a..z} {A..Z} {0..9}; do
			answer=$(try "$command" "-$letter")
			case "$command $letter" in
			*' h' | '- V' | 'env c' | 'env 0') [[ $answer != *"unknown option"* ]] ;;
			*) [[ $answer == *"unknown option '-$letter'"* ]] ;;
			esac || {
				echo "$command -$letter: $answer"
				false
			}
		done
	done
}

@test "every command of the program has a page entry, and every entry a command" {
	while read -r command; do
		[[ $command == - ]] || [[ $(try "$command" --help) == Usage:* ]]
	done < <(cut -f 1 "$documented" | sort -u)
	grep -E '^[[:space:]]+\{ "[a-z ]+", cli_' "$KODA_SOURCE/cli/main.c" | cut -d '"' -f 2 |
		sort |
		diff - <(cut -f 1 "$documented" | grep -vx -e - | sort -u)
}
