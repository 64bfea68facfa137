"""A shell, which runs a tree of commands on a machine.

The same shell is used for a container's own command (the machine records its usage over time), `kubectl exec` and exec
probes (the machine is a running container).

Source: POSIX.1-2017, XCU 2.9 Shell Commands, 2.11 Signals, 2.14 Special Built-In Utilities.
"""

from __future__ import annotations

import contextlib
import fnmatch
from collections.abc import Callable, Mapping, Sequence

from kitlib.node.simulated.shell.builtins import BUILTINS, Jump, Streams
from kitlib.node.simulated.shell.expansion import Expansion, shown
from kitlib.node.simulated.shell.machine import (
    FOREVER,
    KEPT_TEXT,
    Bombed,
    Call,
    Data,
    Forever,
    Machine,
    NotFollowed,
    Program,
    ProgramError,
    Result,
    ShellExit,
)
from kitlib.node.simulated.shell.parser import parse
from kitlib.node.simulated.shell.tree import (
    AndOr,
    Case,
    Command,
    Compound,
    If,
    Loop,
    Pipeline,
    Redirection,
    Script,
    ShellSyntaxError,
    Simple,
    last_command,
)

SHELLS = ("sh", "bash", "ash", "dash", "zsh", "ksh")
MAX_STEPS = 20_000
"""Number of commands of a script after which it counts as endless."""
_DEEPEST = 30
"""Maximum depth of function calls; a fork bomb exceeds it."""
BOMB = 32768
"""Processes that a fork bomb tries to start: the kernel's default pid_max. For the handlers of Bombed."""


