"""The evaluation of custom objects' CEL rules: self, oldSelf, messages, reasons, ratcheting of unchanged values.

Source: apiextensions-apiserver pkg/apiserver/schema/cel validation.go (Validate, validateExpressions,
ruleMessageOrDefault, fieldErrorForReason); KEP-2876, KEP-4008 (ratcheting).
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from kitlib.api.field_errors import Errors, duplicate, forbidden, invalid, required
from kitlib.apiserver.validation.custom_resource_rules import Rule, SchemaRules, compiled_rules, escaped
from kitlib.apiserver.validation.custom_resource_structural import EITHER, EMBEDDED, KEYS, Schema, below, parts
from kitlib.cel.expression import Expression
from kitlib.cel.library import Budget, EvaluationError, Maybe
from kitlib.cel.times import duration, timestamp

MAX_COST, MAX_EVALUATIONS = 200_000, 50_000
"""The maximum number of elements that all rules of one object visit, and of evaluated rules."""
MAX_MESSAGE = 5 * 1024
"""The maximum length of a message in characters. Source: celconfig MaxMessageExpressionLength."""
_EXHAUSTED = "validation failed due to running out of cost budget, no further validation rules will be run"
_MISSING = object()


class _Exhausted(Exception):
    """The cost or number of evaluations exceeds its maximum."""


def broken_rules(schema: Schema, data: Any, old: Any = None) -> Errors:
    """Return the violations of an object's rules.

    Args:
        schema: the schema of the object's version.
        data: the object with its defaults.
        old: the stored object; None for a new one.
    """
    place = _rules_of(json.dumps(schema))
    if place.empty:
        return []
    run = _Run()
    try:
        run.check(place, data, _MISSING if old is None else old, "")
    except _Exhausted:
        run.found.append(invalid("<nil>", "", _EXHAUSTED))
    return run.found


@lru_cache(maxsize=64)
def _rules_of(schema: str) -> SchemaRules:
    return compiled_rules(json.loads(schema), "", [])


class _Run:
    """The evaluation of one object's rules, with the violations found so far."""

    def __init__(self) -> None:
        self.found: Errors = []
        self.asked, self.budget = 0, Budget(MAX_COST)

    def check(self, place: SchemaRules, data: Any, old: Any, path: str) -> None:
        """Evaluate the rules of a value and of everything below it."""
        if data is None:
            return
        if place.rules:
            self._rules(place, data, old, path)
        before = old if isinstance(old, type(data)) else _MISSING
        if isinstance(data, dict):
            for name, value in data.items():
                inner = place.fields.get(name) or place.values
                if inner is not None:
                    last = before.get(name, _MISSING) if isinstance(before, dict) else _MISSING
                    where = f"{path}[{name}]" if inner is place.values else f"{path}.{name}".lstrip(".")
                    self.check(inner, value, last, where)
        elif isinstance(data, list) and place.items is not None:
            # Items of lists without keys have no old value: they cannot be correlated.
            known = _by_keys(place, before)
            for i, item in enumerate(data):
                last = known.get(_key(place, item), _MISSING) if known else _MISSING
                self.check(place.items, item, last, f"{path}[{i}]")

    def _rules(self, place: SchemaRules, data: Any, old: Any, path: str) -> None:
        same = old is not _MISSING and old == data
        value = cel_value(data, place.schema, root=place.root)
        last = _MISSING if old is _MISSING or old is None else cel_value(old, place.schema, root=place.root)
        for rule in place.rules:
            optional = bool(rule.data.get("optionalOldSelf"))
            # A rule with oldSelf is skipped for a new value unless optionalOldSelf is set. Source: validateExpressions.
            if rule.transition and last is _MISSING and not optional:
                continue
            if same and not rule.transition:
                continue  # unchanged values are not checked again. Source: KEP-4008
            given = last
            if optional:
                given = Maybe(False) if last is _MISSING else Maybe(True, last)
            self._rule(rule, {"self": value, "oldSelf": given}, place, path)

    def _rule(self, rule: Rule, names: Mapping[str, Any], place: SchemaRules, path: str) -> None:
        detail = ""
        try:
            if self._answer(rule.asks, names) is not True:
                detail = self._words(rule, names)
        except EvaluationError as error:
            text = _named(rule)
            if str(error) == "no such overload":
                why = "call arguments did not match a supported operator, function or macro signature for rule"
                detail = f"'{error}': {why}: {text}"
            elif str(error).startswith("operation cancelled"):
                detail = f"'{error}': no further validation rules will be run due to call cost exceeds limit for rule: "
                detail += text
            else:
                detail = f"{error} evaluating rule: {text}"
        if detail:
            where = f"{path}{rule.data.get('fieldPath') or ''}".lstrip(".") or "<nil>"
            kind = str(place.schema.get("type") or "")
            reason = rule.data.get("reason")
            if reason == "FieldValueForbidden":
                self.found.append(forbidden(where, detail))
            elif reason == "FieldValueRequired":
                self.found.append(required(where, detail))
            elif reason == "FieldValueDuplicate":
                self.found.append(duplicate(where, kind, detail))
            else:
                self.found.append(invalid(where, kind, detail))

    def _answer(self, expression: Expression, names: Mapping[str, Any]) -> Any:
        self.asked += 1
        if self.asked > MAX_EVALUATIONS or self.budget.left <= 0:
            raise _Exhausted
        return expression.evaluate(names, self.budget)

    def _words(self, rule: Rule, names: Mapping[str, Any]) -> str:
        if rule.words is not None:
            try:
                made = self._answer(rule.words, names)
            except EvaluationError:
                made = ""
            if isinstance(made, str) and made.strip() and "\n" not in made.strip() and len(made) <= MAX_MESSAGE:
                return made.strip()
        return _default_words(rule)


