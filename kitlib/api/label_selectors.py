"""Label selectors as text: `app=web,tier in (a,b),!old`, as queries and the status of a Scale have them.

Source: apimachinery pkg/labels (Parse).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from kitlib.api.selectors import SelectorError

Labels = Mapping[str, str]
_SET = re.compile(r"^(\S+)\s+(in|notin)\s*\(([^()]*)\)$")
_COMPARE = re.compile(r"^([^\s=!<>]+)\s*(==|=|!=|>|<)\s*([^\s=!<>]*)$")
_EXISTS = re.compile(r"^(!?)\s*([^\s=!<>(),]+)$")
_KEY = re.compile(r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$")
_VALUE = re.compile(r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$")


def parse_label_selector(text: str) -> Callable[[Labels], bool]:
    """Return a function that tells whether labels match a selector.

    Raises:
        SelectorError: the text is not a selector.
    """
    tests = [_requirement(part, text) for part in _parts(text)]
    return lambda labels: all(test(labels) for test in tests)


def _parts(text: str) -> Iterable[str]:
    depth, start = 0, 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            yield text[start:i].strip()
            start = i + 1
    if text[start:].strip() or start:
        yield text[start:].strip()


def _requirement(part: str, text: str) -> Callable[[Mapping[str, str]], bool]:
    def wrong(why: str) -> SelectorError:
        return SelectorError(f'unable to parse requirement: {why} (label selector "{text[:200]}")')

    found = _SET.match(part)
    if found:
        key, negated = found.group(1), found.group(2) == "notin"
        values = {value.strip() for value in found.group(3).split(",")}
        _check(key, values, wrong)
        return lambda labels: (labels.get(key) in values) != negated if key in labels else negated
    found = _COMPARE.match(part)
    if found:
        key, operator, value = found.groups()
        _check(key, (value,), wrong)
        if operator in ("=", "=="):
            return lambda labels: labels.get(key) == value
        if operator == "!=":
            return lambda labels: labels.get(key) != value
        if not value.lstrip("-").isdigit():
            raise wrong(
                f"values[0]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer"
            )
        return lambda labels: _compared(labels.get(key), operator, int(value))
    found = _EXISTS.match(part)
    if found:
        negated, key = bool(found.group(1)), found.group(2)
        _check(key, (), wrong)
        return lambda labels: (key in labels) != negated
    raise wrong(f"found {part[:80]!r}, expected: a key, `key=value`, `key in (values)` or `!key`")


def _check(key: str, values: Iterable[str], wrong: Callable[[str], SelectorError]) -> None:
    if len(key) > 317 or not _KEY.match(key):
        raise wrong(
            f'key: Invalid value: "{key[:80]}": name part must consist of alphanumeric characters, "-", "_" or "."'
        )
    for value in values:
        if len(value) > 63 or not _VALUE.match(value):
            raise wrong(
                f'values: Invalid value: "{value[:80]}": a valid label must be at most 63 characters of its alphabet'
            )


def _compared(value: str | None, operator: str, bound: int) -> bool:
    try:
        number = int(value or "")
    except ValueError:
        return False
    return number > bound if operator == ">" else number < bound
