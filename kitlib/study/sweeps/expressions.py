"""Parameters in a scenario's data: `${maxSkew}`, `zone-${i % zones}`, `${choice(100, 200)}m`.

An expression has names, numbers, quoted texts, `+ - * / // %`, comparisons, `a if b else c`, and the functions
`choice(…)` (one of its arguments, drawn by the seed), `between(low, high)` (an integer, drawn by the seed), `min` and
`max`. A text that consists of one expression becomes its value; elsewhere the value's text replaces the expression.
"""

from __future__ import annotations

import ast
import operator
import random
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from kitlib.api.errors import KitError, shortened

MAX_TEXT = 200
MAX_NUMBER = 2**53
_EXPRESSION = re.compile(r"\$\{([^{}]*)\}")
_NUMBERS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARED: dict[type[ast.AST], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def filled(text: str, names: Mapping[str, Any], draw: random.Random, where: str) -> Any:
    """Return a text with its expressions evaluated.

    Args:
        text: the text; its value has the expression's type if the text consists of one expression.
        names: values by name that expressions may use.
        draw: random source of `choice` and `between`.
        where: position of the text in the scenario, for errors.

    Raises:
        KitError: an expression is invalid, or uses an unknown name.
    """
    if "${" not in text:
        return text
    whole = _EXPRESSION.fullmatch(text)
    if whole:
        return _evaluated(whole[1], names, draw, where)
    return _EXPRESSION.sub(lambda found: _text(_evaluated(found[1], names, draw, where)), text)


def _evaluated(text: str, names: Mapping[str, Any], draw: random.Random, where: str) -> Any:
    try:
        return _value(_parsed(text), names, draw)
    except KitError as error:
        raise KitError(f"{where}: ${{{shortened(text, 80)}}}: {error}") from None
    except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise KitError(f"{where}: ${{{shortened(text, 80)}}}: {error}") from None


@lru_cache(maxsize=1000)
def _parsed(text: str) -> ast.expr:
    if len(text) > MAX_TEXT:
        raise KitError(f"the expression has {len(text)} characters, but at most {MAX_TEXT} are allowed")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise KitError("not an expression") from None


def _value(node: ast.expr, names: Mapping[str, Any], draw: random.Random) -> Any:
    def of(part: ast.expr) -> Any:
        return _value(part, names, draw)

    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Name(id=name):
            raise KitError(f"no parameter {name!r}; valid values: {', '.join(sorted(names)) or 'none'}")
        case ast.BinOp(left, ast.Add(), right):
            one, other = of(left), of(right)
            return (
                one + other if isinstance(one, str) and isinstance(other, str) else _in_range(operator.add, one, other)
            )
        case ast.BinOp(left, operation, right) if type(operation) in _NUMBERS:
            return _in_range(_NUMBERS[type(operation)], of(left), of(right))
        case ast.UnaryOp(ast.USub(), operand):
            return _in_range(operator.sub, 0, of(operand))
        case ast.Compare(left, [one_operation], [right]) if type(one_operation) in _COMPARED:
            return _COMPARED[type(one_operation)](of(left), of(right))
        case ast.IfExp(test, body, orelse):
            return of(body) if of(test) else of(orelse)
        case ast.Call(ast.Name(id="choice"), [_, *_] as given, []):
            return draw.choice([of(one) for one in given])
        case ast.Call(ast.Name(id="between"), [low, high], []):
            return draw.randint(_integer(of(low)), _integer(of(high)))
        case ast.Call(ast.Name(id="min" | "max" as name), [_, _, *_] as given, []):
            return (min if name == "min" else max)(of(one) for one in given)
    raise KitError(
        "unsupported expression; use names, numbers, strings, + - * / // %, comparisons, if, choice, between, min and "
        "max"
    )


def _in_range(operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    for side in (left, right):
        if not isinstance(side, int | float):
            raise KitError(f"operands must be numbers, got {shortened(repr(side), 40)}")
    made = operation(left, right)
    if not abs(made) <= MAX_NUMBER:
        raise KitError("the number is too large")
    return made


def _integer(value: Any) -> int:
    if not isinstance(value, int):
        raise KitError(f"between: arguments must be integers, got {shortened(repr(value), 40)}")
    return value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
