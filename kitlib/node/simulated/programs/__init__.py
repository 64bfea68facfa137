"""The programs of simulated containers, and the result of following a command: `Behaviour`.

Imported by the simulated kernel's runtime. Face: `catalogue.find`, `following.follow`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kitlib.api.core import Container, Pod
from kitlib.api.errors import shortened
from kitlib.node.common.workload import Workload

if TYPE_CHECKING:  # the shell is imported with the first command
    from kitlib.node.simulated.programs.recorder import FileChange
    from kitlib.node.simulated.shell.machine import Data


class Kill(NamedTuple):
    """The kill of a program: the number of its background job (0 = the foreground), and seconds since the start."""

    job: int
    at: float


class Behaviour(NamedTuple):
    """The behaviour of a container.

    Attributes:
        workload: the resource usage over time.
        changes: changes of files, by seconds since the container's start.
        loop: (start, duration of an iteration) of the endless loop, in seconds; None = no loop.
        output: (seconds since the start, text) of its standard output and standard error, in order.
        output_loop: (index in `output` of an iteration's first line, its duration in seconds) of the endless loop.
        traps: whether its shell has a trap for SIGTERM.
    """

    workload: Workload
    changes: tuple[FileChange, ...] = ()
    loop: tuple[float, float] | None = None
    output: tuple[tuple[float, str], ...] = ()
    output_loop: tuple[int, float] | None = None
    traps: bool = False

    def files_at(self, seconds: float) -> dict[str, Data | None]:
        """Return the files at a time after the container's start, content by path; None = the file does not exist."""
        if self.loop is not None and seconds >= sum(self.loop):
            begins, length = self.loop
            seconds = begins + length + (seconds - begins) % length if length else seconds
            seconds -= length
        found: dict[str, Data | None] = {}
        for change in self.changes:
            if change.time <= seconds:
                found[change.path] = change.data
            else:
                found.setdefault(change.path, None)
        return found


@dataclass
class Run:
    """A run of a container, from its start to its end.

    Attributes:
        pod, container: the container of a pod.
        environment: its environment variables.
        shown: content of the files that the node showed in it, by path.
        began: start in seconds on the node's clock.
        ended: end in seconds on the node's clock; None = it runs.
        kills: the kills of programs of its shell so far.
    """

    pod: Pod
    container: Container
    environment: Mapping[str, str]
    shown: Mapping[str, str]
    began: float
    ended: float | None = None
    kills: tuple[Kill, ...] = ()


def note_of(command: Sequence[str], why: str = "") -> str:
    """Return the note about a command that is unknown, or not followed for a reason."""
    shown = shortened(" ".join(map(str, command[:20])), 100)
    return f"Unknown command {shown!r}: it idles" + (f" ({shortened(why, 200)})" if why else "")
