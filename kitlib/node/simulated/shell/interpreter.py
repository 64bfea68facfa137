"""A shell, which runs a tree of commands on a machine.

The same shell is used for a container's own command (the machine records its usage over time), `kubectl exec` and exec
probes (the machine is a running container).

Source: POSIX.1-2017, XCU 2.9 Shell Commands, 2.11 Signals, 2.14 Special Built-In Utilities.
"""

from __future__ import annotations

import fnmatch
import signal
from collections.abc import Callable, Mapping, Sequence

from kitlib.node.simulated.shell.builtins import (
    BUILTINS,
    SPECIAL,
    Jump,
    ShellState,
    Streams,
    Write,
    kill,
    take_options,
)
from kitlib.node.simulated.shell.expansion import Expansion, shown
from kitlib.node.simulated.shell.machine import (
    FOREVER,
    KEPT_TEXT,
    Bombed,
    Call,
    ChildKilled,
    Data,
    FatalError,
    Forever,
    Input,
    Machine,
    NotFollowed,
    Program,
    ProgramError,
    Result,
    ShellExit,
    take_signal,
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
_IGNORED = (signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH)
"""Signals without a default action. Source: signal(7)."""
_DEEPEST = 30
"""Maximum depth of function calls; a fork bomb exceeds it."""
SIGKILLED = 128 + 9
"""Exit code of a command that SIGKILL has ended. Source: POSIX.1-2017, XCU 2.8.2; dash and bash add 128."""
BOMB = 32768
"""The number of processes that a fork bomb tries to start: the kernel's default pid_max. Handlers of Bombed use it."""


class Shell(ShellState):
    """A shell.

    Args:
        machine: the machine of the shell.
        programs: returns a program by its name as written; None = an unknown program.
        unknown: function that runs an unknown program.
        environment: the initial variables.
        name: `$0`.
        arguments: `$1`, `$2`, ….
        functions: the shell whose functions are available; None = no functions.
        kind: the name of its program, such as `bash`.

    Attributes:
        looping: whether its script has a loop, in which a trap runs between two commands.
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
        kind: str = "sh",
    ) -> None:
        super().__init__(machine, environment, arguments, kind)
        self._programs, self._unknown, self._name = programs, unknown, name
        self.functions: dict[str, Compound] = {} if functions is None else functions.functions
        self.looping = self.replaced = False
        self.process: list[str] = []
        self._last: Command | None = None
        self._steps = self._depth = 0
        self._inner = False  # a subshell
        self._tested = False  # in a condition, before && and ||, after !: errexit has no effect
        self._substituted: int | None = None  # exit code of the last command substitution of a command
        self._expansion = Expansion(self)

    def run(self, text: str, *, last: bool = False, streams: Streams | None = None) -> int:
        """Run a script.

        Args:
            text: the script.
            last: whether the shell ends with it, as with `-c`.
            streams: its input and the destinations of its output; None = no input, and the machine's log.

        Returns:
            The script's exit code; 2 for a syntax error.

        Raises:
            Forever: the script runs until it is killed.
        """
        inner = Streams(self.machine.log, self._error, Input()) if streams is None else streams.copy()
        try:
            return self.contained(lambda: self.run_here(text, last=last, streams=inner), inner)
        except ShellSyntaxError as error:
            self.machine.log(Data(f"{self._name}: syntax error: {error}\n"), error=True)
            return 2

    def run_here(self, text: str, *, last: bool = False, streams: Streams | None = None) -> None:
        """Run a script as a part of this shell.

        Args:
            text: the script.
            last: whether the shell ends with it. Then the last command replaces the shell, unless a trap is set.
            streams: as for `run`; `exec` changes them.

        Raises:
            ShellExit: the script runs `exit`.
            FatalError: an expansion fails.
            ShellSyntaxError: the script has a syntax error.

        Source: dash eval.c evalstring, EV_EXIT; bash execute_cmd.c optimize_subshell_command.
        """
        script = parse(text)
        self._last = last_command(script) if last else None
        self.script(script, streams or Streams(self.machine.log, self._error, Input()))

    def _error(self, data: Data) -> None:
        self.machine.log(data, error=True)

    def special(self, name: str) -> str | None:
        """Return the value of a special parameter; None = not a special parameter, or not set."""
        if name.isdigit():
            number = int(name[:4])  # enough for all arguments; the whole text could be a huge number
            return self._name if not number else dict(enumerate(self.arguments, 1)).get(number)
        if name == "!" and not self.jobs:
            return None
        return {
            "?": str(self.code),
            "$": str(self.machine.pid),
            "!": str(1 + len(self.jobs)),  # the last job's process id
            "#": str(len(self.arguments)),
            "@": " ".join(self.arguments),
            "*": " ".join(self.arguments),
            "RANDOM": "16384",  # the middle of the range: runs are deterministic
            "SECONDS": str(int(self.machine.now)),
        }.get(name)

    def substitute(self, text: str) -> Data:
        """Run a script in a subshell and return its output."""
        collected = [Data()]

        def collect(data: Data) -> None:
            collected[0] = collected[0].plus(data)

        inner = self._child()
        inner._tested = False
        if self.kind == "bash":  # unless inherit_errexit or the POSIX mode is on
            inner.options.discard("errexit")
        streams = Streams(collect, self._error, Input())
        inner.contained(lambda: inner.script(parse(text), streams), streams)
        found = collected[0]
        self.code = self._substituted = inner.code
        if found.more == FOREVER:  # the shell reads endless output until its memory is full
            self.machine.hold(FOREVER)
        # Newlines are removed at the end only, which is unknown if there are more bytes than the kept text.
        return found if found.more else Data(found.text.rstrip("\n"))

    def _child(self) -> Shell:
        """Return a subshell, which begins with copies of the state; traps are reset."""
        inner = Shell(self.machine, self._programs, self._unknown, {}, self._name, self.arguments, kind=self.kind)
        inner.variables.update(self.variables)
        inner.functions.update(self.functions)
        inner.options.update(self.options)
        inner.jobs, inner.codes, inner._tested = list(self.jobs), list(self.codes), self._tested
        inner.code, inner._depth, inner._inner = self.code, self._depth + 1, True
        inner._steps = self._steps
        if inner._depth > 2 * _DEEPEST:
            raise Bombed
        return inner

    def contained(self, work: Callable[[], None], streams: Streams) -> int:
        """Run a part of a script in this subshell, which `exit`, errors and jumps end, and return its exit code."""
        machine = self.machine
        machine.parents += self._inner
        try:
            work()
        except ChildKilled:
            if not self._inner:
                raise
            self.code = SIGKILLED
            return self.code  # a killed shell runs no trap
        except ShellExit as end:
            self.code = end.code
        except FatalError as error:
            streams.err(Data(f"{self._name}: {error}\n"))
            self.code = 2 if self.kind != "bash" else 1 if self._inner else 127
        except Jump:
            pass  # `return` has set the code; the loop around the subshell is in another process
        finally:
            machine.parents -= self._inner
        self._run_exit_trap(streams)
        return self.code

    def _run_exit_trap(self, streams: Streams) -> None:
        """Run the trap for EXIT; the exit code stays unless the trap has an `exit`."""
        script, code = self.traps.pop("EXIT", ""), self.code
        if script:
            try:
                self.script(parse(script), streams)
            except ShellExit as end:
                code = end.code
            self.code = code

    # Control.

    def script(self, script: Script, streams: Streams) -> None:
        """Run a list of commands."""
        for and_or in script:
            if and_or.background:
                self._in_background(and_or, streams)
            else:
                self._and_or(and_or, streams)

    def _in_background(self, and_or: AndOr, streams: Streams) -> None:
        inner = self._child()
        inner.machine = self.machine.fork()
        self.jobs.append(inner.machine)
        self.codes.append(0)
        apart = Streams(streams.out, streams.err, Input(), streams.others)
        try:
            self.codes[-1] = inner.contained(lambda: inner._and_or(and_or, apart), apart)
        except Bombed:
            raise
        except Forever:
            pass
        self.code = 0

    def _and_or(self, and_or: AndOr, streams: Streams) -> None:
        """Run pipelines; errexit looks at the last one only, unless it is inverted (XCU 2.14, set -e)."""
        tested = self._tested
        try:
            for number, (operator, pipeline) in enumerate(and_or.steps, 1):
                if (operator == "&&" and self.code) or (operator == "||" and not self.code):
                    continue
                self._tested = tested or number < len(and_or.steps) or pipeline.inverted
                self._pipeline(pipeline, streams)
        finally:
            self._tested = tested

    def _pipeline(self, pipeline: Pipeline, streams: Streams) -> None:
        """Run the commands one after another: each gets the whole output of the one before."""
        *before, last = pipeline.commands
        if not before:
            self._command(last, streams)
            checked = isinstance(last, Simple) or (isinstance(last, Compound) and last.subshell)
        else:
            checked = True  # a list or a loop is not: errexit looks at the commands in it
            stdin, failed = streams.stdin, 0
            for command in before:
                collected = [Data()]

                def collect(data: Data, into: list[Data] = collected) -> None:
                    into[0] = into[0].plus(data)

                failed = self._stage(command, Streams(collect, streams.err, stdin, streams.others)) or failed
                stdin = Input(collected[0])
            code = self._stage(last, Streams(streams.out, streams.err, stdin, streams.others))
            self.code = code or (failed if "pipefail" in self.options else 0)
        if pipeline.inverted:
            self.code = int(not self.code)
        elif checked and self.code and "errexit" in self.options and not self._tested:
            raise ShellExit(self.code)

    def _stage(self, command: Command, streams: Streams) -> int:
        """Run a command of a pipeline in a subshell, as dash, bash and busybox do, and return its exit code."""
        inner = self._child()
        # errexit also ends a stage, as it ends any subshell.
        inner.contained(lambda: inner._pipeline(Pipeline((command,)), streams), streams)
        self._steps = inner._steps
        return inner.code

    def _command(self, command: Command, streams: Streams) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            self.machine.spend(FOREVER, cpus=1.0)
        if isinstance(command, Simple):
            self._simple(command, streams)
            return
        try:
            streams = self._redirected(command.redirections, streams)
        except ProgramError as error:
            streams.err(Data(f"{self._name}: {error}\n"))
            self.code = error.code
            return
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
            own = streams.copy()
            self.code = inner.contained(lambda: inner.script(command.body, own), own)
        else:
            self.script(command.body, streams)

    def _if(self, command: If, streams: Streams) -> None:
        for condition, body in command.branches:
            if condition:
                self._condition(condition, streams)
            if not condition or not self.code:
                self.script(body, streams)
                return
        self.code = 0

    def _condition(self, script: Script, streams: Streams) -> None:
        """Run a condition, in which errexit has no effect."""
        tested, self._tested = self._tested, True
        try:
            self.script(script, streams)
        finally:
            self._tested = tested

    def _case(self, command: Case, streams: Streams) -> None:
        value = self._expansion.value(command.word).text
        for patterns, body in command.branches:
            if any(fnmatch.fnmatchcase(value, self._expansion.pattern(pattern)) for pattern in patterns):
                self.script(body, streams)
                self.code = self.code if body else 0
                return
        self.code = 0

    def _loop(self, loop: Loop, streams: Streams) -> None:
        self.looping = True
        if loop.name:
            words = list(self.arguments) if loop.words is None else self._expansion.fields(loop.words)[0]
            if not words:
                self.code = 0
            for word in words:
                self.variables[loop.name] = Data(word)
                if not self._round(loop.body, streams):
                    return
            return
        code = 0  # that of the last body
        while True:
            mark, before = self.machine.mark(), (self._state(), streams.stdin.data)
            self._condition(loop.condition, streams)
            if bool(self.code) != loop.until:
                self.code = code
                return
            if not self._round(loop.body, streams):
                return
            code = self.code
            self._steps += 1
            changed = (self._state(), streams.stdin.data) != before
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
            self.code = 0
            if jump.levels > 1:
                raise Jump(jump.kind, jump.levels - 1) from None
            return jump.kind == "continue"
        return True

    def _state(self) -> tuple[object, ...]:
        return tuple(self.variables.items()), tuple(self.traps.items())

    # Simple commands.

    def _redirected(self, redirections: Sequence[Redirection], streams: Streams) -> Streams:
        if not redirections:
            return streams  # the same object: `exec >file` inside also counts for the commands after it
        streams = streams.copy()
        for redirection in redirections:
            target = self._expansion.value(redirection.target).text
            if redirection.operator == ">&" and target.isdigit():
                streams.set(redirection.descriptor, streams.writer(int(target[:4])))
            elif redirection.operator == ">&" and target == "-":
                streams.set(redirection.descriptor, lambda data: None)
            elif redirection.operator in ("<", "<<", "<<<"):
                if redirection.operator == "<":
                    data = self.machine.read(target)
                else:
                    data = Data(target if redirection.operator == "<<" else f"{target}\n")
                if not redirection.descriptor:
                    streams.stdin = Input(data)
            elif redirection.operator != "<&":
                write = self._writer(target, streams, append=redirection.operator == ">>")
                streams.set(redirection.descriptor, write)
                if redirection.operator in ("&>", ">&"):  # `>&file` is bash's other form of `&>file`
                    streams.err = write
        return streams

    def _writer(self, path: str, streams: Streams, *, append: bool) -> Write:
        machine = self.machine
        if path in ("/dev/stdout", "/proc/self/fd/1", "/dev/fd/1"):
            return streams.out
        if path in ("/dev/stderr", "/proc/self/fd/2", "/dev/fd/2"):
            return streams.err
        if path == "/proc/1/fd/1":
            return machine.log  # the container's log, also inside a pipeline
        if path == "/proc/1/fd/2":
            return self._error
        if path != "/dev/null":
            machine.write(path, Data(), append=append)
        return lambda data: machine.write(path, data, append=True)

    def _simple(self, command: Simple, outer: Streams) -> None:
        streams = outer
        try:
            self._substituted = None
            words, more = self._expansion.fields(command.words)  # more: bytes beyond the kept text
            before = {name: self.variables.get(name) for name, _ in command.assignments}
            for name, word in command.assignments:
                self._assign(name, self._expansion.value(word))
            streams = self._redirected(command.redirections, outer)
            if not words:
                self.code = self._substituted or 0
                return
            if words == ["exec"]:
                outer.become(streams)
            self.replaced |= command is self._last and not self.traps
            try:
                result = self.invoke(words, streams, more)
            finally:
                if words[0] not in SPECIAL or self.kind == "bash":
                    self._restore(before)
            streams.take(result)
            self.code = result.code
        except ProgramError as error:
            name = self._name if not command.words else self._expansion.value(command.words[0]).text
            streams.err(Data(f"{name.rpartition('/')[2]}: {error}\n"))
            self.code = error.code

    def _restore(self, before: Mapping[str, Data | None]) -> None:
        for name, value in before.items():
            if value is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = value

    def _assign(self, name: str, value: Data) -> None:
        self.variables[name] = value
        if value.size > KEPT_TEXT / 2:  # smaller values do not matter for the memory
            self.machine.hold(sum(variable.size for variable in self.variables.values()))

    def invoke(self, words: Sequence[str], streams: Streams, more: float = 0.0) -> Result:
        """Run a function, a builtin or a program; echo and printf are programs."""
        function = self.functions.get(words[0])
        if function is not None:
            return self._call(function, words[1:], streams)
        if words[0] in BUILTINS:
            return BUILTINS[words[0]](self, words[1:], streams)
        runs = _RUNNING.get(words[0])
        if runs is not None:
            return runs(self, words[1:], streams)
        if words[0] in ("echo", "printf") and more:
            return Result(Data(" ".join(words[1:]), more))
        return self.program(words, self.machine, streams.stdin, streams)

    def _exec(self, words: Sequence[str], streams: Streams) -> Result:
        if not words:
            return Result()
        for name in [name for name, script in self.traps.items() if script]:  # ignored signals stay ignored
            del self.traps[name]
        self.replaced = True
        for name in [name for name, value in self.variables.items() if value.size >= KEPT_TEXT]:
            del self.variables[name]
        self.machine.hold(0)
        result = self.program(words, self.machine, streams.stdin, streams)
        streams.take(result)
        raise ShellExit(result.code)

    def _eval(self, words: Sequence[str], streams: Streams) -> Result:
        self.script(parse(" ".join(words)), streams)
        return Result(code=self.code)

    def _command_builtin(self, words: Sequence[str], streams: Streams) -> Result:
        return self.invoke(words, streams) if words else Result()

    def _let(self, words: Sequence[str], streams: Streams) -> Result:
        value = 0
        for word in words:
            value = self._expansion.arithmetic(word)
        return Result(code=int(not value))

    def _kill(self, words: Sequence[str], streams: Streams) -> Result:
        number, targets = take_signal(words)
        own = str(self.machine.pid)
        result = kill(self, number, [word for word in targets if word != own])
        if own in targets:
            self._signal_self(number, streams)
        return result

    def _signal_self(self, number: int, streams: Streams) -> None:
        """Run the trap for a signal, or end the shell, unless it is process 1."""
        name = signal.Signals(number).name.removeprefix("SIG") if number in set(signal.Signals) else ""
        if name in self.traps and number != signal.SIGKILL:
            self.script(parse(self.traps[name]), streams)
        elif number and self.machine.pid != 1 and number not in _IGNORED:
            raise ShellExit(128 + number)

    def _call(self, function: Compound, arguments: Sequence[str], streams: Streams) -> Result:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Bombed
        outer, self.arguments = self.arguments, list(arguments)
        try:
            self.script(function.body, streams)
        except Jump as jump:
            if jump.kind != "return":
                raise
        finally:
            self.arguments = outer
            self._depth -= 1
        return Result(code=self.code)

    def program(self, words: Sequence[str], machine: Machine, stdin: Input, streams: Streams | None = None) -> Result:
        """Run a program, or a shell.

        Args:
            words: its name and arguments.
            machine: the machine to run it on.
            stdin: its standard input.
            streams: the destinations of a shell's output; None = the machine's log.
        """
        name = words[0].rpartition("/")[2]
        if name == "busybox" and len(words) > 1:
            return self.program(words[1:], machine, stdin, streams)
        if self.replaced:
            return self._started(name, words, machine, stdin, streams)
        machine.parents += 1
        try:
            return self._started(name, words, machine, stdin, streams)
        except ChildKilled:
            return Result(err="Killed\n", code=SIGKILLED)
        finally:
            machine.parents -= 1

    def _started(
        self, name: str, words: Sequence[str], machine: Machine, stdin: Input, streams: Streams | None
    ) -> Result:
        environment = {key: shown(value) for key, value in self.variables.items()}
        if name in SHELLS:
            return self._shell(
                name, words[1:], machine, environment, streams or Streams(machine.log, self._error, stdin)
            )
        found = self._programs(words[0])
        machine.enter(name)
        if self.replaced:
            self.process.append(words[0])
        if found is None:
            return self._unknown(words, machine)
        try:
            return found(Call(name, list(words[1:]), stdin, machine, environment, self.program))
        finally:
            stdin.settle()

    def _shell(
        self, name: str, words: Sequence[str], machine: Machine, environment: Mapping[str, str], streams: Streams
    ) -> Result:
        if self._depth > _DEEPEST:
            raise NotFollowed("nested too deeply")  # a limit of the kit, not a sign of a bomb
        options = set[str]()
        rest, letters, _ = take_options(words, options, name)
        text, reads = "", "c" not in letters
        if not reads:
            if not rest:
                raise ProgramError("-c requires an argument", 2)
            text = rest.pop(0)
        elif not rest or "s" in letters:
            text, rest = streams.stdin.rest().text, [name, *rest]
            streams.stdin.settle()
        else:
            try:
                text = machine.read(rest[0]).text
            except ProgramError:
                if machine.exists(rest[0].rpartition("/")[0] or "/") and rest[0].startswith("/tmp/"):
                    raise  # all files in /tmp are known
                raise NotFollowed(f"the script {rest[0][:60]} is in an image or volume that is not read") from None
        rest = rest or [name]
        inner = Shell(machine, self._programs, self._unknown, environment, rest[0], rest[1:], kind=name)
        inner._depth = self._depth + 1
        inner.options.update(options)
        try:
            code = inner.run(text, last=not reads, streams=streams)
        finally:
            if self.replaced:
                self.looping, self.waiting = inner.looping, inner.waiting
                self.traps, self.process = inner.traps, [*self.process, *inner.process]
        return Result(code=code)


_RUNNING: Mapping[str, Callable[[Shell, Sequence[str], Streams], Result]] = {
    "command": Shell._command_builtin,
    "eval": Shell._eval,
    "exec": Shell._exec,
    "kill": Shell._kill,
    "let": Shell._let,
}
"""The builtins that run other commands, or compute."""
