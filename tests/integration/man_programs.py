#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the programs of a page: man_programs.py PAGE DIRECTORY

A program is a literal block with a main function, and the literal block after it what it prints.
NAME.c and NAME.expected are named after the heading above. Of README.md, the block is ```c, and
what it prints is in a comment behind the line that prints it.
"""

import pathlib
import re
import sys


def programs(text, is_man):
    heading, waiting = "", None
    for match in re.finditer(r"^#+ ([^\n]+)$|^```(?:c)?\n(.*?)^```$", text, re.M | re.S):
        if match[1]:
            heading = match[1].lower().replace(" ", "_")
            continue
        block = match[2].replace("\\\\", "\\") if is_man else match[2]
        if waiting:
            yield waiting[0], waiting[1], block
            waiting = None
        elif re.search(r"^int main\(", block, re.M):
            if is_man:
                waiting = heading, block
            else:
                yield heading, block, re.search(r"/\* (deny .*?) \*/", block)[1] + "\n"
    if waiting:
        sys.exit(f"the program of {waiting[0]} is not followed by what it prints")


def main():
    page, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    for name, program, expected in programs(page.read_text(encoding="utf-8"), page.suffix == ".scd"):
        (folder / f"{name}.c").write_text(program, encoding="utf-8")
        (folder / f"{name}.expected").write_text(expected, encoding="utf-8")


if __name__ == "__main__":
    main()
