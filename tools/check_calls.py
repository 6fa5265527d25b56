#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Calls point downwards, and names say where a function lives.

Reads the symbols of the objects in a build directory (nm), so it sees what includes hide behind a
shared header. Checked:

  layers   a file calls its own layer and those that it may include (check_layers.py). EMBEDDERS
           call what include/koda declares, too.
  cycles   files of one folder that call each other in a ring; the largest ring of each folder is
           held to RINGS. A callback is a data reference of the file that registers it and counts.
  names    no two files of the product define the same external function.
  prefix   an external function begins with the prefix of its program or of the library, and a word
           of it is a word of the file's name or its folder's; public functions (include/koda) are
           exempt, FAMILIES names further words.

Usage: check_calls.py BUILDDIR [--list]
"""

import collections
import json
import re
import subprocess
import sys
from pathlib import Path

import sources
from check_layers import LAYERS

# Folder -> files in its largest ring of calls.
RINGS = {
    "src/base": 1,
    "src/policy": 1,
    "src/wire": 1,
    "src/plan": 1,
    "src/run": 1,
    "libexec/stage2": 1,
    "libexec/egress": 1,
    "libexec/fscompat": 1,
    "libexec/fsworker": 1,
    "cli": 1,
}
PREFIXES = {
    "src": "koda",
    "libexec/stage2": "stage2",
    "libexec/egress": "egress",
    "libexec/bare": "bare",
    "libexec/fscompat": "fscompat",
    "libexec/fsworker": "fsworker",
    "cli": "cli",
}
# Layers that call what include/koda declares.
EMBEDDERS = ("cli", "libexec/fscompat")
# Files whose header declares further types with methods of their own.
FAMILIES = {
    "src/base/error.c": ("fail",),  # koda_fail(): called on nearly every line that can go wrong
    "src/policy/pathindex.c": ("pathwalk",),  # the iterator over an index
    "libexec/egress/io/loop.c": ("watch", "task", "deadline", "queue"),
}


def objects(build):
    """Source file -> object, of the product; a source that is compiled twice counts once."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = (Path(entry["directory"]) / entry["file"]).resolve()
        if not source.is_relative_to(sources.ROOT):
            continue
        source = source.relative_to(sources.ROOT)
        if source.parts[0] in ("src", "libexec", "cli"):
            found[source] = Path(entry["directory"]) / entry["output"]
    return found


def symbols(path):
    """(defined, used) external names of an object."""
    defined, used = set(), set()
    text = subprocess.run(["nm", "--format=posix", "--extern-only", str(path)], check=True,
                          capture_output=True, text=True).stdout
    for line in text.splitlines():
        name, kind = line.split()[:2]
        (used if kind in "Uwv" else defined).add(name)
    return defined, used


def rings(graph):
    """Strongly connected components of more than one node (Tarjan, without recursion)."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(sorted(graph[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(sorted(graph[other]))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    ring = []
                    while True:
                        other = stack.pop()
                        on_stack.discard(other)
                        ring.append(other)
                        if other == node:
                            break
                    if len(ring) > 1:
                        found.append(sorted(ring))
    return found


def layer_of(path):
    return next((layer for layer in RINGS if path.is_relative_to(layer)), None)


def check_layer(path, used, owner, public):
    """Calls that leave the layers that a file may include."""
    own = next(layer for layer in LAYERS if path.is_relative_to(layer))
    allowed = [own] + [f"src/{name}" for name in LAYERS[own]]
    for name in sorted(used & owner.keys()):
        is_public = own in EMBEDDERS and name in public
        if not is_public and not any(owner[name].is_relative_to(layer) for layer in allowed):
            yield f"{path}:1: calls {name} of {owner[name]}; {own} may call " + ", ".join(allowed)


def public_names():
    text = "".join(sources.without_comments(sources.read(path))
                   for path in sources.files(".h", folders=("include",)))
    return set(re.findall(r"\b(koda_\w+)\s*\(", text))


def check_prefix(path, names, public):
    """External functions whose name does not tell the file."""
    prefix = next((p for folder, p in PREFIXES.items() if path.is_relative_to(folder)), None)
    if prefix is None:
        return []
    known = {word.rstrip("s") for word in path.stem.split("_") + [path.parent.name]}
    known |= set(FAMILIES.get(path.as_posix(), ()))
    wrong = []
    for name in sorted(names - public - {"main"}):
        first, *words = name.split("_")
        if first != prefix or not known & {word.rstrip("s") for word in words}:
            wrong.append(name)
    return wrong


def main():
    build = Path(sys.argv[1])
    listing = "--list" in sys.argv
    problems = []
    defined, used = {}, {}
    for source, path in objects(build).items():
        if path.is_file():
            defined[source], used[source] = symbols(path)
    owners = collections.defaultdict(list)
    for source, names in defined.items():
        for name in names - {"main"}:
            owners[name].append(source)
    for name, files in sorted(owners.items()):
        if len(files) > 1:
            problems.append(f"{files[0]}:1: {name} is defined in {files[1]} too")
    owner = {name: files[0] for name, files in owners.items()}
    graph = {s: {owner[n] for n in used[s] if n in owner and owner[n] != s
                 and layer_of(owner[n]) == layer_of(s)} for s in defined}
    largest = collections.Counter()
    for ring in rings(graph):
        layer = layer_of(ring[0])
        largest[layer] = max(largest[layer], len(ring))
        if listing or len(ring) > RINGS.get(layer, 1):
            calls = [f"    {a.name} -> {', '.join(sorted(b.name for b in graph[a] if b in ring))}"
                     for a in ring]
            text = f"{ring[0]}:1: {len(ring)} files of {layer} call each other in a ring:\n"
            (print if listing else problems.append)(text + "\n".join(calls))
    public = public_names()
    for source, names in sorted(used.items()):
        problems += check_layer(source, names, owner, public)
    for source, names in sorted(defined.items()):
        for name in check_prefix(source, names, public):
            problems.append(f"{source}:1: {name} does not begin with the name of its file")
    print("\n".join(problems) or "check_calls: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
