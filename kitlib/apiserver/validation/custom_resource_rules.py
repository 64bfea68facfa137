"""`x-kubernetes-validations`: the CEL rules of a schema, compiled with the types that it declares.

A rule with a part of Kubernetes' CEL that the kit does not implement is accepted, but never evaluated.

Source: apiextensions-apiserver pkg/apiserver/schema/cel (compilation.go Compile), pkg/apis/apiextensions/validation
ValidateCustomResourceDefinitionOpenAPISchema; apiserver pkg/cel (escaping.go Escape, common SchemaDeclType).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kitlib.api.field_errors import Errors, GoStruct, invalid, not_supported
from kitlib.apiserver.validation.custom_resource_structural import (
    EITHER,
    EMBEDDED,
    KEYS,
    LIST,
    RULES,
    Schema,
    below,
    listed,
    parts,
)
from kitlib.cel import library as lib
from kitlib.cel.expression import Expression, compile_expression
from kitlib.cel.parser import CompileError, ExpressionNode, parse
from kitlib.cel.times import DURATION, TIMESTAMP

MAX_LENGTH = 32 * 1024
REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_SCALARS = {"string": lib.STRING, "integer": lib.INT, "number": lib.DOUBLE, "boolean": lib.BOOL}
FORMATS = {"byte": lib.BYTES, "date": TIMESTAMP, "date-time": TIMESTAMP, "datetime": TIMESTAMP, "duration": DURATION}
"""Formats of strings -> their CEL types other than string. Source: SchemaDeclType."""
_KEYWORDS = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if"),
        *("import", "let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_SPECIAL = re.compile(r"__|[.\-/]")
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_NOT_HERE = frozenset(
    (
        "math",
        "reverse",
        "flatten",
        "slice",
        "distinct",
        "sort",
        "sortBy",
        "first",
        "last",
        "range",
        "unwrap",
        "unwrapOpt",
    )
)
"""Functions of Kubernetes' CEL that the kit does not implement."""
Objects = dict[str, Mapping[str, str]]


@dataclass
class Rule:
    """A compiled rule.

    Attributes:
        data: the rule in the schema.
        asks: the compiled expression.
        words: the compiled messageExpression; None if there is none.
        transition: whether the rule uses `oldSelf`.
    """

    data: Schema
    asks: Expression
    words: Expression | None = None
    transition: bool = False


@dataclass
class SchemaRules:
    """A part of a schema with its rules and those below it.

    Attributes:
        schema: the part of the schema.
        root: whether it is the schema's root.
        rules: its compiled rules.
        fields: property -> its part, for properties with rules.
        items: the part of list items; None without rules.
        values: the part of map values; None without rules.
    """

    schema: Schema
    root: bool
    rules: list[Rule] = field(default_factory=list)
    fields: dict[str, SchemaRules] = field(default_factory=dict)
    items: SchemaRules | None = None
    values: SchemaRules | None = None

    @property
    def empty(self) -> bool:
        """Whether there is no rule here or below."""
        return not (self.rules or self.fields or self.items or self.values)


def escaped(name: str) -> str:
    """Return a property's name as expressions write it. Source: Escape."""
    return f"__{name}__" if name in _KEYWORDS else _SPECIAL.sub(lambda found: _ESCAPES[found[0]], name)


def validate_rules(schema: Schema, path: str) -> Errors:
    """Return the compile errors of a structural schema's rules."""
    found: Errors = []
    compiled_rules(schema, path, found)
    return found


def compiled_rules(schema: Schema, path: str, found: Errors) -> SchemaRules:
    """Return the compiled rules of a schema; their errors are appended to `found`."""
    if not has_rules(schema):
        return SchemaRules(schema, True)
    objects: Objects = {}
    _declared(schema, path, objects, root=True)
    return _place(schema, path, objects, found, "", root=True)


def has_rules(schema: Schema) -> bool:
    """Return whether a schema has rules at its root or below."""
    if schema.get(RULES):
        return True
    single = (below(schema, name) for name in ("items", "additionalProperties"))
    return any(map(has_rules, (*(one for one in single if one), *(part for _, part in parts(schema, "properties")))))


def _declared(schema: Schema, path: str, objects: Objects, *, root: bool = False) -> str:
    """Declare a part's types and return its type; "" if expressions cannot access it. Source: SchemaDeclType."""
    items, more = below(schema, "items"), below(schema, "additionalProperties")
    inner = "" if more is None else _declared(more, f"{path}.additionalProperties", objects)
    inner = inner if items is None else _declared(items, f"{path}.items", objects)
    kind = schema.get("type")
    if schema.get(EITHER):
        return lib.ANY
    if kind == "array":
        return lib.LIST if inner else ""
    if kind != "object":
        return _scalar(schema)
    if more is not None:
        return lib.MAP if inner else ""
    declared = {}
    if root or schema.get(EMBEDDED):
        objects[f"{path}.metadata"] = {"name": lib.STRING, "generateName": lib.STRING}
        declared = {"apiVersion": lib.STRING, "kind": lib.STRING, "metadata": f"{path}.metadata"}
    for name, part in parts(schema, "properties"):
        made = _declared(part, f"{path}.properties[{name}]", objects)
        if made and escaped(name) not in declared:
            declared[escaped(name)] = made
    objects[path] = declared
    return path


