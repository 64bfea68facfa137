"""Plain data becomes typed objects, from as many threads as there are.

msgspec keeps with a class what it has learnt of its fields, and shows it to other threads before it is complete: two
threads that meet a class for the first time end Python. So a class is met by one thread at a time.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
Hook = Callable[[type, Any], Any]

_met: set[Any] = set()
_meeting = threading.RLock()


def meet(type_: Any, dec_hook: Hook | None = None) -> None:
    """Let msgspec learn the fields of a type, and of all that these are made of, unless it has.

    Args:
        type_: that will be converted to, or decoded.
        dec_hook: makes what msgspec does not know.
    """
    if type_ in _met:
        return
    with _meeting:
        with contextlib.suppress(msgspec.ValidationError):
            msgspec.convert(None, type_, dec_hook=dec_hook)
        _met.add(type_)


def convert(data: Any, type_: type[T], dec_hook: Hook | None = None) -> T:
    """Typed objects from plain data, as `msgspec.convert`.

    Raises:
        msgspec.ValidationError: where the data does not fit; with the path.
    """
    meet(type_, dec_hook)
    return msgspec.convert(data, type_, dec_hook=dec_hook)


def decoder(type_: type[T]) -> msgspec.json.Decoder[T]:
    """Reads JSON of a type."""
    meet(type_)
    return msgspec.json.Decoder(type_)
