"""Processes that do as they are told, on a real kernel: take memory, fill page cache, fork, burn CPU, until they die.

Run as a program (`python -I -S puppet.py SOCKET`) it is a small server that forks one puppet for each line on its
standard input; every puppet connects to the socket, says its process id, and obeys. A small server, so that a puppet's
own memory is small and the same for all.
"""

import mmap
import os
import signal
import socket
import sys

MADV_NOHUGEPAGE, MADV_POPULATE_WRITE = 15, 23
FILE = "/var/tmp/puppet-"
"""Path of a puppet's file without its process id, which ends it."""


def obey(path: str) -> None:
    """Be a puppet: one line in, one line out."""
    line = socket.socket(socket.AF_UNIX)
    line.connect(path)
    stream = line.makefile("rw")
    held = []

    def say(word: object) -> None:
        stream.write(f"{word}\n")
        stream.flush()

    say(os.getpid())
    for command in stream:
        verb, _, argument = command.strip().partition(" ")
        if verb == "take":  # so many bytes more, all of them touched
            try:
                block = mmap.mmap(-1, int(argument), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                if os.path.exists("/sys/kernel/mm/transparent_hugepage"):
                    block.madvise(MADV_NOHUGEPAGE)
                block.madvise(MADV_POPULATE_WRITE)
                held.append(block)
                say("ok")
            except OSError as error:
                say(error.errno)
        elif verb == "cache":  # so many bytes of page cache, clean, so that they can be given back at once
            with open(f"{FILE}{os.getpid()}", "wb") as file:
                for _ in range(int(argument) >> 20):
                    file.write(bytes(1 << 20))
                file.flush()
                os.fsync(file.fileno())
            say("ok")
        elif verb == "fork":  # so many children that sleep; says how many there are
            made = 0
            for _ in range(int(argument)):
                try:
                    child = os.fork()
                except OSError:
                    break
                if child == 0:
                    os.closerange(3, 256)  # the connection ends with the puppet
                    while True:
                        signal.pause()
                made += 1
            say(made)
        elif verb == "burn":  # so many busy processes from now on
            for _ in range(int(argument) - 1):
                if os.fork() == 0:
                    break
            else:
                say("ok")
            while True:
                pass


def main() -> None:
    """Fork a puppet for each line."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for _ in sys.stdin:
        if os.fork() == 0:
            obey(sys.argv[1])
            os._exit(0)


if __name__ == "__main__":
    main()
