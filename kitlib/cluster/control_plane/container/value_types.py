"""The types that may be sent as data: looked up by name, filled without running any code.

A value type consists of its fields alone: API objects, dataclasses, named tuples and enumerations of packages without
side effects. Its fields must be the declared ones and fit their annotations.
"""

from __future__ import annotations

import dataclasses
import importlib
import re
import types
import typing
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from enum import Enum
from functools import cache
from typing import Any

import msgspec

from kitlib.api.errors import KitError

_PACKAGES = (
    "kitlib.api.",
    "kitlib.apiserver.validation.",
    "kitlib.cel.",
    "kitlib.kubelet.",
    "kitlib.scheduler.",
    "kitlib.study.",
    "kitlib.cluster.nodes.plan",
)
"""The packages with value types that may be sent; their code has no side effects."""
_MODULE = re.compile(r"kitlib(\.[a-z_]+)+")
_ATTRIBUTE = re.compile(r"_?[A-Za-z][A-Za-z0-9_]*")


class NotData(KitError):
    """A value that cannot be sent as data, or a text that does not encode one."""


def name_of(kind: type) -> str:
    """Return module and name of a value type.

    Raises:
        NotData: the type may not be sent.
    """
    name = f"{kind.__module__}:{kind.__qualname__}"
    if type_named(name) is not kind:
        raise NotData(f"{kind.__qualname__} cannot be sent")
    return name


@cache
def type_named(name: str) -> type:
    """Return a value type by module and name, without loading modules of other packages.

    Raises:
        NotData: no type of this name may be sent.
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
    """Return whether instances consist of their fields alone, so that creating and freeing them runs no code."""
    if hasattr(kind, "__del__"):
        return False
    if issubclass(kind, msgspec.Struct):
        return not hasattr(kind, "__post_init__")
    if issubclass(kind, tuple):
        return bool(fields_of(kind))
    return issubclass(kind, Enum) or not issubclass(
        kind, BaseException | type | str | bytes | int | float | list | dict
    )


@cache
def fields_of(kind: type) -> tuple[str, ...]:
    """Return the declared fields; () for an ordinary class."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return tuple(getattr(kind, "__struct_fields__", getattr(kind, "_fields", ())))


def attributes(value: Any) -> list[str]:
    """Return the names of the attributes of an ordinary class's instance."""
    slots = [name for kind in type(value).__mro__ for name in _slots(kind)]
    return [name for name in (*slots, *getattr(value, "__dict__", ())) if hasattr(value, name)]


def _slots(kind: type) -> tuple[str, ...]:
    found = kind.__dict__.get("__slots__", ())
    names = (found,) if isinstance(found, str) else tuple(found)
    return tuple(name for name in names if not name.startswith("__"))


@cache
def _hints(kind: type) -> dict[str, Any]:
    """Return the annotations of a type's fields; {} where some names exist for the type checker only."""
    try:
        return typing.get_type_hints(kind)
    except NameError:
        return {}


def filled(kind: type, fields: Mapping[str, Any], *, struct: bool) -> Any:
    """Create an instance with these fields without running its constructor or `__post_init__`."""
    declared, wanted = fields_of(kind), set(fields)
    known = wanted == set(declared) if declared or struct else all(map(_ATTRIBUTE.fullmatch, wanted))
    if struct is not issubclass(kind, msgspec.Struct) or not known:
        raise NotData(f"{kind.__qualname__}: not its fields")
    hints = _hints(kind)
    for name, value in fields.items():
        if name in hints and not _fits(value, hints[name]):
            raise NotData(f"{kind.__qualname__}.{name}: {type(value).__name__} does not fit")
    if struct:
        return kind(**fields)  # runs no other code: the type has no `__post_init__`
    if issubclass(kind, tuple):
        return tuple.__new__(kind, [fields[name] for name in declared])
    # object.__new__ and object.__setattr__ bypass __init__, __post_init__ and frozen: no code of the type runs.
    made = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value fits an annotation; undecidable annotations accept every value."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or isinstance(hint, typing.TypeVar):
        return True
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, argument) for argument in arguments)
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
    except TypeError:  # a protocol that does not support isinstance
        return True
    if isinstance(value, Mapping) and len(arguments) == 2:
        return all(_fits(key, arguments[0]) and _fits(one, arguments[1]) for key, one in value.items())
    if isinstance(value, list | set | frozenset | deque) and len(arguments) == 1:
        return all(_fits(one, arguments[0]) for one in value)
    return True
