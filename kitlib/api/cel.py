"""Device selectors in CEL: an expression is checked once and then asked about many devices.

    select = compile_selector('device.driver == "gpu.example.com" && device.capacity["gpu.example.com"].memory'
                              '.compareTo(quantity("40Gi")) >= 0')
    select(subject(device, "gpu.example.com"))

The kit evaluates the part of the language that selectors use; anything else is refused when the expression is compiled,
with its place. Two rules differ from most languages: `false && error` is false and `true || error` is true on either
side, and a domain that no attribute of the device has is an empty map, whose keys are all missing.

Source: k8s.io/dynamic-resource-allocation/cel (compile.go); cel-spec langdef.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from kitlib.api import cel_library as lib
from kitlib.api.cel_library import ANY, BOOL, LIST, MAP, OPTIONAL, STRING, EvaluationError, Maybe, Overload, Semver
from kitlib.api.cel_parser import CompileError, Node, parse, wrong
from kitlib.api.devices import Device
from kitlib.api.errors import KitError

__all__ = ["CompileError", "EvaluationError", "Subject", "compile_selector", "subject"]

Subject = Mapping[str, Any]
Run = Callable[[dict[str, Any]], Any]
DEVICE, DOMAINS, CAPACITIES, AMOUNTS = (
    "kubernetes.DRADevice",
    "map(string, map)",
    "map(string, Quantity map)",
    "amounts",
)
_FIELDS = {"driver": STRING, "attributes": DOMAINS, "capacity": CAPACITIES, "allowMultipleAllocations": BOOL}
_INSIDE = {DOMAINS: MAP, CAPACITIES: AMOUNTS, AMOUNTS: lib.QUANTITY}
_SHOWN = {DOMAINS: "map(string, map(string, any))", CAPACITIES: "map(string, map(string, kubernetes.Quantity))"}
_SHOWN |= {AMOUNTS: "map(string, kubernetes.Quantity)", MAP: "map(string, any)", LIST: "list(dyn)"}
_MACROS = ("all", "exists", "exists_one", "map", "filter")


class _Domains(dict[str, Any]):
    """Attributes or capacities by domain; a domain that is not there is empty."""

    def __missing__(self, key: str) -> dict[str, Any]:
        return {}


def subject(device: Device, driver: str) -> Subject:
    """What an expression sees of a device: `device.driver`, `.attributes[domain].name`, `.capacity[domain].name`.

    Raises:
        EvaluationError: a version is none.

    Source: CompilationResult.DeviceMatches.
    """
    attributes, capacity = _Domains(), _Domains()
    for name, attribute in device.attributes.items():
        given = (attribute.int_value, attribute.bool_value, attribute.string_value)
        value: Any = next((one for one in given if one is not None), None)
        if value is None and attribute.version_value is not None:
            value = Semver.parse(attribute.version_value)
        _put(attributes, name, driver, value)
    for name, amount in device.capacity.items():
        _put(capacity, name, driver, amount.value)
    several = bool(device.allow_multiple_allocations)
    return {
        "driver": driver,
        "attributes": attributes,
        "capacity": capacity,
        "allowMultipleAllocations": several,
    }


def _put(domains: _Domains, name: str, driver: str, value: Any) -> None:
    domain, slash, key = name.partition("/")
    domains.setdefault(domain if slash else driver, {})[key if slash else name] = value


MAX_LENGTH = 10 * 1024
"""Source: resource/v1 CELSelectorExpressionMaxLength."""
MAX_COST = 1_000_000
"""Elements that the macros of one evaluation may go through. Source: CELSelectorExpressionMaxCost."""
_cost = SimpleNamespace(left=0)


@lru_cache(maxsize=256)
def compile_selector(text: str) -> Callable[[Subject], bool]:
    """A function that says whether a device is meant.

    Raises:
        CompileError: the text is no expression, names something that there is not, or is no question.
        EvaluationError: (from the function) as cel-go words it: `no such key: model`.
    """
    if len(text) > MAX_LENGTH:
        raise CompileError(f"expression of {len(text)} characters: at most {MAX_LENGTH} are read")
    try:
        tree = parse(text)
        kind, run = _Compiler(text).compiled(tree, {"device": DEVICE})
    except RecursionError:
        raise CompileError("expression recursion limit exceeded") from None
    except (ValueError, OverflowError) as error:
        if isinstance(error, KitError):
            raise
        raise CompileError(f"invalid literal: {str(error)[:200]}") from None
    if kind not in (BOOL, ANY):
        raise CompileError(f"must evaluate to bool or the unknown type, not {_shown(kind)}")

    def selects(device: Subject) -> bool:
        _cost.left = MAX_COST
        try:
            answer = run({"device": device})
        except RecursionError:
            raise EvaluationError("expression recursion limit exceeded") from None
        except (OverflowError, MemoryError, ValueError) as error:
            if isinstance(error, KitError):
                raise
            raise EvaluationError(f"{type(error).__name__}: {str(error)[:200]}") from None
        if not isinstance(answer, bool):
            kind = lib.type_of(answer)
            problem = _NO_BOOL.get(kind, f"unsupported native conversion from {kind} to 'bool'")
            raise EvaluationError(f"CEL result of type {kind} could not be converted to bool: {problem}")
        return answer

    return selects


_NO_BOOL = {
    lib.INT: "unsupported type conversion from 'int' to bool",
    lib.DOUBLE: "type conversion error from Double to 'bool'",
    LIST: "type conversion error from list to 'bool'",
    MAP: "type conversion error from map to 'bool'",
}
"""Words of cel-go's ConvertToNative, where a type has words of its own."""


