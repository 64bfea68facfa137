"""The arithmetic behind a value as an object: it is shown to a reader, and evaluated by a test.

A formula is a chain of steps over named whole numbers. Shown are the numbers put in; the value is computed from the
same expression, so what a reader sees is what is right.

    Formula({"milli": 2000}, (("shares", "floor(milli * 1024 / 1000)"),
                              ("weight", "1 + floor((shares - 2) * 9999 / 262142)")), "{weight}")
    shares = floor(2000 × 1024 / 1000) = 2048; weight = 1 + floor((2048 − 2) × 9999 / 262142) = 79
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

Number = int | float | Fraction
_OPERATORS: Mapping[type, Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
}
_FUNCTIONS: Mapping[str, Callable[..., Number]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "min": min,
    "max": max,
    "log2": math.log2,
}


@dataclass(frozen=True)
class Formula:
    """A chain of steps.

    Attributes:
        inputs: names and whole numbers that the steps begin with.
        steps: name and expression of each; it may use the inputs and the steps before it.
        template: the text that is written: `{quota} {period}`.
    """

    inputs: Mapping[str, int]
    steps: tuple[tuple[str, str], ...]
    template: str

    def values(self) -> dict[str, Number]:
        """The inputs and what every step gives."""
        known: dict[str, Number] = dict(self.inputs)
        for name, expression in self.steps:
            known[name] = _evaluate(ast.parse(expression, mode="eval").body, known)
        return known

    def result(self) -> str:
        """The text that is written into the file."""
        return self.template.format(**self.values())

    def __str__(self) -> str:
        known, shown = self.values(), []
        for name, expression in self.steps:
            put_in = _text(ast.parse(expression, mode="eval"), known)
            value = _number(known[name])
            shown.append(f"{name} = {value}" if put_in == value else f"{name} = {put_in} = {value}")
        return "; ".join(shown)


def _evaluate(node: ast.expr, known: Mapping[str, Number]) -> Number:
    """The value of an expression; whole numbers are divided exactly."""
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.Name(id=name):
            return known[name]
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            above, below = _evaluate(left, known), _evaluate(right, known)
            if isinstance(above, float) or isinstance(below, float):
                return float(above) / float(below)
            return Fraction(above) / below
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_evaluate(left, known), _evaluate(right, known))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name](*(_evaluate(one, known) for one in arguments))
    raise ValueError(f"not an expression of a formula: {ast.unparse(node)}")


class _PutIn(ast.NodeTransformer):
    """Replaces names by their numbers."""

    def __init__(self, known: Mapping[str, Number]) -> None:
        self._known = known

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A name of the formula; those of functions stay."""
        return ast.Name(id=_number(self._known[node.id])) if node.id in self._known else node


def _text(tree: ast.Expression, known: Mapping[str, Number]) -> str:
    text = ast.unparse(_PutIn(known).visit(tree))
    for sign, shown in (("**", "^"), ("*", "×"), (" - ", " − ")):
        text = text.replace(sign, shown)
    return text


def _number(value: Number) -> str:
    return f"{float(value):.4g}" if isinstance(value, float | Fraction) and value != int(value) else str(int(value))


# The formulas of the kubelet.

_CURVE = "ceil(10 ** ((l * l + 125 * l) / 612 - 7 / 34))"


def shares(milli: int, version: int, *, curve: bool = False, request: str = "milli") -> Formula:
    """cpu.shares of a request, on v2 cpu.weight of the shares. Source: MilliCPUToShares, getCPUWeight.

    Args:
        milli: milli-CPU.
        version: of the cgroups.
        curve: as runtimes map shares, not along the kubelet's line.
        request: expression of the milli-CPU.
    """
    found = milli * 1024 // 1000
    plain = f"floor({request} * 1024 / 1000)"
    expression = plain if 2 <= found <= 262_144 else f"min(max({plain}, 2), 262144)"
    steps = [("shares", expression)]
    if version == 1:
        return Formula({"milli": milli}, tuple(steps), "{shares}")
    least, most = found <= 2, found >= 262_144
    if not curve:
        steps.append(("weight", "10000" if most else "1 + floor((shares - 2) * 9999 / 262142)"))
    elif least or most:
        steps.append(("weight", "1" if least else "10000"))
    else:
        steps += [("l", "log2(shares)"), ("weight", _CURVE)]
    return Formula({"milli": milli}, tuple(steps), "{weight}")


def quota(milli: int, period: int, version: int, *, percent: bool = False) -> Formula:
    """The quota of a limit. Source: MilliCPUToQuota; systemd addCPUQuota.

    Args:
        milli: milli-CPU.
        period: microseconds.
        version: of the cgroups.
        percent: systemd keeps whole percents of a CPU.
    """
    plain = "floor(milli * period / 1000)"
    steps = [("quota", plain if milli * period // 1000 >= 1000 else f"max({plain}, 1000)")]
    last = "quota"
    if percent:
        steps.append(("per_second", "ceil(floor(quota * 1000000 / period) / 10000) * 10000"))
        steps.append(("kept", "floor(per_second * period / 1000000)"))
        last = "kept"
    template = f"{{{last}}}" + (" {period}" if version == 2 else "")
    return Formula({"milli": milli, "period": period}, tuple(steps), template)


def rest(name: str, whole: int, *taken: int) -> Formula:
    """What is left of a whole, at least 0. Source: getNodeAllocatableInternalAbsolute."""
    names = [f"taken_{number}" for number in range(len(taken))]
    expression = " - ".join(["whole", *names])
    if sum(taken) > whole:
        expression = f"max({expression}, 0)"
    return Formula({"whole": whole, **dict(zip(names, taken, strict=True))}, ((name, expression),), f"{{{name}}}")


def qos_reserve(pods: int, percent: int, *requests: int) -> Formula:
    """What is left of the memory for pods without a part of what the QoS classes above requested.

    Source: setMemoryReserve.
    """
    names = [f"request_{number}" for number in range(len(requests))]
    parts = " - ".join(["pods", *(f"floor({name} * percent / 100)" for name in names)])
    inputs = {"pods": pods, "percent": percent, **dict(zip(names, requests, strict=True))}
    return Formula(inputs, (("limit", parts),), "{limit}")


def given(name: str, value: int) -> Formula:
    """A value as it was declared or added up."""
    return Formula({"value": value}, ((name, "value"),), f"{{{name}}}")


def memory_high(request: int, ceiling: int, factor: float, page: int) -> Formula:
    """The throttling line. Source: generateLinuxContainerResources; KEP-2570."""
    inputs = {"request": request, "ceiling": ceiling, "thousandths": round(factor * 1000), "page": page}
    line = "floor((request + (ceiling - request) * thousandths / 1000) / page) * page"
    return Formula(inputs, (("high", line),), "{high}")


def pids_of_scope(max_pid: int, percent: int) -> Formula:
    """systemd's DefaultTasksMax."""
    return Formula({"max_pid": max_pid, "percent": percent}, (("tasks", "floor(max_pid * percent / 100)"),), "{tasks}")


def swap(request: int, memory: int, machine_swap: int) -> Formula:
    """A container's part of the swap. Source: calcSwapForBurstablePods."""
    inputs = {"request": request, "memory": memory, "swap": machine_swap}
    return Formula(inputs, (("part", "floor(request / memory * swap)"),), "{part}")
