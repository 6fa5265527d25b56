#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The portable layers build without Linux.

Every .c file of base, policy, wire and plan is compiled with headers, and names of functions and
constants, that macOS does not have made into errors. Files that are for Linux stand in
tools/linux_files.txt, each with a reason; one that would compile has to leave the list. What the
others call is in the others, in a library that macOS has, or stands in NEEDED.

Usage: tools/check_portable.py INCLUDE-DIRECTORY...   (for generated headers)
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import sources

FOLDERS = ("src/base", "src/policy", "src/wire", "src/plan")
EXCEPTIONS = "tools/linux_files.txt"

# Headers of macOS. Public headers of third parties are there too.
HEADERS = {
    "alloca.h", "arpa/inet.h", "assert.h", "ctype.h", "dirent.h", "errno.h", "fcntl.h", "fnmatch.h",
    "inttypes.h", "limits.h", "netdb.h", "netinet/in.h", "poll.h", "pthread.h", "pwd.h", "signal.h",
    "spawn.h", "stdarg.h", "stdatomic.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h",
    "string.h", "strings.h", "sys/mman.h", "sys/resource.h", "sys/socket.h", "sys/stat.h",
    "sys/time.h", "sys/types.h", "sys/uio.h", "sys/un.h", "sys/wait.h", "termios.h", "time.h",
    "unistd.h",
}
THIRD_PARTY = {"idn2.h", "jansson.h", "libpsl.h"}

# What the headers above declare on Linux alone.
NAMES = """
    AT_EMPTY_PATH AT_NO_AUTOMOUNT AT_RANDOM AT_STATX_SYNC_AS_STAT CLOCK_BOOTTIME
    CLOCK_MONOTONIC_COARSE F_ADD_SEALS F_GET_SEALS F_OFD_SETLK F_SEAL_GROW F_SEAL_SEAL F_SEAL_SHRINK
    F_SEAL_WRITE MFD_ALLOW_SEALING MFD_CLOEXEC MREMAP_MAYMOVE MSG_CMSG_CLOEXEC O_NOATIME O_PATH
    O_TMPFILE P_PIDFD RLIMIT_LOCKS RLIMIT_MSGQUEUE RLIMIT_NICE RLIMIT_RTPRIO RLIMIT_RTTIME
    RLIMIT_SIGPENDING SOCK_CLOEXEC SOCK_NONBLOCK SO_PEERCRED SO_PEERPIDFD
    accept4 canonicalize_file_name clock_nanosleep clone close_range copy_file_range dup3 eaccess
    euidaccess execveat execvpe explicit_bzero fallocate fexecve get_current_dir_name getauxval
    getdents64 getrandom gettid memfd_create memrchr mempcpy mremap pipe2
    posix_fallocate posix_spawn_file_actions_addclosefrom_np ppoll prlimit
    program_invocation_name program_invocation_short_name pthread_condattr_setclock
    pthread_mutex_timedlock pthread_sigqueue qsort_r rawmemchr renameat2 secure_getenv setns
    sigtimedwait sigwaitinfo splice statx strchrnul strerrordesc_np strerrorname_np sync_file_range
    syncfs syscall tee tgkill unshare vmsplice
""".split()

# Functions of Linux files that the others call; each system supplies its own.
NEEDED = {
    "koda_filter_program": "the filter of a plan for Linux",
    "koda_hash_key_draw": "random numbers of the kernel",
    "koda_notify_filter_program": "the filter of a plan for Linux",
    "koda_report_filter_program": "the filter of a plan for Linux",
}
KODA = re.compile(r"^ +U (koda_\w+)$")


def exceptions():
    """Lines "path reason"."""
    listed = {}
    for number, line in enumerate(sources.read(EXCEPTIONS).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        path, _, reason = line.strip().partition(" ")
        if not reason.strip() or not (sources.ROOT / path).is_file():
            sys.exit(f"{EXCEPTIONS}:{number}: {path} is no file, or has no reason")
        listed[path] = reason
    return listed


def named_headers(paths):
    """Headers of the system that the tree includes."""
    include = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<([^>]+)>", re.MULTILINE)
    return {name for path in paths for name in include.findall(sources.read(path))
            if not name.startswith("koda/")}


def write_headers(folder, headers):
    """Writes a header for each that macOS lacks, and returns the one to be included first."""
    for name in headers - HEADERS - THIRD_PARTY:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # What glibc includes by itself, before the tree's own text begins, is not meant.
        path.write_text(f"#ifdef KODA_NO_LINUX\n#error macOS has no <{name}>\n#else\n"
                        f"#include_next <{name}>\n#endif\n")
    first = folder / "first.h"
    first.write_text("".join(f"#include <{name}>\n" for name in sorted(HEADERS | THIRD_PARTY)) +
                     "#define KODA_NO_LINUX\n" +
                     "".join(f"#pragma GCC poison {name}\n" for name in NAMES))
    return first


def compile_all(paths, folder, dirs):
    """Compiles each path; returns the messages of those that fail, and the objects of the rest."""
    first = write_headers(folder, named_headers(
        sources.files(".c", ".h", folders=FOLDERS + ("include",))))
    flags = ["-std=gnu17", "-D_GNU_SOURCE", '-DKODA_VERSION=""', "-O0", "-w",
             "-Werror=implicit-function-declaration", f"-I{folder}", "-Iinclude", "-Isrc"]
    flags += [f"-I{directory}" for directory in dirs] + ["-include", str(first)]
    running, failed, objects = [], {}, []
    queue = list(paths)
    while queue or running:
        while queue and len(running) < (os.cpu_count() or 1):
            path = queue.pop()
            output = folder / (path.replace("/", "_") + ".o")
            running.append((path, output, subprocess.Popen(
                ["gcc", *flags, "-c", path, "-o", str(output)], cwd=sources.ROOT,
                stderr=subprocess.PIPE, text=True)))
        path, output, process = running.pop(0)
        messages = process.communicate()[1]
        if process.returncode:
            failed[path] = (re.findall(r"error: (?:#error )?(.*)", messages) or [messages])[0]
        else:
            objects.append(str(output))
    return failed, objects


def missing_calls(objects):
    """Functions of the tree that the objects call, and none of them has."""
    text = subprocess.run(["nm", *objects], check=True, capture_output=True, text=True).stdout
    has = set(re.findall(r"^[0-9a-f]+ [A-Z] (\w+)$", text, re.MULTILINE))
    return {m.group(1) for m in map(KODA.match, text.splitlines()) if m} - has


def main():
    listed = exceptions()
    paths = [str(path) for path in sources.files(".c", folders=FOLDERS)]
    dirs = [str(Path(name).resolve()) for name in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as name:
        failed, objects = compile_all(paths, Path(name), dirs)
        objects = [o for o in objects if not any(o.endswith("/" + p.replace("/", "_") + ".o")
                                                 for p in listed)]
        # What a file that failed has is missing in the others as well.
        calls = set(NEEDED) if set(failed) - set(listed) else missing_calls(objects)
    problems = [f"{path}:1: {message}" for path, message in sorted(failed.items())
                if path not in listed]
    problems += [f"{EXCEPTIONS}: {path} compiles without Linux" for path in sorted(listed)
                 if path not in failed]
    problems += [f"{call}: only a file for Linux has it" for call in sorted(calls - set(NEEDED))]
    problems += [f"tools/check_portable.py: {call} is not needed" for call in
                 sorted(set(NEEDED) - calls)]
    print("\n".join(problems) or
          f"check_portable: ok, {len(objects)} files, {len(listed)} for Linux")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
