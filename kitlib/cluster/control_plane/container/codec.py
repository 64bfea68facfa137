"""Values of the kit's own types as JSON and back, as data alone: reading one calls no constructor and no hook.

What may travel is closed: plain containers, numbers and texts, dates, arrays of numbers, and the kit's value types
(API objects, dataclasses and enumerations of the packages that only compute). A type is looked up by its name among
these; its fields must be the declared ones and fit their annotations. Anything else is refused.

    text, int, float, bool, null     themselves
    [tag, …]                         everything else; ["ref", 3] is the third composite value once more

Bounds: `MAX_BYTES` of text, `MAX_DEPTH` levels.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import importlib
import math
import re
import types
import typing
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from functools import cache
from typing import Any, cast

import msgspec

from kitlib.api.errors import KitError
from kitlib.api.meta import KubeStruct
from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.api.serialize import from_dict, to_dict

MAX_BYTES = 256 << 20
MAX_DEPTH = 100
_PACKAGES = ("kitlib.api.", "kitlib.kubelet.", "kitlib.scheduler.", "kitlib.study.", "kitlib.cluster.nodes.plan")
"""Whose value types may travel: they compute and act on nothing."""
_MODULE = re.compile(r"kitlib(\.[a-z_]+)+")
_ATTRIBUTE = re.compile(r"_?[A-Za-z][A-Za-z0-9_]*")
_DTYPE = re.compile(r"[<>|=]?[biuf][1-8]|[<>=]?U[0-9]{1,4}")
_MAX_INT_DIGITS = 40
_NOT_VALUES = BaseException | type | str | bytes | int | float | list | dict
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


class NotData(KitError):
    """A value that cannot travel, or a text that is no such value."""


def encode(value: Any) -> str:
    """A value as text.

    Raises:
        NotData: something in it is not data of the kit's own types.
    """
    try:
        return msgspec.json.encode(_Encoder().plain(value, 0)).decode()
    except (KitError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise NotData(f"{type(value).__name__} cannot be sent to a control plane: {error}") from None


def decode(text: str) -> Any:
    """The value back.

    Raises:
        NotData: for anything that `encode` does not write.
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
    """Writes one value; what stands in it several times is written once."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no identity is used twice

    def plain(self, value: Any, depth: int) -> Any:
        """What JSON can hold."""
        kind = type(value)
        if kind is str or kind is bool or value is None:
            return value
        if kind is int:
            return value if -(1 << 62) < value < (1 << 62) else ["int", str(value)]
        if kind is float:
            return value if math.isfinite(value) else ["float", repr(value)]
        if depth > MAX_DEPTH:
            raise NotData(f"more than {MAX_DEPTH} levels")
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
        name = _name_of(kind)
        if isinstance(value, Enum):
            return ["enum", name, value.name]
        if isinstance(value, KubeStruct):
            return ["object", name, to_dict(value)]
        if isinstance(value, msgspec.Struct):
            return ["struct", name, {f: self.plain(getattr(value, f), depth) for f in _fields(kind)}]
        fields = _fields(kind) or _attributes(value)
        return ["data", name, {f: self.plain(getattr(value, f), depth) for f in fields}]


class _Decoder:
    """Reads one value."""

    def __init__(self) -> None:
        self._made: list[Any] = []

    def value(self, data: Any, depth: int) -> Any:
        """The value that a part of the message stands for."""
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
        kind = _type_named(name)
        if tag == "enum" and issubclass(kind, Enum):
            return kind[content]
        if tag == "object" and issubclass(kind, KubeStruct):
            return from_dict(content, cast(Any, kind))
        if tag in ("data", "struct") and isinstance(content, dict):
            fields = {name: self.value(one, depth) for name, one in content.items()}
            return _filled(kind, fields, struct=tag == "struct")
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


# Types.


def _name_of(kind: type) -> str:
    name = f"{kind.__module__}:{kind.__qualname__}"
    if _type_named(name) is not kind:
        raise NotData(f"{kind.__qualname__} cannot be sent")
    return name


@cache
def _type_named(name: str) -> type:
    """A value type by module and name; modules of other packages are not even loaded.

    Raises:
        NotData: there is none that may travel.
    """
    module, _, member = str(name).partition(":")
    if not (_MODULE.fullmatch(module) and f"{module}.".startswith(_PACKAGES)):
        raise NotData(f"{str(name)[:80]!r} is not one of the types that may be sent")
    try:
        found = getattr(importlib.import_module(module), member, None) if member.isidentifier() else None
    except ImportError:
        found = None
    ours = isinstance(found, type) and found.__module__ == module and found.__qualname__ == member
    if not (ours and isinstance(found, type) and _is_value_type(found)):
        raise NotData(f"{str(name)[:80]!r} is not one of the types that may be sent")
    return found


def _is_value_type(kind: type) -> bool:
    """Whether an instance is nothing but its fields: making one and letting it go runs nothing."""
    if hasattr(kind, "__del__"):
        return False
    if issubclass(kind, msgspec.Struct):
        return not hasattr(kind, "__post_init__")
    if issubclass(kind, tuple):
        return bool(_fields(kind))
    return issubclass(kind, Enum) or not issubclass(
        kind, BaseException | type | str | bytes | int | float | list | dict
    )


@cache
def _fields(kind: type) -> tuple[str, ...]:
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return tuple(getattr(kind, "__struct_fields__", getattr(kind, "_fields", ())))


def _attributes(value: Any) -> list[str]:
    """What a value of an ordinary class holds."""
    slots = [name for kind in type(value).__mro__ for name in _slots(kind)]
    return [name for name in (*slots, *getattr(value, "__dict__", ())) if hasattr(value, name)]


def _slots(kind: type) -> tuple[str, ...]:
    found = kind.__dict__.get("__slots__", ())
    names = (found,) if isinstance(found, str) else tuple(found)
    return tuple(name for name in names if not name.startswith("__"))


@cache
def _hints(kind: type) -> dict[str, Any]:
    """Annotations of a type's fields; none where some stand for the type checker only."""
    try:
        return typing.get_type_hints(kind)
    except NameError:
        return {}


