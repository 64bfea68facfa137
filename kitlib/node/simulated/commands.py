"""What a container's command does: CPU and memory over time, read off the command line.

The same manifests run on a real node, so the commands are real ones: `sleep`, `md5sum /dev/urandom`, `stress-ng` with
the options that matter here, and `sh -c` with several of them one after another. An unknown command idles with little
memory, like a server without requests; it never ends by itself. `trap 'sleep 3; exit' TERM` in a script says how long
it takes to end when it is asked to, `trap '' TERM` that it ignores the signal; others end at once.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

from kitlib.api.core import Container, Pod
from kitlib.api.errors import shortened
from kitlib.node.common.workload import (
    ANNOTATION,
    FOREVER,
    IDLE,
    IDLE_MEMORY,
    Phase,
    Workload,
    check_workload,
    declared_workload,
    parse_seconds,
)

MAX_WORDS, MAX_LENGTH = 10_000, 20_000
"""Of a command that is looked into; a longer one is not, so that its quotes cost nothing."""
BOMB = 32768
"""Processes that a fork bomb tries to start: the kernel's default pid_max."""
_BOMB = re.compile(r"(?<!\w)(\w{1,64}|:)\(\)\{\1\|\1&;?\}")
_TRAP = re.compile(r"""trap\s+(?P<quote>['"])(?P<script>.{0,1000}?)(?P=quote)\s+(?:SIG)?TERM\b""")
_SUFFIX = {"b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def workload_of(pod: Pod, container: Container) -> Workload:
    """What a container of a pod does: as declared by annotation, else as its command says.

    Raises:
        WorkloadError: for an annotation that cannot be read.
    """
    declared = pod.metadata.annotations.get(ANNOTATION + container.name)
    if declared is not None:
        return declared_workload(declared, f"{pod.key}: metadata.annotations[{ANNOTATION}{container.name}]")
    return command_workload([*container.command, *container.args])


def command_workload(command: Sequence[str]) -> Workload:
    """What a command line does; one that cannot be followed idles, with a note that says so."""
    if len(command) > MAX_WORDS or sum(map(len, command)) > MAX_LENGTH:
        return _unknown(command, f"longer than {MAX_LENGTH} characters")
    try:
        return check_workload(_of_words(command))
    except RecursionError:
        return _unknown(command, "nested too deeply")
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError) as error:
        return _unknown(command, str(error) or type(error).__name__)


def _unknown(command: Sequence[str], why: str) -> Workload:
    shown = shortened(" ".join(map(str, command[:20])), 100)
    name = str(command[0]).rpartition("/")[2][:15] if command else "app"
    return IDLE._replace(name=name or "app", note=f"Unknown command {shown!r}: it idles ({shortened(why, 200)})")


def _of_words(command: Sequence[str]) -> Workload:
    words = [word for word in command if word]
    while words and words[0] in ("exec", "nice", "nohup", "setsid"):
        words = words[1:]
    if not words:
        return IDLE
    name = words[0].rpartition("/")[2]
    if name in ("sh", "bash", "ash", "dash") and "-c" in words:
        return _script(" ".join(words[words.index("-c") + 1 : words.index("-c") + 2]), name)
    if name == "sleep":
        seconds = sum(parse_seconds(word) for word in words[1:]) if words[1:] else 0.0
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
    code, name, note = 0, shell, ""
    for part in text.replace("&&", ";").replace("\n", ";").split(";"):
        pieces = [piece for piece in part.split("&") if piece.strip()]
        for piece in pieces:
            if piece.strip() == "wait" and background:
                return _together([*background, *([Workload(tuple(phases), code, name)] if phases else [])])
            try:
                one = _of_words(shlex.split(piece))
            except ValueError as error:  # an open quote, or a number that is none
                one = _unknown(piece.split(), str(error))
            if piece is not pieces[-1] or part.rstrip().endswith("&"):
                background.append(one)
                continue
            phases += one.phases
            code, name, note = one.exit_code, one.name, note or one.note
            if not one.ends:
                return _together([Workload(tuple(phases), code, name, note=note), *background])
    if not phases and background:
        return _together(background)
    return _together([Workload(tuple(phases) or (Phase(0.0),), code, name, note=note), *background])


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
    note = next((one.note for one in several if one.note), "")
    return Workload(tuple(phases), several[0].exit_code, several[0].name, note=note)


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
    seconds = parse_seconds(options["timeout"]) if "timeout" in options else FOREVER
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
