#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:none
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # box is the helper's; shells inside expand
# T-37: a connection that init makes for the command leads elsewhere than checked, init is brought
# down by what it is asked, or the command does without it.

setup() {
	load helper
	load landlock
	new_project
	use_landlock
}

teardown() {
	end_background
}

# A host that counts its connections in the file "hits" and answers GET, says back what follows the
# line "echo", and reads nothing after "hold"; sets port, and tls, where it does the same by TLS.
start_origin() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=origin \
		-keyout "$BATS_TEST_TMPDIR/key" -out "$BATS_TEST_TMPDIR/cert" 2>/dev/null
	python3 - "$BATS_TEST_TMPDIR/port" "$BATS_TEST_TMPDIR" 3>&- <<-'EOF' &
		import os, socketserver, ssl, sys, threading, time
		class Answer(socketserver.StreamRequestHandler):
		    def handle(self):
		        with open(sys.argv[2] + "/hits", "a") as f:
		            f.write("hit\n")
		        line = self.rfile.readline()
		        if line == b"hold\n":
		            time.sleep(100)
		        while line == b"echo\n" and (said := self.rfile.read1()):
		            self.wfile.write(said)
		        if line.startswith(b"GET"):
		            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\norigin\n")
		class Server(socketserver.ThreadingTCPServer):
		    daemon_threads = True
		    request_queue_size = 128
		plain = Server(("127.0.0.1", 0), Answer)
		tls = Server(("127.0.0.1", 0), Answer)
		context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
		context.load_cert_chain(sys.argv[2] + "/cert", sys.argv[2] + "/key")
		tls.socket = context.wrap_socket(tls.socket, server_side=True)
		with open(sys.argv[1] + ".new", "w") as f:
		    print(plain.server_address[1], tls.server_address[1], file=f)
		os.rename(sys.argv[1] + ".new", sys.argv[1])
		for server in plain, tls:
		    threading.Thread(target=server.serve_forever, daemon=True).start()
		time.sleep(120)
	EOF
	background+=($!)
	wait_for "$BATS_TEST_TMPDIR/port"
	read -r port tls <"$BATS_TEST_TMPDIR/port"
	landlock_policy 'd["net"]["allowed_domains"] = ["127.0.0.1:'"$port"'", "127.0.0.1:'"$tls"'"]'
}

no_hits() {
	[[ ! -e $BATS_TEST_TMPDIR/hits ]] || { cat "$BATS_TEST_TMPDIR/hits"; false; }
}

