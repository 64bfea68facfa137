"""JSON encoding of the kit's value types as pure data: decoding calls no constructor and no hook.

The set of types is closed: plain containers, numbers and texts, dates, arrays of numbers, and the kit's value types
(API objects, dataclasses and enumerations of packages without side effects). A type is looked up by its name among
these. Its fields must be the declared ones and fit their annotations. Everything else is rejected.

    text, int, float, bool, null     themselves
    [tag, …]                         everything else; ["ref", 3] is the third composite value once more

Bounds: `MAX_BYTES` of text, `MAX_DEPTH` levels.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, cast

import msgspec

from kitlib.api.errors import KitError
from kitlib.api.meta import KubeStruct
from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.api.serialize import from_dict, to_dict
from kitlib.cluster.control_plane.container.value_types import (
    NotData,
    attributes,
    fields_of,
    filled,
    name_of,
    type_named,
)

MAX_BYTES = 256 << 20
MAX_DEPTH = 100
_DTYPE = re.compile(r"[<>|=]?[biuf][1-8]|[<>=]?U[0-9]{1,4}")
_MAX_INT_DIGITS = 40
_SEQUENCES: dict[str, Callable[[Iterable[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": deque,
}
_MAPPINGS: dict[str, Callable[[Any], Any]] = {
    "dict": dict,
    "ordered": OrderedDict,
    "view": lambda pairs: types.MappingProxyType(dict(pairs)),
}
_TAG_OF: dict[type, str] = {list: "list", tuple: "tuple", set: "set", frozenset: "frozenset", deque: "deque"}
_MAPPING_OF: dict[type, str] = {
    dict: "dict",
    OrderedDict: "ordered",
    types.MappingProxyType: "view",
    defaultdict: "dict",
}


def encode(value: Any) -> str:
    """Encode a value as JSON text.

    Raises:
        NotData: a part of the value has a type outside of the closed set.
    """
    try:
        return msgspec.json.encode(_Encoder().plain(value, 0)).decode()
    except (KitError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise NotData(f"{type(value).__name__} cannot be sent to a control plane: {error}") from None


def decode(text: str) -> Any:
    """Decode a value from JSON text.

    Raises:
        NotData: the text is not a result of `encode`.
    """
    if not isinstance(text, str) or len(text) > MAX_BYTES:
        raise NotData("what was sent cannot be read: not a text, or too long")
    try:
        return _Decoder().value(msgspec.json.decode(text), 0)
    except (KitError, msgspec.DecodeError, RecursionError) as error:
        raise NotData(f"what was sent cannot be read: {str(error)[:300]}") from None
    except (TypeError, ValueError, KeyError, IndexError, OverflowError, AttributeError) as error:
        raise NotData(f"what was sent cannot be read: {type(error).__name__}: {str(error)[:300]}") from None


class _Encoder:
    """An encoder of one value; a part that occurs several times is written once."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []  # keeps values alive, so that no id() is reused

    def plain(self, value: Any, depth: int) -> Any:
        """Return the JSON form of a value, as plain data."""
        kind = type(value)
        if kind is str or kind is bool or value is None:
            return value
        if kind is int:
            return value if -(1 << 62) < value < (1 << 62) else ["int", str(value)]
        if kind is float:
            return value if math.isfinite(value) else ["float", repr(value)]
        if depth > MAX_DEPTH:
            raise NotData(f"more than {MAX_DEPTH} levels")
        if hasattr(kind, "as_data"):  # a lazy value is computed here
            value = value.as_data()
            kind = type(value)
        # The decoder numbers composite values in the order in which they are complete, so both sides agree on "ref".
        number = self._seen.get(id(value))
        if number is not None:
            return ["ref", number]
        made = self._composite(kind, value, depth + 1)
        self._seen[id(value)] = len(self._kept)
        self._kept.append(value)
        return made

    def _composite(self, kind: type, value: Any, depth: int) -> list[Any]:
        if (tag := _TAG_OF.get(kind)) is not None:
            return [tag, *(self.plain(one, depth) for one in value)]
        if (tag := _MAPPING_OF.get(kind)) is not None:
            return [tag, *(self.plain(one, depth) for pair in value.items() for one in pair)]
        if kind is Quantity:
            return ["quantity", str(value)]
        if kind is Release:
            return ["release", value.name, value.gates()]
        if kind is datetime:
            return ["time", value.isoformat()]
        if kind is timedelta:
            return ["seconds", value.total_seconds()]
        if kind is type(UTC) and value is UTC:
            return ["utc"]
        if kind.__module__ == "numpy":
            return _array(value)
        name = name_of(kind)
        if isinstance(value, Enum):
            return ["enum", name, value.name]
        if isinstance(value, KubeStruct):
            return ["object", name, to_dict(value)]
        if isinstance(value, msgspec.Struct):
            return ["struct", name, {f: self.plain(getattr(value, f), depth) for f in fields_of(kind)}]
        fields = fields_of(kind) or attributes(value)
        return ["data", name, {f: self.plain(getattr(value, f), depth) for f in fields}]


