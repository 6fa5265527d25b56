#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Words that must, or must not, stand in a file.

Every source file names its licence in an SPDX line at the top. A note of unfinished work names the
issue that tracks it: "TODO(#12): ...". No source file undoes a ban of src/base/banned.h.
"""

import re
import sys
from pathlib import Path

import sources

SPDX = "SPDX-License-Identifier: MIT"
# Spelt in two parts so that this file does not trip over itself.
NOTE = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK")) + r")\b(?!\(#\d+\))")
BANNED = "src/base/banned.h"
UNDEF = re.compile(r"^\s*#\s*undef\s+(\w+)", re.MULTILINE)

TOP = ("Makefile", "meson.build", "meson_options.txt", ".clang-format", ".clang-tidy")


def main():
    problems = []
    banned = set(UNDEF.findall(sources.read(BANNED)))
    paths = [p for p in sources.files() if p.suffix in (".c", ".h", ".py", ".sh", ".bats", ".scd")
             or p.name in TOP or p.parts[0] == ".ci"]
    paths += [Path(name) for name in TOP if (sources.ROOT / name).is_file()]
    for path in paths:
        text = sources.read(path)
        if path.suffix != ".scd" and SPDX not in "\n".join(text.splitlines()[:3]):
            problems.append(f"{path}:1: no '{SPDX}' in the first three lines")
        for number, line in enumerate(text.splitlines(), 1):
            note = NOTE.search(line)
            if note:
                problems.append(f"{path}:{number}: {note.group(1)} without an issue: "
                                f"write {note.group(1)}(#number)")
        if path.suffix in (".c", ".h") and str(path) != BANNED and path.parts[0] != "tests":
            for name in UNDEF.findall(text):
                if name in banned:
                    problems.append(f"{path}:1: #undef {name} undoes a ban of {BANNED}")
    print("\n".join(problems) or "check_words: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
