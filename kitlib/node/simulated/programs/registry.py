"""The table of programs by name: their reads, writes and resource usage over time.

A program is a function of its call (`shell/machine.py`), the same for a container's own command, `kubectl exec` and
exec probes; the modules beside this one register theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from kitlib.node.common.workload import IDLE_MEMORY, TERMINATED
from kitlib.node.simulated.shell.machine import FOREVER, Call, Data, Machine, Program, ProgramError, Result
from kitlib.node.simulated.swap import WORK

COPY = WORK
"""Speed of one CPU that copies memory, in bytes a second."""
SMALL = IDLE_MEMORY // 3
"""Bytes of a program that only waits or copies."""
_STEP = 100 * 2**20
LARGEST = 2**45
"""More bytes than any machine has: growth beyond them counts as endless."""
_SUFFIX = {"": 1, "b": 1, "c": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([bckmgtp]?)(i?b)?", re.IGNORECASE)
GO_EXIT = 2
"""Exit code of a program in Go without a handler of its own: the runtime's raises the signal again, which the kernel
discards for process 1, and exits. Source: Go's runtime/signal_unix.go dieFromSignal."""
REPLACING = ("env", "nice", "nohup", "setsid", "ionice", "stdbuf", "chrt", "taskset")
"""Programs that replace themselves by the program in their arguments (exec)."""
FORWARDING = ("tini", "dumb-init", "timeout", "sudo")
"""Programs that pass SIGTERM on to their child."""
_PROGRAMS: dict[str, Program] = {}
_ON_SIGTERM: dict[str, int] = {}


def program(*names: str, on_sigterm: int | None = None) -> Callable[[Program], Program]:
    """Register a function as the program of these names; a name with a slash means that path only.

    Args:
        names: the names of the program.
        on_sigterm: the exit code of the program's own handler of SIGTERM; None = it installs no handler.
    """

    def register(function: Program) -> Program:
        for name in names:
            _PROGRAMS[name] = function
            if on_sigterm is not None:
                _ON_SIGTERM[name] = on_sigterm
        return function

    return register


def on_sigterm(process: Sequence[str]) -> int | None:
    """Return the exit code of process 1 after SIGTERM; None = it has no handler, so the signal has no effect.

    An unknown program counts as a server, which has a handler.

    Args:
        process: names of the programs that process 1 has executed, each started by the one before.

    Source: pid_namespaces(7); kernel/signal.c sig_task_ignored.
    """
    passed_on = False
    for name in process:
        last = name.rpartition("/")[2]
        if last in FORWARDING:  # its child is not process 1: the kernel's default action ends it
            passed_on = True
        elif last not in REPLACING:
            code = _ON_SIGTERM.get(name, _ON_SIGTERM.get(last)) if find(name) is not None else TERMINATED
            return TERMINATED if code is None and passed_on else code
    return TERMINATED if passed_on else None


def find(name: str) -> Program | None:
    """Return the program of a name or path; None = unknown."""
    return _PROGRAMS.get(name) or _PROGRAMS.get(name.rpartition("/")[2])


def names() -> list[str]:
    """Return the names of all programs."""
    return sorted(name for name in _PROGRAMS if "/" not in name)


def size_of(text: str, *, decimal: bool = False) -> int:
    """Return bytes: `10`, `10M`, `10MiB`; with `decimal`, `10MB` counts in thousands, as coreutils do.

    Raises:
        ProgramError: the value has any other form.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ProgramError(f"invalid number: '{text[:40]}'")
    unit = found[2].lower()
    factor = _SUFFIX[unit]
    if decimal and unit and (found[3] or "").lower() == "b":
        factor = 1000 ** ["", "k", "m", "g", "t", "p"].index(unit) if unit in "kmgtp" else 1
    return min(int(float(found[1]) * factor), 2**60)


def copying(machine: Machine, size: float) -> None:
    """Spend the time that one CPU takes to copy this many bytes.

    Raises:
        Forever: the stream is endless.
    """
    if size == FOREVER:
        machine.spend(FOREVER, cpus=1.0)
    if size >= 2**20:
        machine.spend(size / COPY, cpus=1.0)


def growing(machine: Machine, size: float, start: int = SMALL) -> int:
    """Allocate memory step by step, as fast as it can be filled, and return the bytes at the end.

    Raises:
        Forever: the size is infinite; it is raised after `LARGEST` bytes.
    """
    held = start
    while held < min(start + size, LARGEST):
        step = min(max(_STEP, held // 4 if held > 2**34 else 0), int(min(start + size, 2 * LARGEST)) - held)
        held += step
        machine.spend(step / COPY, cpus=1.0, memory=held)
    if size == FOREVER or held >= LARGEST:
        machine.spend(FOREVER, cpus=1.0, memory=held)
    return held


def options(
    call: Call, with_value: str = "", long_with_value: tuple[str, ...] = ()
) -> tuple[dict[str, str], list[str]]:
    """Return options without dashes, and operands; letters in `with_value` take the rest of their word or the next."""
    found, operands, rest = dict[str, str](), list[str](), list(call.args)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return found, operands + rest
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if not equals and name in long_with_value and rest:
                value = rest.pop(0)
            found[name] = value
        elif word.startswith("-") and len(word) > 1:
            for at, letter in enumerate(word[1:], 1):
                if letter in with_value:
                    found[letter] = word[at + 1 :] or (rest.pop(0) if rest else "")
                    break
                found[letter] = ""
        else:
            operands.append(word)
    return found, operands


def done(text: str = "", code: int = 0) -> Result:
    """Return a result with this output."""
    return Result(Data(text), "", code)
