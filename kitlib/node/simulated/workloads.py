"""What a container's command does to a machine: CPU and memory over time, read off the command line itself.

The same manifests run on a real node, so the commands are real ones: `sleep`, `md5sum /dev/urandom`, `stress-ng` with
the options that matter here, and `sh -c` with several of them one after another. A command that is not known idles
with little memory, like a server without requests; it never ends by itself. `trap 'sleep 3; exit' TERM` in a script
says how long it takes to end when it is asked to, `trap '' TERM` that it does not listen; others end at once.

Or a curve can be declared: the annotation `kitlib.dev/workload.<container>` holds phases, `10s cpu=0.5 memory=100Mi;
cpu=1` (the last one without a duration goes on for ever; `exit=3` ends the process with that code). Besides cpu= and
memory= a phase may say cache= (page cache), pids= (processes and threads), disk=, logs=, volume= (bytes written to the
container's own layer, its log, the pod's local volumes) and inodes= (files made).
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kitlib.api.core import Container, Pod
from kitlib.api.errors import KitError
from kitlib.api.resource import Quantity, QuantityError

ANNOTATION = "kitlib.dev/workload."
IDLE_MEMORY = 3 * 2**20
"""Bytes that a small process needs for itself."""
FOREVER = math.inf
BOMB = 32768
"""As many processes as a fork bomb tries to be: what pid_max was for long."""
_BOMB = re.compile(r"(\w+|:)\(\)\{\1\|\1&;?\}")
_TRAP = re.compile(r"""trap\s+(?P<quote>['"])(?P<script>.*?)(?P=quote)\s+(?:SIG)?TERM\b""")
_SUFFIX = {"b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_TIME = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class WorkloadError(KitError, ValueError):
    """A declared workload that cannot be read."""


class Phase(NamedTuple):
    """What a process wants for a while.

    Attributes:
        seconds: how long; infinite = until it is killed.
        cpus: CPUs that it would use if nobody were in its way (threads that are always busy).
        memory: bytes that it touches and keeps.
        cache: bytes of page cache that it fills; they can be given back.
        pids: how many processes and threads it is, itself included.
        disk, logs, volume: bytes that it has written to its own layer, its log, and the pod's local volumes.
        inodes: files that it has made.
    """

    seconds: float
    cpus: float = 0.0
    memory: int = IDLE_MEMORY
    cache: int = 0
    pids: int = 1
    disk: int = 0
    logs: int = 0
    volume: int = 0
    inodes: int = 0


class Workload(NamedTuple):
    """What a process does.

    Attributes:
        phases: in order. exit_code: with which it then ends. name: that `ps` shows.
        tidying: seconds that it takes to end after SIGTERM; infinite = it does not listen.
    """

    phases: tuple[Phase, ...]
    exit_code: int = 0
    name: str = "app"
    tidying: float = 0.0

    @property
    def ends(self) -> bool:
        """Whether it ends by itself."""
        return self.phases[-1].seconds != FOREVER


IDLE = Workload((Phase(FOREVER),))


def workload_of(pod: Pod, container: Container) -> Workload:
    """What a container of a pod does: as declared by annotation, else as its command says.

    Raises:
        WorkloadError: for an annotation that cannot be read.
    """
    declared = pod.metadata.annotations.get(ANNOTATION + container.name)
    if declared is not None:
        return declared_workload(declared, f"{pod.key}: metadata.annotations[{ANNOTATION}{container.name}]")
    return command_workload([*container.command, *container.args])


def declared_workload(text: str, where: str = "workload") -> Workload:
    """Read phases: `10s cpu=0.5 memory=100Mi; cpu=1 exit=0`."""
    phases: list[Phase] = []
    exit_code, before = 0, Phase(FOREVER)
    for part in text.split(";"):
        seconds, values = FOREVER, before._asdict()
        for word in part.split():
            name, mark, value = word.partition("=")
            try:
                if not mark:
                    seconds = _seconds(name)
                elif name == "cpu":
                    values["cpus"] = Quantity(value).milli_value() / 1000
                elif name in ("memory", "cache", "disk", "logs", "volume"):
                    values[name] = Quantity(value).value()
                elif name in ("pids", "inodes"):
                    values[name] = _count(value, 1 if name == "pids" else 0)
                elif name == "exit":
                    exit_code = int(value)
                else:
                    raise ValueError(
                        "known are a duration, cpu=, memory=, cache=, pids=, disk=, logs=, volume=, inodes=, exit="
                    )
            except (ValueError, QuantityError) as error:
                raise WorkloadError(f"{where}: Invalid value: {word!r}: {error}") from None
        before = Phase(**{**values, "seconds": seconds})
        phases.append(before)
    if any(phase.seconds == FOREVER for phase in phases[:-1]):
        raise WorkloadError(f"{where}: only the last phase may have no duration")
    return Workload(tuple(phases), exit_code)


def _count(text: str, least: int) -> int:
    number = Quantity(text).value()
    if number < least:
        raise ValueError(f"must be at least {least}")
    return number


def command_workload(command: Sequence[str]) -> Workload:
    """What a command line does."""
    words = [word for word in command if word]
    while words and words[0] in ("exec", "nice", "nohup", "setsid"):
        words = words[1:]
    if not words:
        return IDLE
    name = words[0].rpartition("/")[2]
    if name in ("sh", "bash", "ash", "dash") and "-c" in words:
        return _script(" ".join(words[words.index("-c") + 1 : words.index("-c") + 2]), name)
    if name == "sleep":
        seconds = sum(_seconds(word) for word in words[1:]) if words[1:] else 0.0
        return Workload((Phase(seconds, memory=IDLE_MEMORY // 3),), name=name)
    if name in ("true", "echo", "exit", ":"):
        code = int(words[1]) if name == "exit" and len(words) > 1 and words[1].isdigit() else 0
        return Workload((Phase(0.0),), exit_code=code, name=name)
    if name == "false":
        return Workload((Phase(0.0),), exit_code=1, name=name)
    if name in ("md5sum", "sha256sum", "yes", "openssl", "gzip"):
        return Workload((Phase(FOREVER, cpus=1.0),), name=name)
    if name == "dd":
        return Workload((Phase(FOREVER, cpus=1.0, cache=64 * 2**20),), name=name)
    if name == "stress-ng":
        return _stress(words[1:])
    if name == "tail":
        return IDLE._replace(name=name)
    return IDLE._replace(name=name[:15])


def _script(text: str, shell: str) -> Workload:
    """`a; b; exec c`, `while true; do … done` and `a & b`: one after another, those with "&" at the same time."""
    trap = _TRAP.search(text)
    if trap is not None:
        rest = text[: trap.start()] + text[trap.end() :]
        return _script(rest.strip(" ;\n"), shell)._replace(name=shell, tidying=_tidying(trap["script"]))
    if _BOMB.search(text.replace(" ", "")):
        return Workload((Phase(FOREVER, cpus=1.0, pids=BOMB),), name=shell)
    if text.strip().startswith("while") or text.strip().startswith("for (("):
        busy = not any(word in text for word in ("sleep", "read"))
        return Workload((Phase(FOREVER, cpus=1.0 if busy else 0.0),), name=shell)
    phases: list[Phase] = []
    background: list[Workload] = []
    code, name = 0, shell
    for part in text.replace("&&", ";").replace("\n", ";").split(";"):
        pieces = [piece for piece in part.split("&") if piece.strip()]
        for piece in pieces:
            if piece.strip() == "wait" and background:
                return _together([*background, *([Workload(tuple(phases), code, name)] if phases else [])])
            try:
                one = command_workload(shlex.split(piece))
            except ValueError:
                one = IDLE
            if piece is not pieces[-1] or part.rstrip().endswith("&"):
                background.append(one)
                continue
            phases += one.phases
            code, name = one.exit_code, one.name
            if not one.ends:
                return _together([Workload(tuple(phases), code, name), *background])
    if not phases and background:
        return _together(background)
    return _together([Workload(tuple(phases) or (Phase(0.0),), code, name), *background])


def _tidying(script: str) -> float:
    """How long the script of a trap takes; one that is empty lets the signal pass unheard."""
    return sum(phase.seconds for phase in _script(script, "sh").phases) if script.strip() else FOREVER


def _together(several: Sequence[Workload]) -> Workload:
    """Several at once, as one process: demands add up."""
    if len(several) == 1:
        return several[0]
    marks = sorted({m for one in several for m in _marks(one)})
    phases, start = [], 0.0
    for mark in [m for m in marks if m > 0]:
        parts = [_at(one, start) for one in several]
        phases.append(
            Phase(
                mark - start,
                sum(p.cpus for p in parts),
                sum(p.memory for p in parts),
                sum(p.cache for p in parts),
                sum(p.pids for p in parts),
                *(sum(getattr(p, name) for p in parts) for name in ("disk", "logs", "volume", "inodes")),
            )
        )
        start = mark
    return Workload(tuple(phases), several[0].exit_code, several[0].name)


def _marks(one: Workload) -> Iterable[float]:
    total = 0.0
    for phase in one.phases:
        total += phase.seconds
        yield total


def _at(one: Workload, moment: float) -> Phase:
    start = 0.0
    for phase in one.phases:
        if moment < start + phase.seconds:
            return phase
        start += phase.seconds
    return Phase(0.0, memory=0, pids=0)


def _stress(words: Sequence[str]) -> Workload:
    """stress-ng: --cpu N [--cpu-load P], --vm N --vm-bytes B, --timeout T; long and short options."""
    options = _options(words)
    busy = _number(options.get("cpu", "0"))
    cpus = busy * _number(options.get("cpu-load", "100")) / 100
    memory, cache, disk = IDLE_MEMORY, 0, 0
    workers = _number(options.get("vm", "0"))
    if workers:
        memory += int(_bytes(options.get("vm-bytes", "256m")))
        cpus += 0.0 if "vm-hang" in options else workers
    if "hdd" in options:
        cache = disk = int(_bytes(options.get("hdd-bytes", "1g")))
        cpus += _number(options["hdd"]) * 0.2
    seconds = _seconds(options["timeout"]) if "timeout" in options else FOREVER
    # the parent, one process a worker, and for memory one more that may be killed in its place
    pids = 1 + int(busy + 2 * workers + _number(options.get("hdd", "0")) + _number(options.get("fork", "0")) * 2)
    return Workload((Phase(seconds or FOREVER, cpus, memory, cache, pids, disk),), name="stress-ng")


_SHORT = {"-c": "cpu", "-l": "cpu-load", "-m": "vm", "-t": "timeout", "-d": "hdd"}


def _options(words: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        key = _SHORT.get(name, name.removeprefix("--"))
        if not equals:
            value = rest.pop(0) if rest and not rest[0].startswith("-") else ""
        found[key] = value
    return found


def _number(text: str) -> float:
    try:
        return float(text or 1)
    except ValueError:
        return 1.0


def _bytes(text: str) -> float:
    unit = text[-1:].lower()
    return float(text[:-1]) * _SUFFIX[unit] if unit in _SUFFIX else float(text or 0)


def _seconds(text: str) -> float:
    """`10`, `10s`, `2m`, `infinity`."""
    if text.startswith("inf"):
        return FOREVER
    unit = text[-1:]
    return float(text[:-1]) * _TIME[unit] if unit in _TIME else float(text)
