#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Includes point downwards.

  base, then wire and policy, then plan, then run; wire knows base only. The command line is an
  embedder: it knows include/koda and base. So is libexec/fscompat, which reads JSON as well.

Checked, each with file:line: a file includes only its own layer and those below; public headers
include only <koda/...> and the C standard library, and koda.h includes all of them; a third-party
header appears only in the file named for it; a .c file includes its own header first (proof that
the header stands alone); no cycles.
"""

import re
import sys
from pathlib import Path

import sources

# Folder -> layers its files may include besides their own folder.
LAYERS = {
    "src/base": (),
    "src/policy": ("base",),
    "src/plan": ("base", "policy", "wire"),
    "src/wire": ("base",),
    "src/run": ("base", "policy", "plan", "wire"),
    "libexec/bare": ("wire",),
    "libexec/stage2": ("base", "wire"),
    "libexec/egress": ("base", "wire", "policy"),
    "libexec/fsworker": ("base", "wire", "policy"),
    "libexec/fscompat": ("base", "policy"),
    "cli": ("base",),
}

THIRD_PARTY = {
    "jansson.h": r"src/policy/json\.[ch]",
    "idn2.h": r"src/policy/host\w*\.c",
    "libpsl.h": r"src/policy/host\w*\.c",
    "seccomp.h": r"tools/gen_filter\.c|tools/filter_(calls\.c|rules\.[ch])|libexec/egress/io/syscall_filter\.c",
    "pcre2.h": r"libexec/fsworker/search/matcher\.c",
    "uv.h": r"libexec/egress/(io/loop|route/resolver)\.c",
}
# Whole folders of headers.
THIRD_PARTY_FOLDERS = {
    "openssl/": r"libexec/egress/tls/(ca|mint|tls|tls_client|tls_server)\.[ch]",
}

# Written by the build, so not found in the tree.
GENERATED = {
    "cli_text.h",
    "call_numbers_aarch64.h",
    "call_numbers_x86_64.h",
    "filter_program_aarch64.h",
    "filter_program_x86_64.h",
}

C_STANDARD = {
    "assert.h", "errno.h", "inttypes.h", "limits.h", "stdalign.h", "stdarg.h", "stdbool.h",
    "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "time.h",
}
SYSTEM = C_STANDARD | {
    "alloca.h", "ctype.h", "dirent.h", "elf.h", "fcntl.h", "fnmatch.h", "ftw.h", "getopt.h",
    "glob.h", "grp.h", "ifaddrs.h", "link.h", "malloc.h", "mntent.h", "netdb.h", "poll.h", "pthread.h", "pty.h",
    "pwd.h", "sched.h", "setjmp.h", "signal.h", "spawn.h", "stdatomic.h", "strings.h", "sysexits.h",
    "syslog.h", "termios.h", "unistd.h", "utmp.h", "wchar.h",
}
SYSTEM_FOLDERS = ("arpa/", "asm/", "linux/", "net/", "netinet/", "sys/")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def includes(path):
    """(line, is_quoted, name) of each include."""
    text = sources.without_comments(sources.read(path))
    return [(text.count("\n", 0, m.start()) + 1, m.group(1) == '"', m.group(2))
            for m in INCLUDE.finditer(text)]


def layer_of(path):
    for folder in LAYERS:
        if path.is_relative_to(folder):
            return folder
    return None


def target_of(path, quoted, name):
    """The file of the tree an include means, or None."""
    if not quoted:
        candidates = [Path("include") / name]
    else:
        candidates = [path.parent / name, Path("src") / name, Path("include") / name]
        if path.is_relative_to("libexec"):
            candidates.append(Path(*path.parts[:2]) / name)
    return next((c for c in candidates if (sources.ROOT / c).is_file()), None)


def check_include(path, quoted, name):
    """What is wrong with one include, or None."""
    layer = layer_of(path)
    is_public = path.is_relative_to("include/koda")
    target = target_of(path, quoted, name)
    if target is None:
        if quoted:
            return None if name in GENERATED else f'"{name}" is not in the tree'
        if name in THIRD_PARTY:
            ok = re.fullmatch(THIRD_PARTY[name], path.as_posix())
            return None if ok else f"<{name}> is only for {THIRD_PARTY[name]}"
        for folder, only in THIRD_PARTY_FOLDERS.items():
            if name.startswith(folder):
                ok = re.fullmatch(only, path.as_posix())
                return None if ok else f"<{name}> is only for {only}"
        if is_public:
            return None if name in C_STANDARD else f"<{name}> in a public header"
        if name in SYSTEM or name.startswith(SYSTEM_FOLDERS):
            return None
        return f"<{name}> is unknown: add it to SYSTEM or THIRD_PARTY in tools/check_layers.py"
    if target.is_relative_to("include"):
        return "write <koda/...> with angle brackets" if quoted else None
    if is_public:
        return f'"{name}" in a public header: its readers do not have that file'
    if layer_of(target) == layer:
        return None
    below = [f"src/{name}" for name in LAYERS[layer]]
    if layer_of(target) in below:
        return None
    return f'"{name}" points upwards: {layer} may include ' + (", ".join(below) or "only itself")


def check_own_header(path, found):
    """A .c whose header exists, in its folder or among the public ones, includes it first."""
    own = [c for c in (path.with_suffix(".h"), Path("include/koda") / path.with_suffix(".h").name)
           if (sources.ROOT / c).is_file()]
    if path.suffix != ".c" or not own or not path.is_relative_to("src"):
        return None
    first = target_of(path, found[0][1], found[0][2]) if found else None
    return None if first in own else f"the first include must be {own[0]}"


def check_umbrella():
    """<koda/koda.h> includes every other public header."""
    umbrella = Path("include/koda/koda.h")
    named = {name for _, _, name in includes(umbrella)}
    return [f"{umbrella}:1: <koda/{path.name}> is missing"
            for path in sources.files(".h", folders=("include",))
            if path != umbrella and f"koda/{path.name}" not in named]


def find_cycle(graph):
    """A list of files that include each other in a ring, or None."""
    state, trail = {}, []

    def visit(node):
        state[node] = "open"
        trail.append(node)
        for other in graph.get(node, ()):
            if state.get(other) == "open":
                return trail[trail.index(other):] + [other]
            if other not in state:
                ring = visit(other)
                if ring:
                    return ring
        trail.pop()
        state[node] = "done"
        return None

    for node in graph:
        if node not in state:
            ring = visit(node)
            if ring:
                return ring
    return None


def main():
    problems = []
    graph = {}
    for path in sources.files(".c", ".h", folders=("include", "src", "libexec", "cli")):
        if layer_of(path) is None and not path.is_relative_to("include/koda"):
            problems.append(f"{path}:1: this folder belongs to no layer")
            continue
        found = includes(path)
        for line, quoted, name in found:
            wrong = check_include(path, quoted, name)
            if wrong:
                problems.append(f"{path}:{line}: {wrong}")
        wrong = check_own_header(path, found)
        if wrong:
            problems.append(f"{path}:1: {wrong}")
        targets = [target_of(path, quoted, name) for _, quoted, name in found]
        graph[path] = [t for t in targets if t]
    problems += check_umbrella()
    ring = find_cycle(graph)
    if ring:
        problems.append(f"{ring[0]}:1: include cycle: " + " -> ".join(map(str, ring)))
    print("\n".join(problems) or "check_layers: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