def _shown(kind: str) -> str:
    return _SHOWN.get(kind, kind)


class _Compiler:
    """Turns a tree into functions, types checked on the way as far as they are known."""

    def __init__(self, text: str) -> None:
        self.text = text

    def compiled(self, node: Node, scope: Mapping[str, str]) -> tuple[str, Run]:
        """The type of a part (`dyn` where it is not known) and what computes it."""
        found: tuple[str, Run] = getattr(self, f"_{node.kind}")(node, scope)
        return found

    def wrong(self, node: Node, problem: str) -> CompileError:
        return wrong(self.text, node.at, problem)

    def no_overload(self, node: Node, name: str, kinds: Sequence[str], method: bool = False) -> CompileError:
        shown = [_shown(kind) for kind in kinds]
        taken = f"{shown[0]}.({', '.join(shown[1:])})" if method else f"({', '.join(shown)})"
        return self.wrong(node, f"found no matching overload for '{name}' applied to '{taken}'")

    def _literal(self, node: Node, scope: Mapping[str, str]) -> tuple[str, Run]:
        value = node.value
        return lib.type_of(value), lambda _: value

    def _name(self, node: Node, scope: Mapping[str, str]) -> tuple[str, Run]:
        name = node.value
        if name not in scope:
            if name in lib.TYPES:
                return lib.TYPE, lambda _: lib.TypeName(name)
            raise self.wrong(node, f"undeclared reference to '{name}' (in container '')")
        return scope[name], lambda names: names[name]

    def _select(self, node: Node, scope: Mapping[str, str]) -> tuple[str, Run]:
        kind, inner = self.compiled(node.parts[0], scope)
        name = node.value
        gives = self._selected(node, kind)
        return gives, lambda names: _field(inner(names), name)

    def _selected(self, node: Node, kind: str) -> str:
        if kind == DEVICE:
            if node.value not in _FIELDS:
                raise self.wrong(node, f"undefined field '{node.value}'")
            return _FIELDS[node.value]
        if kind not in (ANY, MAP, OPTIONAL, *_INSIDE):
            raise self.wrong(node, f"type '{_shown(kind)}' does not support field selection")
        return OPTIONAL if kind == OPTIONAL else _INSIDE.get(kind, ANY)

    def _optional_select(self, node: Node, scope: Mapping[str, str]) -> tuple[str, Run]:
        kind, inner = self.compiled(node.parts[0], scope)
        self._selected(node, kind)
        name = node.value
        return OPTIONAL, lambda names: _optional(inner(names), name)

    def _index(self, node: Node, scope: Mapping[str, str]) -> tuple[str, Run]:
        kind, inner = self.compiled(node.parts[0], scope)
        key_kind, key = self.compiled(node.parts[1], scope)
        keys = {LIST: lib.INT, DOMAINS: STRING, CAPACITIES: STRING, AMOUNTS: STRING}
        if kind not in (ANY, MAP, OPTIONAL, LIST, *_INSIDE) or key_kind not in (ANY, keys.get(kind, key_kind)):
            raise self.no_overload(node, "_[_]", (kind, key_kind))
        gives = OPTIONAL if kind == OPTIONAL else _INSIDE.get(kind, ANY)
        return gives, lambda names: _field(inner(names), key(names))

    def _optional_index(self, node: Node, scope: Mapping[str, str]) -> tuple[str, Run]:
        _, inner = self.compiled(node.parts[0], scope)
        _, key = self.compiled(node.parts[1], scope)
        return OPTIONAL, lambda names: _optional(inner(names), key(names))

    def _list(self, node: Node, scope: Mapping[str, str]) -> tuple[str, Run]:
        parts = [self.compiled(part, scope)[1] for part in node.parts]
        return LIST, lambda names: [part(names) for part in parts]

    def _map(self, node: Node, scope: Mapping[str, str]) -> tuple[str, Run]:
        parts = [self.compiled(part, scope)[1] for part in node.parts]
        pairs = list(zip(parts[::2], parts[1::2], strict=True))
        return MAP, lambda names: {key(names): value(names) for key, value in pairs}

    def _choice(self, node: Node, scope: Mapping[str, str]) -> tuple[str, Run]:
        (asked, condition), (one, yes), (other, no) = (self.compiled(part, scope) for part in node.parts)
        if asked not in (BOOL, ANY) or (one != other and ANY not in (one, other)):
            raise self.no_overload(node, "_?_:_", (asked, one, other))
        return one if one == other else ANY, lambda names: yes(names) if _truth(condition(names)) else no(names)

    def _unary(self, node: Node, scope: Mapping[str, str]) -> tuple[str, Run]:
        kind, inner = self.compiled(node.parts[0], scope)
        if kind not in ((ANY, BOOL) if node.value == "!" else (ANY, *lib.NUMBERS)):
            raise self.no_overload(node, f"{node.value}_", (kind,))
        if node.value == "!":
            return BOOL, lambda names: not _truth(inner(names))
        return kind, lambda names: _arithmetic("-", 0, inner(names))

    def _binary(self, node: Node, scope: Mapping[str, str]) -> tuple[str, Run]:
        (one, left), (other, right) = (self.compiled(part, scope) for part in node.parts)
        operator, known = node.value, ANY not in (one, other)
        if operator in ("&&", "||"):
            if {one, other} - {ANY, BOOL}:
                raise self.no_overload(node, f"_{operator}_", (one, other))
            return BOOL, lambda names: _logical(operator == "&&", ((left, names), (right, names)))
        if operator == "in":
            if other not in (ANY, LIST, MAP, *_INSIDE):
                raise self.no_overload(node, "@in", (one, other))
            return BOOL, lambda names: _inside(left(names), right(names))
        if operator in ("==", "!="):
            if known and one != other:
                raise self.no_overload(node, f"_{operator}_", (one, other))
            return BOOL, lambda names: _equal(left(names), right(names)) == (operator == "==")
        if operator in ("<", "<=", ">", ">="):
            ordered = {one, other} <= set(lib.NUMBERS) or one == other in (STRING, BOOL)
            if (known and not ordered) or {one, other} & {lib.QUANTITY, lib.SEMVER}:
                raise self.no_overload(node, f"_{operator}_", (one, other))
            return BOOL, lambda names: _ordered(operator, left(names), right(names))
        if known and (one != other or one not in ((*lib.NUMBERS, STRING, LIST) if operator == "+" else lib.NUMBERS)):
            raise self.no_overload(node, f"_{operator}_", (one, other))
        return one if known else ANY, lambda names: _arithmetic(operator, left(names), right(names))

    def _call(self, node: Node, scope: Mapping[str, str]) -> tuple[str, Run]:
        if node.value == "has":
            return self._has(node, scope)
        return self._called(node, lib.FUNCTIONS, scope, False)

    def _method(self, node: Node, scope: Mapping[str, str]) -> tuple[str, Run]:
        receiver, name = node.parts[0], node.value
        if receiver == Node("name", "cel", at=receiver.at) and name == "bind" and len(node.parts) == 4:
            return self._bind(node, scope)
        if receiver == Node("name", "optional", at=receiver.at) and name in ("of", "none"):
            parts = [self.compiled(part, scope)[1] for part in node.parts[1:]]
            return OPTIONAL, lambda names: Maybe(True, parts[0](names)) if parts else Maybe(False)
        if name in _MACROS and len(node.parts) in (3, 4) and node.parts[1].kind == "name":
            return self._macro(node, scope)
        return self._called(node, lib.METHODS, scope, True)

    def _called(
        self, node: Node, table: Mapping[str, list[Overload]], scope: Mapping[str, str], method: bool
    ) -> tuple[str, Run]:
        name = node.value
        overloads = table.get(name)
        if overloads is None:
            raise self.wrong(node, f"undeclared reference to '{name}' (in container '')")
        made = [self.compiled(part, scope) for part in node.parts]
        kinds = tuple(MAP if kind in _INSIDE else kind for kind, _ in made)
        fitting = [one for one in overloads if _takes(one, kinds)]
        if not fitting:
            raise self.no_overload(node, name, [kind for kind, _ in made], method)
        runs = [run for _, run in made]
        gives = {one.gives for one in fitting}

        def call(names: dict[str, Any]) -> Any:
            values = [run(names) for run in runs]
            found = tuple(lib.type_of(value) for value in values)
            for one in fitting:
                if _takes(one, found):
                    return one.work(*values)
            raise EvaluationError("no such overload")

        return gives.pop() if len(gives) == 1 else ANY, call

    def _has(self, node: Node, scope: Mapping[str, str]) -> tuple[str, Run]:
        if len(node.parts) != 1 or node.parts[0].kind != "select":
            raise self.wrong(node, "invalid argument to has() macro")
        asked = node.parts[0]
        kind, inner = self.compiled(asked.parts[0], scope)
        self._selected(asked, kind)
        return BOOL, lambda names: _optional(inner(names), asked.value).there

    def _bind(self, node: Node, scope: Mapping[str, str]) -> tuple[str, Run]:
        name = node.parts[1].value
        if node.parts[1].kind != "name":
            raise self.wrong(node, "cel.bind() variable names must be simple identifiers")
        kind, value = self.compiled(node.parts[2], scope)
        gives, inner = self.compiled(node.parts[3], {**scope, name: kind})
        return gives, lambda names: inner({**names, name: value(names)})

    def _macro(self, node: Node, scope: Mapping[str, str]) -> tuple[str, Run]:
        """`list.all(x, …)` and its kin; of a map the keys are gone through."""
        _, listed = self.compiled(node.parts[0], scope)
        name, which = node.parts[1].value, node.value
        inside = {**scope, name: ANY}
        parts = [self.compiled(part, inside)[1] for part in node.parts[2:]]
        if len(parts) == 2 and which != "map":
            raise self.no_overload(node, which, [ANY] * len(node.parts), True)

        def run(names: dict[str, Any]) -> Any:
            values = listed(names)
            if not isinstance(values, list | dict):
                raise EvaluationError("no such overload")
            _cost.left -= len(values) + 1
            if _cost.left < 0:
                raise EvaluationError("operation cancelled: actual cost limit exceeded")
            asked = [{**names, name: value} for value in values]
            if which in ("all", "exists"):
                return _every(which == "all", parts[0], asked)
            if which == "map":
                return [parts[-1](one) for one in asked if len(parts) == 1 or _truth(parts[0](one))]
            kept = [one[name] for one in asked if _truth(parts[0](one))]
            return kept if which == "filter" else len(kept) == 1

        return (LIST if which in ("map", "filter") else BOOL), run


