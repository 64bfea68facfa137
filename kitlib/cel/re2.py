"""RE2 regular expressions for CEL: RE2's syntax, time linear in the text, no backtracking.

google-re2 is used if it is installed. Otherwise (in a browser) Python's own parser reads the pattern, constructs that
RE2 does not have are rejected, and the rest runs as a nondeterministic automaton: the set of its current states
advances with each character, so that the time is bounded by characters times states.

Source: github.com/google/re2/wiki/Syntax; cel-spec "matches"; R. Cox, "Regular Expression Matching Can Be Simple And
Fast" (the simulation).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

MAX_REPEAT = 1000
"""The largest count in `{n,m}`. Source: re2 kMaxRepeat."""
MAX_STATES = 20_000
"""The maximum number of states of a program; RE2 bounds its memory instead."""

_SHOWN = 200
"""The number of a pattern's characters that an error message shows."""

Test = Callable[[str], bool]


class PatternError(ValueError):
    """A pattern that is not valid in RE2."""


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Callable[[str], bool]:
    """Compile a pattern to a function that reports whether a text contains a match.

    Raises:
        PatternError: the pattern is not valid in RE2.
    """
    found = _by_re2(pattern)
    return _Program(pattern).search if found is None else lambda text: found.search(text) is not None


def found_in(pattern: str, text: str, most: int = -1) -> list[str]:
    """Return a pattern's successive matches in a text, at most `most` (negative: all).

    Raises:
        PatternError: the pattern is not valid in RE2, or google-re2, which locates matches, is not installed.
    """
    found = _by_re2(pattern)
    if found is None:
        compiled(pattern)
        raise PatternError("places are only found where google-re2 is installed: " + pattern)
    made: list[str] = []
    for one in found.finditer(text):
        if len(made) == most:
            break
        made.append(one[0])
    return made


@lru_cache(maxsize=256)
def _by_re2(pattern: str) -> Any | None:
    """Compile a pattern with google-re2; None if it is not installed."""
    try:
        import re2
    except ImportError:
        return None
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeError) as error:
        raise PatternError(_words(error)) from None


_GO_WORDS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}
"""RE2's error message in C++ -> Go's. Source: re2/regexp.cc kErrorStrings, regexp/syntax ErrorCode."""


def go_problem(pattern: str) -> str:
    """Return Go's error message for a pattern; "" if it is valid. Source: regexp/syntax Error.Error."""
    try:
        compiled(pattern)
    except PatternError as error:
        words, _, where = str(error).partition(": ")
        return f"error parsing regexp: {_GO_WORDS.get(words, words)}: `{where[:_SHOWN]}`"
    return ""


def _words(error: Exception) -> str:
    first = error.args[0] if error.args else error
    return first.decode(errors="replace") if isinstance(first, bytes) else str(first)