@test "clients reach an allowed host through the proxy, by HTTP, CONNECT, TLS and SOCKS" {
	start_origin
	local url=http://127.0.0.1:$port/
	run run_box sh -c '
		curl -sS --max-time 20 --noproxy "" -x http://127.0.0.1:3128 "$1"
		curl -sS --max-time 20 --noproxy "" -p -x http://127.0.0.1:3128 "$1"
		curl -sS --max-time 20 --noproxy "" -x socks5h://127.0.0.1:3128 "$1"
		curl -sSk --max-time 20 --noproxy "" -x http://127.0.0.1:3128 "$2"
		curl -sSk --max-time 20 --noproxy "" -x socks5h://127.0.0.1:3128 "$2"
		env -u no_proxy -u NO_PROXY python3 -c "
import asyncio, sys, urllib.request
proxy = urllib.request.ProxyHandler({\"http\": \"http://127.0.0.1:3128\"})
print(urllib.request.build_opener(proxy).open(sys.argv[1], timeout=20).read().decode(), end=\"\")
async def main():
    r, w = await asyncio.open_connection(\"127.0.0.1\", 3128)
    w.write(b\"GET %s HTTP/1.0\r\n\r\n\" % sys.argv[1].encode())
    print((await r.read()).decode().split(\"\r\n\r\n\")[1], end=\"\")
asyncio.run(main())" "$1"' sh "$url" "https://127.0.0.1:$tls/"
	echo "$output"
	[[ $status -eq 0 && $(grep -cx origin <<<"$output") -eq 7 && ${#lines[@]} -eq 7 ]]
}

@test "git speaks through it, too" {
	start_origin
	run run_box env -u no_proxy -u NO_PROXY git ls-remote "http://127.0.0.1:$port/none.git"
	echo "$output"
	# What comes back is no repository, but it comes back.
	[[ $status -ne 0 && -s $BATS_TEST_TMPDIR/hits ]]
}

@test "nothing is reached directly, whatever the socket" {
	start_origin
	refused_with ECONNREFUSED connect-tcp 127.0.0.1 "$port"
	refused_with 'ECONNREFUSED|ENETUNREACH' connect-tcp ::1 "$port"
	refused_with ENETUNREACH connect-tcp 192.0.2.1 443
	refused_with ENETUNREACH connect-tcp 2001:db8::1 443
	refused ask-udp 127.0.0.1 "$port"
	outside connect-tcp 127.0.0.1 "$port"
	wait_for "$BATS_TEST_TMPDIR/hits"
	rm "$BATS_TEST_TMPDIR/hits"
	python '
import ctypes, errno, socket, struct, sys
port = int(sys.argv[1])
def attempt(what, act):
    try:
        act()
        print("not refused:", what)
    except OSError:
        pass
here = ("127.0.0.1", port)
attempt("sendto fast open", lambda: socket.socket().sendto(b"x", 0x20000000, here))
attempt("sendmsg fast open", lambda: socket.socket().sendmsg([b"x"], [], 0x20000000, here))
attempt("sendto", lambda: socket.socket().sendto(b"x", here))
# A route in the packets, or a device, would lead them elsewhere.
for level, name, value in ((0, 4, bytes([1, 131, 7, 4, 192, 0, 2, 1])), (1, 25, b"lo"), (1, 62, 1), (0, 50, 1), (41, 57, b"")):
    attempt(f"option {level} {name}", lambda: socket.socket().setsockopt(level, name, value))
s = socket.socket()
s.setsockopt(6, 30, 1)
attempt("TCP_FASTOPEN_CONNECT", lambda: s.connect(here))
six = socket.socket(socket.AF_INET6)
attempt("mapped", lambda: six.connect(("::ffff:127.0.0.1", port)))
attempt("any", lambda: socket.socket().connect(("0.0.0.0", port)))
attempt("other loopback", lambda: socket.socket().connect(("127.1.2.3", port)))
attempt("listen", lambda: socket.socket().listen(1))
attempt("bind", lambda: socket.socket().bind(("127.0.0.1", 0)))
for family, kind, protocol in ((2, 2, 0), (10, 2, 0), (2, 3, 6), (16, 3, 0), (17, 3, 768), (40, 1, 0), (1, 2, 0), (2, 1, 262), (2, 1, 132)):
    attempt(f"socket {family} {kind} {protocol}", lambda: socket.socket(family, kind, protocol))
attempt("pair of datagrams", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
libc = ctypes.CDLL(None, use_errno=True)
s = socket.socket()
unspec = struct.pack("H14x", 0)
if libc.connect(s.fileno(), unspec, 16) == 0:
    print("not refused: unspecified")
print("done")' "$port"
	echo "$output"
	[[ $output == 'done' ]]
	no_hits
}

@test "the address that counts is the one that was copied" {
	start_origin
	python '
import ctypes, socket, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
good = struct.pack("!H4s8x", 3128, socket.inet_aton("127.0.0.1"))
bad = struct.pack("!H4s8x", int(sys.argv[1]), socket.inet_aton("127.0.0.1"))
memory = ctypes.create_string_buffer(struct.pack("H", 2) + good, 16)
stop = False
def flip():
    while not stop:
        ctypes.memmove(ctypes.addressof(memory) + 2, bad, 14)
        ctypes.memmove(ctypes.addressof(memory) + 2, good, 14)
thread = threading.Thread(target=flip)
thread.start()
end = time.monotonic() + 2
connected = 0
while time.monotonic() < end:
    s = socket.socket()
    if libc.connect(s.fileno(), memory, 16) == 0:
        connected += 1
        # A proxy answers this; the host would note the connection.
        s.close()
stop = True
thread.join()
print("connected" if connected else "never")' "$port"
	[[ $output == connected ]]
	no_hits
}

@test "the descriptor that counts is the one that was duplicated" {
	start_origin
	python '
import os, socket, sys, threading, time
# One number, two sockets: a Unix one that init may connect by path, and a TCP one.
server = socket.socket(socket.AF_UNIX)
server.bind(os.environ["TMPDIR"] + "/s")
server.listen(100)
number = os.dup(0)
stop = False
def flip():
    while not stop:
        a = socket.socket(socket.AF_UNIX); b = socket.socket()
        os.dup2(a.fileno(), number); os.dup2(b.fileno(), number)
thread = threading.Thread(target=flip); thread.start()
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
host = struct.pack("=H", 2) + struct.pack("!H4s8x", int(sys.argv[1]), socket.inet_aton("127.0.0.1"))
end = time.monotonic() + 1.5
while time.monotonic() < end:
    if libc.connect(number, host, 16) == 0:
        print("connected")
    libc.listen(number, 1)
stop = True; thread.join()
print("done")' "$port"
	[[ $output == 'done' ]]
	no_hits
}

@test "bytes written before the token spoil the connection, and nothing else" {
	start_origin
	python '
import socket, threading, time
stop = False
s = None
def write():
    while not stop:
        try:
            s.send(b"GET / HTTP/1.0\r\n\r\n", socket.MSG_NOSIGNAL)
        except (OSError, AttributeError):
            pass
threads = [threading.Thread(target=write) for _ in range(2)]
for t in threads: t.start()
end = time.monotonic() + 1.5
while time.monotonic() < end:
    s = socket.socket()
    s.settimeout(2)
    try:
        s.connect(("127.0.0.1", 3128))
        s.recv(100)
    except OSError:
        pass
stop = True
for t in threads: t.join()
print("done")'
	[[ $output == 'done' ]]
	no_hits
	run run_box curl -sS --max-time 20 --noproxy '' -x http://127.0.0.1:3128 "http://127.0.0.1:$port/"
	[[ $output == origin ]]
}

# Timestamps come with a copy of what was sent: by an option of the socket, and by a message that is
# put together with what waits to be sent.
echoes='
import socket, struct, sys, time
def copies(s):
    found = b""
    for _ in range(20):
        try:
            found += s.recvmsg(4096, 1024, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)[0]
        except BlockingIOError:
            time.sleep(0.05)
        if found:
            break
    return found
def look(how, connect):
    s = socket.socket()
    try:
        if how == "option":
            for name in (37, 65):
                s.setsockopt(1, name, 2 | 16 | 256 | 512)
        else:
            s.setsockopt(6, 3, 1)
    except PermissionError:
        pass
    connect(s)
    if how == "message":
        s.sendmsg([b"x"], [(1, 37, struct.pack("I", 2 | 256 | 512))])
    print(how, "seen" if copies(s) else "nothing")
'

@test "what init sends to the proxy cannot be read back" {
	python "$echoes"'
for how in ("option", "message"):
    look(how, lambda s: s.connect(("127.0.0.1", 3128)))'
	echo "$output"
	[[ $output == $'option nothing\nmessage nothing' ]]
	# The twin: without a sandbox it can.
	run python3 -c "$echoes"'
server = socket.create_server(("127.0.0.1", 0))
def connect(s):
    s.connect(server.getsockname())
    s.send(b"0123456789abcdef")
for how in ("option", "message"):
    look(how, connect)'
	echo "$output"
	[[ $output == $'option seen\nmessage seen' ]]
}

@test "a connection begins with the token, and has it once" {
	start_origin
	python '
import errno, socket, sys
def connect(s):
    return errno.errorcode.get(s.connect_ex(("127.0.0.1", 3128)), "connected")
def hear(s, last):
    heard = b""
    while not heard.endswith(last) and (more := s.recv(4096)):
        heard += more
    return heard.decode()
for timeout in None, 0:
    s = socket.socket()
    s.settimeout(timeout)
    print(connect(s))
    s.settimeout(20)
    s.sendall(b"CONNECT 127.0.0.1:%s HTTP/1.0\r\n\r\n" % sys.argv[1].encode())
    hear(s, b"\r\n\r\n")
    s.sendall(b"echo\n")
    s.settimeout(timeout)
    print(connect(s), connect(s))
    s.settimeout(20)
    s.sendall(b"end\n")
    print(hear(s, b"end\n"), end="")' "$port"
	echo "$output"
	[[ $output == $'connected\nEISCONN EISCONN\nend\nconnected\nEISCONN EISCONN\nend' ]]
}

# A socket that has something to send waits when it is closed, if it was told to, and so does one in
# which it is on its way to somebody. Once its flags show that init holds it, the command closes its own.
# On a busy machine a proxy that is late looks like one that takes nothing: the twin may try again.
@test "init does not wait for what a socket has still to send" {
	start_origin
	python '
import ctypes, fcntl, os, socket, struct, sys, threading, time
libc = ctypes.CDLL(None)
nobody = struct.pack("=H", 1) + b"\0koda-t37-nobody"
def full():
    s = socket.socket()
    s.connect(("127.0.0.1", 3128))
    s.sendall(b"CONNECT 127.0.0.1:%s HTTP/1.0\r\n\r\n" % sys.argv[1].encode())
    s.recv(1000)
    s.sendall(b"hold\n")
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 8))
    s.settimeout(0.2)
    try:
        while True: s.send(bytes(65536))
    except TimeoutError:
        return s
def close(s):
    began = time.monotonic()
    s.close()
    return time.monotonic() - began
def ask(number, end):
    while time.monotonic() < end and libc.connect(number, nobody, len(nobody)) < 0: pass
def give(number, end):
    while time.monotonic() < end and not fcntl.fcntl(number, fcntl.F_GETFL) & os.O_NONBLOCK: pass
    os.close(number)
print("twin", any(close(full()) > 5 for _ in range(5)), flush=True)
worst = 0
for _ in range(8):
    ours, carrier = socket.socketpair()
    with full() as s:
        socket.send_fds(ours, [b"x"], [s.fileno()])
    ours.close()
    work = carrier.detach(), time.monotonic() + 0.1
    for each in ask, give:
        threading.Thread(target=each, args=work, daemon=True).start()
    time.sleep(0.15)
    began = time.monotonic()
    os.chmod("file", 0o640)
    worst = max(worst, time.monotonic() - began)
print("waited" if worst > 5 else "went on", flush=True)
os._exit(0)' "$port"
	echo "$output"
	[[ $output == $'twin True\nwent on' ]]
}

@test "senseless and vanishing callers leave init as it was" {
	start_origin
	python '
import ctypes, os, signal, socket, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
SYS_connect, SYS_listen, SYS_fchmodat, SYS_utimensat = 42, 50, 268, 280
for args in ((SYS_connect, -1, 0, 16), (SYS_connect, 0, 1, 16), (SYS_connect, 0, -1, 16), (SYS_connect, 99999, 1, 110),
             (SYS_connect, 0, 1, -1), (SYS_connect, 0, 1, 1 << 31), (SYS_connect, 0, 1, 0), (SYS_listen, -1, 0),
             (SYS_listen, 0, -1), (SYS_fchmodat, -100, 1, 0), (SYS_fchmodat, -1, 0, 0), (SYS_utimensat, -100, 1, 1, 0),
             (SYS_utimensat, 0, 0, 1, 0)):
    if libc.syscall(*(ctypes.c_long(a) for a in args)) != -1:
        print("accepted", args)
# Threads that connect, change modes and disappear in the middle of it.
for i in range(40):
    pid = os.fork()
    if pid == 0:
        def work():
            while True:
                s = socket.socket()
                s.connect_ex(("127.0.0.1", 3128))
                s.close()
                try: os.chmod("file", 0o644)
                except OSError: pass
        for _ in range(3): threading.Thread(target=work, daemon=True).start()
        time.sleep(10)
    time.sleep(0.002 * (i % 10))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
# A process that has closed itself to others gets nothing, and the same error for everything.
pid = os.fork()
if pid == 0:
    libc.prctl(4, 0, 0, 0, 0)
    f = os.open("file", os.O_RDWR)
    for act in (lambda: socket.socket().connect(("127.0.0.1", 3128)), lambda: os.chmod("file", 0o644),
                lambda: os.fchmod(f, 0o644), lambda: os.utime("file", (1, 1)), lambda: os.utime(f, (1, 1))):
        try: act()
        except PermissionError as e:
            if e.errno == 13: continue
        os._exit(1)
    os._exit(0)
closed = os.waitpid(pid, 0)[1]
print("done", closed if os.getuid() else 0)'
	echo "$output"
	[[ $output == 'done 0' ]]
	run run_box curl -sS --max-time 20 --noproxy '' -x http://127.0.0.1:3128 "http://127.0.0.1:$port/"
	[[ $output == origin ]]
}

@test "who connects to the proxy from outside is refused, and told of" {
	start_origin
	"$KODA_BIN" run "${box[@]}" --wall-time 60 --events-fd 8 -- python3 -c '
import socket, time, os
s = socket.create_connection(("127.0.0.1", 3128), 10)
with open("new", "w") as f: print(s.getpeername()[1], file=f)
os.rename("new", "where")
for _ in range(400):
    if os.path.exists("done"): break
    time.sleep(0.05)' 9<"$policy" 8>"$BATS_TEST_TMPDIR/events" 3>&- &
	background+=($!)
	wait_for where
	python3 -c '
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10)
s.settimeout(20)
# As long as a token at least: what is shorter is waited for.
s.sendall(b"CONNECT 127.0.0.1:%s HTTP/1.1\r\nX: %s\r\n\r\n" % (sys.argv[2].encode(), b"x" * 200))
try:
    sys.exit(s.recv(1) != b"")
except ConnectionResetError:
    pass' "$(<where)" "$port"
	touch ./done
	wait "${background[1]}"
	grep -q '"no_token"' "$BATS_TEST_TMPDIR/events"
	no_hits
}

@test "sockets of the host are not connected to, those of the command are" {
	listen_unix "$project/host" "$elsewhere/host" "@koda-t37-$$"
	refused connect-unix "$project/host"
	refused connect-unix host
	refused connect-unix "$elsewhere/host"
	refused abstract-connect "koda-t37-$$"
	outside connect-unix "$project/host"
	# Also one that nobody knew of, where the command could not have made it.
	python '
import socket, sys
try:
    socket.socket(socket.AF_UNIX).connect(sys.argv[1])
    print("connected")
except PermissionError:
    print("refused")' "$elsewhere/host"
	[[ $output == refused ]]
	python '
import os, socket, threading
os.chdir(os.environ["TMPDIR"])
def serve(s):
    c = s.accept()[0]; c.sendall(b"hello"); c.close()
for address in ("s", "\0koda-t37-own-%d" % os.getpid()):
    s = socket.socket(socket.AF_UNIX); s.bind(address); s.listen(5)
    threading.Thread(target=serve, args=(s,)).start()
    c = socket.socket(socket.AF_UNIX); c.connect(address); print(c.recv(9).decode())'
	[[ $output == $'hello\nhello' ]]
}

@test "without a network nothing is connected, but the rest goes on" {
	box=("${landlock[@]}" --no-network)
	refused_with ECONNREFUSED connect-tcp 127.0.0.1 3128
	allowed chmod file 0640
}

@test "what namespaces would keep apart is refused" {
	sleep 60 3>&- &
	background+=($!)
	python '
import ctypes, os, resource, sys
victim = int(sys.argv[1])
def attempt(what, act):
    try:
        act()
        print("not refused:", what)
    except OSError:
        pass
attempt("signal", lambda: os.kill(victim, 9))
attempt("existence by signal", lambda: os.kill(victim, 0))
attempt("limit", lambda: resource.prlimit(victim, resource.RLIMIT_CPU, (1, 1)))
attempt("processors", lambda: os.sched_setaffinity(victim, {0}))
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, victim, 19))
attempt("command line", lambda: open("/proc/%d/cmdline" % victim).read())
attempt("environment", lambda: open("/proc/%d/environ" % victim).read())
attempt("directory", lambda: os.listdir("/proc/%d/fd" % victim))
attempt("list", lambda: os.listdir("/proc"))
libc = ctypes.CDLL(None, use_errno=True)
for name in ("shmget", "msgget", "semget"):
    if getattr(libc, name)(0, 4096, 0o600) != -1:
        print("not refused:", name)
print("done")' "${background[0]}"
	echo "$output"
	[[ $output == 'done' ]]
	kill -0 "${background[0]}"
	# The twin: oneself.
	python '
import os, resource
resource.setrlimit(resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU))
os.sched_setaffinity(0, os.sched_getaffinity(0))
os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0)) # the tests may run under nice
print("fine")'
	[[ $output == fine ]]
}

@test "no capability, and nothing to get one with" {
	run_box sh -c 'echo x >up; sleep 20' 3>&- &
	background+=($!)
	wait_for up
	python3 - "${background[0]}" <<-'EOF'
		import os, sys
		def children(pid):
		    found = []
		    for task in os.listdir(f"/proc/{pid}/task"):
		        for child in open(f"/proc/{pid}/task/{task}/children").read().split():
		            found += [int(child)] + children(int(child))
		    return found
		for pid in children(int(sys.argv[1])):
		    status = dict(l.split(":\t") for l in open(f"/proc/{pid}/status").read().splitlines() if ":\t" in l)
		    if status["Name"] in ("sh", "sleep"):
		        assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", status
		        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
		            assert int(status[name], 16) == 0, status
		        assert os.getuid() != 0 or int(status["CapBnd"], 16) == 0, status
		        print("looked")
	EOF
}

# bats test_tags=needs:root
@test "set-user-id does nothing" {
	cp -- "$(command -v id)" suid
	chown 65534:65534 suid
	chmod 6755 suid
	run run_box ./suid -u
	[[ $output == 0 ]]
	run ./suid -u
	[[ $output == 65534 ]]
}