class _Decoder:
    """A decoder of one value."""

    def __init__(self) -> None:
        self._made: list[Any] = []

    def value(self, data: Any, depth: int) -> Any:
        """Return the value of a part of the JSON form."""
        if not isinstance(data, list):
            if isinstance(data, dict):
                raise NotData("an object without a tag")
            return data
        if depth > MAX_DEPTH:
            raise NotData(f"more than {MAX_DEPTH} levels")
        tag, *rest = data
        if tag == "ref":
            (number,) = rest
            if type(number) is not int or not 0 <= number < len(self._made):
                raise NotData(f"reference to value {number!r}")
            return self._made[number]
        if tag == "int":
            return _integer(*rest)
        if tag == "float":
            return float({"inf": "inf", "-inf": "-inf", "nan": "nan"}[rest[0]])
        made = self._composite(tag, rest, depth + 1)
        self._made.append(made)
        return made

    def _composite(self, tag: Any, rest: list[Any], depth: int) -> Any:
        if tag in _SEQUENCES:
            return _SEQUENCES[tag](self.value(one, depth) for one in rest)
        if tag in _MAPPINGS:
            found = [self.value(one, depth) for one in rest]
            return _MAPPINGS[tag](zip(found[::2], found[1::2], strict=True))
        if tag == "array":
            return _to_array(*rest)
        simple = _SIMPLE.get(tag)
        if simple is not None:
            return simple(*rest)
        name, content = rest
        kind = type_named(name)
        if tag == "enum" and issubclass(kind, Enum):
            return kind[content]
        if tag == "object" and issubclass(kind, KubeStruct):
            return from_dict(content, cast(Any, kind))
        if tag in ("data", "struct") and isinstance(content, dict):
            fields = {name: self.value(one, depth) for name, one in content.items()}
            return filled(kind, fields, struct=tag == "struct")
        raise NotData(f"{str(tag)[:40]!r} is not a kind of value")


def _integer(digits: Any) -> int:
    if not isinstance(digits, str) or len(digits) > _MAX_INT_DIGITS:
        raise NotData("an integer of too many digits")
    return int(digits)


def _quantity(text: Any) -> Quantity:
    if not isinstance(text, str):
        raise NotData("a quantity is a text")
    return Quantity(text)


def _release(name: Any, gates: Any) -> Release:
    if not isinstance(name, str) or not isinstance(gates, dict):
        raise NotData("a release is a name and its gates")
    return Release(name, gates)


_SIMPLE: dict[Any, Callable[..., Any]] = {
    "quantity": _quantity,
    "release": _release,
    "time": datetime.fromisoformat,
    "seconds": lambda seconds: timedelta(seconds=seconds),
    "utc": lambda: UTC,
}


# Arrays.


def _array(value: Any) -> list[Any]:
    import numpy as np

    if isinstance(value, np.generic):
        value = np.asarray(value)
        return ["array", value.dtype.str, None, base64.b64encode(value.tobytes()).decode()]
    if type(value) is not np.ndarray or not _DTYPE.fullmatch(value.dtype.str):
        raise NotData(f"{type(value).__name__} of {getattr(value, 'dtype', '?')} cannot be sent")
    content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
    return ["array", value.dtype.str, list(value.shape), content]


def _to_array(dtype: Any, shape: Any, content: Any) -> Any:
    import numpy as np

    if not isinstance(dtype, str) or not _DTYPE.fullmatch(dtype) or not isinstance(content, str):
        raise NotData(f"an array of {str(dtype)[:40]!r}")
    try:
        raw = base64.b64decode(content, validate=True)
    except binascii.Error as error:
        raise NotData(f"an array: {error}") from None
    flat = np.frombuffer(raw, dtype=np.dtype(dtype))
    if shape is None:
        return flat[0]
    if not isinstance(shape, list) or len(shape) > 4 or not all(type(n) is int and 0 <= n <= 1 << 31 for n in shape):
        raise NotData("an array of no such shape")
    return flat.reshape(shape).copy()
