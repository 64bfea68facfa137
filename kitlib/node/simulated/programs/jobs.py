"""Background jobs beside the foreground: their demands are added, as if they were those of one process."""

from __future__ import annotations

from collections.abc import Iterator

from kitlib.node.common.workload import FOREVER, Child, Phase
from kitlib.node.simulated.programs.recorder import RecordingMachine

MAX_ROUNDS = 200
"""Maximum number of unrolled iterations of a loop that runs beside another one."""
COUNTED = ("memory", "cache", "active", "pids", "disk", "logs", "volume", "inodes")
"""Fields of a phase that are added as integers."""


def together(recorder: RecordingMachine) -> tuple[tuple[Phase, ...], int | None]:
    """Return the phases of a machine with its background jobs, and the index of the phase after the last one."""
    jobs = list(_all(recorder))
    own = recorder.phases or [Phase(0.0)]
    if not any(job.phases for job in jobs):
        return tuple(own), recorder.repeats
    end = FOREVER if recorder.endless else sum(phase.seconds for phase in own)
    tracks = [_written_out(own, recorder.repeats, 0.0), *(_written_out(j.phases, j.repeats, j.start) for j in jobs)]
    changes: dict[float, list[tuple[int, Phase | None]]] = {}
    for number, track in enumerate(tracks):
        for mark, phase in track:
            if mark < end:
                changes.setdefault(mark, []).append((number, phase))
    if not changes:
        return tuple(own), None
    marks = sorted(changes)
    running, found = _Running([0, *(job.number for job in jobs)]), []
    for mark, following in zip(marks, [*marks[1:], end], strict=True):
        for number, phase in changes[mark]:
            running.change(number, phase)
        found.append(running.phase(following - mark))
    return tuple(found), None


def _all(recorder: RecordingMachine) -> Iterator[RecordingMachine]:
    for job in recorder.jobs:
        yield job
        yield from _all(job)


def _written_out(phases: list[Phase], repeats: int | None, start: float) -> list[tuple[float, Phase | None]]:
    """Return (start, phase) of every phase, with loops unrolled; None = the machine has ended."""
    found: list[tuple[float, Phase | None]] = []
    rounds = [phases] + ([phases[repeats:]] * MAX_ROUNDS if repeats is not None else [])
    for one in (phase for round_ in rounds for phase in round_):
        found.append((start, one))
        start += one.seconds
    if start != FOREVER:
        found.append((start, found[-1][1] if repeats is not None and found else None))
    return found


class _Running:
    """The resources that the phases running at one moment use together.

    Args:
        numbers: the number of each track's machine.

    A change costs as much as one phase does: a loop that forks makes as many tracks as processes, each with marks.
    """

    def __init__(self, numbers: list[int]) -> None:
        self._numbers = numbers
        self._phases: dict[int, Phase] = {}
        self._totals = dict.fromkeys(COUNTED, 0)
        self._busy: dict[int, float] = {}
        self._tmpfs: dict[int, tuple[tuple[str, int], ...]] = {}

    def change(self, track: int, phase: Phase | None) -> None:
        """Set the phase that a track is in; None = it has ended."""
        before = self._phases.pop(track, None)
        for one, sign in ((before, -1), (phase, 1)):
            if one is not None:
                for name in COUNTED:
                    self._totals[name] += sign * getattr(one, name)
        self._busy.pop(track, None)
        self._tmpfs.pop(track, None)
        if phase is not None:
            self._phases[track] = phase
            if phase.cpus:
                self._busy[track] = phase.cpus
            if phase.tmpfs:
                self._tmpfs[track] = phase.tmpfs

    def phase(self, seconds: float) -> Phase:
        """Return one phase of that length that uses as much."""
        if not self._phases:
            return Phase(seconds)
        sizes: dict[str, int] = {}
        for files in self._tmpfs.values():
            for name, size in files:
                sizes[name] = sizes.get(name, 0) + size
        cpus = sum(self._busy[track] for track in sorted(self._busy))  # in one order: sums of floats depend on it
        return Phase(seconds, cpus, **self._totals, tmpfs=tuple(sorted(sizes.items())), forked=self._forked())

    def _forked(self) -> Child | None:
        """Return the largest child: the program of a track, or a whole background job that runs none."""

        def size(track: int) -> int:
            phase = self._phases[track]
            return phase.memory - (phase.forked.rest if phase.forked is not None else 0)

        largest = max(self._phases, key=size)
        if not self._numbers[largest] and self._phases[largest].forked is None:
            return None
        return Child(self._totals["memory"] - size(largest), self._numbers[largest])