def _default_words(rule: Rule) -> str:
    """Return the message of a rule without a messageExpression. Source: ruleMessageOrDefault."""
    return _named(rule) if rule.data.get("message") else f"failed rule: {_named(rule)}"


def _named(rule: Rule) -> str:
    """Return the rule's message, or its expression. Source: ruleErrorString."""
    return str(rule.data.get("message") or rule.data.get("rule")).strip()


def _key(place: SchemaRules, item: Any) -> str:
    if not isinstance(item, dict):
        return ""
    return json.dumps([item.get(key) for key in place.schema.get(KEYS) or ()])


def _by_keys(place: SchemaRules, old: Any) -> dict[str, Any]:
    """Return the stored items of a list by their keys; empty if the list is not of type map."""
    if not isinstance(old, list) or not place.schema.get(KEYS):
        return {}
    return {_key(place, item): item for item in old}


def cel_value(data: Any, schema: Schema, *, root: bool = False) -> Any:
    """Convert a value to CEL: declared fields under their escaped names, without nulls, numbers as doubles."""
    if isinstance(data, list):
        items = below(schema, "items") or {}
        return [cel_value(item, items) for item in data]
    if isinstance(data, dict):
        more = below(schema, "additionalProperties")
        if more is not None:
            return {name: cel_value(value, more) for name, value in data.items()}
        made: dict[str, Any] = {}
        if root or schema.get(EMBEDDED):
            made = {name: data[name] for name in ("apiVersion", "kind") if isinstance(data.get(name), str)}
            meta = data.get("metadata")
            if isinstance(meta, dict):
                made["metadata"] = {name: meta[name] for name in ("name", "generateName") if meta.get(name)}
        for name, part in parts(schema, "properties"):
            if data.get(name) is not None:
                made.setdefault(escaped(name), cel_value(data[name], part))
        return made
    if isinstance(data, str) and schema.get("type") == "string":
        return _VALUES.get(str(schema.get("format")), str)(data)
    if schema.get("type") == "number" and isinstance(data, int) and not isinstance(data, bool):
        return float(data) if not schema.get(EITHER) else data
    return data


def _tried(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a function that parses a string; invalid strings are unchanged, as validation reports their format."""

    def value(text: str) -> Any:
        try:
            return read(text)
        except (ValueError, EvaluationError):
            return text

    return value


_VALUES: dict[str, Callable[[str], Any]] = {
    "byte": _tried(lambda text: b64decode(text, validate=True)),
    "date": _tried(lambda text: timestamp(f"{text}T00:00:00Z")),
    **dict.fromkeys(("date-time", "datetime"), _tried(timestamp)),
    "duration": _tried(duration),
}
"""Format -> the function that converts such a string to CEL. Source: apiserver pkg/cel/common UnstructuredToVal."""
