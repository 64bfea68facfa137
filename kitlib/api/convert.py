"""Plain data becomes typed objects, from as many threads as there are.

msgspec keeps with a class what it has learnt of its fields, and shows it to other threads before it is complete: two
threads that meet a class for the first time end Python. So a class is met by one thread at a time.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
_EXPECTED = re.compile(r"Expected `([^`]+)`(.*?)(?:, got `([^`]+)`)?$", re.DOTALL)
_WORDS = {
    "object": "fields with values",
    "array": "a list",
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
}
"""msgspec's names of types -> what a user writes."""
Hook = Callable[[type, Any], Any]

_meeting = threading.RLock()


def meet(type_: Any, dec_hook: Hook | None = None) -> None:
    """Let msgspec learn the fields of a type, and of all that these are made of, unless it has.

    Args:
        type_: that will be converted to, or decoded.
        dec_hook: makes what msgspec does not know.
    """
    _met(type_, dec_hook)


@cache
def _met(type_: Hashable, dec_hook: Hook | None) -> None:
    with _meeting, contextlib.suppress(msgspec.ValidationError):
        msgspec.convert(None, type_, dec_hook=dec_hook)


def convert(data: Any, type_: type[T], dec_hook: Hook | None = None) -> T:
    """Typed objects from plain data, as `msgspec.convert`.

    Raises:
        msgspec.ValidationError: where the data does not fit; with the path.
    """
    meet(type_, dec_hook)
    return msgspec.convert(data, type_, dec_hook=dec_hook)


def in_words(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return the path of the field that does not fit ("" = the whole), and what is wrong with it, for a user's eyes."""
    text, _, where = str(error).partition(" - at `$")
    found = _EXPECTED.match(text)
    if found is None:
        return where.rstrip("`").lstrip("."), text.replace("`", "'")
    wanted = " or ".join(_WORDS.get(one.strip(), one.strip()) for one in found[1].split("|"))
    got = f", got {_WORDS.get(found[3], found[3])}" if found[3] else ""
    return where.rstrip("`").lstrip("."), f"must be {wanted}{found[2].replace('`', chr(39))}{got}"


def decoder(type_: type[T]) -> msgspec.json.Decoder[T]:
    """Reads JSON of a type."""
    meet(type_)
    return msgspec.json.Decoder(type_)
