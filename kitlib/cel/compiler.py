"""The compiler of parsed CEL expressions: Python functions, and checks of the types that are known.

Source: k8s.io/dynamic-resource-allocation/cel (compile.go newCompiler); cel-spec langdef.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kitlib.cel import library as lib
from kitlib.cel import operators as ops
from kitlib.cel import types
from kitlib.cel.comprehensions import comprehension, is_comprehension
from kitlib.cel.functions import FUNCTIONS, LITERALS, METHODS, OPERATORS, ORDERED
from kitlib.cel.library import ANY, BOOL, LIST, MAP, OPTIONAL, STRING, EvaluationError, Overload
from kitlib.cel.messages import Resolver, escaped_key, made_message, no_messages
from kitlib.cel.operators import Run
from kitlib.cel.optionals import MACROS as OPTIONAL_MACROS
from kitlib.cel.optionals import is_optional_function, optional_function, optional_macro
from kitlib.cel.parser import CompileError, ExpressionNode, wrong
from kitlib.cel.types import EMPTY, base

DEVICE, DOMAINS, CAPACITIES, AMOUNTS = (
    "kubernetes.DRADevice",
    "map(string, map)",
    "map(string, Quantity map)",
    "amounts",
)
FIELDS = {"driver": STRING, "attributes": DOMAINS, "capacity": CAPACITIES, "allowMultipleAllocations": BOOL}
NO_OBJECTS: Mapping[str, Mapping[str, str]] = {}
_INSIDE = {DOMAINS: MAP, CAPACITIES: AMOUNTS, AMOUNTS: lib.QUANTITY}
_SHOWN = {DOMAINS: "map(string, map(string, any))", CAPACITIES: "map(string, map(string, kubernetes.Quantity))"}
_SHOWN |= {AMOUNTS: "map(string, kubernetes.Quantity)", MAP: "map(string, any)"}
_SHOWN |= {LIST: "list(dyn)", EMPTY[LIST]: "list(dyn)", EMPTY[MAP]: "map(dyn, dyn)", OPTIONAL: "optional_type(dyn)"}
_FORMAT = "format"
"""The argument of `format` is a list with values of any types. Source: ext/formatting.go stringFormatValidator."""
_MACROS = ("all", "exists", "exists_one", "map", "filter")


def shown(kind: str) -> str:
    if kind not in _SHOWN and types.parts(kind):
        return f"{base(kind)}({', '.join(map(shown, types.parts(kind)))})"
    return _SHOWN.get(kind, kind)


class Compiler:
    """A compiler of one syntax tree to functions, which checks the types that are known.

    Args:
        text: the expression, for error messages.
        objects: object type -> field -> type; other fields are compile errors.
        messages: resolves the message types that the expression may construct.
    """

    def __init__(
        self, text: str, objects: Mapping[str, Mapping[str, str]] = NO_OBJECTS, messages: Resolver = no_messages
    ) -> None:
        self.text, self.objects, self.messages = text, objects, messages
        self._mixed = 0  # calls around this part whose lists may hold values of several types

    def compiled(self, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
        """Return the node's type (`dyn` if unknown) and the function that evaluates it."""
        found: tuple[str, Run] = getattr(self, f"_{node.kind}")(node, scope)
        return found

    def shown(self, kind: str) -> str:
        return shown(kind)

    def wrong(self, node: ExpressionNode, problem: str) -> CompileError:
        return wrong(self.text, node.at, problem)

    def no_overload(self, node: ExpressionNode, name: str, kinds: Sequence[str], method: bool = False) -> CompileError:
        texts = [shown(kind) for kind in kinds]
        taken = f"{texts[0]}.({', '.join(texts[1:])})" if method else f"({', '.join(texts)})"
        return self.wrong(node, f"found no matching overload for '{name}' applied to '{taken}'")

    def _literal(self, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
        value = node.value
        return lib.type_of(value), lambda _: value

    def _name(self, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
        name = node.value
        if name not in scope:
            if name in lib.TYPES:
                return lib.TYPE, lambda _: lib.TypeName(name)
            raise self.wrong(node, f"undeclared reference to '{name}' (in container '')")
        return scope[name], lambda names: names[name]

    def _select(self, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
        kind, inner = self.compiled(node.parts[0], scope)
        name = node.value
        gives = self._selected(node, kind)
        return gives, lambda names: ops.field(inner(names), name)

    def _selected(self, node: ExpressionNode, kind: str) -> str:
        fields = self.objects.get(kind)
        if fields is not None:
            if node.value not in fields:
                raise self.wrong(node, f"undefined field '{node.value}'")
            return fields[node.value]
        message = self.messages(kind)
        if message is not None:
            return message.field(node.value) or ANY
        if base(kind) not in (ANY, MAP, OPTIONAL, *_INSIDE):
            raise self.wrong(node, f"type '{shown(kind)}' does not support field selection")
        return OPTIONAL if kind == OPTIONAL else _INSIDE.get(kind, types.held(kind))

    def _optional_select(self, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
        kind, inner = self.compiled(node.parts[0], scope)
        self._selected(node, kind)
        name = node.value
        return OPTIONAL, lambda names: ops.optional(inner(names), name)

    def _index(self, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
        kind, inner = self.compiled(node.parts[0], scope)
        key_kind, key = self.compiled(node.parts[1], scope)
        keys = {LIST: lib.INT, DOMAINS: STRING, CAPACITIES: STRING, AMOUNTS: STRING}
        of = base(kind)
        wanted = keys.get(of, types.gone_through(kind) if of == MAP else ANY)
        if of not in (ANY, MAP, OPTIONAL, LIST, *_INSIDE) or not types.fit(key_kind, wanted):
            raise self.no_overload(node, "_[_]", (kind, key_kind))
        gives = OPTIONAL if kind == OPTIONAL else _INSIDE.get(kind, types.held(kind))
        return gives, lambda names: ops.field(inner(names), key(names))

    def _optional_index(self, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
        _, inner = self.compiled(node.parts[0], scope)
        _, key = self.compiled(node.parts[1], scope)
        return OPTIONAL, lambda names: ops.optional(inner(names), key(names))

    def _list(self, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
        made = [self.part(part, scope, "list element") for part in node.parts]
        parts = [run for _, run in made]
        self._check_one_type(node.parts, [kind for kind, _ in made])
        gives = types.list_of([kind for kind, _ in made])
        return gives, lambda names: [value for part in parts if (value := part(names)) is not ops.MISSING]

    def _map(self, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
        made = []
        for key, value in zip(node.parts[::2], node.parts[1::2], strict=True):
            if key.kind == "optional":
                key, value = key.parts[0], ExpressionNode("optional", None, (value,), value.at)
            made.append((*self.compiled(key, scope), *self.part(value, scope, "map entry")))
        pairs = [(key, value) for _, key, _, value in made]
        self._check_one_type(node.parts[::2], [part[0] for part in made])
        self._check_one_type(node.parts[1::2], [part[2] for part in made])

        def mapped(names: dict[str, Any]) -> Any:
            given = [(key(names), value(names)) for key, value in pairs]
            return {ops.map_key(key): value for key, value in given if value is not ops.MISSING}

        return types.map_of([part[0] for part in made], [part[2] for part in made]), mapped

    def _check_one_type(self, nodes: Sequence[ExpressionNode], kinds: Sequence[str]) -> None:
        """Raise CompileError if a literal's elements differ in type.

        Source: cel.ValidateHomogeneousAggregateLiterals.
        """
        for node, kind in zip(nodes, kinds, strict=True):
            null = (kinds[0] == lib.NULL) != (kind == lib.NULL) and ANY not in (kinds[0], kind)
            if not self._mixed and (null or not types.fit(kinds[0], kind)):
                raise self.wrong(node, f"expected type '{shown(kinds[0])}' but found '{shown(kind)}'")

    def part(self, node: ExpressionNode, scope: Mapping[str, str], named: str) -> tuple[str, Run]:
        """Compile an entry of a list, map or message; an absent optional entry evaluates to ops.MISSING.

        Source: checker checkCreateList, checkCreateMap, checkCreateStruct.
        """
        if node.kind != "optional":
            return self.compiled(node, scope)
        kind, run = self.compiled(node.parts[0], scope)
        if kind not in (OPTIONAL, ANY):
            raise self.wrong(node, f"expected type 'optional_type({shown(kind)})' but found '{shown(kind)}'")
        return ANY, lambda names: ops.held(run(names), named)

    def _message(self, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
        return made_message(self, node, scope)

    def _choice(self, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
        (asked, condition), (first, yes), (other, no) = (self.compiled(part, scope) for part in node.parts)
        if asked not in (BOOL, ANY) or not types.fit(first, other):
            raise self.no_overload(node, "_?_:_", (asked, first, other))
        return types.joined(first, other), lambda names: yes(names) if ops.truth(condition(names)) else no(names)

    def _unary(self, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
        kind, inner = self.compiled(node.parts[0], scope)
        if kind not in ((ANY, BOOL) if node.value == "!" else (ANY, *lib.SIGNED)):
            raise self.no_overload(node, f"{node.value}_", (kind,))
        if node.value == "!":
            return BOOL, lambda names: not ops.truth(inner(names))
        return kind, lambda names: ops.negated(inner(names))

    def _binary(self, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
        (first, left), (other, right) = (self.compiled(part, scope) for part in node.parts)
        operator, known = node.value, ANY not in (first, other)
        if operator in ("&&", "||"):
            if {first, other} - {ANY, BOOL}:
                raise self.no_overload(node, f"_{operator}_", (first, other))
            return BOOL, lambda names: ops.logical(operator == "&&", ((left, names), (right, names)))
        if operator == "in":
            if base(other) not in (ANY, LIST, MAP, *_INSIDE) or not types.fit(first, types.gone_through(other)):
                raise self.no_overload(node, "@in", (first, other))
            return BOOL, lambda names: ops.inside(left(names), right(names))
        if operator in ("==", "!="):
            if not types.fit(first, other):
                raise self.no_overload(node, f"_{operator}_", (first, other))
            return BOOL, lambda names: lib.equal(left(names), right(names)) == (operator == "==")
        if operator in ("<", "<=", ">", ">="):
            ordered = {first, other} <= set(lib.NUMBERS) or (first == other and first in ORDERED)
            if (known and not ordered) or {first, other} - {ANY, *lib.NUMBERS, *ORDERED}:
                raise self.no_overload(node, f"_{operator}_", (first, other))
            return BOOL, lambda names: ops.ordered(operator, left(names), right(names))
        for overload in OPERATORS.get(operator, ()) if known else ():
            if overload.takes == (first, other):
                return overload.gives, lambda names: ops.arithmetic(operator, left(names), right(names))
        added = (*lib.SIGNED, STRING, LIST) if operator == "+" else lib.SIGNED
        if known and not (types.fit(first, other) and base(first) in added):
            raise self.no_overload(node, f"_{operator}_", (first, other))
        gives = types.joined(first, other) if known else _left_over(operator, first, other)
        return gives, lambda names: ops.arithmetic(operator, left(names), right(names))

    def _call(self, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
        if node.value == "has":
            return self._has(node, scope)
        return self._called(node, FUNCTIONS, scope, False)

    def _method(self, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
        receiver, name = node.parts[0], node.value
        if receiver == ExpressionNode("name", "cel", at=receiver.at) and name == "bind" and len(node.parts) == 4:
            return self._bind(node, scope)
        if is_optional_function(node):
            return optional_function(self, node, scope)
        if name in OPTIONAL_MACROS and len(node.parts) == 3:
            return optional_macro(self, node, scope)
        if receiver == ExpressionNode("name", "jsonpatch", at=receiver.at) and name == "escapeKey":
            return escaped_key(self, node, scope)
        if is_comprehension(node):
            return comprehension(self, node, scope)
        if name in _MACROS and len(node.parts) in (3, 4) and node.parts[1].kind == "name":
            return self._macro(node, scope)
        qualified = f"{receiver.value}.{name}"
        if receiver.kind == "name" and receiver.value not in scope and qualified in FUNCTIONS:
            return self._called(ExpressionNode("call", qualified, node.parts[1:], node.at), FUNCTIONS, scope, False)
        return self._called(node, METHODS, scope, True)

    def _called(
        self, node: ExpressionNode, table: Mapping[str, list[Overload]], scope: Mapping[str, str], method: bool
    ) -> tuple[str, Run]:
        name = node.value
        overloads = table.get(name)
        if overloads is None:
            raise self.wrong(node, f"undeclared reference to '{name}' (in container '')")
        # The literals inside the arguments of format() may have elements of several types.
        self._mixed += name == _FORMAT
        made = [self.compiled(part, scope) for part in node.parts]
        self._mixed -= name == _FORMAT
        kinds = tuple(MAP if kind in _INSIDE else base(kind) for kind, _ in made)
        # Arguments of type dyn fit several overloads; the values decide between them when the call is evaluated.
        fitting = [overload for overload in overloads if _takes(overload, kinds)]
        if not fitting:
            raise self.no_overload(node, name, [kind for kind, _ in made], method)
        self._check_literal(node, name, method)
        runs = [run for _, run in made]
        gives = {overload.gives for overload in fitting}

        def call(names: dict[str, Any]) -> Any:
            values = [run(names) for run in runs]
            found = tuple(lib.type_of(value) for value in values)
            for overload in fitting:
                if _takes(overload, found):
                    return overload.work(*values)
            raise EvaluationError("no such overload")

        return gives.pop() if len(gives) == 1 else ANY, call

    def _check_literal(self, node: ExpressionNode, name: str, method: bool) -> None:
        """Raise CompileError for an invalid duration, timestamp or pattern that is written as a literal.

        Source: cel-go cel/validator.go (ValidateDurationLiterals, ValidateTimestampLiterals, ValidateRegexLiterals).
        """
        if name in LITERALS and len(node.parts) == 1 + method:
            given = node.parts[-1]
            try:
                if given.kind == "literal" and isinstance(given.value, str):
                    LITERALS[name](given.value)
            except EvaluationError:
                raise self.wrong(given, f"invalid {name} argument") from None

    def _has(self, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
        if len(node.parts) != 1 or node.parts[0].kind != "select":
            raise self.wrong(node, "invalid argument to has() macro")
        asked = node.parts[0]
        kind, inner = self.compiled(asked.parts[0], scope)
        self._selected(asked, kind)
        return BOOL, lambda names: ops.optional(inner(names), asked.value).there

    def _bind(self, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
        name = node.parts[1].value
        if node.parts[1].kind != "name":
            raise self.wrong(node, "cel.bind() variable names must be simple identifiers")
        kind, value = self.compiled(node.parts[2], scope)
        gives, inner = self.compiled(node.parts[3], {**scope, name: kind})
        return gives, lambda names: inner({**names, name: value(names)})

    def _macro(self, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
        """Compile `all`, `exists`, `exists_one`, `map` or `filter`; over a map they iterate over the keys."""
        over, listed = self.compiled(node.parts[0], scope)
        name, which = node.parts[1].value, node.value
        inside = {**scope, name: types.gone_through(over)}
        compiled = [self.compiled(part, inside) for part in node.parts[2:]]
        parts = [run for _, run in compiled]
        if len(parts) == 2 and which != "map":
            raise self.no_overload(node, which, [ANY] * len(node.parts), True)

        def run(names: dict[str, Any]) -> Any:
            values = listed(names)
            if not isinstance(values, list | dict):
                raise EvaluationError("no such overload")
            lib.charge(len(values) + 1)
            asked = [{**names, name: value} for value in values]
            if which in ("all", "exists"):
                return ops.every(which == "all", parts[0], asked)
            if which == "map":
                return [parts[-1](names) for names in asked if len(parts) == 1 or ops.truth(parts[0](names))]
            passing = [names[name] for names in asked if ops.truth(parts[0](names))]
            return passing if which == "filter" else len(passing) == 1

        if which == "map":
            return types.list_of([compiled[-1][0]]), run
        if which == "filter":
            return (over if base(over) == LIST else types.list_of([types.gone_through(over)])), run
        return BOOL, run


def _left_over(operator: str, first: str, other: str) -> str:
    """Return the type of `one + other` if one of them is `dyn`: that of the only candidate overload, or `dyn`."""
    known = other if first == ANY else first
    gives = {overload.gives for overload in OPERATORS.get(operator, ()) if known in overload.takes} - {known}
    return ANY if gives else known


def _takes(overload: Overload, kinds: tuple[str, ...]) -> bool:
    return len(overload.takes) == len(kinds) and all(
        ANY in (wanted, kind) or wanted == kind for wanted, kind in zip(overload.takes, kinds, strict=True)
    )
