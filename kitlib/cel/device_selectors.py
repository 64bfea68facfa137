"""Device selectors in CEL: an expression is compiled once and evaluated for many devices.

    select = compile_selector('device.driver == "gpu.example.com" && device.capacity["gpu.example.com"].memory'
                              '.compareTo(quantity("40Gi")) >= 0')
    select(subject(device, "gpu.example.com"))

The kit implements the part of the language that selectors use; anything else is a CompileError with its position.
Two rules differ from most languages: `false && error` is false and `true || error` is true on either side, and a
domain without attributes is an empty map, not a missing key.

Source: k8s.io/dynamic-resource-allocation/cel (compile.go); cel-spec langdef.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from kitlib.api.devices import Device
from kitlib.cel import library as lib
from kitlib.cel.compiler import DEVICE, FIELDS, shown
from kitlib.cel.expression import compile_expression
from kitlib.cel.library import ANY, BOOL, LIST, MAP, EvaluationError, semver
from kitlib.cel.parser import CompileError

__all__ = ["CompileError", "EvaluationError", "Subject", "compile_selector", "subject"]

Subject = Mapping[str, Any]


class _Domains(dict[str, Any]):
    """The attributes or capacities by domain; an absent domain is an empty map."""

    def __missing__(self, key: str) -> dict[str, Any]:
        return {}


def subject(device: Device, driver: str) -> Subject:
    """Return the value of `device`: `device.driver`, `.attributes[domain].name`, `.capacity[domain].name`.

    Raises:
        EvaluationError: a version attribute is not a semantic version.

    Source: CompilationResult.DeviceMatches.
    """
    attributes, capacity = _Domains(), _Domains()
    for name, attribute in device.attributes.items():
        given = (attribute.int_value, attribute.bool_value, attribute.string_value)
        value: Any = next((one for one in given if one is not None), None)
        if value is None and attribute.version_value is not None:
            value = semver(attribute.version_value)
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
"""The maximum length of a selector in characters. Source: resource/v1 CELSelectorExpressionMaxLength."""
MAX_COST = 1_000_000
"""The maximum number of elements that the macros of one evaluation visit. Source: CELSelectorExpressionMaxCost."""


@lru_cache(maxsize=256)
def compile_selector(text: str) -> Callable[[Subject], bool]:
    """Compile a selector to a function that reports whether a device matches.

    Raises:
        CompileError: the text is not valid CEL, has an undeclared reference, or does not evaluate to a bool.
        EvaluationError: raised by the returned function with cel-go's message, e.g. `no such key: model`.
    """
    expression = compile_expression(text, {"device": DEVICE}, {DEVICE: FIELDS}, max_length=MAX_LENGTH)
    if expression.kind not in (BOOL, ANY):
        raise CompileError(f"must evaluate to bool or the unknown type, not {shown(expression.kind)}")

    def selects(device: Subject) -> bool:
        answer = expression.evaluate({"device": device}, MAX_COST)
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
"""Type -> cel-go's message of ConvertToNative, where the type has its own."""
