"""The result of parsing a script: a tree of commands.

Source: POSIX.1-2017, XCU 2.10 Shell Grammar.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class ShellSyntaxError(ValueError):
    """A script that a shell refuses."""


class WordPart(NamedTuple):
    """A piece of a word.

    Attributes:
        kind: `text`; `variable` (its name, with an operator such as `:-x`); `arithmetic`; `command`.
        text: the piece itself.
        quoted: whether the word is in quotes, so that it is not split into fields.
    """

    kind: Literal["text", "variable", "arithmetic", "command"]
    text: str
    quoted: bool = False


Word = tuple[WordPart, ...]


class Redirection(NamedTuple):
    """`2>> file`: a descriptor, an operator and the target."""

    descriptor: int
    operator: str
    target: Word


class Simple(NamedTuple):
    """A command with its assignments and redirections."""

    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...] = ()


class Pipeline(NamedTuple):
    """Commands joined by `|`; with `!` in front its exit code is inverted."""

    commands: tuple[Command, ...]
    inverted: bool = False


class AndOr(NamedTuple):
    """Pipelines joined by `&&` and `||`; the first has the operator ""."""

    steps: tuple[tuple[str, Pipeline], ...]
    background: bool = False


class Compound(NamedTuple):
    """`{ list; }`, `( list )`, or a function's definition where it has a name."""

    body: Script
    subshell: bool = False
    function: str = ""
    redirections: tuple[Redirection, ...] = ()


class Loop(NamedTuple):
    """`while`, `until`; `for name in words` where it has a name."""

    condition: Script
    body: Script
    until: bool = False
    name: str = ""
    words: tuple[Word, ...] = ()
    redirections: tuple[Redirection, ...] = ()


class If(NamedTuple):
    """Conditions with their branches; an empty condition is the `else`."""

    branches: tuple[tuple[Script, Script], ...]
    redirections: tuple[Redirection, ...] = ()


class Case(NamedTuple):
    """`case word in pattern|pattern) list;; esac`."""

    word: Word
    branches: tuple[tuple[tuple[Word, ...], Script], ...]
    redirections: tuple[Redirection, ...] = ()


Command = Simple | Compound | Loop | If | Case
Script = tuple[AndOr, ...]


def last_command(script: Script) -> Command | None:
    """Return the command that a shell without traps becomes at the end of its script; None = it starts a child."""
    last = script[-1] if script else None
    if last is None or last.background:
        return None
    pipeline = last.steps[-1][1]
    return pipeline.commands[0] if len(pipeline.commands) == 1 and not pipeline.inverted else None
