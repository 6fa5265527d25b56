#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # status, stdout, stderr and project come from helper.bash
# T-105. The report as a page: what it shows, that foreign text stays text, and how a browser sees it.

setup() {
	load helper
	load run_helper
	new_project
	events=$BATS_TEST_TMPDIR/events
	page=$BATS_TEST_TMPDIR/out
}

check() {
	python3 "$BATS_TEST_DIRNAME/report_page.py" "$@"
}

shows() {
	local text
	for text in "$@"; do
		check text "$page" "$text" || return
	done
}

hostile='</code></td></table><script>document.title=1</script><img src=x onerror=alert(1)>\" &lt;'

# A file with one of everything, all texts of it hostile.
write_hostile() {
	cat >"$events" <<-EOF
		{"type":"start","time":1700000000.0,"id":"$hostile","backend":"$hostile","trust":"auto","command":"$hostile","clauses":{},"limits":{}}
		{"type":"violation","time":1700000000.5,"id":"$hostile","kind":"file_write","target":"/$hostile\u001b[1m\u202e","rule":"$hostile","call":"$hostile","process":"$hostile","hint":{"fs":{"allow_write":["/$hostile"]}}}
		{"type":"egress","time":1700000000.6,"id":"$hostile","host":"$hostile","port":443,"verdict":"deny","reason":"$hostile"}
		{"type":"egress","time":1700000000.7,"id":"$hostile","host":"x.com","port":443,"verdict":"allow","reason":"ok","bytes_up":2048,"bytes_down":3145728,"ms":5}
		{"type":"limit","time":1700000000.8,"id":"$hostile","which":"memory","value":77,"hint":{"floor":"$(printf '%.60s' "${hostile//\\\"/}")"}}
		{"type":"left_behind","time":1700000000.9,"id":"$hostile","path":"/$hostile","what":"git_dir"}
		{"type":"exit","time":1700000061.0,"id":"$hostile","code":125,"reason":"setup","wall_ms":61000,"message":"$hostile"}
		{"type":"violation","time":1700000062.0,"id":"2","kind":"other","dropped":7}
	EOF
}

@test "a run: its command, outcome, denials, hints and limits" {
	inside --events "$events" -c 'echo x >/etc/koda-x; echo x >.mcp.json; exit 3' || true
	inside --events "$events" --wall-time 1 sleep 9 || true
	koda report "$events"
	succeeds
	check page "$page"
	shows 'echo x >/etc/koda-x; echo x >.mcp.json; exit 3' 'exit 3' '/etc/koda-x' \
		'{"fs":{"allow_write":["/etc/koda-x"]}}' '{"floor":"floor.project"}' 'wall time' \
		'{"limits":{"wall_time_secs":2}}' 'native, auto'
}

@test "hosts with their bytes, durations, refusals, and what is missing" {
	write_hostile
	koda report "$events"
	succeeds
	shows '2.0 KiB' '3.0 MiB' 'x.com:443' '1 min 1 s' 'not set up' '22:13:20' \
		'2023-11-14 22:13:20 UTC to 2023-11-14 22:14:22 UTC' '7 events were lost'
}

@test "text from inside cannot become markup" {
	write_hostile
	koda report "$events"
	succeeds
	check page "$page"
	shows '<script>document.title=1</script>' '<img src=x onerror=alert(1)>" &lt;' '\x1b[1m\xe2\x80\xae'
}

@test "no events, damaged files, no event file" {
	koda report </dev/null
	succeeds
	check page "$page"
	shows 'no events'
	koda report "$KODA_SOURCE/README.md"
	[[ $status -eq 125 && -z $stdout && $stderr == *'has no line that is an event' ]] || { show_result; false; }
	printf '{"type":"limit","which":"memory","value":5}\nx\n{"type":"limit","which":"output","value":6}' >"$events"
	koda report "$events"
	[[ $status -eq 0 && $stderr == *': line 2 is left out: '* ]] || { show_result; false; }
	shows memory output
}

@test "the page is bounded" {
	python3 -c '
for i in range(3000):
    print("""{"type":"start","time":%d,"id":"%d","backend":"native","trust":"auto","command":"%s"}""" % (i, i, "x" * 2000))
    print("""{"type":"violation","time":%d,"id":"%d","kind":"file_read","target":"/%d%s"}""" % (i, i, i, "y" * 2000))
    print("""{"type":"egress","time":%d,"id":"%d","host":"h%d","port":1,"verdict":"deny"}""" % (i, i, i))' >"$events"
	koda report "$events"
	succeeds
	[[ $(wc -c <"$page") -lt 2000000 ]]
	shows '7900 are not shown'
}

@test "a browser: light and dark, and no element that is not ours" {
	command -v chromium >/dev/null || skip 'chromium is not installed'
	write_hostile
	koda report "$events"
	succeeds
	mv "$page" "$HOME/page.html"
	browse=(chromium --headless --no-sandbox --disable-gpu --hide-scrollbars "--window-size=500,600")
	"${browse[@]}" --dump-dom "file://$HOME/page.html" >"$BATS_TEST_TMPDIR/dom" 2>/dev/null
	page=$BATS_TEST_TMPDIR/dom
	check page "$page"
	shows 'koda-sandbox report' '<script>document.title=1</script>'
	"${browse[@]}" --screenshot="$HOME/light.png" "file://$HOME/page.html" 2>/dev/null
	"${browse[@]}" --blink-settings=preferredColorScheme=0 --screenshot="$HOME/dark.png" \
		"file://$HOME/page.html" 2>/dev/null
	check picture "$HOME/light.png" "$HOME/dark.png" 500 600
}
