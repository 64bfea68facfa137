"""Python and Perl one-liners that allocate, sleep or loop.

The modelled parts of Python are assignments, arithmetic, sizes of texts, bytes and lists, `time.sleep`, `print`,
`open(…).write` and loops; those of Perl, `"x" x N` assignments, `sleep` and `while(1)`, are translated to Python. A
program with any other statement is unknown, so that it idles and the user gets an event.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Sequence

from kitlib.node.simulated.programs.registry import COPY, growing, program
from kitlib.node.simulated.shell.machine import (
    FOREVER,
    Call,
    Data,
    Machine,
    NotFollowed,
    ProgramError,
    Result,
    ShellExit,
)

INTERPRETER = 10 * 2**20
"""Bytes of memory of an idle interpreter."""
ROUNDS = 500
"""Iterations of an endless loop that are followed; afterwards it continues at its last rate."""
_POINTER = 8
_OPERATORS: dict[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: lambda a, b: a ** min(b, 100),
    ast.LShift: lambda a, b: int(a) << min(int(b), 100),
}


class Unreadable(Exception):
    """A program that is not followed."""


class _Sized:
    """A text, bytes or list: its size in bytes and its number of elements."""

    def __init__(self, size: float, length: float) -> None:
        self.size, self.length = size, length


_Value = float | _Sized | None


class _Python:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._variables: dict[str, _Value] = {}

    def _held(self) -> float:
        unique = {id(variable): variable for variable in self._variables.values() if isinstance(variable, _Sized)}
        return sum(sized.size for sized in unique.values())

    def _spend(self, seconds: float, cpus: float = 0.0) -> None:
        self._machine.spend(seconds, cpus=cpus, memory=INTERPRETER + int(self._held()))

    def _settle(self, before: float) -> None:
        """Spend the time that filling the allocated memory takes."""
        more = self._held() - before
        if more >= 2**20:
            self._spend(more / COPY, cpus=1.0)

    def run(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            before = self._held()
            self._statement(statement)
            self._settle(before)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass)):
            return
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._variables[node.targets[0].id] = self._value(node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            sum_of = ast.BinOp(ast.Name(node.target.id), node.op, node.value)
            self._variables[node.target.id] = self._value(sum_of)
        elif isinstance(node, ast.Expr):
            value = self._value(node.value)
            if isinstance(value, _Sized) and value.size >= 2**20:  # kept until the expression is evaluated
                self._machine.spend(value.size / COPY, cpus=1.0, memory=INTERPRETER + int(self._held() + value.size))
        elif isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value:
            self._forever(node.body)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            self._for(node)
        elif isinstance(node, ast.Raise):
            raise ProgramError("Traceback (most recent call last): an exception was raised")
        else:
            raise Unreadable(type(node).__name__)

    def _for(self, node: ast.For) -> None:
        count = self._value(node.iter)
        if not isinstance(count, _Sized) or not isinstance(node.target, ast.Name):
            raise Unreadable("for")
        for number in range(int(min(count.length, 10_000))):
            self._variables[node.target.id] = float(number)
            self.run(node.body)

    def _forever(self, body: Sequence[ast.stmt]) -> None:
        """Follow an endless loop for some iterations, and continue at the rate of the last one."""
        for _ in range(ROUNDS):
            start, held = self._machine.now, self._held()
            self.run(body)
            more, passed = self._held() - held, self._machine.now - start
            if not more:
                self._machine.spend(FOREVER, cpus=0.0 if passed else 1.0, memory=INTERPRETER + int(held))
            if passed <= 2 * more / COPY:  # its iterations only copy, without waiting
                break
        growing(self._machine, FOREVER, INTERPRETER + int(self._held()))

    def _value(self, node: ast.AST) -> _Value:
        if isinstance(node, ast.Constant):
            value = node.value
            if isinstance(value, (str, bytes)):
                return _Sized(float(len(value)), len(value))
            return float(value) if isinstance(value, (int, float)) else None
        if isinstance(node, ast.Name):
            return self._variables.get(node.id)
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, (ast.List, ast.Tuple)):
            inside = [self._value(element) for element in node.elts]
            size = sum(value.size for value in inside if isinstance(value, _Sized))
            return _Sized(size + _POINTER * len(inside), len(inside))
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and len(node.generators) == 1:
            source, each = self._value(node.generators[0].iter), self._value(node.elt)
            if not isinstance(source, _Sized):
                raise Unreadable("comprehension")
            size_of_each = each.size if isinstance(each, _Sized) else 28.0  # a small int object
            return _Sized(source.length * (size_of_each + _POINTER), source.length)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise Unreadable(type(node).__name__)

    def _operation(self, node: ast.BinOp) -> _Value:
        left, right = self._value(node.left), self._value(node.right)
        if isinstance(left, _Sized) or isinstance(right, _Sized):
            sized, other = (left, right) if isinstance(left, _Sized) else (right, left)
            assert isinstance(sized, _Sized)
            if isinstance(node.op, ast.Mult) and isinstance(other, float):
                return _Sized(sized.size * other, sized.length * other)
            if isinstance(node.op, ast.Add) and isinstance(other, _Sized):
                return _Sized(sized.size + other.size, sized.length + other.length)
            raise Unreadable("operator")
        if not isinstance(left, float) or not isinstance(right, float) or type(node.op) not in _OPERATORS:
            raise Unreadable("operator")
        return float(_OPERATORS[type(node.op)](left, right))

    def _call(self, node: ast.Call) -> _Value:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        args = [self._value(argument) for argument in node.args]
        first = args[0] if args else None
        if name == "sleep" and isinstance(first, float):
            self._spend(first)
            return None
        if name in ("exit", "_exit", "quit"):
            raise ShellExit((int(first) if isinstance(first, float) else 0 if first is None else 1) & 255)
        if name == "input":
            raise ProgramError("EOFError: EOF when reading a line")
        if name in ("print", "flush", "gc", "collect") and not isinstance(first, _Sized | None):
            return None
        if name in ("print", "flush", "collect", "getpid", "perf_counter", "time"):
            return None
        if name in ("bytearray", "bytes", "urandom", "zeros", "ones", "empty") and isinstance(first, float):
            width = 8 if name in ("zeros", "ones", "empty") else 1
            return _Sized(first * width if name != "empty" else 0.0, first)
        if name in ("bytearray", "bytes", "list", "tuple", "str") and isinstance(first, _Sized):
            return _Sized(first.size, first.length)
        if name == "range" and isinstance(args[-1] if args else None, float):
            low, high = (args[0], args[1]) if len(args) > 1 else (0.0, args[0])
            assert isinstance(low, float) and isinstance(high, float)
            return _Sized(48.0, max(high - low, 0.0))
        if name in ("append", "extend", "write") and isinstance(node.func, ast.Attribute):
            return self._add(node.func.value, first)
        if name in ("int", "float") and isinstance(first, float):
            return first
        if name == "len" and isinstance(first, _Sized):
            return float(first.length)
        raise Unreadable(f"{name}()")

    def _add(self, target: ast.expr, value: _Value) -> _Value:
        if isinstance(target, ast.Call) and getattr(target.func, "id", "") == "open":
            path = target.args[0] if target.args else None
            if isinstance(path, ast.Constant) and isinstance(path.value, str) and isinstance(value, _Sized):
                self._machine.write(path.value, Data("", value.size))
                return None
        if not isinstance(target, ast.Name):
            raise Unreadable("append")
        held = self._variables.get(target.id)
        if not isinstance(held, _Sized):
            raise Unreadable("append")
        held.size += _POINTER + (value.size if isinstance(value, _Sized) else 32.0)
        held.length += 1
        return None


_PERL = (
    (re.compile(r"\bmy\s+"), ""),
    (re.compile(r"while\s*\(\s*1?\s*\)\s*\{(.*)\}", re.DOTALL), r"while True:{\1}"),
    (re.compile(r"push\s*\(?\s*@(\w+)\s*,\s*(.*?)\)?\s*(?=[;}]|$)"), r"\1.append(\2)"),
    (re.compile(r"""(["'][^"']*["'])\s*x\s*"""), r"\1 * "),
    (re.compile(r"[$@](\w+)"), r"\1"),
    (re.compile(r"\bsleep\s*\(?\s*([\w.]+)?\s*\)?"), lambda found: f"sleep({found[1] or '1e9'})"),
)


def _from_perl(text: str) -> str:
    """Translate the supported statements to Python."""
    for pattern, by in _PERL:
        text = pattern.sub(by, text)
    lines, indent = list[str](), ""
    for piece in re.split(r"([;{}])", text):
        if piece == "{":
            indent += " "
        elif piece == "}":
            indent = indent[:-1]
        elif piece.strip() and piece != ";":
            lines.append(indent + piece.strip())
    lists = {found for line in lines for found in re.findall(r"(\w+)\.append\(", line)}
    return "\n".join([*(f"{name} = []" for name in sorted(lists)), *lines])


def _code(call: Call, flag: str) -> str:
    words = list(call.args)
    for at, word in enumerate(words[:-1]):
        if word.startswith("-") and word.endswith(flag):
            return words[at + 1]
    raise Unreadable(" ".join(words)[:60])


@program("python", "python3", "python2", "perl")
def interpreter(call: Call) -> Result:
    """Run `python3 -c CODE` or `perl -e CODE`; without a program it reads its empty input and exits."""
    if list(call.args[:2]) == ["-m", "http.server"]:
        call.machine.spend(FOREVER, memory=2 * INTERPRETER)
    if list(call.args) in ([], ["-"]) and not call.stdin.text:
        return Result()
    try:
        if list(call.args) in ([], ["-"]):
            text = call.stdin.text
        else:
            text = _from_perl(_code(call, "e")) if call.name == "perl" else _code(call, "c")
        tree = ast.parse(text)
        call.machine.spend(0.05, cpus=1.0, memory=INTERPRETER)
        _Python(call.machine).run(tree.body)
    except ShellExit as end:
        return Result(code=end.code)
    except (
        Unreadable,
        SyntaxError,
        ValueError,
        OverflowError,
        ZeroDivisionError,
        RecursionError,
        AssertionError,
    ) as error:
        raise NotFollowed(str(error)) from None
    return Result()
