#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The language of documents and comments: one word a concept, short lines, sentences with subjects.

  width     no line of a Markdown document is longer than WIDTH characters, and none of a manual page
            but in literal blocks, which show what a program prints.
  links     a relative link of a Markdown document leads to a file, and its #anchor to a heading.
  paths     a `path` of the tree that a Markdown document names exists.
  map       doc/architecture.md has a row for every folder with sources of the product, and a link to
            every page of doc/ and doc/design/. README.md names every manual page.
  words     no document, manual page, comment, message or identifier uses a word that the glossary
            (doc/architecture.md) has replaced: DOCUMENT_WORDS, IDENTIFIER_WORDS.
  openings  no comment of the product begins with one of OPENINGS: it would refer to something
            without naming it. OPENING_EXCEPTIONS holds comments that may.
"""

import re
import sys
from pathlib import Path

import sources

WIDTH = 120
PRODUCT = ("include", "src", "libexec", "cli")

# Replaced word -> the word of the glossary. Code blocks, `code` and "quoted" words are not looked
# at: names of options and JSON fields stay what they are.
DOCUMENT_WORDS = {
    r"ways? out": "egress proxy, or network access",
    r"fenc(?:e|es|ed|ing)": "landlock backend, or protect",
    r"grips?": "enforcement",
    r"twins?": "mount alias",
    r"whoever|nobody": "a noun: process, user, caller",
    r"the ladder": "fallback",
    r"hand(?:s|ed|ing)? (?:it |them )?over": "pass",
    r"somebody|anybody": "a noun: process, user, caller",
    r"members? of the (?:proxy|egress)": "tenant",
    r"asked filter|asked calls?": "notify filter, brokered call",
}
# Parts of identifiers (between underscores) -> the word of the glossary.
IDENTIFIER_WORDS = {
    "fence": "landlock, or protect",
    "fenced": "landlock, or protect",
    "gitkin": "git_related",
    "grip": "enforcement, or waivers",
    "twin": "mount_alias",
    "twofold": "has_open_alias",
}
OPENINGS = ("The same", "Whoever", "Who ", "Nobody", "What is there")
# "path: first words of the comment" of comments that may begin so.
OPENING_EXCEPTIONS = ()

IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*\b")
CODE_SPAN = re.compile(r'`[^`]*`|"[\w.-]*"')
JSON_KEY = re.compile(r'\\"[\w.-]*\\"')
TREE_PATH = re.compile(r"`((?:%s)/[\w./-]*)`" % "|".join(re.escape(f) for f in sources.FOLDERS))
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def documents():
    """Markdown documents of the tree: those at the top, and those of doc/ and tests/."""
    top = [path.relative_to(sources.ROOT) for path in sources.ROOT.glob("*.md")]
    return sorted(top) + sources.files(".md", folders=("doc", "tests", "examples"))


def prose(text):
    """Lines of a document as (number, line), with code blocks left out and code spans blanked."""
    in_block = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_block = not in_block
        elif not in_block:
            yield number, CODE_SPAN.sub("", line)


def find_words(path, number, text):
    for pattern, instead in DOCUMENT_WORDS.items():
        found = re.search(rf"\b(?:{pattern})\b", text, re.IGNORECASE)
        if found:
            yield f"{path}:{number}: '{found.group(0)}': write {instead}"


def check_words(path, text):
    for number, line in prose(text):
        yield from find_words(path, number, line)


def check_comments_and_messages(path, text):
    for token in sources.COMMENT_OR_STRING.finditer(text):
        words = JSON_KEY.sub("", " ".join(token.group(0).replace("\n *", " ").split()))
        yield from find_words(path, line_of(text, token.start()), words)


def anchors(text):
    """The anchors that headings of a document get."""
    found = set()
    for _, line in prose(text.replace("`", "")):
        if line.startswith("#"):
            title = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
            found.add(title.replace(" ", "-"))
    return found


def check_links(path, text):
    for number, line in prose(text.replace("`", "")):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            other = (sources.ROOT / path.parent / name) if name else sources.ROOT / path
            if not other.exists():
                yield f"{path}:{number}: {target}: there is no such file"
            elif anchor and other.suffix == ".md" and anchor not in anchors(other.read_text()):
                yield f"{path}:{number}: {target}: there is no such heading"


def check_paths(path, text):
    """Names in capital letters (NAME, COMMAND) stand for any name."""
    for number, line in enumerate(text.splitlines(), 1):
        for target in TREE_PATH.findall(line):
            if not re.search(r"[A-Z]{2}", target) and not (sources.ROOT / target).exists():
                yield f"{path}:{number}: {target}: there is no such file"


def check_map():
    page = Path("doc/architecture.md")
    text = sources.read(page)
    rooms = {path.parent for path in sources.files(".c", folders=("src", "libexec", "cli"))}
    pages = sources.files(".md", folders=("doc",))
    for room in sorted(rooms):
        if f"| `{room}` |" not in text:
            yield f"{page}:1: there is no row for {room}"
    for other in pages:
        if other != page and f"]({other.relative_to('doc')})" not in text:
            yield f"{page}:1: there is no link to {other}"
    readme = sources.read(Path("README.md"))
    for manual in sources.files(".scd", folders=("doc",)):
        if f"`{manual.stem}`" not in readme and f"/{manual.stem}`" not in readme:
            yield f"README.md:1: {manual.stem} is not named"


def check_width(path, text, lines=None):
    for number, line in lines or enumerate(text.splitlines(), 1):
        if len(line) > WIDTH:
            yield f"{path}:{number}: {len(line)} characters, more than {WIDTH}"


def check_identifiers(path, text):
    code = sources.without_comments(text, keep_strings=False)
    for found in IDENTIFIER.finditer(code):
        for part in found.group(0).lower().split("_"):
            if part in IDENTIFIER_WORDS:
                yield (f"{path}:{line_of(code, found.start())}: {found.group(0)}: "
                       f"write {IDENTIFIER_WORDS[part]}")


def check_openings(path, text):
    """Comments that begin with a word that has nothing to refer to."""
    for comment in sources.COMMENT_OR_STRING.finditer(text):
        if comment.group(0).startswith('"'):
            continue
        words = " ".join(comment.group(0).strip("/* \t\n").split())
        excepted = any(f"{path}: {words}".startswith(known) for known in OPENING_EXCEPTIONS)
        if words.startswith(OPENINGS) and not excepted:
            yield f"{path}:{line_of(text, comment.start())}: comment begins with '{words[:40]}'"


def main():
    problems, openings = list(check_map()), []
    for path in documents():
        text = sources.read(path)
        for check in (check_width, check_links, check_paths, check_words):
            problems += check(path, text)
    for path in sources.files(".scd", folders=("doc",)):
        text = sources.read(path)
        problems += check_words(path, text)
        problems += check_width(path, text, prose(text))
    for path in sources.files(".c", ".h", folders=PRODUCT + ("tools", "examples")):
        problems += check_comments_and_messages(path, sources.read(path))
    for path in sources.files(".c", ".h", folders=PRODUCT):
        text = sources.read(path)
        problems += check_identifiers(path, text)
        openings += check_openings(Path(path), text)
    print("\n".join(problems + openings) or "check_prose: ok")
    if openings or OPENING_EXCEPTIONS:
        print(f"check_prose: {len(openings)} comment openings, "
              f"{len(OPENING_EXCEPTIONS)} exceptions")
    return 1 if problems or openings else 0


if __name__ == "__main__":
    sys.exit(main())
