"""The result of parsing a script: a tree of commands.

Source: POSIX.1-2017, XCU 2.10 Shell Grammar.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class ShellSyntaxError(ValueError):
    """A syntax error of a script."""


class WordPart(NamedTuple):
    """A part of a word.

    Attributes:
        kind: `text`; `variable` (its name, with an operator such as `:-x`); `arithmetic`; `command`; `value` (a text
            that is split into fields, in the word of a `${…}`).
        text: the text of the part.
        quoted: whether the word is in quotes, so that it is not split into fields.
    """

    kind: Literal["text", "variable", "arithmetic", "command", "value"]
    text: str
    quoted: bool = False


Word = tuple[WordPart, ...]


class Redirection(NamedTuple):
    """A redirection `2>> file`: a file descriptor, an operator and the target."""

    descriptor: int
    operator: str
    target: Word


class Simple(NamedTuple):
    """A command with its assignments and redirections."""

    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...] = ()


class Pipeline(NamedTuple):
    """A pipeline of commands joined by `|`; a leading `!` inverts its exit code."""

    commands: tuple[Command, ...]
    inverted: bool = False


class AndOr(NamedTuple):
    """A list of pipelines joined by `&&` and `||`; the first has the operator ""."""

    steps: tuple[tuple[str, Pipeline], ...]
    background: bool = False


class Compound(NamedTuple):
    """A group `{ list; }`, a subshell `( list )`, or with a name a function's definition."""

    body: Script
    subshell: bool = False
    function: str = ""
    redirections: tuple[Redirection, ...] = ()


class Loop(NamedTuple):
    """A loop `while` or `until`, or with a name `for name in words`; words that are None are the arguments."""

    condition: Script
    body: Script
    until: bool = False
    name: str = ""
    words: tuple[Word, ...] | None = ()
    redirections: tuple[Redirection, ...] = ()


class If(NamedTuple):
    """A list of conditions with their branches; an empty condition is the `else`."""

    branches: tuple[tuple[Script, Script], ...]
    redirections: tuple[Redirection, ...] = ()


class Case(NamedTuple):
    """A command `case word in pattern|pattern) list;; esac`."""

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
