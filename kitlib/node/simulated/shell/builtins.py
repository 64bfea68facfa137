"""The commands that are built into a shell.

Source: POSIX.1-2017, XCU 2.14 Special Built-In Utilities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from kitlib.node.simulated.shell.machine import KEPT_TEXT, Data, Machine, Result, ShellExit
from kitlib.node.simulated.shell.parser import parse
from kitlib.node.simulated.shell.tree import Script


class Jump(Exception):
    """A jump: `break` or `continue` with the number of loops to leave, or `return` from a function."""

    def __init__(self, kind: str, levels: int = 1) -> None:
        super().__init__(kind)
        self.kind, self.levels = kind, levels


class Streams:
    """The destinations of a command's output."""

    def __init__(self, out: Callable[[Data], None], err: Callable[[Data], None]) -> None:
        self.out, self.err = out, err

    def take(self, result: Result) -> None:
        """Write a command's output to its destinations."""
        if result.out.size:
            self.out(result.out)
        if result.err:
            self.err(Data(result.err))


class ShellState(Protocol):
    """The state of a shell that the commands change; see `interpreter.Shell`."""

    machine: Machine
    variables: dict[str, Data]
    arguments: list[str]
    traps: dict[str, str]
    code: int
    quitting: bool
    waiting: bool
    replaced: bool
    jobs: list[Machine]

    def script(self, script: Script, streams: Streams) -> None: ...
    def invoke(self, words: Sequence[str], streams: Streams, stdin: Data) -> Result: ...
    def program(self, words: Sequence[str], machine: Machine, stdin: Data) -> Result: ...
    def calculate(self, text: str) -> int: ...


def _number(words: Sequence[str], otherwise: int) -> int:
    return int(words[0]) if words and words[0].isdigit() else otherwise


def _exit(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    raise ShellExit(_number(words, shell.code) & 255)


def _jump(kind: str) -> Callable[[ShellState, Sequence[str], Streams], Result]:
    def jump(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
        if kind == "return":
            shell.code = _number(words, shell.code)
        raise Jump(kind, _number(words, 1))

    return jump


def _trap(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    for signal in words[1:]:
        name = {"15": "TERM", "2": "INT", "0": "EXIT"}.get(signal, signal.removeprefix("SIG"))
        if words[0] == "-":
            shell.traps.pop(name, None)
        else:
            shell.traps[name] = words[0]
    return Result()


def _export(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    for word in words:
        name, equals, value = word.partition("=")
        if equals:
            shell.variables[name] = Data(value)
    return Result()


def _set(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    for word in words:
        if word.startswith("-") and "e" in word and word != "-o":
            shell.quitting = True
        elif word.startswith("+") and "e" in word:
            shell.quitting = False
    return Result()


def _wait(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    shell.waiting = True
    shell.machine.wait()
    return Result()


def _exec(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    if not words:
        return Result()
    for name in [name for name, script in shell.traps.items() if script]:  # ignored signals stay ignored
        del shell.traps[name]
    shell.replaced = True
    for name in [name for name, value in shell.variables.items() if value.size >= KEPT_TEXT]:
        del shell.variables[name]
    shell.machine.hold(0)
    result = shell.program(words, shell.machine, Data())
    streams.take(result)
    raise ShellExit(result.code)


def _eval(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    shell.script(parse(" ".join(words)), streams)
    return Result(code=shell.code)


def _command(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    return shell.invoke(words, streams, Data()) if words else Result()


def _shift(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    del shell.arguments[: _number(words, 1)]
    return Result()


def _unset(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    for word in words:
        shell.variables.pop(word, None)
    return Result()


def _nothing(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    return Result()


def _let(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    value = 0
    for word in words:
        value = shell.calculate(word)
    return Result(code=int(not value))


def _kill(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    """End background jobs, by process id or as %1; process 1 ignores signals from inside without a handler.

    Source: kernel/signal.c sig_task_ignored (SIGNAL_UNKILLABLE), also for SIGKILL.
    """
    for word in words:
        if word.startswith("%") and word[1:].isdigit():
            job = int(word[1:]) - 1
        elif word.isdigit():
            job = int(word) - 2
        else:
            continue
        if 0 <= job < len(shell.jobs):
            shell.jobs[job].end(shell.machine.now)
    return Result()


def _read(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    """Read standard input, which is closed unless the container's manifest has `stdin: true`."""
    return Result(code=1)


_Builtin = Callable[[ShellState, Sequence[str], Streams], Result]
BUILTINS: dict[str, _Builtin] = {
    ":": _nothing,
    "break": _jump("break"),
    "cd": _nothing,
    "command": _command,
    "continue": _jump("continue"),
    "eval": _eval,
    "exec": _exec,
    "exit": _exit,
    "export": _export,
    "kill": _kill,
    "let": _let,
    "local": _export,
    "read": _read,
    "return": _jump("return"),
    "set": _set,
    "shift": _shift,
    "trap": _trap,
    "ulimit": _nothing,
    "umask": _nothing,
    "unset": _unset,
    "wait": _wait,
}
