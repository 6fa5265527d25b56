#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks a page of koda-sandbox report.

  report_page.py page FILE        only the elements and attributes that the page may have, all closed
  report_page.py text FILE TEXT   the page shows the text, within one element
  report_page.py picture LIGHT DARK WIDTH HEIGHT
                                  two screenshots of that size: something is drawn, and one is dark
"""

import struct
import sys
import zlib
from html.parser import HTMLParser

ELEMENTS = {
    "html": {"lang"}, "head": set(), "meta": {"charset", "http-equiv", "content", "name"}, "title": set(),
    "style": set(), "body": set(), "main": set(), "h1": set(), "h2": set(), "p": {"class", "id"},
    "div": {"class"}, "b": set(), "span": {"class"}, "table": {"id"}, "thead": set(), "tbody": set(),
    "tr": {"id"}, "th": {"class"}, "td": {"class"}, "code": set(), "a": {"href"},
    "svg": {"class", "viewbox", "preserveaspectratio", "aria-hidden"},
    "rect": {"class", "x", "y", "width", "height"},
}


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []
        self.texts = [""]
        self.policy = None

    def handle_starttag(self, tag, attrs):
        assert set(dict(attrs)) <= ELEMENTS[tag], (tag, attrs)
        attributes = dict(attrs)
        assert attributes.get("href", "#c1").startswith("#c"), attributes
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"]
        if tag != "meta":
            self.open.append(tag)
        self.texts.append("")

    def handle_startendtag(self, tag, attrs):
        assert set(dict(attrs)) <= ELEMENTS[tag], (tag, attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
        self.texts.append("")

    def handle_data(self, data):
        self.texts[-1] += data


def read_page(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    page = Page()
    page.feed(text)
    page.close()
    assert not page.open, page.open
    assert page.policy.startswith("default-src 'none';"), page.policy
    # The policy forbids to load anything, and the head does not try either.
    assert "://" not in text.split("<main>")[0]
    return page


def pixels(path, width, height):
    """The lightness of each pixel of a PNG of 8 bits without interlacing, row by row."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, header = 8, b"", None
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        header = struct.unpack(">IIBBBBB", body) if kind == b"IHDR" else header
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    assert header[:3] == (width, height, 8) and header[6] == 0, header
    step = {2: 3, 6: 4}[header[3]]
    raw, above, light = zlib.decompress(packed), bytearray(width * step), []
    for y in range(height):
        start = y * (width * step + 1)
        row = bytearray(raw[start + 1:start + 1 + width * step])
        for i in range(len(row)):
            left = row[i - step] if i >= step else 0
            up, corner = above[i], above[i - step] if i >= step else 0
            guess = left + up - corner
            near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
            row[i] = (row[i] + (0, left, up, (left + up) // 2, near)[raw[start]]) & 255
        light += [sum(row[i:i + 3]) // 3 for i in range(0, len(row), step)]
        above = row
    return light


def main():
    if sys.argv[1] == "page":
        read_page(sys.argv[2])
    elif sys.argv[1] == "text":
        texts = read_page(sys.argv[2]).texts
        assert any(sys.argv[3] in text for text in texts), texts
    else:
        size = int(sys.argv[4]), int(sys.argv[5])
        light, dark = (pixels(path, *size) for path in sys.argv[2:4])
        for picture in light, dark:
            assert len(set(picture)) > 20, set(picture)
        assert sum(light) / len(light) > 200 and sum(dark) / len(dark) < 80, "the colours do not follow"


main()
