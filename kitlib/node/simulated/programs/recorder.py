"""The machine on which a container's command is run once before its start, to record its resource usage over time.

Time passes only in calls of `spend`. Every interval becomes a phase of the workload, with the bytes of its files at
that time: on the container's own layer (`disk`), in volumes on the node's disk (`volume`), in a tmpfs, in the page
cache. Files that were read twice are active page cache; written ones are inactive until they are read.

A recording can be repeated with kills: a program that SIGKILL ends at a time, so that its shell goes on with exit code
137. Until then it is the same recording, because a run depends on nothing else.

Sources: mm/swap.c mark_page_accessed; mm/filemap.c (only reads activate since 4.7, bbddabe2e436).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from kitlib.node.common.workload import FOREVER, IDLE_MEMORY, KILLING, Child, Phase
from kitlib.node.simulated.programs.registry import COPY, LARGEST, SMALL, growing
from kitlib.node.simulated.shell.machine import ChildKilled, Data, Forever, Machine, NotFollowed, ProgramError, TimeUp
from kitlib.node.simulated.swap import WRITE

MAX_PHASES = 4000
"""Maximum number of phases of a command; the last one continues."""
STEPS = 60
"""Number of phases for the growth of one file."""
LOGS = 5 * 10 * 2**20
"""Maximum bytes of a container's log: five files of 10 MiB. Source: containerLogMaxSize, containerLogMaxFiles."""
SHORT_ROUND = 0.1
"""Seconds: a loop with shorter iterations is recorded by its average usage."""
DEV_SHM = 64 * 2**20
"""Bytes of /dev/shm without a volume there. Source: containerd WithDefaultSandboxShm, shm size 65536k."""
STEADY = 20
"""Number of equal iterations with a kill after which each further one is assumed to have it too."""
LONGEST = 1e12
"""Maximum duration of a phase in seconds; `sleep` with more counts as endless."""
ROUNDING = 1e-6
"""Seconds: a kill this close to the end of a phase belongs to the next one."""
_SOURCES = {"/dev/zero": FOREVER, "/dev/urandom": FOREVER, "/dev/random": FOREVER, "/dev/full": FOREVER}
_SINKS = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")


class Mount(NamedTuple):
    """A file system in a container.

    Attributes:
        path: the mount path.
        kind: `disk` of the node, `tmpfs`, or `remote` (a claim), which takes none of the node's disk.
        name: the volume's name; "" = /dev/shm.
        size: size of a tmpfs in bytes; None = unlimited.
    """

    path: str
    kind: Literal["disk", "tmpfs", "remote"]
    name: str
    size: int | None = None


@dataclass
class File:
    """A file of a container.

    Attributes:
        mount: the file system of the file; None = the container's own layer.
        data: the known beginning of the content, and its size.
        cached: bytes in the page cache.
        reads: the number of complete reads of the file.
    """

    mount: Mount | None
    data: Data = field(default_factory=Data)
    cached: float = 0.0
    reads: int = 0


class FileChange(NamedTuple):
    """A write of a file, or with None its removal, at a time."""

    time: float
    path: str
    data: Data | None


class LoopMark(NamedTuple):
    """The state at the start of a loop's iteration."""

    phase: int
    now: float
    state: tuple[object, ...]
    changes: int
    output: int


