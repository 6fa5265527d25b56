#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A client of the older file worker.

usage: fs_compat_client.py SOCKET

Each line of standard input is a request: JSON, "hex:BYTES" for bytes that are sent as they are, or
"cut:BYTES" for the last bytes of all. The reply is printed on a line, or "end" if the connection has
ended.
"""
import socket
import struct
import sys


def receive(client, size):
    """size bytes, or fewer at the end."""
    data = b""
    while len(data) < size:
        try:
            part = client.recv(size - len(data))
        except ConnectionResetError:
            part = b""
        if not part:
            break
        data += part
    return data


def reply(client):
    head = receive(client, 4)
    if len(head) < 4:
        return b"end"
    return receive(client, struct.unpack(">I", head)[0])


def main():
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[1])
    for line in sys.stdin.buffer:
        line = line.rstrip(b"\n")
        frame = struct.pack(">I", len(line)) + line
        if line.startswith((b"hex:", b"cut:")):
            frame = bytes.fromhex(line[4:].decode())
        try:
            client.sendall(frame)
        except BrokenPipeError:
            pass  # what came before is still there to be read
        if line.startswith(b"cut:"):
            client.shutdown(socket.SHUT_WR)
        sys.stdout.buffer.write(reply(client) + b"\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
