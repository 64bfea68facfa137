"""Arithmetic that is both evaluated and shown: a value is computed from the same expression that the user sees.

A `Step` is one expression over named numbers, compiled once. The modules of the rules define the steps as constants
(`conversions.py`, `memory_qos.py`, `swap.py`, …) and compute with them; a `Formula` shows a chain of the same steps
with numbers.

    SHARES = Step("shares", "min(max(floor(milli * 1024 / 1000), 2), 262144)")
    SHARES(2000) == 2048
    str(Formula({"milli": 2000}, (SHARES,), "{shares}")) == "shares = floor(2000 × 1024 / 1000) = 2048"
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import cast

Number = int | float | Fraction
_FUNCTIONS: Mapping[str, Callable[..., Number]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "min": min,
    "max": max,
    "log2": math.log2,
}
_BOUNDS = ("min", "max")


class Step:
    """One named expression of whole numbers, floats and the functions floor, ceil, min, max and log2.

    A quotient inside `floor` or `ceil` is divided as whole numbers, exactly; any other quotient is a 64-bit float, as
    in Go. Called with the values of its names, in the order in which they first appear, a step returns its value.

    Attributes:
        name: the name of the result.
        expression: the expression in Python's syntax.
        names: the names that it uses, in the order of the arguments.
    """

    __slots__ = ("_compute", "_show", "_tree", "expression", "name", "names")

    def __init__(self, name: str, expression: str) -> None:
        self.name, self.expression = name, expression
        self._tree = ast.parse(expression, mode="eval")
        used = [node for node in ast.walk(self._tree) if isinstance(node, ast.Name) and node.id not in _FUNCTIONS]
        used.sort(key=lambda node: node.col_offset)
        self.names = tuple(dict.fromkeys(node.id for node in used))
        self._compute = _compiled(self._tree, self.names)
        self._show = lru_cache(maxsize=256)(self._text)  # cgroups share numbers, and a text takes compilations

    def __call__(self, *values: Number) -> int:
        return self._compute(*values)

    def shown(self, known: Mapping[str, Number]) -> str:
        """Return the expression with numbers for its names; a bound without effect is omitted."""
        return self._show(tuple((name, known[name]) for name in self.names if name in known))

    def _text(self, numbers: tuple[tuple[str, Number], ...]) -> str:
        text = ast.unparse(_PutIn(dict(numbers)).visit(ast.parse(self.expression, mode="eval")))
        for sign, written in (("**", "^"), ("*", "×"), (" - ", " − ")):
            text = text.replace(sign, written)
        return text


@dataclass(frozen=True)
class Formula:
    """A chain of steps with numbers put in.

    Attributes:
        inputs: names and numbers that the steps begin with.
        steps: the steps in order; each may use the inputs and the results before it.
        template: the text that is written: `{quota} {period}`.
    """

    inputs: Mapping[str, Number]
    steps: tuple[Step, ...]
    template: str

    def values(self) -> dict[str, Number]:
        """Return the inputs and the result of every step."""
        known: dict[str, Number] = dict(self.inputs)
        for step in self.steps:
            known[step.name] = step(*(known[name] for name in step.names))
        return known

    def result(self) -> str:
        """Return the text that is written into the file."""
        return self.template.format(**self.values())

    def __str__(self) -> str:
        known, shown = self.values(), []
        for step in self.steps:
            put_in, value = step.shown(known), _number(known[step.name])
            shown.append(f"{step.name} = {value}" if put_in == value else f"{step.name} = {put_in} = {value}")
        return "; ".join(shown)


def given(name: str, value: int) -> Formula:
    """Return the formula of a value that was declared or added up."""
    return Formula({"value": value}, (Step(name, "value"),), f"{{{name}}}")


def _compiled(tree: ast.Expression, names: tuple[str, ...]) -> Callable[..., int]:
    body = _WholeDivision().visit(ast.parse(ast.unparse(tree), mode="eval")).body
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    whole = ast.fix_missing_locations(ast.Expression(ast.Lambda(args=arguments, body=body)))
    # the expressions are constants of this package, never a user's text
    return cast("Callable[..., int]", eval(compile(whole, "<formula>", "eval"), dict(_FUNCTIONS)))


class _WholeDivision(ast.NodeTransformer):
    """Replaces floor(a / b) by int(a // b), and ceil(a / b) by int(-(-a // b))."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="floor"), args=[ast.BinOp(left=above, op=ast.Div(), right=below)]):
                return _call("int", ast.BinOp(above, ast.FloorDiv(), below))
            case ast.Call(func=ast.Name(id="ceil"), args=[ast.BinOp(left=above, op=ast.Div(), right=below)]):
                negative = ast.BinOp(ast.UnaryOp(ast.USub(), above), ast.FloorDiv(), below)
                return _call("int", ast.UnaryOp(ast.USub(), negative))
        return node


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=list(arguments), keywords=[])


class _PutIn(ast.NodeTransformer):
    """Replaces names by their numbers and omits operations without effect: a bound, a subtracted 0."""

    def __init__(self, known: Mapping[str, Number]) -> None:
        self._known = known

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(id=_number(self._known[node.id])) if node.id in self._known else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        match node:
            case ast.BinOp(left=left, op=ast.Sub(), right=ast.Name(id=name)) if self._known.get(name) == 0:
                return cast("ast.AST", self.visit(left))
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(func=ast.Name(id=name), args=[first, _]) if name in _BOUNDS:
                inner, outer = (Step("", ast.unparse(part)) for part in (first, node))
                values = [step(*(self._known[one] for one in step.names)) for step in (inner, outer)]
                if values[0] == values[1]:
                    return cast("ast.AST", self.visit(first))
        return self.generic_visit(node)


def _number(value: Number) -> str:
    return f"{float(value):.4g}" if isinstance(value, float | Fraction) and value != int(value) else str(int(value))