def _filled(kind: type, fields: Mapping[str, Any], *, struct: bool) -> Any:
    """An instance with these fields and nothing run: neither constructor nor `__post_init__`."""
    declared, wanted = _fields(kind), set(fields)
    known = wanted == set(declared) if declared or struct else all(map(_ATTRIBUTE.fullmatch, wanted))
    if struct is not issubclass(kind, msgspec.Struct) or not known:
        raise NotData(f"{kind.__qualname__}: not its fields")
    hints = _hints(kind)
    for name, value in fields.items():
        if name in hints and not _fits(value, hints[name]):
            raise NotData(f"{kind.__qualname__}.{name}: {type(value).__name__} does not fit")
    if struct:
        return kind(**fields)  # sets the fields: there is no `__post_init__`
    if issubclass(kind, tuple):
        return tuple.__new__(kind, [fields[name] for name in declared])
    made = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type; what cannot be told is let pass."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or isinstance(hint, typing.TypeVar):
        return True
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, one) for one in arguments)
    if origin is typing.Literal:
        return value in arguments
    if origin is typing.Annotated:
        return _fits(value, arguments[0])
    if hint is None or hint is type(None):
        return value is None
    if hint is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) or type(value).__module__ == "numpy"
    if hint is date:
        return isinstance(value, date)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return all(_fits(one, arguments[0]) for one in value)
        return len(arguments) == len(value) and all(map(_fits, value, arguments))
    plain = origin or hint
    if not isinstance(plain, type):
        return True
    if plain is Callable or plain is typing.Callable:
        return False
    try:
        if not isinstance(value, plain):
            return type(value).__module__ == "numpy" and plain in (bool, float, Sequence)
    except TypeError:  # a protocol that cannot be asked
        return True
    if isinstance(value, Mapping) and len(arguments) == 2:
        return all(_fits(key, arguments[0]) and _fits(one, arguments[1]) for key, one in value.items())
    if isinstance(value, list | set | frozenset | deque) and len(arguments) == 1:
        return all(_fits(one, arguments[0]) for one in value)
    return True
