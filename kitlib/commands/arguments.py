"""Arguments of the commands, with errors in one line that name the expected value.

argparse prints its usage before each error, and lists all choices after a typing error. Here an error is one line with
the argument, its given value, and the nearest valid value.
"""

from __future__ import annotations

import argparse
import difflib
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

_CHOICE = re.compile(r"(argument .*?): invalid choice: (.+) \(choose from (.+)\)$", re.DOTALL)
_UNKNOWN = re.compile(r"unrecognized arguments: (.+)$", re.DOTALL)
_FEW = 10
"""The maximum number of valid values that a message lists; of more, only the nearest is named."""


class Parser(argparse.ArgumentParser):
    """A parser with one-line errors that suggest the nearest option or value."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        # argparse hands what a command does not know up to the whole program, which does not know the command's options
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {one_line(self._in_words(message))} ({self.prog} --help)\n")

    def _in_words(self, message: str) -> str:
        if choice := _CHOICE.match(message):
            given = choice[2].strip("'\"")
            valid = [one.strip(" '\"") for one in choice[3].split(",")]
            text = f"{choice[1]}: invalid choice: {choice[2]}"
            nearest = nearest_of(given, valid)
            return text + nearest + (f"; valid values: {', '.join(valid)}" if len(valid) <= _FEW or not nearest else "")
        if unknown := _UNKNOWN.match(message):
            options = [name for action in self._actions for name in action.option_strings]
            return message + nearest_of(unknown[1].split()[0].partition("=")[0], options)
        return message


def nearest_of(given: str, valid: Sequence[str]) -> str:
    """Return ` (did you mean X?)`, or "" if no valid value is similar."""
    near = difflib.get_close_matches(given.lower(), valid, 1, 0.6)
    return f" (did you mean {near[0]}?)" if near else ""


def one_line(text: str) -> str:
    """Return the text without line breaks and other control characters, which file names and arguments may contain."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return a converter to a whole number from `least` to `most`; None = no upper bound."""
    meant = f"a whole number from {least} to {most}" if most is not None else f"a whole number, {least} or more"

    def convert(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            raise argparse.ArgumentTypeError(f"must be {meant}, got {text!r}")
        return number

    return convert


def number(least: float, *, above: bool = False) -> Callable[[str], float]:
    """Return a converter to a finite number of at least `least`, or above it with `above`."""
    meant = f"a number larger than {least:g}" if above else f"a number, {least:g} or more"

    def convert(text: str) -> float:
        try:
            found = float(text)
        except ValueError:
            found = math.nan
        if not math.isfinite(found) or found < least or (above and found == least):
            raise argparse.ArgumentTypeError(f"must be {meant}, got {text!r}")
        return found

    return convert


port = whole(1, 65535)
port_or_any = whole(0, 65535)
"""Converts a port number; 0 = a free port."""


def file_name(text: str) -> str:
    """Return the name of a file or folder; an empty one, as of a variable that is not set, is refused."""
    if not text:
        raise argparse.ArgumentTypeError("a name is expected, got ''")
    return text


def path(text: str) -> Path:
    """Return the path of a file or folder; an empty one, which Python takes for the current folder, is refused."""
    if not text:
        raise argparse.ArgumentTypeError("a path is expected, got ''")
    return Path(text)


def file_named(*endings: str) -> Callable[[str], Path]:
    """Return a converter to a path whose ending determines the format."""

    def convert(text: str) -> Path:
        path = Path(text)
        if not any(path.name.endswith(ending) and path.name != ending for ending in endings):
            raise argparse.ArgumentTypeError(f"a name ending in {' or '.join(endings)} is expected, got {text!r}")
        return path

    return convert
