# SPDX-License-Identifier: MIT
"""The source tree as the gates see it: files, text without comments, functions."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("include", "src", "libexec", "cli", "tests", "tools", "bin", "doc", "examples",
           ".ci")

COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def files(*suffixes, folders=FOLDERS):
    """Files of the tree (relative paths, sorted) whose names end in one of suffixes."""
    found = []
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            relative = path.relative_to(ROOT)
            if relative.parts[:3] == ("tests", "fuzz", "corpus") or "__pycache__" in relative.parts:
                continue
            if path.is_file() and (not suffixes or path.name.endswith(suffixes)):
                found.append(relative)
    return sorted(found)


def read(path):
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")


def without_comments(text, keep_strings=True):
    """text with comments (and, if asked, the insides of strings) blanked; lines stay in place."""

    def blank(match):
        token = match.group(0)
        if token[0] == '"':
            return token if keep_strings else '"' + " " * (len(token) - 2) + '"'
        return re.sub(r"[^\n]", " ", token)

    return COMMENT_OR_STRING.sub(blank, text)


def functions(text):
    """Function definitions as (name, first line, last line), lines from 1.

    Relies on the layout that clang-format enforces: the body's braces stand in the first column.
    """
    lines = without_comments(text, keep_strings=False).splitlines()
    found = []
    opened = None
    for number, line in enumerate(lines, 1):
        if line.rstrip() == "{" and opened is None:
            opened = number
        elif line.startswith("}") and opened is not None:
            start, signature = opened - 1, ""
            while start > 0 and lines[start - 1].strip() and lines[start - 1][0] not in "#}":
                signature = lines[start - 1] + " " + signature
                start -= 1
            # The last "name(" that is not an attribute with arguments of its own.
            names = re.findall(r"\b([A-Za-z_]\w*)\s*\(", signature.split("{")[0])
            names = [n for n in names if not n.startswith(("KODA_", "__attribute__"))]
            found.append((names[0] if names else "?", start + 1, number))
            opened = None
    return found