def _takes(overload: Overload, kinds: tuple[str, ...]) -> bool:
    return len(overload.takes) == len(kinds) and all(
        ANY in (wanted, kind) or wanted == kind for wanted, kind in zip(overload.takes, kinds, strict=True)
    )


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise EvaluationError("no such overload")
    return value


def _logical(conjunction: bool, sides: Iterable[tuple[Run, dict[str, Any]]]) -> bool:
    """`&&` and `||`: the side that decides wins over an error of another, whichever comes first."""
    problem: EvaluationError | None = None
    for run, names in sides:
        try:
            if _truth(run(names)) != conjunction:
                return not conjunction
        except EvaluationError as error:
            problem = problem or error
    if problem is not None:
        raise problem
    return conjunction


def _every(conjunction: bool, run: Run, asked: Iterable[dict[str, Any]]) -> bool:
    return _logical(conjunction, ((run, names) for names in asked))


def _field(value: Any, key: Any) -> Any:
    if isinstance(value, Maybe):
        return _optional(value, key)
    if isinstance(value, list):
        if isinstance(key, bool) or not isinstance(key, int):
            raise EvaluationError("no such overload")
        if not 0 <= key < len(value):
            raise EvaluationError(f"index out of bounds: {key}")
        return value[key]
    if not isinstance(value, Mapping):
        raise EvaluationError("no such overload")
    try:
        return value[key]
    except (KeyError, TypeError):
        raise EvaluationError(f"no such key: {key}") from None


