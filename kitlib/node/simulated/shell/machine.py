"""The operations of a machine that a shell and its programs use, and the values that they exchange.

There are two machines: one records the behaviour of a container's command (`programs/recorder.py`), one answers
`kubectl exec` and exec probes in a running container (`container_machine.py`).
"""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

KEPT_TEXT = 65536
"""Maximum number of characters of a text; of the rest only the size is known."""


class Data(NamedTuple):
    """The content of a pipe or a file.

    Attributes:
        text: the known beginning of the content.
        more: number of bytes after the text, whose content is unknown; infinite = the source never ends.
    """

    text: str = ""
    more: float = 0.0

    @property
    def size(self) -> float:
        """The total number of bytes."""
        return len(self.text) + self.more

    def plus(self, other: Data) -> Data:
        """Return the concatenation with other data."""
        if self.more:
            return Data(self.text, self.more + other.size)
        text = self.text + other.text
        return Data(text[:KEPT_TEXT], max(len(text) - KEPT_TEXT, 0) + other.more)

    def first(self, size: float) -> Data:
        """Return the first bytes."""
        text = self.text[: int(min(size, len(self.text)))]
        return Data(text, min(self.more, max(size - len(text), 0.0)))


class Input:
    """A standard input, which the commands of a list share: each reads on where the one before stopped.

    Args:
        data: the content.
    """

    def __init__(self, data: Data = Data()) -> None:  # noqa: B008 (immutable)
        self.data, self._read = data, False

    def rest(self) -> Data:
        """Return the remaining content for a program that reads all of it."""
        self._read = True
        return self.data

    def settle(self) -> None:
        """Empty the input if the program that has ended read it."""
        if self._read:
            self.data, self._read = Data(), False

    def line(self) -> tuple[str, bool]:
        """Take a line, and return it with whether its newline was found.

        Raises:
            NotFollowed: the content of the line is unknown.
        """
        text, newline, after = self.data.text.partition("\n")
        if not newline and self.data.more:
            raise NotFollowed("read: the content of the input is unknown")
        self.data = Data(after, self.data.more)
        return text, bool(newline)


class Result(NamedTuple):
    """The output of a command, and its exit code."""

    out: Data = Data()
    err: str = ""
    code: int = 0


class ProgramError(Exception):
    """The failure of a program: its message and its exit code."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class FatalError(Exception):
    """An error that ends a shell that is not interactive.

    Source: POSIX.1-2017, XCU 2.8.1 Consequences of Shell Errors.
    """


class NotFollowed(Exception):
    """A script or program that the kit does not support, though a shell might run it; it counts as unknown.

    The message names the unsupported part. A limit of the kit is never an exit code of the program.
    """


class ChildKilled(Exception):
    """SIGKILL ends the running program; the shell that waits for it goes on."""


class Forever(Exception):
    """The program runs until it is killed."""


class Bombed(Forever):
    """A fork bomb has started.

    The exit of the shell would end its container, and with it the bomb. How far the bomb gets until then is random, so
    the shell is assumed to wait for it.
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
        pid: process id of the first shell on it: 1 for a container's own command.
        now: seconds since the container's start.
        deadline: time at which TimeUp is raised, on the same clock; infinite = never.
        parents: number of the processes that wait for the running one and would outlive it.
    """

    pid: int
    now: float
    deadline: float
    parents: int

    def enter(self, program: str) -> None:
        """Note that a program with this name starts."""
        ...

    def read(self, path: str) -> Data:
        """Return a file's content.

        Raises:
            ProgramError: the file does not exist.
        """
        ...

    def exists(self, path: str) -> bool:
        """Return whether a path exists."""
        ...

    def listing(self, path: str) -> list[str] | None:
        """Return the names in a directory; None if the path is no directory."""
        ...

    def write(self, path: str, data: Data, *, append: bool = False, copied: bool = True) -> None:
        """Write a file.

        Args:
            path: the path of the file.
            data: the data to write.
            append: whether to append, instead of replacing the content.
            copied: whether the data are copied, which takes time; `fallocate` and `truncate` copy nothing.

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
            seconds: the duration in seconds; infinite raises Forever.
            cpus: number of busy threads.
            memory: memory of the running program in bytes; None = that of a small one.
            pids: number of processes and threads.

        Raises:
            Forever: the time is infinite.
            TimeUp: the deadline is reached.
            ChildKilled: the program is killed.
        """
        ...

    def hold(self, size: float) -> None:
        """Set the memory of the shell's variables in bytes."""
        ...

    def log(self, data: Data, *, error: bool = False) -> None:
        """Accept output of standard output or standard error."""
        ...

    def fork(self) -> Machine:
        """Return the machine of a background job."""
        ...

    def end(self, moment: float) -> bool:
        """End a background job at this time, and return whether it still ran."""
        ...

    def wait(self, job: Machine | None = None) -> None:
        """Let time pass until a background job has ended, or all of them."""
        ...

    def running(self) -> str:
        """Return the name of process 1 of the container, as another process sees it; "" = it has ended.

        Raises:
            NotFollowed: the processes are those of the command that is recorded.
        """
        ...

    def signal(self, number: int) -> None:
        """Send a signal to process 1 of the container, from another process."""
        ...

    def mark(self) -> object:
        """Return a state to compare with a later one; see `repeat`."""
        ...

    def repeat(self, since: object, changed: bool) -> None:
        """End an iteration of a loop; if only time has changed, the loop continues in the same way.

        Args:
            since: the mark of the iteration's start.
            changed: whether the state of the shell itself has changed.

        Raises:
            Forever: the rest of the loop is known.
        """
        ...


class Call(NamedTuple):
    """A call of a program.

    Attributes:
        name: the program's name as written, without its directory.
        args: the words after it.
        input: the standard input.
        machine: the machine of the program.
        variables: the variables of its environment.
        run: function that runs another program, for programs such as `timeout` and `env`.
    """

    name: str
    args: Sequence[str]
    input: Input
    machine: Machine
    variables: Mapping[str, str]
    run: Callable[[Sequence[str], Machine, Input], Result]

    @property
    def stdin(self) -> Data:
        """The content of the standard input; the program that asks for it reads all of it."""
        return self.input.rest()


def signal_number(text: str) -> int:
    """Return the number of a signal: `TERM`, `SIGTERM` or `15`; an unknown name counts as TERM."""
    if text.isdigit():
        return int(text[:4])
    return int(getattr(signal, f"SIG{text.upper().removeprefix('SIG')}", signal.SIGTERM))


def take_signal(words: Sequence[str]) -> tuple[int, list[str]]:
    """Return the signal of `kill`, TERM unless an option names another one, and the other words."""
    rest, name = list(words), "TERM"
    if rest and rest[0].startswith("-"):
        name = rest.pop(0)[1:]
        name = rest.pop(0) if name in ("s", "n") and rest else name
    return signal_number(name), rest


Program = Callable[[Call], Result]
FOREVER = math.inf
