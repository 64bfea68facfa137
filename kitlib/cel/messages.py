"""Message literals of CEL: `Object.spec{replicas: 3}`, `JSONPatch{op: "remove", path: "/a"}`.

An `Object` is a part of the policy's object. The name of its type is the path of fields that leads to it. Any field
may be set; evaluation checks that the type names match the paths.

Source: k8s.io/apiserver/pkg/cel/mutation (typeresolver.go, jsonpatch.go, dynamic/objects.go), library/jsonpatch.go;
cel-go checker checkCreateStruct.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kitlib.api.resource import Quantity
from kitlib.cel import library as lib
from kitlib.cel import operators as ops
from kitlib.cel.library import ANY, STRING, EvaluationError, Maybe
from kitlib.cel.operators import Run
from kitlib.cel.parser import CompileError, ExpressionNode

OBJECT, JSON_PATCH = "Object", "JSONPatch"
_TEXTS, _VALUE = ("op", "path", "from"), "value"
_GO_TYPES = {lib.INT: "int64", lib.DOUBLE: "float64", lib.LIST: "[]ref.Val", lib.MAP: "map[ref.Val]ref.Val"}
_EXACT = 2**53 - 1
"""The largest integer that is a number in JSON; larger ones become strings. Source: cel-go types/int.go maxIntJSON."""


@dataclass(frozen=True)
class MessageType:
    """A message type."""

    name: str

    def field(self, name: str) -> str | None:
        """Return the type of a field; None if the type has no such field."""
        if self.name != JSON_PATCH:
            return ANY
        return STRING if name in _TEXTS else ANY if name == _VALUE else None


Resolver = Callable[[str], MessageType | None]
"""Returns the message type of a name; None if it is unknown."""


def no_messages(name: str) -> MessageType | None:
    """Resolve no message types."""
    return None


def patch_types(name: str) -> MessageType | None:
    """Resolve the message types of mutating policies. Source: mutation.DynamicTypeResolver."""
    known = name in (OBJECT, JSON_PATCH) or name.startswith(f"{OBJECT}.")
    return MessageType(name) if known else None


class MessageCompiler(Protocol):
    """The part of `compiler.Compiler` that compiles the entries of a message."""

    messages: Resolver

    def compiled(self, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]: ...
    def part(self, node: ExpressionNode, scope: Mapping[str, str], named: str) -> tuple[str, Run]: ...
    def wrong(self, node: ExpressionNode, problem: str) -> CompileError: ...
    def shown(self, kind: str) -> str: ...
    def no_overload(
        self, node: ExpressionNode, name: str, kinds: Sequence[str], method: bool = False
    ) -> CompileError: ...


class MessageValue(Mapping[str, Any]):
    """A message. A field that is not set is null; a text field of a JSONPatch is the empty string.

    Attributes:
        type_name: the name of its type, e.g. `Object.spec`.
        fields: the fields that are set.
    """

    def __init__(self, type_name: str, fields: Mapping[str, Any]) -> None:
        self.type_name, self.fields = type_name, fields

    def __getitem__(self, name: str) -> Any:
        return self.fields.get(name, "" if self.type_name == JSON_PATCH and name != _VALUE else None)

    def __contains__(self, name: object) -> bool:
        # has() of an empty text field is false. Source: JSONPatchVal.IsSet.
        return name in self.fields and not (self.type_name == JSON_PATCH and self.fields[str(name)] == "")

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, MessageValue) and other.type_name == self.type_name
        return same and lib.equal(dict(self.fields), dict(other.fields))  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]


def made_message(compiler: MessageCompiler, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
    """Compile a message literal to its type and the function that constructs it. Source: checkCreateStruct."""
    type_ = compiler.messages(node.value)
    if type_ is None:
        raise compiler.wrong(node, f"undeclared reference to '{node.value}' (in container '')")
    fields = []
    for part in node.parts:
        kind, run = compiler.part(part.parts[0], scope, f"entry '{part.value}'")
        wanted = type_.field(part.value) or ""
        if ANY not in (wanted, kind) and wanted != kind:
            found = compiler.shown(kind)
            problem = f"expected type of field '{part.value}' is '{wanted}' but provided type is '{found}'"
            raise compiler.wrong(part, problem)
        fields.append((part.value, run))

    def made(names: dict[str, Any]) -> Any:
        lib.charge(len(fields) + 1)
        found = {name: value for name, run in fields if (value := run(names)) is not ops.MISSING}
        if type_.name == JSON_PATCH:
            _check_patch(found)
        return MessageValue(type_.name, found)

    return type_.name, made


def _check_patch(fields: Mapping[str, Any]) -> None:
    """Raise EvaluationError for an unknown JSONPatch field or one of the wrong type. Source: JSONPatchType.Val."""
    for name, value in fields.items():
        if name in _TEXTS and not isinstance(value, str):
            kind = lib.type_of(value)
            raise EvaluationError(f"unexpected type {_GO_TYPES.get(kind, kind)} for JSONPatchType '{name}' field")
        if name not in (*_TEXTS, _VALUE):
            raise EvaluationError(f"unexpected JSONPatchType field: {name}")


def escaped_key(compiler: MessageCompiler, node: ExpressionNode, scope: Mapping[str, str]) -> tuple[str, Run]:
    """Compile `jsonpatch.escapeKey("k8s.io/a~b")`: escape a key for a JSON pointer. Source: library/jsonpatch.go."""
    if compiler.messages(JSON_PATCH) is None:
        raise compiler.wrong(node.parts[0], "undeclared reference to 'jsonpatch' (in container '')")
    made = [compiler.compiled(part, scope) for part in node.parts[1:]]
    if [kind for kind, _ in made] not in ([STRING], [ANY]):
        raise compiler.no_overload(node, "jsonpatch.escapeKey", [kind for kind, _ in made])
    key = made[0][1]

    def escaped(names: dict[str, Any]) -> Any:
        text = key(names)
        if not isinstance(text, str):
            raise EvaluationError("no such overload")
        return text.replace("~", "~0").replace("/", "~1")

    return STRING, escaped


def mismatches(value: Any, path: str = "") -> list[str]:
    """Return the type names that differ from their field path. Source: CheckTypeNamesMatchFieldPathNames.

    Args:
        value: the result of an expression, or a part of it.
        path: the field path of the value; "" = a message starts here.
    """
    if isinstance(value, list):
        return [mismatch for item in value for mismatch in mismatches(item, path)]
    if isinstance(value, dict):
        return [mismatch for item in value.values() for mismatch in mismatches(item, path)]
    if not isinstance(value, MessageValue):
        return []
    wanted = path or value.type_name
    found = []
    if value.type_name != wanted:
        expected = f'expected "{wanted}", which matches field name path from root Object type'
        found.append(f'unexpected type name "{value.type_name}", {expected}')
    return found + [mismatch for name, field in value.items() for mismatch in mismatches(field, f"{wanted}.{name}")]


def plain(value: Any) -> Any:
    """Convert a value to JSON types.

    Raises:
        EvaluationError: a map key is not a string.

    Source: ObjectVal.ConvertToNative, convertField. Integers above 2**53 - 1 become strings, as JSON numbers are
    doubles.
    """
    if isinstance(value, MessageValue):
        return {name: plain(field) for name, field in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                kind = _GO_TYPES.get(lib.type_of(key), lib.type_of(key))
                raise EvaluationError(f'map key "{key}" is of type {kind}, not string')
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, Maybe):
        return plain(value.value) if value.there else None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _EXACT:
        return str(value)
    return str(value) if isinstance(value, Quantity) else value
