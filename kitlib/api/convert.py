"""Conversion of plain data to typed objects, safe for concurrent threads.

msgspec stores a description of the fields with each class, and publishes it to other threads before it is complete.
Two threads that use a class for the first time at the same time crash Python. So one thread at a time prepares a class.
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
"""The words for a user by msgspec's names of types."""
Hook = Callable[[type, Any], Any]

_meeting = threading.RLock()


def meet(type_: Any, dec_hook: Hook | None = None) -> None:
    """Prepare a type for msgspec, with the types of its fields, unless that has been done.

    Args:
        type_: the type to convert to or to decode.
        dec_hook: converts values of types that msgspec does not know.
    """
    _met(type_, dec_hook)


@cache
def _met(type_: Hashable, dec_hook: Hook | None) -> None:
    # Converting None fails for most types, but only after msgspec has collected the fields of the type and of all types
    # in it. The cache makes the lock a cost of the first use alone.
    with _meeting, contextlib.suppress(msgspec.ValidationError):
        msgspec.convert(None, type_, dec_hook=dec_hook)


def convert(data: Any, type_: type[T], dec_hook: Hook | None = None) -> T:
    """Return typed objects made from plain data, like `msgspec.convert`.

    Raises:
        msgspec.ValidationError: the data does not fit the type; the text has the path.
    """
    meet(type_, dec_hook)
    return msgspec.convert(data, type_, dec_hook=dec_hook)


def in_words(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return the path of the field that does not fit ("" = the whole), and the problem in words for a user."""
    text, _, where = str(error).partition(" - at `$")
    found = _EXPECTED.match(text)
    if found is None:
        return where.rstrip("`").lstrip("."), text.replace("`", "'")
    wanted = " or ".join(_WORDS.get(one.strip(), one.strip()) for one in found[1].split("|"))
    got = f", got {_WORDS.get(found[3], found[3])}" if found[3] else ""
    return where.rstrip("`").lstrip("."), f"must be {wanted}{found[2].replace('`', chr(39))}{got}"


def decoder(type_: type[T], dec_hook: Hook | None = None) -> msgspec.json.Decoder[T]:
    """Return a decoder that reads JSON of a type; `dec_hook` as for `meet`."""
    meet(type_, dec_hook)
    return msgspec.json.Decoder(type_, dec_hook=dec_hook)