class _Program:
    """A pattern as a nondeterministic automaton.

    Attributes:
        states: (kind, argument, next states); kinds: "char" tests a character, "go" branches without one, "at" tests
            the position in the text, "match" accepts.
    """

    def __init__(self, pattern: str) -> None:
        self.states: list[tuple[str, Any, list[int]]] = []
        parser: Any = re._parser if hasattr(re, "_parser") else __import__("sre_parse")
        # Python's parser also accepts what RE2 does not have: back references, \Z, look-around, atomic and conditional
        # groups, possessive quantifiers. Character classes are removed first, because there these characters are
        # literals.
        if re.search(r"\\[1-9Z]|\(\?(?:[=!>(]|<[=!]|P=)|[*+?}]\+", re.sub(r"\\\\|\[\^?\]?[^]]*\]", "", pattern)):
            raise PatternError("invalid perl operator or escape sequence")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = parser.parse(pattern)
            self._flags = tree.state.flags
            end = self._add("match", None, [])
            self._start = self._sequence(tree, end)
        except (re.error, OverflowError) as error:
            raise PatternError(str(error)) from None
        except RecursionError:
            raise PatternError("expression nests too deeply") from None

    def _add(self, kind: str, argument: Any, following: list[int]) -> int:
        if len(self.states) >= MAX_STATES:
            raise PatternError("pattern too large - compile failed")
        self.states.append((kind, argument, following))
        return len(self.states) - 1

    def _sequence(self, tree: Any, following: int) -> int:
        for operator, argument in reversed(list(tree)):
            following = self._one(str(operator), argument, following)
        return following

    def _one(self, operator: str, argument: Any, following: int) -> int:
        if operator in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            return self._add("char", self._test(operator, argument), [following])
        if operator == "AT":
            return self._add("at", str(argument), [following])
        if operator == "BRANCH":
            return self._add("go", None, [self._sequence(one, following) for one in argument[1]])
        if operator == "SUBPATTERN":
            return self._sequence(argument[3], following)
        if operator in ("MAX_REPEAT", "MIN_REPEAT"):
            least, most, tree = argument
            return self._repeat(least, most, tree, following)
        raise PatternError("invalid perl operator")

    def _repeat(self, least: int, most: Any, tree: Any, following: int) -> int:
        endless = str(most) == "MAXREPEAT"
        if least > MAX_REPEAT or (not endless and int(most) > MAX_REPEAT):
            raise PatternError("bad repetition operator")
        if endless:
            # The loop state must exist before its body, whose last state leads back to it.
            loop = self._add("go", None, [])
            self.states[loop][2].extend([self._sequence(tree, loop), following])
            start = loop
        else:
            start = following
            for _ in range(int(most) - least):
                start = self._add("go", None, [self._sequence(tree, start), following])
        for _ in range(least):
            start = self._sequence(tree, start)
        return start

    def _test(self, operator: str, argument: Any) -> Test:
        fold = bool(self._flags & re.IGNORECASE)
        if operator == "ANY":
            return (lambda _: True) if self._flags & re.DOTALL else (lambda one: one != "\n")
        if operator == "IN":
            negated = bool(argument) and str(argument[0][0]) == "NEGATE"
            tests = [self._member(str(kind), value) for kind, value in argument[negated:]]
            return lambda one: any(t(c) for t in tests for c in _cases(one, fold)) is not negated
        wanted = chr(argument)
        if operator == "LITERAL":
            return (lambda one: wanted in _cases(one, True)) if fold else wanted.__eq__
        return lambda one: wanted not in _cases(one, fold)

    @staticmethod
    def _member(kind: str, value: Any) -> Test:
        if kind == "LITERAL":
            return chr(value).__eq__
        if kind == "RANGE":
            low, high = map(chr, value)
            return lambda one: low <= one <= high
        return _CATEGORIES[str(value)]

    def search(self, text: str) -> bool:
        """Return whether a match starts anywhere in the text."""
        current: set[int] = set()
        for place in range(len(text) + 1):
            # RE2's partial match is not anchored: a match may start at every position.
            if self._follow(self._start, current, text, place):
                return True
            if place == len(text):
                return False
            character, following = text[place], set[int]()
            for number in current:
                kind, test, after = self.states[number]
                if kind == "char" and test(character) and self._follow(after[0], following, text, place + 1):
                    return True
            current = following
        return False

    def _follow(self, number: int, into: set[int], text: str, place: int) -> bool:
        """Add a state and the states that it reaches without a character; return whether the match is one of them."""
        stack = [number]
        while stack:
            one = stack.pop()
            # Each state is expanded once for a position. This bounds the work and ends the loops of empty bodies such
            # as `(a*)*`.
            if one in into:
                continue
            into.add(one)
            kind, argument, following = self.states[one]
            if kind == "match":
                return True
            if kind == "go" or (kind == "at" and self._stands(argument, text, place)):
                stack += following
        return False

    def _stands(self, where: str, text: str, place: int) -> bool:
        before, after = text[place - 1 : place], text[place : place + 1]
        lines = bool(self._flags & re.MULTILINE)
        if where == "AT_BEGINNING_STRING" or (where == "AT_BEGINNING" and not lines):
            return place == 0
        if where == "AT_BEGINNING":
            return place == 0 or before == "\n"
        if where == "AT_END" and lines:
            return not after or after == "\n"
        if where in ("AT_END", "AT_END_STRING"):
            return not after
        word = _CATEGORIES["CATEGORY_WORD"]
        boundary = bool(before and word(before)) is not bool(after and word(after))
        return boundary is (where == "AT_BOUNDARY")


def _cases(one: str, fold: bool) -> tuple[str, ...]:
    return (one, one.lower(), one.upper()) if fold else (one,)


_DIGIT, _SPACE = frozenset("0123456789"), frozenset("\t\n\f\r ")
_WORD = frozenset("0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_CATEGORIES: dict[str, Test] = {
    "CATEGORY_DIGIT": _DIGIT.__contains__,
    "CATEGORY_NOT_DIGIT": lambda one: one not in _DIGIT,
    "CATEGORY_SPACE": _SPACE.__contains__,
    "CATEGORY_NOT_SPACE": lambda one: one not in _SPACE,
    "CATEGORY_WORD": _WORD.__contains__,
    "CATEGORY_NOT_WORD": lambda one: one not in _WORD,
}