def _optional(value: Any, key: Any) -> Maybe:
    if isinstance(value, Maybe):
        return _optional(value.value, key) if value.there else value
    if isinstance(value, list):
        inside = isinstance(key, int) and 0 <= key < len(value)
        return Maybe(True, value[key]) if inside else Maybe(False)
    if not isinstance(value, Mapping):
        raise EvaluationError("no such overload")
    return Maybe(True, value[key]) if key in value else Maybe(False)


def _equal(one: Any, other: Any) -> bool:
    kinds = {lib.type_of(one), lib.type_of(other)}
    if len(kinds) > 1 and not kinds <= set(lib.NUMBERS):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)


def _inside(value: Any, values: Any) -> bool:
    if not isinstance(values, list | dict):
        raise EvaluationError("no such overload")
    return any(_equal(value, one) for one in values)


def _ordered(operator: str, one: Any, other: Any) -> bool:
    kinds = {lib.type_of(one), lib.type_of(other)}
    if not kinds <= set(lib.NUMBERS) and kinds not in ({STRING}, {BOOL}):
        raise EvaluationError("no such overload")
    if operator in ("<", ">="):
        return bool(one < other) == (operator == "<")
    return bool(one > other) == (operator == ">")


def _arithmetic(operator: str, one: Any, other: Any) -> Any:
    kinds = {lib.type_of(one), lib.type_of(other)}
    if operator == "+" and kinds in ({STRING}, {LIST}):
        return one + other
    if kinds not in ({lib.INT}, {lib.DOUBLE}) and not (operator == "-" and one == 0):
        raise EvaluationError("no such overload")
    if operator in ("+", "-", "*"):
        return one + other if operator == "+" else one - other if operator == "-" else one * other
    if kinds == {lib.DOUBLE} and operator == "/":
        return one / other if other else float("inf")
    if kinds != {lib.INT}:
        raise EvaluationError("no such overload")
    if other == 0:
        raise EvaluationError("division by zero" if operator == "/" else "modulus by zero")
    quotient = abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)  # towards zero, as in Go
    return quotient if operator == "/" else one - quotient * other
