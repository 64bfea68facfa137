"""`optional.of`, `optional.none`, `optional.ofNonZeroValue`, `optMap` and `optFlatMap`.

Source: cel-go cel/library.go optionalLib; common/types (IsZeroValue).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kitlib.cel.library import ANY, BOOL, OPTIONAL, EvaluationError, Maybe
from kitlib.cel.messages import MessageCompiler, MessageValue
from kitlib.cel.operators import Run
from kitlib.cel.parser import ExpressionNode

_ARGUMENTS = {"of": 1, "none": 0, "ofNonZeroValue": 1}
MACROS = ("optMap", "optFlatMap")


def is_optional_function(node: ExpressionNode) -> bool:
    """Return whether a call is `optional.of`, `optional.none` or `optional.ofNonZeroValue`."""
    receiver = node.parts[0]
    return receiver.kind == "name" and receiver.value == "optional" and node.value in _ARGUMENTS


def optional_function(compiler: MessageCompiler, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
    made = [compiler.compiled(part, scope) for part in node.parts[1:]]
    if len(made) != _ARGUMENTS[node.value]:
        raise compiler.no_overload(node, f"optional.{node.value}", [kind for kind, _ in made])
    if not made:
        return OPTIONAL, lambda _: Maybe(False)
    value = made[0][1]
    if node.value == "of":
        return OPTIONAL, lambda names: Maybe(True, value(names))

    def of_non_zero(names: dict[str, Any]) -> Any:
        found = value(names)
        return Maybe(False) if _is_zero(found) else Maybe(True, found)

    return OPTIONAL, of_non_zero


def optional_macro(compiler: MessageCompiler, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
    """Compile `value.optMap(x, …)`, which maps a present value; for `optFlatMap` the expression returns an optional.

    Source: optMap, optFlatMap, which expand to a choice by hasValue().
    """
    kind, receiver = compiler.compiled(node.parts[0], scope)
    name, flat = node.parts[1].value, node.value == "optFlatMap"
    if node.parts[1].kind != "name":
        raise compiler.wrong(node.parts[1], f"{node.value}() variable name must be a simple identifier")
    gives, inner = compiler.compiled(node.parts[2], {**scope, name: ANY})
    if kind not in (OPTIONAL, ANY):
        raise compiler.no_overload(node, "hasValue", [kind], True)
    if flat and gives not in (OPTIONAL, ANY):
        raise compiler.no_overload(node, "_?_:_", [BOOL, gives, OPTIONAL])

    def mapped(names: dict[str, Any]) -> Any:
        held = receiver(names)
        if not isinstance(held, Maybe):
            raise EvaluationError("no such overload")
        if not held.there:
            return held
        made = inner({**names, name: held.value})
        if not flat:
            return Maybe(True, made)
        if not isinstance(made, Maybe):
            raise EvaluationError("no such overload")
        return made

    return OPTIONAL, mapped


def _is_zero(value: Any) -> bool:
    if isinstance(value, MessageValue):
        return not value.fields
    return value is None or (isinstance(value, bool | int | float | str | list | dict) and not value)
