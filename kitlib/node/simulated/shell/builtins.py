"""The commands that are built into a shell, except for those that run other commands: the interpreter has these.

Source: POSIX.1-2017, XCU 2.14 Special Built-In Utilities.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kitlib.node.simulated.shell.expansion import BLANKS, separator
from kitlib.node.simulated.shell.machine import (
    Data,
    Input,
    Machine,
    NotFollowed,
    ProgramError,
    Result,
    ShellExit,
)


class Jump(Exception):
    """A jump: `break` or `continue` with the number of loops to leave, or `return` from a function."""

    def __init__(self, kind: str, levels: int = 1) -> None:
        super().__init__(kind)
        self.kind, self.levels = kind, levels


Write = Callable[[Data], None]


class Streams:
    """The standard input of a command and the destinations of its output.

    Attributes:
        others: destinations by file descriptor, from 3.
    """

    def __init__(
        self,
        out: Callable[[Data], None],
        err: Callable[[Data], None],
        stdin: Input,
        others: dict[int, Write] | None = None,
    ) -> None:
        self.out, self.err, self.stdin, self.others = out, err, stdin, dict(others or {})

    def copy(self) -> Streams:
        """Return the same destinations, which redirections then change for one command or subshell."""
        return Streams(self.out, self.err, self.stdin, self.others)

    def become(self, other: Streams) -> None:
        """Take over other destinations, as `exec` without a command does."""
        self.out, self.err, self.stdin, self.others = other.out, other.err, other.stdin, dict(other.others)

    def writer(self, descriptor: int) -> Write:
        """Return the destination of a file descriptor.

        Raises:
            ProgramError: the descriptor is not open for writing.
        """
        found = {1: self.out, 2: self.err, **self.others}.get(descriptor)
        if found is None:
            raise ProgramError(f"{descriptor}: Bad file descriptor")
        return found

    def set(self, descriptor: int, write: Write) -> None:
        """Redirect the output of a file descriptor."""
        if descriptor == 1:
            self.out = write
        elif descriptor == 2:
            self.err = write
        else:
            self.others[descriptor] = write

    def take(self, result: Result) -> None:
        """Write a command's output to its destinations."""
        if result.out.size:
            self.out(result.out)
        if result.err:
            self.err(Data(result.err))


class ShellState:
    """The state of a shell that the commands in this module change.

    Args:
        machine: the machine of the shell.
        environment: the initial variables.
        arguments: `$1`, `$2`, ….
        kind: the name of its program, such as `bash`.

    Attributes:
        code: the exit code of the last command.
        options: the options of `set` that are on, such as errexit.
        traps: scripts by signal, without SIG; "" = the signal is ignored.
        jobs: the machines of its background jobs; the first one's process id is 2.
        codes: the exit codes of these jobs.
        waiting: whether its script has a `wait`, which a signal interrupts.
    """

    def __init__(
        self, machine: Machine, environment: Mapping[str, str], arguments: Sequence[str] = (), kind: str = "sh"
    ) -> None:
        self.machine, self.arguments, self.kind = machine, list(arguments), kind
        self.variables = {key: Data(value) for key, value in environment.items()}
        self.code = 0
        self.options: set[str] = set()
        self.traps: dict[str, str] = {}
        self.jobs: list[Machine] = []
        self.codes: list[int] = []
        self.waiting = False


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
    for word in words[1:]:
        name = {"15": "TERM", "2": "INT", "0": "EXIT"}.get(word, word.removeprefix("SIG"))
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


class OptionWords(NamedTuple):
    """The option words of `set` or of a shell's command line.

    Attributes:
        rest: the words after them.
        letters: the letters that are no options of `set`, such as `c`.
        ended: whether `--` or `-` ends them.
    """

    rest: list[str]
    letters: str
    ended: bool


_LETTERS = {"e": "errexit", "u": "nounset"}


def take_options(words: Sequence[str], options: set[str], kind: str) -> OptionWords:
    """Read option words such as `-euo pipefail`, and switch the options.

    Args:
        words: the words, from the first option.
        options: the options that are on; changed.
        kind: the name of the shell. `dash` has no pipefail; `sh` may be any shell, so it has it.

    Raises:
        ProgramError: the shell does not have the option.

    Source: POSIX.1-2017, XCU sh OPTIONS, set; dash 0.5.12 options.c (optlist), minus_o.
    """
    rest, letters = list(words), ""
    while rest and rest[0][:1] in ("-", "+") and rest[0] != "+":
        word = rest.pop(0)
        if word in ("--", "-"):
            return OptionWords(rest, letters, True)
        if word.startswith("--"):
            del rest[: int(word in ("--rcfile", "--init-file"))]
            continue
        for letter in word[1:]:
            name = _LETTERS.get(letter, "")
            if letter in "oO":
                name = rest.pop(0) if rest else ""
            elif not name:
                letters += letter
            if name == "pipefail" and kind == "dash":
                raise ProgramError("Illegal option -o pipefail", 2)
            (options.add if word[0] == "-" else options.discard)(name)
    return OptionWords(rest, letters, False)