def _place(
    schema: Schema, path: str, objects: Objects, found: Errors, apart: str, *, root: bool = False
) -> SchemaRules:
    """Return the compiled rules of a part and those below it.

    Args:
        schema: the part of the schema.
        path: its path in the schema.
        objects: the declared object types.
        found: the list to which errors are appended.
        apart: the path of the list around it whose items have no keys to correlate them with the old object; "" = none.
        root: whether it is the schema's root.
    """
    made = SchemaRules(schema, root)
    kind = _declared_again(schema, path, objects)
    for i, rule in listed(schema, RULES):
        one = _compiled(rule, f"{path}.{RULES}[{i}]", kind, objects, found, apart)
        if one is not None:
            made.rules.append(one)
    for name, part in parts(schema, "properties"):
        inner = _place(part, f"{path}.properties[{name}]", objects, found, apart)
        if not inner.empty:
            made.fields[name] = inner
    items, more = below(schema, "items"), below(schema, "additionalProperties")
    if items is not None:
        known = schema.get(LIST) == "map" and schema.get(KEYS)
        inner = _place(items, f"{path}.items", objects, found, apart if known else apart or path)
        made.items = None if inner.empty else inner
    if more is not None:
        inner = _place(more, f"{path}.additionalProperties", objects, found, apart)
        made.values = None if inner.empty else inner
    return made


def _declared_again(schema: Schema, path: str, objects: Objects) -> str:
    """Return the type of a part after `_declared` has declared the object types."""
    if path in objects and not schema.get(EITHER):
        return path
    if schema.get(EITHER):
        return lib.ANY
    return {"array": lib.LIST, "object": lib.MAP}.get(str(schema.get("type")), _scalar(schema) or lib.ANY)


def _scalar(schema: Schema) -> str:
    """Return the type of a string, number or boolean; "" for other types."""
    kind = str(schema.get("type"))
    return FORMATS.get(str(schema.get("format")), lib.STRING) if kind == "string" else _SCALARS.get(kind, "")


def _compiled(rule: Schema, place: str, kind: str, objects: Objects, found: Errors, apart: str) -> Rule | None:
    optional = bool(rule.get("optionalOldSelf"))
    names = {"self": kind, "oldSelf": lib.OPTIONAL if optional else kind}
    made: dict[str, Expression] = {}
    reason, before = rule.get("reason"), len(found)
    if reason is not None and reason not in REASONS:
        found.append(not_supported(f"{place}.reason", reason, REASONS))
    transition = False
    for key, wanted, said in (("rule", lib.BOOL, "a bool"), ("messageExpression", lib.STRING, "a string")):
        text = str(rule.get(key) or "").strip()
        if not text:
            continue
        try:
            tree = parse(text) if len(text) <= MAX_LENGTH else ExpressionNode("literal")
            used = {str(part.value) for part in _nodes(tree)}
            if key == "rule":
                transition = "oldSelf" in used
            # Valid upstream, but not compilable here: neither an error nor an evaluation would be right.
            if used & _NOT_HERE:
                return None
            made[key] = compile_expression(text, names, objects, max_length=MAX_LENGTH)
        except CompileError as error:
            found.append(invalid(f"{place}.{key}", _shown(rule), _once(str(error))))
            continue
        except RecursionError:
            problem = "compilation failed: expression recursion limit exceeded"
            found.append(invalid(f"{place}.{key}", _shown(rule), problem))
            continue
        if made[key].kind not in (wanted, lib.ANY):
            word = "cel expression" if key == "rule" else "messageExpression"
            found.append(invalid(f"{place}.{key}", _shown(rule), f"{word} must evaluate to {said}"))
    if transition and apart:
        detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {apart}"
        found.append(invalid(f"{place}.rule", str(rule.get("rule")), detail))
    if len(found) > before or "rule" not in made:
        return None
    return Rule(rule, made["rule"], made.get("messageExpression"), transition)


def _once(problem: str) -> str:
    """Return the problem with the prefix `compilation failed: `, which syntax errors already have."""
    return problem if problem.startswith("compilation failed: ") else f"compilation failed: {problem}"


def _nodes(tree: ExpressionNode) -> Iterator[ExpressionNode]:
    waiting = [tree]
    while waiting:
        expression_node = waiting.pop()
        yield expression_node
        waiting += expression_node.parts


def _shown(rule: Schema) -> GoStruct:
    """Return the rule as Go prints upstream's type."""
    texts: dict[str, Any] = {"Rule": "rule", "Message": "message", "MessageExpression": "messageExpression"}
    made = {name: rule.get(key) or "" for name, key in texts.items()}
    rest = {"FieldPath": rule.get("fieldPath") or "", "OptionalOldSelf": rule.get("optionalOldSelf")}
    return GoStruct({**made, "Reason": rule.get("reason"), **rest})