class RecordingMachine:
    """A machine that records. Implements `shell.machine.Machine`.

    Args:
        mounts: file systems in the container beside its own layer.
        text: contents of `hostname` and other small files, by path.
        start: seconds since the container's start.
        parent: the machine that started the background job.
        kills: times at which the running program is killed, by number of the machine.

    Attributes:
        number: its number in the order of `fork`; 0 = the container's command.
        phases: the resource usage, phase by phase.
        changes: changes of files, in order.
        repeats: index of the phase that follows the last one; None = the recording ends.
        program: the name of the last program that took time.
        jobs: recorders of background jobs.
        output: (seconds, text) of standard output and standard error.
        output_loop: (index in `output`, seconds of an iteration) of the endless loop with output; None = no loop.
    """

    def __init__(
        self,
        mounts: Sequence[Mount] = (),
        text: dict[str, str] | None = None,
        start: float = 0.0,
        parent: RecordingMachine | None = None,
        kills: Mapping[int, Sequence[float]] | None = None,
    ) -> None:
        self._mounts, self._text, self._parent = tuple(mounts), text or {}, parent
        self.now, self.deadline, self._start = start, FOREVER, start
        self.phases: list[Phase] = []
        self.changes: list[FileChange] = []
        self.repeats: int | None = None
        self.program, self._entered = "", ""
        self.jobs: list[RecordingMachine] = []
        self.output: list[tuple[float, str]] = []
        self.output_loop: tuple[int, float] | None = None
        self._files: dict[str, File] = {}
        self._held, self._logs, self._barrier = 0.0, 0.0, 0
        self._all_kills: Mapping[int, Sequence[float]] = kills or {} if parent is None else parent._all_kills
        self._numbers: itertools.count[int] = itertools.count() if parent is None else parent._numbers
        self.number, self.parents = next(self._numbers), 0
        self._in_a_row, self._killed_took = 0, 0.0
        self._kills, self._killed = list(self._all_kills.get(self.number, ())), -1.0

    pid = 1

    def running(self) -> str:
        """Reject the question: the recorded command's own programs would have to be known by name."""
        raise NotFollowed("processes by name")

    def signal(self, number: int) -> None:
        """Do nothing: the command is process 1 itself, which ignores its own signals without a trap."""

    def enter(self, program: str) -> None:
        """Note the name of the running program."""
        self._entered = program

    @property
    def start(self) -> float:
        """The start in seconds since the container's start."""
        return self._start

    # Time.

    def spend(self, seconds: float, *, cpus: float = 0.0, memory: int | None = None, pids: int = 1) -> None:
        """Record a phase."""
        if seconds > LONGEST:
            seconds = FOREVER
        killed = bool(self._kills) and self._kills[0] < self.now + seconds - ROUNDING
        if killed:
            seconds = max(self._kills.pop(0) - self.now, 0.0) + KILLING
        late = not killed and self.now + seconds > self.deadline
        if late:
            seconds = max(self.deadline - self.now, 0.0)
        if seconds > 0:
            self.program = self._entered or self.program
            own = IDLE_MEMORY if memory is None else memory
            self._record(self._phase(seconds, cpus, own + int(self._held), pids))
            self.now += seconds
        if killed:
            self._killed = self.now
            raise ChildKilled
        if late:
            raise TimeUp
        if seconds == FOREVER:
            raise Forever
        if len(self.phases) >= MAX_PHASES:
            self._record(self.phases[-1]._replace(seconds=FOREVER))
            raise Forever

    def _record(self, phase: Phase) -> None:
        if len(self.phases) > self._barrier and self.phases[-1]._replace(seconds=phase.seconds) == phase:
            self.phases[-1] = phase._replace(seconds=self.phases[-1].seconds + phase.seconds)
        else:
            self.phases.append(phase)

    def _phase(self, seconds: float, cpus: float, memory: int, pids: int) -> Phase:
        disk = volume = cache = active = inodes = 0
        shared: dict[str, int] = {}
        for file in self._files.values():
            size, kind = int(file.data.size), file.mount.kind if file.mount is not None else "layer"
            if kind == "tmpfs":
                assert file.mount is not None
                shared[file.mount.name] = shared.get(file.mount.name, 0) + size
                continue
            disk += size if kind == "layer" else 0
            volume += size if kind == "disk" else 0
            cache += int(file.cached)
            active += int(file.cached) if file.reads > 1 else 0
            inodes += kind != "remote"
        tmpfs = tuple(sorted((name, size) for name, size in shared.items() if size))
        shell = SMALL + int(self._held)
        return Phase(
            seconds,
            cpus,
            min(memory, 2**61),
            cache=cache,
            pids=pids,
            disk=disk,
            logs=int(self._logs),
            volume=volume,
            inodes=inodes,
            active=active,
            tmpfs=tmpfs,
            # of equal processes the older one is killed (`oom.choose`), which is the shell
            forked=Child(shell, self.number) if self.parents and memory > 2 * shell else None,
        )

    def hold(self, size: float) -> None:
        """Make the shell's variables take this many bytes."""
        if size >= LARGEST:
            growing(self, FOREVER)
        more = size - self._held
        self._held = size
        if more >= 2**20:
            self.spend(more / COPY, cpus=1.0)

    def fork(self) -> RecordingMachine:
        """Return the machine of a background job that starts now."""
        job = RecordingMachine(self._mounts, self._text, self.now, self)
        job.deadline = self.deadline
        self.jobs.append(job)
        return job

    def end(self, moment: float) -> bool:
        """End the recording of a background job at this time, and return whether it still ran."""
        if not self.endless and self.now <= moment:
            return False
        left, phases = moment - self._start, list[Phase]()
        rounds = itertools.cycle(self.phases[self.repeats :]) if self.repeats is not None else ()
        for phase in itertools.chain(self.phases, rounds):
            if left <= 0 or len(phases) >= MAX_PHASES:
                break
            phases.append(phase._replace(seconds=min(phase.seconds, left)))
            left -= phase.seconds
        self.phases, self.repeats, self.now = phases, None, moment
        return True

    def wait(self, job: Machine | None = None) -> None:
        """Wait for a background job, or all of them."""
        ends = [FOREVER if candidate.endless else candidate.now for candidate in self.jobs if job in (None, candidate)]
        self.spend(max([*ends, self.now]) - self.now)

    @property
    def endless(self) -> bool:
        """Whether the recording never ends."""
        return self.repeats is not None or bool(self.phases and self.phases[-1].seconds == FOREVER)

    # Loops.

    def mark(self) -> LoopMark:
        """Return the current state."""
        self._barrier = len(self.phases)
        files = tuple((path, file.data.size, min(file.reads, 2)) for path, file in self._files.items())
        return LoopMark(
            len(self.phases), self.now, (files, self._held, self._logs // 65536), len(self.changes), len(self.output)
        )

    def repeat(self, since: object, changed: bool) -> None:
        """Record an endless loop if an iteration has left the state unchanged."""
        assert isinstance(since, LoopMark)
        now, took = self.mark(), self.now - since.now
        if self._killed <= since.now:
            self._in_a_row = 0
        else:
            self._in_a_row = self._in_a_row + 1 if abs(took - self._killed_took) < ROUNDING else 1
            self._killed_took = took
            if self._in_a_row < STEADY:  # the next iteration may need no kill
                return
        if self._kills and not changed and now.state == since.state and took:
            self._skip(since, took)
            return
        if changed or now.state != since.state:
            if not took:
                self.spend(0.001, cpus=1.0)
            return
        round_ = self.phases[since.phase :]
        self.output_loop = (since.output, took) if took else None
        if not took:
            self.spend(FOREVER, cpus=1.0)
        if (len(round_) == 1 or took < SHORT_ROUND) and self._killed <= since.now:
            cpus = sum(step.cpus * step.seconds for step in round_) / took
            memory = max(step.memory for step in round_)
            last = max(round_, key=lambda step: step.seconds)
            self.phases.append(last._replace(seconds=FOREVER, cpus=round(cpus, 6), memory=memory))
        else:
            self.repeats = since.phase
        raise Forever

    def _skip(self, since: LoopMark, took: float) -> None:
        """Record all whole iterations of an unchanging loop before the next kill as one phase, with their output."""
        rounds = int((self._kills[0] + ROUNDING - self.now) / took)
        lines = self.output[since.output :]
        for number in range(1, rounds + 1 if lines else 1):
            if len(self.output) >= MAX_PHASES:
                break
            self.output += [(at + number * took, text) for at, text in lines]
        if rounds > 0:
            self._record(self.phases[-1]._replace(seconds=rounds * took))
            self.now += rounds * took

    # Files.

    def _mount(self, path: str) -> Mount | None:
        found = [m for m in self._mounts if path == m.path or path.startswith(m.path.rstrip("/") + "/")]
        if found:
            return max(found, key=lambda mount: len(mount.path))
        return Mount("/dev/shm", "tmpfs", "", DEV_SHM) if path.startswith("/dev/shm/") else None

    def _find(self, path: str) -> File | None:
        found = self._files.get(path)
        if found is None and self._parent is not None:
            return self._parent._find(path)
        return found

    def read(self, path: str) -> Data:
        """Return a file's content; the second read makes its page cache active."""
        if path in _SOURCES:
            return Data("", _SOURCES[path])
        if path in _SINKS:
            return Data()
        file = self._find(path)
        if file is None:
            if path in self._text:
                return Data(self._text[path])
            raise ProgramError("No such file or directory")
        file.reads, file.cached = file.reads + 1, file.data.size
        return file.data

    def exists(self, path: str) -> bool:
        """Return whether a path exists."""
        return self._find(path) is not None or path in self._text or self.listing(path) is not None

    def listing(self, path: str) -> list[str] | None:
        """Return the known names below a directory."""
        inside = path.rstrip("/") + "/"
        names = {
            name.removeprefix(inside).partition("/")[0]
            for name in (*self._files, *self._text)
            if name.startswith(inside)
        }
        places = {mount.path for mount in self._mounts}
        return sorted(names) if names or path in places or path in ("/", "/tmp", "/dev/shm") else None

    def write(self, path: str, data: Data, *, append: bool = False, copied: bool = True) -> None:
        """Write a file step by step, at the speed of its file system."""
        if path in _SINKS:
            if data.size:
                self._copy(data.size)
            return
        mount = self._mount(path)
        file = self._files.get(path)
        if file is None or not append:
            self._files[path] = file = File(mount)
            self._note(path, file.data)
        if data.size:
            self._grow(path, file, data, copied)

    def _note(self, path: str, data: Data | None) -> None:
        self.changes.append(FileChange(self.now, path, data))

    def _grow(self, path: str, file: File, data: Data, copied: bool) -> None:
        room = self._room(file)
        wanted = min(data.size, room)
        rate, cpus = (COPY, 1.0) if file.mount is not None and file.mount.kind == "tmpfs" else (WRITE, 0.2)
        done = 0.0
        step = max(wanted / STEPS, rate * 0.1) if wanted != FOREVER else rate
        while done < wanted:
            part = min(step, wanted - done)
            if wanted == FOREVER and done >= STEPS * rate:  # the disk is assumed to be larger than a minute's writes
                part = done
            done += part
            file.data = (
                Data(data.text[: int(done)], done - len(data.text[: int(done)]))
                if not file.data.size
                else (file.data.plus(Data("", part) if data.more else data.first(done)))
            )
            file.cached += part if copied else 0.0
            if copied and part >= 2**20:
                self.spend(part / rate, cpus=cpus)
            if done > 2.0**50:
                self.spend(FOREVER, cpus=cpus)
        self._note(path, file.data)
        if room < data.size:
            raise ProgramError("No space left on device")

    def _room(self, file: File) -> float:
        """Return bytes until the file's tmpfs is full."""
        mount = file.mount
        if mount is None or mount.kind != "tmpfs" or mount.size is None:
            return FOREVER
        return max(mount.size - self._taken(mount.name), 0.0)

    def _taken(self, name: str) -> float:
        own = sum(file.data.size for file in self._files.values() if file.mount is not None and file.mount.name == name)
        return own + (self._parent._taken(name) if self._parent is not None else 0.0)

    def _copy(self, size: float) -> None:
        if size == FOREVER or size >= 2**20:
            self.spend(size / COPY if size != FOREVER else FOREVER, cpus=1.0)

    def remove(self, path: str) -> None:
        """Remove a file, or all files below a directory."""
        inside = path.rstrip("/") + "/"
        for file in [name for name in self._files if name == path or name.startswith(inside)]:
            del self._files[file]
            self._note(file, None)

    def log(self, data: Data, *, error: bool = False) -> None:
        """Write standard output to the container's log, which is rotated."""
        if data.text and len(self.output) < MAX_PHASES:
            self.output.append((self.now, data.text))
        self._logs = min(self._logs + data.size, LOGS)
        self._copy(data.size)