def _set(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    try:
        found = take_options(words, shell.options, shell.kind)
    except ProgramError as error:  # an error in a special builtin ends the shell
        streams.err(Data(f"{shell.kind}: set: {error}\n"))
        raise ShellExit(error.code) from None
    if found.rest or found.ended:
        shell.arguments[:] = found.rest
    return Result()


def _wait(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    """Wait for all background jobs, or for some; the exit code is that of the last one, 127 for an unknown one."""
    shell.waiting = True
    code = 0
    if not words:
        shell.machine.wait()
    for word in words:
        job = _job(shell, word)
        code = 127 if job is None else shell.codes[job]
        if job is not None:
            shell.machine.wait(shell.jobs[job])
    return Result(code=code)


def _job(shell: ShellState, word: str) -> int | None:
    """Return the number of a background job, named by its process id or as %1, from 0; None = there is none."""
    number = word.removeprefix("%")
    job = int(number) - (1 if word.startswith("%") else 2) if number.isdigit() else -1
    return job if 0 <= job < len(shell.jobs) else None


def _shift(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    del shell.arguments[: _number(words, 1)]
    return Result()


def _unset(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    for word in words:
        shell.variables.pop(word, None)
    return Result()


def _nothing(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    return Result()


def _jobs(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    """List the process ids of the background jobs, for `jobs -p`; the other forms are for people at a terminal."""
    ids = "".join(f"{number}\n" for number in range(2, 2 + len(shell.jobs)))
    return Result(Data(ids if "-p" in words else ""))


def kill(shell: ShellState, number: int, targets: Sequence[str]) -> Result:
    """Send a signal to background jobs, by process id or as %1, or to process 1 from another process.

    Process 1 ignores signals from inside without a handler.

    Source: kernel/signal.c sig_task_ignored (SIGNAL_UNKILLABLE), also for SIGKILL.
    """
    unknown = ""
    for word in targets:
        job = _job(shell, word)
        if job is not None:
            if number and shell.jobs[job].end(shell.machine.now):  # signal 0 only asks for the process
                shell.codes[job] = 128 + number
        elif word == "1":
            shell.machine.signal(number)
        elif word.isdigit():
            unknown += f"kill: ({word}) - No such process\n"
    return Result(err=unknown, code=int(bool(unknown)))


def _read(shell: ShellState, words: Sequence[str], streams: Streams) -> Result:
    """Read a line of the standard input into variables.

    The standard input of a container is empty, also with `stdin: true`, unless it is redirected or comes from a pipe.

    Source: POSIX.1-2017, XCU read; XCU 2.6.5 Field Splitting.
    """
    rest, raw = list(words), False
    while rest and rest[0].startswith("-") and len(rest[0]) > 1:
        option = rest.pop(0)
        if set(option) & set("adnN"):
            raise NotFollowed(f"read {option}")
        raw |= "r" in option
        del rest[: int(option[-1] in "ptui")]
    line, found = streams.stdin.line()
    while not raw and found and re.search(r"(?<!\\)(\\\\)*\\$", line):
        more, found = streams.stdin.line()
        line = line[:-1] + more
    if not raw:
        line = re.sub(r"\\(.)", r"\1", line)
    names = rest or ["REPLY"]
    values = split(line, shell.variables.get("IFS"), len(names)) if rest else [line]
    for name, value in zip(names, [*values, *[""] * len(names)], strict=False):
        shell.variables[name] = Data(value)
    return Result(code=int(not found))


def split(text: str, separators: Data | None, most: int) -> list[str]:
    """Split a text into at most so many fields; the last one is the rest with its separators.

    Args:
        text: the text.
        separators: the value of IFS; None = space, tab and newline.
        most: the number of fields.
    """
    marks = BLANKS if separators is None else separators.text
    white = "".join(mark for mark in marks if mark in BLANKS)
    text = text.strip(white) if white else text
    return re.split(separator(marks), text, maxsplit=most - 1) if marks and most > 1 else [text]


_Builtin = Callable[[ShellState, Sequence[str], Streams], Result]
BUILTINS: dict[str, _Builtin] = {
    ":": _nothing,
    "break": _jump("break"),
    "cd": _nothing,
    "continue": _jump("continue"),
    "exit": _exit,
    "export": _export,
    "jobs": _jobs,
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
SPECIAL = frozenset(
    (":", "break", "continue", "eval", "exec", "exit", "export", "return", "set", "shift", "trap", "unset")
)
"""Builtins that keep the assignments before them (XCU 2.14), except in bash without its POSIX mode."""
