# SPDX-License-Identifier: MIT
"""Path calls, each in a denied directory and in an allowed one; run inside, for t105_reports.bats.

Prints a line "CALL<tab>PATH<tab>ERRNO" for each.
"""

import contextlib
import ctypes
import errno
import os
import socket
import sys

libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100


def c(name, *args):
    """Makes a call of the C library with paths as bytes."""
    if getattr(libc, name)(*args) < 0:
        raise OSError(ctypes.get_errno(), name)


def syscall(number, *args):
    """Makes a system call that the C library may have another one for."""
    if libc.syscall(number, *args) < 0:
        raise OSError(ctypes.get_errno(), str(number))


def bind(path):
    """Binds a socket relative to its directory: addresses are short."""
    with socket.socket(socket.AF_UNIX) as s:
        here = os.getcwd()
        os.chdir(os.path.dirname(path))
        try:
            s.bind(os.path.basename(path))
        finally:
            os.chdir(here)


def families(d, own):
    """Lists call, path that it is about, and the act. d has file, dir and link; own has file."""
    f = d + b"/file"
    w = os.O_WRONLY
    calls = [
        ("openat", f, lambda: os.close(os.open(f, w))),
        ("openat", f, lambda: os.close(os.open(f, os.O_RDONLY | os.O_TRUNC))),
        ("openat", d + b"/new", lambda: os.close(os.open(d + b"/new", w | os.O_CREAT))),
        ("truncate", f, lambda: os.truncate(f, 1)),
        ("mkdirat", d + b"/m", lambda: c("mkdirat", AT_FDCWD, d + b"/m", 0o700)),
        ("mknodat", d + b"/n", lambda: c("mknodat", AT_FDCWD, d + b"/n", 0o100600, 0)),
        ("symlinkat", d + b"/s", lambda: c("symlinkat", b"x", AT_FDCWD, d + b"/s")),
        ("linkat", d + b"/l", lambda: c("linkat", AT_FDCWD, f, AT_FDCWD, d + b"/l", 0)),
        ("bind", d + b"/b", lambda: bind(d + b"/b")),
        ("fchmodat", f, lambda: c("fchmodat", AT_FDCWD, f, 0o600, 0)),
        ("fchownat", f, lambda: c("fchownat", AT_FDCWD, f, -1, -1, 0)),
        ("utimensat", f, lambda: os.utime(f)),
        ("setxattr", f, lambda: os.setxattr(f, b"user.x", b"")),
        ("removexattr", f, lambda: os.removexattr(f, b"user.x")),
        ("renameat", f, lambda: c("renameat", AT_FDCWD, f, AT_FDCWD, own + b"/moved")),
        ("renameat2", d + b"/r", lambda: syscall(316, AT_FDCWD, own + b"/file", AT_FDCWD, d + b"/r", 0)),
        ("unlinkat", d + b"/link", lambda: c("unlinkat", AT_FDCWD, d + b"/link", 0)),
        ("unlinkat", d + b"/dir", lambda: c("unlinkat", AT_FDCWD, d + b"/dir", 0x200)),
    ]
    if os.uname().machine != "x86_64":
        return [x for x in calls if x[0] != "renameat2"]
    numbers = [
        (2, "open", f, (f, w)), (85, "creat", d + b"/c", (d + b"/c", 0o600)),
        (83, "mkdir", d + b"/m2", (d + b"/m2", 0o700)), (84, "rmdir", d + b"/dir2", (d + b"/dir2",)),
        (133, "mknod", d + b"/n2", (d + b"/n2", 0o100600, 0)),
        (88, "symlink", d + b"/s2", (b"x", d + b"/s2")), (86, "link", d + b"/l2", (f, d + b"/l2")),
        (82, "rename", d + b"/r2", (own + b"/other", d + b"/r2")),
        (87, "unlink", d + b"/link2", (d + b"/link2",)),
        (90, "chmod", f, (f, 0o600)), (92, "chown", f, (f, -1, -1)), (94, "lchown", f, (f, -1, -1)),
        (132, "utime", f, (f, None)), (235, "utimes", f, (f, None)), (261, "futimesat", f, (AT_FDCWD, f, None)),
        (189, "lsetxattr", f, (f, b"user.x", b"", 0, 0)),
    ]
    return calls + [(name, path, lambda n=n, a=a: syscall(n, *a)) for n, name, path, a in numbers]


def by_descriptor(d):
    """Lists calls on a descriptor that was opened for reading."""
    f = d + b"/file"
    fd = os.open(f, os.O_RDONLY)
    return [
        ("fchmod", f, lambda: os.fchmod(fd, 0o600)),
        ("fchown", f, lambda: os.fchown(fd, -1, -1)),
        ("utimensat", f, lambda: os.utime(fd)),
        ("fsetxattr", f, lambda: os.setxattr(fd, b"user.x", b"")),
        ("fremovexattr", f, lambda: os.removexattr(fd, b"user.x")),
    ]


def main():
    """Tries every call on the directory that is named."""
    d, own = (os.fsencode(a) for a in sys.argv[1:3])
    for name, path, act in by_descriptor(d) + families(d, own):
        answer = "0"
        try:
            act()
        except OSError as e:
            answer = errno.errorcode[e.errno]
        with contextlib.suppress(BrokenPipeError):
            print(name, os.fsdecode(path), answer, sep="\t", flush=True)


main()
