"""Macros with two variables: `all(i, x, …)`, `exists`, `existsOne`, `transformList` and the other transforms.

The variables are index and element of a list, or key and value of a map.

Source: cel-go ext/comprehensions.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kitlib.cel import library as lib
from kitlib.cel import operators as ops
from kitlib.cel import types
from kitlib.cel.library import ANY, BOOL, INT, LIST, MAP, EvaluationError
from kitlib.cel.messages import MessageCompiler
from kitlib.cel.operators import Run
from kitlib.cel.parser import ExpressionNode

_QUESTIONS = ("all", "exists", "existsOne", "exists_one")
_TRANSFORMS = ("transformList", "transformMap", "transformMapEntry")


def is_comprehension(node: ExpressionNode) -> bool:
    """Return whether a call is a macro with two variables."""
    count = len(node.parts)
    return (node.value in _QUESTIONS and count == 4) or (node.value in _TRANSFORMS and count in (4, 5))


def comprehension(compiler: MessageCompiler, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
    for part in node.parts[1:3]:
        if part.kind != "name":
            raise compiler.wrong(part, "argument must be a simple name")
    over, receiver = compiler.compiled(node.parts[0], scope)
    first, second = node.parts[1].value, node.parts[2].value
    key = INT if types.base(over) == LIST else types.gone_through(over)
    inside = {**scope, first: key, second: types.held(over)}
    made = [compiler.compiled(part, inside) for part in node.parts[3:]]
    which, (gives, inner) = node.value, made[-1]
    condition = made[0][1] if len(made) == 2 else None
    if len(made) == 2 and made[0][0] not in (BOOL, ANY):
        raise compiler.no_overload(node, "_?_:_", [made[0][0], ANY, ANY])
    if which == "transformMapEntry" and types.base(gives) not in (MAP, ANY):
        raise compiler.no_overload(node, "cel.@mapInsert", [types.EMPTY[MAP], gives])

    def each(names: dict[str, Any]) -> Iterator[dict[str, Any]]:
        values = receiver(names)
        if not isinstance(values, list | dict):
            raise EvaluationError("no such overload")
        lib.charge(len(values) + 1)
        pairs = values.items() if isinstance(values, dict) else enumerate(values)
        for one, other in pairs:
            yield {**names, first: one, second: other}

    def kept(names: dict[str, Any]) -> Iterator[dict[str, Any]]:
        return (one for one in each(names) if condition is None or ops.truth(condition(one)))

    if which in ("all", "exists"):
        return BOOL, lambda names: ops.every(which == "all", inner, each(names))
    if which in ("existsOne", "exists_one"):
        return BOOL, lambda names: sum(ops.truth(inner(one)) for one in each(names)) == 1
    if which == "transformList":
        return types.list_of([gives]), lambda names: [inner(one) for one in kept(names)]
    if which == "transformMap":
        return types.map_of([key], [gives]), lambda names: {one[first]: inner(one) for one in kept(names)}

    def entries(names: dict[str, Any]) -> Any:
        found: dict[Any, Any] = {}
        for one in kept(names):
            entry = inner(one)
            if not isinstance(entry, dict):
                raise EvaluationError("no such overload")
            for name, value in entry.items():
                if name in found:
                    raise EvaluationError(f"insert failed: key {name} already exists")
                found[name] = value
        return found

    return gives, entries