class Shell:
    """A shell.

    Args:
        machine: the machine of the shell.
        programs: returns a program by its name as written; None = an unknown program.
        unknown: function that runs an unknown program.
        environment: the initial variables.
        name: `$0`.
        arguments: `$1`, `$2`, ….
        functions: the shell whose functions are available; None = no functions.

    Attributes:
        traps: scripts by signal, without SIG; "" = the signal is ignored.
        jobs: the machines of its background jobs; the first one's process id is 2.
        looping: whether its script has a loop, in which a trap runs between two commands.
        waiting: whether its script has a `wait`, which a signal interrupts.
        replaced: whether the next program replaces the shell: the last command of `-c`, or the argument of `exec`.
        process: names of the programs that have replaced it, e.g. an inner shell and then its program; empty = none.
    """

    def __init__(
        self,
        machine: Machine,
        programs: Callable[[str], Program | None],
        unknown: Callable[[Sequence[str], Machine], Result],
        environment: Mapping[str, str],
        name: str = "sh",
        arguments: Sequence[str] = (),
        functions: Shell | None = None,
    ) -> None:
        self.machine, self._programs, self._unknown = machine, programs, unknown
        self.variables = {key: Data(value) for key, value in environment.items()}
        self._name, self.arguments = name, list(arguments)
        self.functions: dict[str, Compound] = {} if functions is None else functions.functions
        self.traps: dict[str, str] = {}
        self.looping = self.waiting = self.replaced = False
        self.process: list[str] = []
        self._last: Command | None = None
        self.jobs: list[Machine] = []
        self.code, self._steps, self._depth, self.quitting = 0, 0, 0, False
        self._expansion = Expansion(self.variables, self._special, self._substitute)

    def run(self, text: str, *, last: bool = False) -> int:
        """Run a script.

        Args:
            text: the script.
            last: whether the shell ends with it, as with `-c`.

        Returns:
            The script's exit code; 2 for a syntax error.

        Raises:
            Forever: the script runs until it is killed.
        """
        try:
            self.run_here(text, last=last)
        except ShellExit as end:
            return end.code
        except ShellSyntaxError as error:
            self.machine.log(Data(f"{self._name}: syntax error: {error}\n"), error=True)
            return 2
        except Jump:
            pass
        return self.code

    def run_here(self, text: str, *, last: bool = False) -> None:
        """Run a script as a part of this shell.

        Args:
            text: the script.
            last: whether the shell ends with it. Then the last command replaces the shell, unless a trap is set.

        Raises:
            ShellExit: the script runs `exit`.
            ShellSyntaxError: the script has a syntax error.

        Source: dash eval.c evalstring, EV_EXIT; bash execute_cmd.c optimize_subshell_command.
        """
        script = parse(text)
        self._last = last_command(script) if last else None
        self.script(script, Streams(self.machine.log, lambda data: self.machine.log(data, error=True)))

    def _special(self, name: str) -> str | None:
        if name.isdigit():
            number = int(name[:4])  # enough for all arguments; the whole text could be a huge number
            return self._name if not number else (["", *self.arguments][number:] or [""])[0]
        return {
            "?": str(self.code),
            "$": "1",
            "!": str(1 + len(self.jobs)),  # the last job's process id; 1 without a job
            "#": str(len(self.arguments)),
            "@": " ".join(self.arguments),
            "*": " ".join(self.arguments),
            "RANDOM": "16384",  # the middle of the range: runs are deterministic
            "SECONDS": str(int(self.machine.now)),
        }.get(name)

    def _substitute(self, text: str) -> Data:
        collected = [Data()]

        def collect(data: Data) -> None:
            collected[0] = collected[0].plus(data)

        inner = self._child()
        with contextlib.suppress(ShellExit):
            inner.script(parse(text), Streams(collect, lambda data: self.machine.log(data, error=True)))
        found = collected[0]
        self.code = inner.code
        if found.more == FOREVER:  # the shell reads endless output until its memory is full
            self.machine.hold(FOREVER)
        # Newlines are removed at the end only, which is unknown if there are more bytes than the kept text.
        return found if found.more else Data(found.text.rstrip("\n"))

    def _child(self) -> Shell:
        """Return a subshell: a copy of the variables, the same dict of functions, and no `set -e`."""
        inner = Shell(self.machine, self._programs, self._unknown, {}, self._name, self.arguments, self)
        inner.variables.update(self.variables)
        inner.code, inner._depth = self.code, self._depth + 1
        inner._steps = self._steps
        if inner._depth > 2 * _DEEPEST:
            raise Bombed
        return inner

    # Control.

    def script(self, script: Script, streams: Streams) -> None:
        """Run a list of commands."""
        for one in script:
            if one.background:
                self._in_background(one, streams)
            else:
                self._and_or(one, streams)
            if self.quitting and self.code:
                raise ShellExit(self.code)

    def _in_background(self, one: AndOr, streams: Streams) -> None:
        inner = self._child()
        inner.machine = self.machine.fork()
        self.jobs.append(inner.machine)
        try:
            inner._and_or(one, streams)
        except Bombed:
            raise
        except (Forever, ShellExit):
            pass
        self.code = 0

    def _and_or(self, one: AndOr, streams: Streams) -> None:
        for operator, pipeline in one.steps:
            if (operator == "&&" and self.code) or (operator == "||" and not self.code):
                continue
            self._pipeline(pipeline, streams)

    def _pipeline(self, pipeline: Pipeline, streams: Streams) -> None:
        stdin = Data()
        for command in pipeline.commands[:-1]:
            collected = [Data()]

            def collect(data: Data, into: list[Data] = collected) -> None:
                into[0] = into[0].plus(data)

            self._child()._command(command, Streams(collect, streams.err), stdin)
            stdin = collected[0]
        self._command(pipeline.commands[-1], streams, stdin)  # in this shell, as in ksh; dash and bash fork
        if pipeline.inverted:
            self.code = int(not self.code)

    def _command(self, command: Command, streams: Streams, stdin: Data) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            self.machine.spend(FOREVER, cpus=1.0)
        if isinstance(command, Simple):
            self._simple(command, streams, stdin)
            return
        streams, stdin = self._redirected(command.redirections, streams, stdin)  # commands inside get no stdin
        if isinstance(command, Loop):
            self._loop(command, streams)
        elif isinstance(command, If):
            self._if(command, streams)
        elif isinstance(command, Case):
            self._case(command, streams)
        elif command.function:
            self.functions[command.function] = command
            self.code = 0
        elif command.subshell:
            inner = self._child()
            try:
                inner.script(command.body, streams)
            except ShellExit as end:
                inner.code = end.code
            self.code = inner.code
        else:
            self.script(command.body, streams)

    def _if(self, command: If, streams: Streams) -> None:
        self.code = 0
        for condition, body in command.branches:
            if condition:
                self._condition(condition, streams)
            if not condition or not self.code:
                self.code = 0
                self.script(body, streams)
                return
        self.code = 0

    def _condition(self, script: Script, streams: Streams) -> None:
        """Run a condition, in which `set -e` has no effect."""
        quitting, self.quitting = self.quitting, False
        try:
            self.script(script, streams)
        finally:
            self.quitting = quitting

    def _case(self, command: Case, streams: Streams) -> None:
        value = self._expansion.value(command.word).text
        for patterns, body in command.branches:
            if any(fnmatch.fnmatchcase(value, self._expansion.value(pattern).text) for pattern in patterns):
                self.script(body, streams)
                return
        self.code = 0

    def _loop(self, loop: Loop, streams: Streams) -> None:
        self.looping = True
        if loop.name:
            # Like `for x`, `for x in` without words runs for each argument.
            words = self._expansion.fields(loop.words)[0] if loop.words else list(self.arguments)
            for word in words:
                self.variables[loop.name] = Data(word)
                if not self._round(loop.body, streams):
                    return
            return
        while True:
            mark, before = self.machine.mark(), self._state()
            self._condition(loop.condition, streams)
            if bool(self.code) != loop.until:
                self.code = 0
                return
            if not self._round(loop.body, streams):
                return
            self._steps += 1
            changed = self._state() != before
            if self._steps > MAX_STEPS:
                self.machine.spend(FOREVER, cpus=1.0)
            self.machine.repeat(mark, changed)  # raises Forever if nothing but time has changed

    def _round(self, body: Script, streams: Streams) -> bool:
        """Run a loop's body once, and return whether the loop continues."""
        try:
            self.script(body, streams)
        except Jump as jump:
            if jump.kind == "return":
                raise
            if jump.levels > 1:
                raise Jump(jump.kind, jump.levels - 1) from None
            return jump.kind == "continue"
        return True

    def _state(self) -> tuple[object, ...]:
        return tuple(self.variables.items()), tuple(self.traps.items())

    # Simple commands.

    def _redirected(self, redirections: Sequence[Redirection], streams: Streams, stdin: Data) -> tuple[Streams, Data]:
        streams = Streams(streams.out, streams.err)
        for one in redirections:
            target = self._expansion.value(one.target).text
            if one.operator in (">&", "<&"):
                if (one.descriptor, target) == (2, "1"):
                    streams.err = streams.out
                elif (one.descriptor, target) == (1, "2"):
                    streams.out = streams.err
                continue
            if one.operator == "<":
                stdin = self.machine.read(target)
                continue
            if one.operator in ("<<", "<<<"):
                stdin = Data(target if one.operator == "<<" else f"{target}\n")
                continue
            write = self._writer(target, append=one.operator == ">>")
            if one.descriptor == 2:
                streams.err = write
            else:  # also for descriptors 3 and higher
                streams.out = write
            if one.operator == "&>":
                streams.err = write
        return streams, stdin

    def _writer(self, path: str, *, append: bool) -> Callable[[Data], None]:
        machine = self.machine
        if path in ("/dev/stdout", "/proc/1/fd/1", "/proc/self/fd/1"):
            return machine.log  # the container's log, also inside a pipeline
        if path in ("/dev/stderr", "/proc/1/fd/2"):
            return lambda data: machine.log(data, error=True)
        if path != "/dev/null":
            machine.write(path, Data(), append=append)
        return lambda data: machine.write(path, data, append=True)

    def _simple(self, command: Simple, streams: Streams, stdin: Data) -> None:
        try:
            words, more = self._expansion.fields(command.words)  # more: bytes beyond the kept text
            if not words and command.assignments:
                self.code = 0
            for name, word in command.assignments:
                self._assign(name, self._expansion.value(word))
            streams, stdin = self._redirected(command.redirections, streams, stdin)
            if words:
                self.replaced |= command is self._last and not self.traps
                result = self.invoke(words, streams, stdin, more)
                streams.take(result)
                self.code = result.code
        except ProgramError as error:
            name = self._name if not command.words else self._expansion.value(command.words[0]).text
            streams.err(Data(f"{name.rpartition('/')[2]}: {error}\n"))
            self.code = error.code

    def _assign(self, name: str, value: Data) -> None:
        self.variables[name] = value
        if value.size > KEPT_TEXT / 2:  # smaller values do not matter for the memory
            self.machine.hold(sum(one.size for one in self.variables.values()))

    def invoke(self, words: Sequence[str], streams: Streams, stdin: Data, more: float = 0.0) -> Result:
        """Run a function, a builtin or a program; echo and printf are programs."""
        function = self.functions.get(words[0])
        if function is not None:
            return self._call(function, words[1:], streams)
        builtin = BUILTINS.get(words[0])
        if builtin is not None:
            return builtin(self, words[1:], streams)
        if words[0] in ("echo", "printf") and more:
            return Result(Data(" ".join(words[1:]), more))
        return self.program(words, self.machine, stdin)

    def calculate(self, text: str) -> int:
        """Return the value of an arithmetic expression, which may assign to variables."""
        return self._expansion.arithmetic(text)

    def _call(self, function: Compound, arguments: Sequence[str], streams: Streams) -> Result:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Bombed
        kept, self.arguments = self.arguments, list(arguments)
        try:
            self.script(function.body, streams)
        except Jump as jump:
            if jump.kind != "return":
                raise
        finally:
            self.arguments = kept
            self._depth -= 1
        return Result(code=self.code)

    def program(self, words: Sequence[str], machine: Machine, stdin: Data) -> Result:
        """Run a program, or a shell, with these words."""
        name = words[0].rpartition("/")[2]
        environment = {key: shown(value) for key, value in self.variables.items()}
        if name in SHELLS:
            return self._shell(name, words[1:], machine, environment, stdin)
        found = self._programs(words[0])
        machine.enter(name)
        if self.replaced:
            self.process.append(words[0])
        if found is None:
            return self._unknown(words, machine)
        return found(Call(name, list(words[1:]), stdin, machine, environment, self.program))

    def _shell(
        self, name: str, words: Sequence[str], machine: Machine, environment: Mapping[str, str], stdin: Data
    ) -> Result:
        if self._depth > _DEEPEST:
            raise NotFollowed("nested too deeply")  # a limit of the kit, not a sign of a bomb
        text, rest, reads, quitting = stdin.text, list(words), True, False
        while rest and rest[0].startswith("-"):
            option = rest.pop(0)
            quitting |= "e" in option and not option.startswith("--")
            if not option.startswith("--") and "c" in option and rest:
                text, reads = rest.pop(0), False
                break
        if reads and rest:
            try:
                text = machine.read(rest[0]).text
            except ProgramError:
                if machine.exists(rest[0].rpartition("/")[0] or "/") and rest[0].startswith("/tmp/"):
                    raise  # all files in /tmp are known
                raise NotFollowed(f"the script {rest[0][:60]} is in an image or volume that is not read") from None
        inner = Shell(machine, self._programs, self._unknown, environment, *([rest[0], rest[1:]] if rest else [name]))
        inner._depth, inner.quitting = self._depth + 1, quitting
        try:
            code = inner.run(text, last=not reads)
        finally:
            if self.replaced:
                self.looping, self.waiting = inner.looping, inner.waiting
                self.traps, self.process = inner.traps, [*self.process, *inner.process]
        return Result(code=code)
