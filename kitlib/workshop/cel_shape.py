"""Compose CEL expressions that accept an object only if every key and value is expected.

An admission policy that lists forbidden values admits every value that its author forgot, and every field of a later
release. The shapes below list the allowed values instead: `Keys` compares the keys of a map with a fixed list, so an
unknown field is rejected. In an admission policy `object` is a plain map independent of the schema, so `all` over its
keys covers fields that the policy's author did not know.

Source: apiserver pkg/admission/plugin/policy/validating (the variables are declared dynamic and bound to unstructured
content); CEL language definition, macros `has` and `all`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Shape(Protocol):
    """A condition on one value."""

    def cel(self, path: str) -> str:
        """Return the expression that is true if the value at `path` has this shape."""
        ...


@dataclass(frozen=True)
class Exactly:
    """A value, compared as a whole: scalars, lists and maps."""

    value: Any

    def cel(self, path: str) -> str:
        return f"{path} == {literal(self.value)}"


@dataclass(frozen=True)
class OneOf:
    """An alternative of a few scalars."""

    values: Sequence[Any]

    def cel(self, path: str) -> str:
        return f"{path} in {literal(list(self.values))}"


@dataclass(frozen=True)
class Where:
    """An expression in which `{it}` is the value.

    Attributes:
        text: CEL, with `{it}` in place of the path.
    """

    text: str

    def cel(self, path: str) -> str:
        return self.text.replace("{it}", path)


@dataclass(frozen=True)
class Items:
    """A list of at most `most` items of one shape."""

    shape: Shape
    most: int

    def cel(self, path: str) -> str:
        item = f"item{path.count('item')}"  # a nested list needs a variable of its own
        return f"{path}.size() <= {self.most} && {path}.all({item}, {self.shape.cel(item)})"


@dataclass(frozen=True)
class Keys:
    """A map that has the required keys, may have the optional ones, and has no other key.

    Attributes:
        required: shape by key.
        optional: shape by key.
    """

    required: Mapping[str, Shape] = field(default_factory=dict)
    optional: Mapping[str, Shape] = field(default_factory=dict)

    def only(self, path: str) -> str:
        """Return the expression that rejects unknown keys."""
        return f"{path}.all(key, key in {literal(sorted([*self.required, *self.optional]))})"

    def expects(self, key: str) -> Shape:
        """Return the shape of one key's value."""
        return self.required[key] if key in self.required else self.optional[key]

    def one(self, path: str, key: str) -> str:
        """Return the expression about one key and its value."""
        there, value = member(path, key)
        condition = _grouped(self.expects(key).cel(value))
        return f"{there} && {condition}" if key in self.required else f"!{there} || {condition}"

    def cel(self, path: str) -> str:
        parts = [self.only(path), *(self.one(path, key) for key in (*self.required, *self.optional))]
        return " && ".join(_grouped(part) for part in parts)


@dataclass(frozen=True)
class Either:
    """An alternative of several shapes."""

    shapes: Sequence[Shape]

    def cel(self, path: str) -> str:
        return " || ".join(_grouped(shape.cel(path)) for shape in self.shapes)


def member(path: str, key: str) -> tuple[str, str]:
    """Return two expressions: whether the map at `path` has the key, and its value."""
    if _IDENTIFIER.fullmatch(key):
        return f"has({path}.{key})", f"{path}.{key}"
    return f"({literal(key)} in {path})", f"{path}[{literal(key)}]"


def literal(value: Any) -> str:
    """Return the CEL literal of plain data: strings, numbers, booleans, lists, and maps with string keys.

    An admission policy refuses lists and maps of several types; `dyn` hides them.
    Source: apiserver pkg/cel/environment (cel.ValidateHomogeneousAggregateLiterals).
    """
    if isinstance(value, dict):
        parts = _parts(list(value.values()))
        return "{" + ", ".join(f"{json.dumps(key)}: {part}" for key, part in zip(value, parts, strict=True)) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_parts(value))}]"
    return json.dumps(value)  # JSON scalars are valid CEL literals


def _parts(values: Sequence[Any]) -> list[str]:
    parts = [literal(value) for value in values]
    mixed = len({_type(value) for value in values}) > 1
    return [f"dyn({part})" for part in parts] if mixed else parts


def _type(value: Any) -> str:
    """Return a name of the value's CEL type."""
    if isinstance(value, (dict, list, tuple)):
        inner = {_type(one) for one in (value.values() if isinstance(value, dict) else value)}
        return f"{'map' if isinstance(value, dict) else 'list'}({inner.pop() if len(inner) == 1 else 'dyn'})"
    return type(value).__name__


def _grouped(expression: str) -> str:
    return f"({expression})" if "&&" in expression or "||" in expression else expression


@dataclass(frozen=True)
class CelRule:
    """A validation of a policy.

    Attributes:
        expression: CEL; false = the request is rejected.
        message: the message of a rejection.
        message_expression: CEL of a message that names the rejected keys too; "" = none.
    """

    expression: str
    message: str
    message_expression: str = ""

    def manifest(self) -> dict[str, str]:
        """Return the validation as in a manifest."""
        fields = {"expression": self.expression, "message": self.message, "messageExpression": self.message_expression}
        return {name: text for name, text in fields.items() if text}
