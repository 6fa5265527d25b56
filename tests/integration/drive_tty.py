#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a program on a terminal of its own and types into it.

Usage: drive_tty.py STEP... -- PROGRAM [ARG...]

A step is "wait TEXT" (until it has been shown since the last such step), "type TEXT" (escapes as
in Python), "size ROWS COLUMNS", "signal NAME" (to the program) or "stopped" (until the program has
stopped). Prints what was shown, without carriage returns, and ends with the program's status. The
terminal's settings must be the same before and after, or the status is 99.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

END = time.monotonic() + 40


def size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class Driver:
    def __init__(self, program):
        ours, theirs = pty.openpty()
        size(ours, 30, 90)
        self.before = termios.tcgetattr(theirs)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(theirs, fd)
            os.closerange(3, 64)
            os.execvp(program[0], program)
        self.theirs = theirs
        self.fd = ours
        self.shown = b""
        self.seen = 0

    def look(self, seconds):
        if select.select([self.fd], [], [], seconds)[0]:
            self.shown += os.read(self.fd, 65536)
            return True
        return False

    def wait(self, text):
        while True:
            at = self.shown.find(text, self.seen)
            if at >= 0:
                self.seen = at + len(text)
                return
            if time.monotonic() > END:
                self.give_up(f"never shown: {text!r}")
            self.look(0.1)

    def give_up(self, why):
        os.kill(self.pid, signal.SIGKILL)
        print(self.shown.decode(errors="replace").replace("\r", ""))
        print(why)
        sys.exit(98)

    def step(self, words):
        verb, _, rest = words.partition(" ")
        if verb == "wait":
            self.wait(rest.encode())
        elif verb == "type":
            os.write(self.fd, rest.encode().decode("unicode_escape").encode("latin-1"))
        elif verb == "size":
            size(self.fd, *map(int, rest.split()))
        elif verb == "signal":
            os.kill(self.pid, getattr(signal, rest))
        elif verb == "stopped":
            _, status = os.waitpid(self.pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                self.give_up("ended, not stopped")
            if termios.tcgetattr(self.theirs) != self.before:
                self.give_up("stopped, but the terminal is not as it was")
        else:
            sys.exit(f"unknown step: {words}")

    def finish(self):
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > END:
                self.give_up("did not end")
            self.look(0.05)
        while self.look(0):
            pass
        after = termios.tcgetattr(self.theirs)
        sys.stdout.write(self.shown.decode(errors="replace").replace("\r", ""))
        if after != self.before:
            print("the terminal is not as it was")
            return 99
        return os.waitstatus_to_exitcode(status) & 255


def main():
    split = sys.argv.index("--")
    driver = Driver(sys.argv[split + 1 :])
    for words in sys.argv[1:split]:
        driver.step(words)
    return driver.finish()


if __name__ == "__main__":
    sys.exit(main())
