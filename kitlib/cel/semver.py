"""Semantic versions, parsed as the API server's CEL library parses them.

Source: semver.org 2.0.0; github.com/blang/semver/v4 Parse; apiserver pkg/cel/library/semverlib.go normalizeAndParse.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import NoReturn

from kitlib.api.go_values import go_quote

_NUMBER = re.compile("[0-9]*")
_WORD = re.compile("[0-9A-Za-z-]*")


@total_ordering
@dataclass(frozen=True)
class Semver:
    """A semantic version; build metadata after `+` is ignored in comparisons.

    Attributes:
        pre: the pre-release identifiers: (0, number, "") or (1, 0, word), so that numbers sort before words.
    """

    major: int
    minor: int
    patch: int
    pre: tuple[tuple[int, int, str], ...] = ()

    @classmethod
    def parse(cls, text: str, normalize: bool = False) -> Semver:
        """Parse a semantic version.

        Args:
            text: the version, e.g. `1.2.3-rc.1`.
            normalize: whether to accept short forms: `v1.02` means 1.2.0.

        Raises:
            ValueError: with the Go library's message.
        """
        if normalize:
            text = _normalized(text)
        if not text:
            raise ValueError("Version string empty")
        parts = text.split(".", 2)
        if len(parts) != 3:
            raise ValueError("No Major.Minor.Patch elements found")
        major, minor = _number(parts[0], "major"), _number(parts[1], "minor")
        rest, plus, build = parts[2].partition("+")
        patch, dash, pre = rest.partition("-")
        found = cls(major, minor, _number(patch, "patch"), tuple(map(_pre, pre.split("."))) if dash else ())
        for word in build.split(".") if plus else ():
            if not word:
                raise ValueError("Build meta data is empty")
            if not _WORD.fullmatch(word):
                _refuse("Invalid character(s) found in build meta data", word)
        return found

    def __lt__(self, other: Semver) -> bool:
        return self._order < other._order

    @property
    def _order(self) -> tuple[object, ...]:
        return self.major, self.minor, self.patch, not self.pre, self.pre  # a version before its release is smaller


def _number(text: str, name: str) -> int:
    if not _NUMBER.fullmatch(text):
        _refuse(f"Invalid character(s) found in {name} number", text)
    if len(text) > 1 and text[0] == "0":
        _refuse(f"{name.capitalize()} number must not contain leading zeroes", text)
    return _unsigned(text)


def _pre(text: str) -> tuple[int, int, str]:
    """Parse one pre-release identifier. Source: NewPRVersion."""
    if not text:
        raise ValueError("Prerelease is empty")
    if _NUMBER.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            _refuse("Numeric PreRelease version must not contain leading zeroes", text)
        return 0, _unsigned(text), ""
    if not _WORD.fullmatch(text):
        _refuse("Invalid character(s) found in prerelease", text)
    return 1, 0, text


def _unsigned(text: str) -> int:
    """Source: strconv.ParseUint."""
    problem = "invalid syntax" if not text else "value out of range" if len(text) > 20 or int(text) >= 2**64 else ""
    if problem:
        raise ValueError(f"strconv.ParseUint: parsing {go_quote(text)}: {problem}")
    return int(text)


def _normalized(text: str) -> str:
    """Return the version without a leading `v` and leading zeros, missing numbers added as 0."""
    parts = text.removeprefix("v").split(".", 2)
    for i, part in enumerate(parts):
        if len(part) > 1:
            rest = part.lstrip("0")
            parts[i] = rest if rest[:1].isascii() and rest[:1].isdigit() else f"0{rest}"
    if len(parts) < 3 and any(mark in parts[-1] for mark in "+-"):
        raise ValueError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][: max(3, len(parts))])


def _refuse(why: str, text: str) -> NoReturn:
    raise ValueError(f"{why} {go_quote(text)}")
