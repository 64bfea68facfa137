"""A running container as the machine of a command in it, for `kubectl exec` and exec probes.

Its files are those that the container's own command has created so far, those that exec has written, and those that the
node shows: cgroup files, /proc, mounted volumes. Time passes only for the command, which uses no CPU or memory of the
node: a command that needs some is rejected with a message.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, MutableMapping
from typing import NamedTuple, Protocol

from kitlib.node.common.workload import FOREVER, IDLE_MEMORY
from kitlib.node.simulated.shell.machine import Data, Machine, ProgramError, TimeUp

MAX_WRITTEN = 2**20
"""Maximum bytes of a file that a command in a container writes: larger ones would need memory or disk."""
MAX_ROUNDS = 10_000
REFUSED = "a simulated container runs this only as its own command, or as its annotation declares"
_NEVER = "it would never end"
_ENDLESS = ("/dev/zero", "/dev/urandom", "/dev/random")


class View(Protocol):
    """The files and values of a node that a container sees."""

    def text(self, path: str) -> str | None:
        """Return a file's content; None = unknown."""
        ...

    def names(self, path: str) -> list[str] | None:
        """Return the names in a directory; None = unknown."""
        ...

    def has(self, path: str) -> bool:
        """Return whether a path exists of which nothing else is known."""
        ...


class ProcessOne(NamedTuple):
    """Process 1 of a container, as a command in the container sees it.

    Attributes:
        name: its name in `ps`.
        tidying: seconds from SIGTERM to its end; infinite = it has no handler.
        send: accepts a terminating signal and the time since the command's start in seconds.
    """

    name: str
    tidying: float
    send: Callable[[float, int], None]


NO_PROCESS = ProcessOne("", FOREVER, lambda seconds, number: None)
TERMINATING = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
"""Signals that end process 1 if it has a handler for them; one for SIGTERM is assumed to be for all three."""


class ContainerMachine:
    """The machine of commands in a running container. Implements `shell.machine.Machine`.

    Args:
        view: the files and values of the node in the container.
        made: files of the container's own command; None = the file does not exist.
        written: files that commands in it have written; this machine adds its own.
        deadline: the maximum duration of the command in seconds.
        process: process 1 of the container.

    Attributes:
        out, err: the output so far.
    """

    def __init__(
        self,
        view: View,
        made: Mapping[str, Data | None],
        written: MutableMapping[str, Data | None],
        deadline: float = FOREVER,
        process: ProcessOne = NO_PROCESS,
    ) -> None:
        self._view, self._made, self._written = view, made, written
        self.parents, self.pid, self._process, self._ends_at = 0, 7, process, FOREVER
        self.now, self.deadline = 0.0, deadline
        self.out, self.err = Data(), Data()
        self._rounds = 0

    def begin(self) -> None:
        """Reset the output before a new command."""
        self.out, self.err, self._rounds = Data(), Data(), 0

    def running(self) -> str:
        """Return the name of process 1; a signalled one runs until its handler has returned."""
        return self._process.name if self.now <= self._ends_at else ""

    def signal(self, number: int) -> None:
        """Send a terminating signal to process 1; it ignores SIGKILL from inside, and handlers of others do not end it.

        Source: pid_namespaces(7).
        """
        if number in TERMINATING and self._ends_at == FOREVER:
            self._ends_at = self.now + self._process.tidying
            self._process.send(self.now, number)

    def enter(self, program: str) -> None:
        """Do nothing: no state depends on the program's name."""

    def read(self, path: str) -> Data:
        """Return a file's content."""
        if path in _ENDLESS:
            return Data("", FOREVER)
        if path == "/dev/null":
            return Data()
        for files in (self._written, self._made):
            if path in files:
                found = files[path]
                if found is None:
                    break
                return found
        else:
            text = self._view.text(path)
            if text is not None:
                return Data(text)
            if self._view.has(path):
                return Data()
        raise ProgramError("No such file or directory")

    def exists(self, path: str) -> bool:
        """Return whether a path exists."""
        if path.startswith("/dev/"):
            return path in (*_ENDLESS, "/dev/null", "/dev/shm") or self._known(path)
        if path in self._written or path in self._made:
            return self._known(path)
        return self._view.text(path) is not None or self.listing(path) is not None or self._view.has(path)

    def _known(self, path: str) -> bool:
        files = self._written if path in self._written else self._made
        return files.get(path) is not None

    def listing(self, path: str) -> list[str] | None:
        """Return the names in a directory."""
        inside = path.rstrip("/") + "/"
        own = {
            one.removeprefix(inside).partition("/")[0]
            for one in {*self._written, *self._made}
            if one.startswith(inside) and self._known(one)
        }
        shown = self._view.names(path.rstrip("/") or "/")
        if shown is None and not own:
            return [] if path.rstrip("/") in ("/tmp", "/dev/shm") else None
        return sorted({*own, *(shown or [])})

    def write(self, path: str, data: Data, *, append: bool = False, copied: bool = True) -> None:
        """Store a small file."""
        if path in ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"):
            self._finite(data)
            return
        if path.startswith(("/proc/", "/sys/")):
            raise ProgramError(f"can't create {path}: Read-only file system")
        before = self.read(path) if append and self.exists(path) else Data()
        found = before.plus(data)
        self._finite(found)
        if found.size > MAX_WRITTEN:
            raise ProgramError(f"{path} would have {found.size:.0f} bytes: {REFUSED}")
        self._written[path] = found

    def _finite(self, data: Data) -> None:
        if data.size == FOREVER:
            self.spend(FOREVER, cpus=1.0)

    def remove(self, path: str) -> None:
        """Remove a file, or all files below a directory."""
        inside = path.rstrip("/") + "/"
        for one in {*self._made, *self._written}:
            if one == path or one.startswith(inside):
                self._written[one] = None

    def spend(self, seconds: float, *, cpus: float = 0.0, memory: int | None = None, pids: int = 1) -> None:
        """Advance the command's own time; reject a use of the node's CPUs or memory."""
        if self.now + seconds > self.deadline:
            self.now = self.deadline
            raise TimeUp
        if seconds == FOREVER:
            raise ProgramError(REFUSED if cpus or (memory or 0) > IDLE_MEMORY else _NEVER)
        if cpus * seconds > 1.0 or (memory or 0) > 20 * IDLE_MEMORY:
            raise ProgramError(REFUSED)
        self.now += seconds

    def hold(self, size: float) -> None:
        """Reject large variables."""
        if size > MAX_WRITTEN:
            raise ProgramError(REFUSED)

    def log(self, data: Data, *, error: bool = False) -> None:
        """Collect the command's output."""
        self._finite(data)
        if error:
            self.err = self.err.plus(data)
        else:
            self.out = self.out.plus(data)

    def fork(self) -> ContainerMachine:
        """Run a background job of a command at once."""
        return self

    def end(self, moment: float) -> bool:
        """Do nothing: a background job has ended here before the next command."""
        return False

    def wait(self, job: Machine | None = None) -> None:
        """Do nothing: no background jobs run."""

    def mark(self) -> object:
        """Do nothing: no states are compared."""
        return None

    def repeat(self, since: object, changed: bool) -> None:
        """Count the iterations of a loop; an endless one is rejected."""
        self._rounds += 1
        if self._rounds > MAX_ROUNDS:
            self.spend(FOREVER)
