"""The operations that a shell and its programs need from their machine, and the values that they exchange.

There are two machines: one records what a container's command does over time (`programs/recorder.py`), one answers
`kubectl exec` and exec probes in a running container (`container_machine.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

KEPT_TEXT = 65536
"""Characters of a text that are kept; of what follows only the size is known."""


class Data(NamedTuple):
    """The content of a pipe or a file.

    Attributes:
        text: the beginning of the content.
        more: bytes after the text, of which only the number is known; infinite = the source never ends.
    """

    text: str = ""
    more: float = 0.0

    @property
    def size(self) -> float:
        """Bytes in all."""
        return len(self.text) + self.more

    def plus(self, other: Data) -> Data:
        """Return both in this order."""
        if self.more:
            return Data(self.text, self.more + other.size)
        text = self.text + other.text
        return Data(text[:KEPT_TEXT], max(len(text) - KEPT_TEXT, 0) + other.more)

    def first(self, size: float) -> Data:
        """Return the first bytes."""
        text = self.text[: int(min(size, len(self.text)))]
        return Data(text, min(self.more, max(size - len(text), 0.0)))


class Result(NamedTuple):
    """The output of a command, and its exit code."""

    out: Data = Data()
    err: str = ""
    code: int = 0


class ProgramError(Exception):
    """A program fails: its message, and its exit code."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class NotFollowed(Exception):
    """A script or program that the kit does not follow, though a shell might run it: it counts as one that is unknown.

    The message says which part is not followed. A limit of the kit is never an exit code of the program.
    """


class Forever(Exception):
    """The program runs until it is killed."""


class Bombed(Forever):
    """A fork bomb has gone off.

    A shell that ended would end its container, and with it the bomb; how far it gets until then is a matter of chance,
    so that the shell is taken to wait for it.
    """


class TimeUp(Exception):
    """The machine's deadline is reached."""


class ShellExit(Exception):
    """The shell ends with an exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Machine(Protocol):
    """The machine below a shell.

    Attributes:
        now: seconds since the container's start.
        deadline: the time at which TimeUp is raised, on the same clock; infinite = never.
    """

    now: float
    deadline: float

    def enter(self, program: str) -> None:
        """Begin a program of that name."""
        ...

    def read(self, path: str) -> Data:
        """Return a file's content.

        Raises:
            ProgramError: the file does not exist.
        """
        ...

    def exists(self, path: str) -> bool:
        """Return whether a path is there."""
        ...

    def listing(self, path: str) -> list[str] | None:
        """Return the names in a directory; None where it is not one."""
        ...

    def write(self, path: str, data: Data, *, append: bool = False, copied: bool = True) -> None:
        """Write a file.

        Args:
            path: the path of the file.
            data: the data to write.
            append: whether to append, instead of replacing the content.
            copied: byte by byte, which takes time; `fallocate` and `truncate` do not.

        Raises:
            ProgramError: the file system is full.
        """
        ...

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with all files in it."""
        ...

    def spend(self, seconds: float, *, cpus: float = 0.0, memory: int | None = None, pids: int = 1) -> None:
        """Let time pass.

        Args:
            seconds: the duration; infinite raises Forever.
            cpus: threads that are busy.
            memory: bytes of the running program; None = those of a small one.
            pids: processes and threads.

        Raises:
            Forever: the time is infinite.
            TimeUp: the deadline is reached.
        """
        ...

    def hold(self, size: float) -> None:
        """Have the shell itself hold this many bytes, in its variables."""
        ...

    def log(self, data: Data, *, error: bool = False) -> None:
        """Take what is written to standard output or standard error."""
        ...

    def fork(self) -> Machine:
        """Return the machine as a background job sees it."""
        ...

    def end(self, moment: float) -> None:
        """Have a background job end at this moment, if it still runs then."""
        ...

    def wait(self) -> None:
        """Let time pass until all background jobs have ended."""
        ...

    def mark(self) -> object:
        """Return what tells whether anything has changed since another mark; see `repeat`."""
        ...

    def repeat(self, since: object, changed: bool) -> None:
        """End one round of a loop; where only time has changed, the loop goes on the same way.

        Args:
            since: the mark of the round's beginning.
            changed: whether the shell itself is in another state.

        Raises:
            Forever: the rest of the loop is known.
        """
        ...


class Call(NamedTuple):
    """A call of a program.

    Attributes:
        name: the program's name as written, without its directory.
        args: the words after it.
        stdin: the standard input.
        machine: the machine of the program.
        variables: the variables of its environment.
        run: runs another program with words, for programs such as `timeout` and `env`.
    """

    name: str
    args: Sequence[str]
    stdin: Data
    machine: Machine
    variables: Mapping[str, str]
    run: Callable[[Sequence[str], Machine, Data], Result]


Program = Callable[[Call], Result]
FOREVER = math.inf
